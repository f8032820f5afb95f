"""What the core asks of the outside, as data.

Invariant: a command is a value; the driver performs it and sends the answer back.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from tenure.core.message import JsonObject
from tenure.core.protocols import Scope
from tenure.core.record import Record


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
    """Ask the provider how many input tokens this request has. Answer: an int, or None when
    nobody can tell."""

    request: JsonObject


Command: TypeAlias = SaveRecords | CountExactly

T = TypeVar("T")
# A flow yields commands, is sent their answers, and returns its result.
Flow: TypeAlias = Generator[Command, Any, T]
