"""What makes a request legal: rules by name, the violations of them, and the mends of a copy.

Invariant: mending never changes what was given. It returns other messages, says what it did, and
holds every byte it took away, so that a handle can bring it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tenure.core.message import JsonObject, Path


class Rule(NamedTuple):
    """A provider's rule: its stable name, where it is written down, and what mends a breach.

    `mend` is empty where no single right mend exists: such a request is refused, in words.
    `fatal` rules are answered with an error by the provider; breaking one of the others costs
    money or quality.
    """

    name: str
    words: str
    source: str
    mend: str = ""
    fatal: bool = True


class Violation(NamedTuple):
    """A rule that a request breaks: its name, the number of the message, why, and the place.

    `message` is -1 for what stands in front of the messages (system, tools, parameters); `path`
    leads from the message (or from the request) to the value, as far as it is known.
    """

    rule: str
    message: int
    words: str
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """What decides, beside the messages, which rules a request must keep.

    `head` is the request without its messages. `pending` are call ids that wait on purpose (an
    approval, a pause): nobody may answer them in the tool's stead. `made_by` says, by the number of
    a message among those given (in a session: in its transcript), which model wrote it where that
    is known: thinking of another one is foreign.
    `strict_alternation` is for hosts that want user and assistant in turn; `id_pattern` for hosts
    that take call ids of one shape only, `longest_id` for those that take others than the API's own
    most characters (0: any). `breakpoints` says that an OpenAI model knows explicit cache
    breakpoints. `pictures` and `wide_pictures` are the most pictures of
    one request, and the most of them when one is wider or higher than `wide_side` pixels;
    `largest_side` is the most for any.
    """

    model: str = ""
    head: JsonObject = field(default_factory=dict)
    api_version: str = "2026-10-21"
    pending: frozenset[str] = frozenset()
    made_by: Mapping[int, str] = field(default_factory=dict)
    preserved_thinking: bool = False
    strict_alternation: bool = False
    id_pattern: str = ""
    longest_id: int | None = None
    breakpoints: bool = True
    most_marks: int = 4
    pictures: int = 600
    wide_pictures: int = 20
    wide_side: int = 2_000
    largest_side: int = 8_000


class Mend(NamedTuple):
    """One thing that was set right in the outgoing copy.

    `message` is the number of the message given (-1: the head). `lost` is the JSON text of what is
    no longer there as it was, b"" when nothing went; it is the caller's to keep under a handle.
    """

    rule: str
    message: int
    words: str
    lost: bytes = b""


class Mended(NamedTuple):
    """A legal copy: for each message given the messages that leave in its place, in order.

    A message that was not touched is the very object that was given. `head` likewise.
    """

    groups: Sequence[tuple[JsonObject, ...]]
    mends: Sequence[Mend]
    head: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        """What leaves, in order."""
        return [message for group in self.groups for message in group]


class Checker(Protocol):
    """Checks the messages of one growing conversation, and remembers what it has seen.

    `check` costs what was added since the last call as long as the earlier messages are the very
    same objects; otherwise it begins again at the first other one (or anew).
    """

    def check(self, messages: Sequence[JsonObject], same: int = 0) -> list[Violation]:
        """The violations of the whole list, in order of the messages.

        The first `same` are the objects of the last call, as the caller knows: they are not even
        compared.
        """
