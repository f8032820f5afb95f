"""Server-sent events, read in pieces of any size.

Invariant: the events do not depend on how the stream was cut. Lines end with LF, CR or CR LF, also
when a piece ends between the two (WHATWG HTML, "Server-sent events").
"""

from __future__ import annotations

import re
from typing import NamedTuple

_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class SseEvent(NamedTuple):
    """One event: the value of its `event` line ("" when absent) and its data lines, joined."""

    event: str
    data: str


class SseParser:
    """Feed it bytes, get events.

    >>> SseParser().feed(b"event: ping\\ndata: {}\\n\\n")
    [SseEvent(event='ping', data='{}')]
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._started = False
        self._event = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The events that these bytes complete."""
        self._rest += piece
        if not self._started:
            if len(self._rest) < len(_BOM) and _BOM.startswith(self._rest):
                return []
            self._started = True
            if self._rest.startswith(_BOM):
                del self._rest[: len(_BOM)]
        found: list[SseEvent] = []
        start = 0
        for end in _END.finditer(self._rest, self._searched):
            if end.end() == len(self._rest) and end.group() == b"\r":
                break  # LF may follow in the next piece.
            self._line(bytes(self._rest[start : end.start()]), found)
            start = end.end()
        del self._rest[:start]
        # A line of megabytes comes in thousands of pieces: what was searched is not searched again.
        self._searched = max(0, len(self._rest) - 1)
        return found

    def close(self) -> list[SseEvent]:
        """The event that the end of the stream completes: some servers leave out the last blank line."""
        found: list[SseEvent] = []
        for line in _END.split(bytes(self._rest)):
            self._line(line, found)
        self._line(b"", found)
        self._rest.clear()
        return found

    def _line(self, line: bytes, found: list[SseEvent]) -> None:
        if not line:
            if self._data:
                found.append(SseEvent(self._event, "\n".join(self._data)))
            self._event, self._data = "", []
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value.decode("utf-8", "surrogateescape"))
        elif name == b"event":
            self._event = value.decode("utf-8", "surrogateescape")
