"""What `tenure lint` reads: a file or stdin, as request bodies or as a transcript.

Invariant: told by content. A file whose records are all request bodies, or arrays of them, is
requests in a row; everything else is for the readers of transcripts, and `WireError` says what it is
when it is none.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenure.core.message import JsonObject
from tenure.errors import WireError
from tenure.replay.trace import Damage, Trace
from tenure.traces.lines import Record, records_of, unpack
from tenure.traces.reading import sessions

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Given:
    """What one input holds: bodies, each with its own bytes (b"" where it has none), or traces.

    `array` says that the bodies came as one JSON array.
    """

    name: str
    bodies: tuple[JsonObject, ...] = ()
    raws: tuple[bytes, ...] = ()
    traces: tuple[Trace, ...] = ()
    damage: tuple[Damage, ...] = ()
    array: bool = False


def read_given(path: Path) -> Given:
    """Reads a file, or stdin for `-`. Raises WireError for what is neither requests nor transcript
    and for a file that cannot be opened."""
    if str(path) == STDIN:
        return given(sys.stdin.buffer.read(), STDIN)
    try:
        data = path.read_bytes()
    except OSError as error:
        words = f"{str(path)!r} cannot be read: {error.strerror or error}"
        raise WireError(words, path=str(path)) from error
    return given(data, str(path))


def given(data: bytes, name: str) -> Given:
    """What the bytes of a file hold; WireError when it is nothing that can be checked."""
    data, damage = unpack(data)
    found = records_of(data)
    found.damage += damage
    if found.records and all(map(_holds_bodies, found.records)):
        bodies: list[JsonObject] = []
        raws: list[bytes] = []
        for record in found.records:
            several = isinstance(record.value, list)
            bodies += record.value if several else [record.value]
            raws += [b""] * len(record.value) if several else [_raw(data, record, found.records)]
        array = len(found.records) == 1 and isinstance(found.records[0].value, list)
        return Given(name, tuple(bodies), tuple(raws), damage=tuple(found.damage), array=array)
    return Given(name, traces=tuple(sessions(found, Path(name))))


def is_body(value: Any) -> bool:
    """Whether a JSON value is a request body of one of the three APIs."""
    if not isinstance(value, dict) or isinstance(value.get("type"), str):
        return False
    if isinstance(value.get("messages"), list):
        return True
    return isinstance(value.get("input"), list | str) and not {"model", "instructions"}.isdisjoint(
        value
    )


def _holds_bodies(record: Record) -> bool:
    value = record.value
    if isinstance(value, list):
        return bool(value) and all(map(is_body, value))
    return is_body(value)


def _raw(data: bytes, record: Record, records: list[Record]) -> bytes:
    """The bytes of a record that is a line or the whole file."""
    if len(records) == 1:
        return data[record.offset :].strip()
    end = data.find(b"\n", record.offset)
    return data[record.offset : end if end >= 0 else len(data)].strip()
