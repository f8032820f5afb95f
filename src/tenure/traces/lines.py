"""Reads a transcript file as JSON records, whatever happened to it.

Invariant: content never raises; every record that is whole is read, in file order, and every place
that is not as it should be is named by its line (from 1) and its byte offset in the unpacked file.

UTF-8 with or without a byte order mark (joined files have one in the middle), UTF-16 and UTF-32, LF
or CRLF, empty lines, gzip (told by its first bytes). A file that is one JSON document, on one line or
many, gives one record.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tenure.core.nesting import MAX_NESTING
from tenure.replay.trace import Damage
from tenure.traces.damage import (
    Found,
    LongInteger,
    Lost,
    NotJson,
    parse,
    salvage,
    with_literal_escapes,
    with_long_integers_as_text,
)
from tenure.traces.encodings import wide_text

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
TOO_DEEP = f"a record nested more than {MAX_NESTING} levels deep"
"""How the damage of a record begins that is whole and can't be read all the same."""

# A byte that is no UTF-8 is decoded to one of these, so that characters still count bytes.
_REPLACED = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")


class Record(NamedTuple):
    """One JSON object or array and where it began: line from 1, byte offset from 0."""

    line: int
    offset: int
    value: Any


@dataclass(slots=True)
class Records:
    """What a file holds: its records and the damage, both in file order."""

    records: list[Record] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)


class _Line(NamedTuple):
    number: int
    offset: int
    text: str
    ended: bool

    def offsets_of(self, positions: Sequence[int]) -> list[int]:
        """The byte offsets in the file of places in the text, which ascend."""
        offsets: list[int] = []
        done, offset = 0, self.offset
        for position in positions:
            offset += len(self.text[done:position].encode("utf-8", "surrogateescape"))
            done = position
            offsets.append(offset)
        return offsets


def read_records(path: Path) -> Records:
    """All records of a file; `OSError` when it cannot be opened is the caller's to word."""
    data, damage = unpack(path.read_bytes())
    found = records_of(data)
    found.damage += damage
    return found


def unpack(data: bytes) -> tuple[bytes, list[Damage]]:
    """The bytes within gzip, or the bytes as they are; a stream that ends early gives its part."""
    if not data.startswith(_GZIP):
        return data, []
    parts: list[bytes] = []
    rest = data
    words = ""
    while rest.startswith(_GZIP) and not words:
        stream = zlib.decompressobj(wbits=31)
        try:
            parts.append(stream.decompress(rest))
        except zlib.error as error:
            words = f"the gzip stream is broken ({error}): what comes after is lost"
            parts.append(_decodable(rest))
        else:
            if not stream.eof:
                words = "the gzip stream ends early: what comes after is lost"
        rest = stream.unused_data
    whole = b"".join(parts)
    if not words:
        return whole, []
    return whole, [Damage(whole.count(b"\n") + 1, len(whole), words)]


def _decodable(data: bytes) -> bytes:
    """What a broken gzip stream gives before it breaks."""
    stream = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    for start in range(0, len(data), 1024):
        try:
            parts.append(stream.decompress(data[start : start + 1024]))
        except zlib.error:
            break
    return b"".join(parts)


def records_of(data: bytes) -> Records:
    """The records of a file's unpacked bytes."""
    wide = wide_text(data)
    if wide is None:
        return _records_of(data)
    found = _records_of(wide.utf8)
    offsets = [one.offset for one in found.records] + [one.offset for one in found.damage]
    at = wide.offsets(offsets)
    return Records(
        [one._replace(offset=at[one.offset]) for one in found.records],
        [_placed(one, at[one.offset]) for one in found.damage],
    )


def _placed(one: Damage, offset: int) -> Damage:
    """The damage of a file that is no UTF-8, at its place in that file."""
    words = one.words.replace(f"at byte {one.offset}", f"at byte {offset}")
    words = words.replace("bytes lost", "bytes (as UTF-8) lost")
    return replace(one, offset=offset, words=words)


def _records_of(data: bytes) -> Records:
    document = _document(data)
    if document is not None:
        return document
    found = Records()
    damaged: list[_Line] = []
    for line in _lines(data):
        value = _good(line.text)
        if value is None:
            damaged.append(line)
        else:
            found.records.append(Record(line.number, line.offset, value))
    if damaged:
        _recover(found, damaged)
    return found


def _document(data: bytes) -> Records | None:
    """A file that is one JSON value spread over lines, else None."""
    head = data.removeprefix(_BOM).lstrip()[:1]
    first = next((line for line in _lines(data)), None)
    if head not in {b"{", b"["} or first is None or _good(first.text) is not None:
        return None
    text = data.removeprefix(_BOM).decode("utf-8", "surrogateescape")
    readable, words = text.translate(_REPLACED), []
    try:
        try:
            value = parse(readable)
        except LongInteger:
            readable, ends = with_long_integers_as_text(readable)
            words.append(_long_words(len(ends)))
            value = parse(readable)
    except NotJson:
        return None
    bad = _bad_bytes(text)
    if bad:
        words.insert(0, _bad_words(bad))
    note = f"{'; '.join(words)}: the document is read"
    damage = [Damage(first.number, first.offset, note)] if words else []
    return Records([Record(first.number, first.offset, value)], damage)


def _bad_words(count: int) -> str:
    return f"{count} bytes that are no UTF-8 read as U+FFFD"


def _long_words(count: int) -> str:
    integers = "1 integer" if count == 1 else f"{count} integers"
    return f"{integers} of more digits than Python reads, read as text"


def _lines(data: bytes) -> Iterator[_Line]:
    """The lines that are not empty."""
    start = 0
    number = 0
    while start < len(data):
        number += 1
        newline = data.find(b"\n", start)
        end = len(data) if newline < 0 else newline
        while data.startswith(_BOM, start, end):
            start += len(_BOM)
        raw = data[start:end]
        if raw.strip():
            text = raw.decode("utf-8", "surrogateescape")
            yield _Line(number, start, text, newline >= 0)
        start = end + 1


def _good(text: str) -> Any:
    """The value of an undamaged line, else None."""
    if "\x00" in text or _bad_bytes(text):
        return None
    try:
        value = parse(text)
    except NotJson:
        return None
    return value if isinstance(value, dict | list) else None


def _bad_bytes(text: str) -> int:
    """How many bytes of the line were no UTF-8."""
    if text.isascii():
        return 0
    return sum("\udc80" <= character <= "\udcff" for character in text)


def _recover(found: Records, damaged: list[_Line]) -> None:
    """Adds what the damaged lines still hold."""
    values = (record.value for record in found.records)
    shapes = {frozenset(value) for value in values if isinstance(value, dict) and value}
    for line in damaged:
        _recover_line(found, line, shapes)
    found.records.sort(key=lambda record: record.offset)


def _recover_line(found: Records, line: _Line, shapes: set[frozenset[str]]) -> None:
    if not line.text.strip("\x00 \t\r\n"):
        nuls = line.text.count("\x00")
        empty = f"{nuls} NUL {'byte' if nuls == 1 else 'bytes'} and nothing else: skipped"
        found.damage.append(Damage(line.number, line.offset, empty))
        return
    text = line.text.translate(_REPLACED)
    repairs = [_bad_words(_bad_bytes(line.text))] if text != line.text else []
    text, ends = with_long_integers_as_text(text)
    repairs += [_long_words(len(ends))] if ends else []
    for repaired, words in _repairs(text):
        try:
            value = parse(repaired)
        except NotJson:
            continue
        if isinstance(value, dict | list):
            found.records.append(Record(line.number, line.offset, value))
            note = "; ".join([*repairs, *words])
            found.damage.append(Damage(line.number, line.offset, f"{note}: the record is read"))
        else:
            note = "a JSON value that is no record: skipped"
            found.damage.append(Damage(line.number, line.offset, note))
        return
    if ends:
        found.damage.append(Damage(line.number, line.offset, _long_words(len(ends))))
    _recover_parts(found, line, salvage(text, shapes), ends)


def _repairs(text: str) -> Iterator[tuple[str, list[str]]]:
    """The text, then the text with ever more set right, each with what was done."""
    nuls = text.count("\x00")
    words = [f"{nuls} NUL bytes taken out"] if nuls else []
    text = text.replace("\x00", "") if nuls else text
    yield text, words
    literal = with_literal_escapes(text)
    if literal != text:
        yield literal, [*words, "backslashes that start no escape read literally"]


def _recover_parts(
    found: Records, line: _Line, parts: list[Found | Lost], quoted: Sequence[int]
) -> None:
    """Adds the parts of a line; behind each of the places `quoted` there are two quotes more."""
    whole = sum(isinstance(part, Found) for part in parts)
    places = [place for part in parts for place in (part.start, part.end)]
    offsets = line.offsets_of([place - 2 * bisect_right(quoted, place) for place in places])
    for part, start, end in zip(parts, offsets[::2], offsets[1::2], strict=True):
        if isinstance(part, Found):
            found.records.append(Record(line.number, start, part.value))
            continue
        torn = part is parts[-1] and not line.ended
        kind = f"torn last line at byte {start}" if torn else "a record is cut off"
        words = f"{kind}: {end - start} bytes lost"
        if part.deep:
            words = f"{TOO_DEEP}: {end - start} bytes skipped"
        found.damage.append(Damage(line.number, start, f"{words}{_read(whole)}"))
    if whole == len(parts):
        words = f"{whole} records welded into one line: all are read"
        found.damage.append(Damage(line.number, line.offset, words))


def _read(whole: int) -> str:
    if not whole:
        return ""
    return f", {whole} whole {'record' if whole == 1 else 'records'} of the line read"
