"""What is found wrong with one message by itself, in the two OpenAI formats, and text they can carry.

Invariant: total, and idempotent: a sound value comes back as the very object given. Words stay
visible in the copy; what can't be said there is in a fault's `lost`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tenure.core.legal import Mend, Rule, Terms, Violation
from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import FreshIds, cleaned, lost_json

_BIG = 10**15

UNSENDABLE = Rule(
    "unsendable-text",
    "no lone surrogates, NUL or numbers that JSON lacks stand in a request",
    "RFC 8259; reports of 400 for NUL and lone surrogates in public issues",
    "each is replaced by U+FFFD, a number by its text",
)


class Fault(NamedTuple):
    """A breach inside one message: what is wrong, where, what was done, what went."""

    rule: str
    words: str
    done: str
    lost: bytes = b""
    path: Path = ()

    def violation(self, number: int) -> Violation:
        """The breach as a violation of message `number`."""
        return Violation(self.rule, number, self.words, self.path)

    def mend(self, number: int) -> Mend:
        """What was done about it, in message `number`."""
        return Mend(self.rule, number, self.done, self.lost)


class Shaped(NamedTuple):
    """The sound copy of a message, the faults that the message had, and those that it still has:
    nothing could be done about `left`."""

    message: JsonObject
    faults: tuple[Fault, ...] = ()
    left: tuple[Fault, ...] = ()


class Takes(NamedTuple):
    """What the host takes, beside what the API says: ids that fit, and explicit cache breakpoints
    if its model knows them."""

    fits: Callable[[str], bool]
    breakpoints: bool = True


def takes_of(terms: Terms, longest_id: int) -> Takes:
    """What the terms say about ids and breakpoints, where the API's ids have so many characters."""
    return Takes(
        FreshIds((), terms.id_pattern, id_limit(terms, longest_id)).fits, terms.breakpoints
    )


def id_limit(terms: Terms, longest_id: int) -> int:
    """The most characters of a call id: the API's own unless the terms say otherwise."""
    return longest_id if terms.longest_id is None else terms.longest_id


@dataclass(slots=True)
class Findings:
    """What is found while one message is made sound."""

    takes: Takes
    faults: list[Fault] = field(default_factory=list)
    left: list[Fault] = field(default_factory=list)

    def add(self, rule: str, words: str, done: str, lost: Any = None, path: Path = ()) -> None:
        """Takes note of a fault; `lost` is the value that is no longer there, None for nothing."""
        gone = b"" if lost is None else lost_json(lost)
        self.faults.append(Fault(rule, words, done, gone, path))

    def leave(self, rule: str, words: str, path: Path = ()) -> None:
        """Takes note of a fault that stays."""
        self.left.append(Fault(rule, words, "", b"", path))

    def shaped(self, message: JsonObject) -> Shaped:
        """The copy with what was found."""
        return Shaped(message, tuple(self.faults), tuple(self.left))


def without_unsendable(value: Any) -> tuple[Any, list[Fault]]:
    """The value with clean text; the fault holds the whole of what was given."""
    if _is_surely_clean(value):
        return value, []
    new = cleaned(value)
    if new is value:
        return value, []
    words = "a text holds lone surrogates, NUL or numbers that JSON lacks"
    done = "lone surrogates and NUL replaced by U+FFFD"
    return new, [Fault(UNSENDABLE.name, words, done, lost_json(value))]


def _is_surely_clean(value: Any) -> bool:
    """A quick yes for almost every message; a no only says to look closer.

    All texts are looked at as one, since a look at each takes several times as long.
    """
    texts: list[str] = []
    stack = [value]
    for item in stack:  # It grows meanwhile.
        kind = type(item)
        if kind is str:
            texts.append(item)
        elif kind is dict:
            texts += item
            stack += item.values()
        elif kind is list:
            stack += item
        elif item is not None and kind is not bool and not (kind is int and -_BIG < item < _BIG):
            return False
    try:
        # Two surrogates that stand side by side in the whole make no pair there either.
        text = "".join(texts)
        return "\0" not in text and (text.isascii() or text.encode() is not None)
    except (UnicodeEncodeError, TypeError):  # TypeError: a key that is no text.
        return False


def head_faults(head: JsonObject) -> tuple[JsonObject, list[Fault]]:
    """The head of a request with clean text."""
    new, faults = without_unsendable(head)
    return new, faults


def spoken(value: Any) -> str:
    """A value as words: text as it is, nothing for null, else its JSON text."""
    if isinstance(value, str):
        return value
    return "" if value is None else lost_json(value).decode()


def argument_text(value: Any) -> str:
    """Arguments of a call as the text that the API wants: an object as JSON, nothing as `{}`."""
    return "{}" if value is None else spoken(value)
