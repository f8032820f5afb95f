"""What mending needs in every wire format: clean values, fresh ids, and the words of what is made up.

Invariant: deterministic and total for JSON values of any depth; an object without fault is the very
object given. No label claims more than is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from hashlib import blake2b
from typing import Any

from tenure.core.message import json_bytes
from tenure.wire.values import is_array, is_object

REPLACEMENT = "\ufffd"
NO_RESULT = (
    "[tenure: no result of this call was recorded; whether it ran, and what it changed, is unknown]"
)
BEGINNING = "[tenure: what was said before is not part of this request]"
SILENCE = "[tenure: the user said nothing here]"

_UNSENDABLE = re.compile("[\ud800-\udfff\0]")
_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")
# Python spells no longer integers (sys.int_info.default_max_str_digits), and no provider reads them.
_LONGEST_INTEGER = 10**4_000
# Characters that a number behind a fresh id may take.
_NUMBER = 6
# Openings of call ids that hosts ask for; a fresh id of a demanded shape is tried with each.
_OPENINGS = ("", "call_", "toolu_", "fc_", "tooluse_", "chatcmpl-tool-")


# -- values ------------------------------------------------------------------------------------


def is_clean(value: Any) -> bool:
    """True when nothing in the value is unsendable: lone surrogates, NUL, numbers JSON lacks."""
    stack = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            if not is_clean_text(item):
                return False
        elif kind is dict:
            stack += item
            stack += item.values()
        elif kind is list:
            stack += item
        elif kind is int:
            if not -_LONGEST_INTEGER < item < _LONGEST_INTEGER:
                return False
        elif item is not None and kind is not bool and not _is_clean_other(item, stack):
            return False
    return True


def is_clean_text(text: str) -> bool:
    """True for text without lone surrogates and NUL."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def cleaned(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate and NUL, and text for numbers JSON lacks.

    Parts without fault are shared; a value without fault is itself.
    """
    if is_clean(value):
        return value
    if not is_object(value) and not is_array(value):
        return _cleaned_leaf(value)
    root = _Node(None, None, value)
    nodes = [root]
    while nodes:
        node = nodes.pop()
        for key, item in _items(node.value):
            if is_object(item) or is_array(item):
                nodes.append(_Node(node, key, item))
            elif not is_clean(item):
                node.open()[key] = _cleaned_leaf(item)
        if is_object(node.value) and not all(map(is_clean, node.value)):
            node.open()
    return root.close()


class _Node:
    """A container on the way to what is replaced; it is copied once something below it is."""

    __slots__ = ("children", "copy", "key", "parent", "value")

    def __init__(self, parent: _Node | None, key: Any, value: Any) -> None:
        self.parent = parent
        self.key = key
        self.value = value
        self.copy: Any = None
        self.children: list[_Node] = []

    def open(self) -> Any:
        """The copy of this container, in the copies of those around it."""
        node = self
        while node.copy is None:
            node.copy = dict(node.value) if is_object(node.value) else list(node.value)
            if node.parent is None:
                break
            node.parent.children.append(node)
            node = node.parent
        return self.copy

    def close(self) -> Any:
        """The whole, with clean keys; innermost containers are finished first."""
        order = [self]
        for node in order:
            order += node.children
        for node in reversed(order):
            for child in node.children:
                node.copy[child.key] = child.copy
            if isinstance(node.copy, dict):
                node.copy = _with_clean_keys(node.copy)
        return self.copy


def _items(value: Any) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if is_object(value) else iter(enumerate(value))


def _is_clean_other(item: Any, stack: list[Any]) -> bool:
    if isinstance(item, str):
        return is_clean_text(item)
    if is_object(item):
        stack += item
        stack += item.values()
    elif is_array(item):
        stack += item
    elif isinstance(item, float):
        return item - item == 0  # False for NaN and both infinities.
    elif isinstance(item, int):
        return -_LONGEST_INTEGER < item < _LONGEST_INTEGER
    return True


def _cleaned_leaf(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSENDABLE.sub(REPLACEMENT, _paired(value))
    if isinstance(value, int):
        return hex(value)
    return repr(value)


def _paired(text: str) -> str:
    """The text with surrogates that do make a pair as the character they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _with_clean_keys(value: dict[Any, Any]) -> dict[Any, Any]:
    new: dict[Any, Any] = {}
    for key, item in value.items():
        spelled = key if is_clean(key) else _cleaned_leaf(key)
        while spelled is not key and (spelled in value or spelled in new):
            spelled += REPLACEMENT
        new[spelled] = item
    return new


def lost_json(value: Any) -> bytes:
    """The JSON text of what a mend takes away, for `Mend.lost`; of any depth.

    Numbers that JSON lacks are spelled as `cleaned` does.
    """
    try:
        return json_bytes(value)
    except (ValueError, TypeError, RecursionError):
        return _written(cleaned(value))


def _written(value: Any) -> bytes:
    """JSON text without recursion."""
    parts: list[str] = []
    stack: list[tuple[bool, Any]] = [(False, value)]
    while stack:
        literal, item = stack.pop()
        if literal:
            parts.append(item)
        elif is_object(item):
            parts.append("{")
            stack.append((True, "}"))
            for at, (key, inner) in reversed([*enumerate(item.items())]):
                comma = "," if at else ""
                stack += (False, inner), (True, f"{comma}{json.dumps(str(key))}:")
        elif is_array(item):
            parts.append("[")
            stack.append((True, "]"))
            for at, inner in reversed([*enumerate(item)]):
                stack += (False, inner), (True, "," if at else "")
        else:
            parts.append(json.dumps(item, default=str))
    return "".join(parts).encode()


# -- ids ---------------------------------------------------------------------------------------


class FreshIds:
    """Makes call ids that are of a demanded shape and not taken, the same ones every time.

    `taken` are the ids of the conversation; what was made is taken too. `pattern` is a regular
    expression that the whole id must match ("" for none), `longest` the most characters it may
    have (0 for any).
    """

    def __init__(self, taken: Container[str], pattern: str = "", longest: int = 0) -> None:
        self._taken = taken
        self._made: set[str] = set()
        self._next: dict[str, int] = {}
        self._pattern = compiled(pattern)
        self._longest = longest

    def fits(self, call: str) -> bool:
        """True when an id has the demanded shape."""
        short = not self._longest or len(call) <= self._longest
        return short and (self._pattern is None or self._pattern.fullmatch(call) is not None)

    def make(self, wanted: str) -> str:
        """An id like `wanted`: itself in allowed characters if free, else with a number.

        One that is too long is cut and ends in a hash of the whole. Where the shape allows neither,
        one made from a hash of both; "" if that does not fit.
        """
        base = self._base(wanted)
        number = self._next.get(base, 1)
        while True:
            for candidate in self._candidates(base, wanted, number):
                if self.fits(candidate) and not self._is_taken(candidate):
                    self._next[base] = number + 1
                    self._made.add(candidate)
                    return candidate
            if not any(map(self.fits, self._candidates(base, wanted, number))):
                return ""
            number += 1

    def _is_taken(self, call: str) -> bool:
        return call in self._made or call in self._taken

    def _base(self, wanted: str) -> str:
        """The id in allowed characters, short enough for a number behind it."""
        spelled = _ALLOWED.sub("_", wanted) or "call"
        most = min(48, self._longest - _NUMBER if self._longest else 48)
        if len(spelled) <= most:
            return spelled
        # A prefix alone may be that of many.
        return f"{spelled[: max(0, most - 9)]}_{_digest(wanted)[:8]}"

    def _candidates(self, base: str, wanted: str, number: int) -> Iterator[str]:
        yield base if number == 1 else f"{base}_{number}"
        if self._pattern is None:
            return
        digest = _digest(f"{wanted}\0{number}")
        for opening in _OPENINGS:
            for length in (24, 9, 16, 32, 64, *range(8, 64)):
                yield opening + digest[:length]


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def compiled(pattern: str) -> re.Pattern[str] | None:
    """The expression, None for an empty one."""
    return re.compile(pattern) if pattern else None


# -- words -------------------------------------------------------------------------------------


def named(call: str) -> str:
    """How a label names a call, in one short line."""
    return f"call {_short(call)}" if call else "a call without an id"


def orphan_label(call: str, *, is_error: bool = False) -> str:
    """Stands before the words of a result whose call is not there."""
    error = ", an error" * is_error
    return f"[tenure: result of {named(call)}{error}; the call itself is not in this conversation]"


def duplicate_label(call: str, *, is_error: bool = False) -> str:
    """Stands before the words of a further result of a call that has one."""
    error = ", an error" * is_error
    return f"[tenure: a further result of {named(call)}{error}, which has one already]"


def thinking_label(why: str) -> str:
    """Stands for reasoning that had to go where something must stand."""
    return f"[tenure: reasoning left out: {why}]"


def picture_label(why: str, call: str = "", *, name: str = "a picture") -> str:
    """Stands for a picture or document that had to go; `call` is the call it came from."""
    source = f" from {named(call)}" if call else ""
    return f"[tenure: {name}{source} left out: {why}]"


def foreign_label(what: str) -> str:
    """Stands before words of a kind that this API does not have, or not here."""
    return f"[tenure: {what}]"


def _short(text: str) -> str:
    text = " ".join(_UNSENDABLE.sub(REPLACEMENT, text).split())
    return text if len(text) <= 64 else text[:60] + "..."
