"""What the core asks of the outside, as data.

Invariant: a command is a value; the driver performs it and sends the answer back.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from tenure.core.message import JsonObject
from tenure.core.protocols import Scope
from tenure.core.record import Record
from tenure.core.usage import Usage


@dataclass(frozen=True, slots=True)
class SaveRecords:
    """Append these records to a session's log, which holds `expected` records now.

    Answer: the new length. Raises Conflict when the log has another length.
    """

    scope: Scope
    session: str
    records: tuple[Record, ...]
    expected: int


@dataclass(frozen=True, slots=True)
class CountExactly:
    """Ask the provider how many input tokens this request has. Answer: the number, `Uncounted` when
    the provider was asked and did not tell, None when there is nobody to ask."""

    request: JsonObject


class Uncounted(NamedTuple):
    """Why there is no exact count, in words."""

    why: str


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ask the provider to summarise the conversation so far, as it was sent: a request of its own
    with this head and these messages. Cache marks go behind so many of the messages (`places`), with
    the long lifetime or not. Answer: `Summarized`; None when there is nobody to ask."""

    head: JsonObject
    messages: tuple[JsonObject, ...]
    places: tuple[int, ...]
    long: bool


class Summarized(NamedTuple):
    """What came of it: the message that stands for what was summarised as JSON text (b"" when there
    is none), its words, why there is none, and what it has used."""

    message: bytes = b""
    text: str = ""
    why: str = ""
    usage: Usage | None = None


Command: TypeAlias = SaveRecords | CountExactly | Summarize

T = TypeVar("T")
# A flow yields commands, is sent their answers, and returns its result.
Flow: TypeAlias = Generator[Command, Any, T]
