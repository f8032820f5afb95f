"""Files in UTF-16 or UTF-32, with a byte order mark or without, as some shells write what they redirect.

Invariant: no character is lost or changed; what is read of such a file stands at the byte offset of
the file itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
"""Byte order marks, the longer of two with the same beginning first."""

_LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class Wide:
    """A text of wide characters: its bytes in UTF-8, and how it was spelled. `mark` is the length of
    its byte order mark."""

    utf8: bytes
    codec: str
    mark: int

    def offsets(self, offsets: Iterable[int]) -> dict[int, int]:
        """The byte offset in the file of each offset in `utf8`."""
        found: dict[int, int] = {}
        done, at = 0, self.mark
        for offset in sorted(set(offsets)):
            at += self._length(self.utf8[done:offset])
            found[offset], done = at, offset
        return found

    def _length(self, piece: bytes) -> int:
        """The bytes that a piece of `utf8` took in the file, counted by the first byte of each
        character: a lone surrogate is one, and is no UTF-8 that could be decoded."""
        characters = len(piece.translate(None, bytes(range(0x80, 0xC0))))
        if self.codec.startswith("utf-32"):
            return 4 * characters
        return 2 * (characters + len(piece) - len(piece.translate(None, bytes(range(0xF0, 0xF8)))))


def wide_text(data: bytes) -> Wide | None:
    """The text of a file in UTF-16 or UTF-32; None for any other file.

    Without a byte order mark it is told by how JSON begins: a bracket, and then ASCII.
    """
    mark, codec = next(((m, c) for m, c in _MARKS if data.startswith(m)), (b"", ""))
    if not codec:
        codec = next((codec for _, codec in _MARKS if _begins_json(data, codec)), "")
    if not codec:
        return None
    size = 4 if codec.startswith("utf-32") else 2
    kept = data[len(mark) : len(data) - (len(data) - len(mark)) % size]
    try:
        text = kept.decode(codec, "surrogatepass")
    except UnicodeDecodeError:  # numbers that are no characters: no text, whatever it begins with
        return None
    return Wide(text.encode("utf-8", "surrogatepass"), codec, len(mark))


def _begins_json(data: bytes, codec: str) -> bool:
    text = data[:_LOOKED_AT].decode(codec, "replace").lstrip(" \t\r\n")
    following = text[1:2]
    return text[:1] in {"{", "["} and following.isascii() and following != "\0"
