"""Width and height of a picture, read from the header inside its base64 text.

Invariant: no more of the base64 is decoded than the header needs, and anything unreadable is
None, never an exception.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable

# JPEG frame headers: SOF0-15 without DHT (C4), JPG (C8) and DAC (CC).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Metadata before a JPEG's frame header: a real file has some tens of segments.
_MOST_SEGMENTS = 1000


class Base64Bytes:
    """Random access into the bytes that a base64 text stands for, decoding only what is read."""

    def __init__(self, text: str) -> None:
        # Line breaks (MIME style) would shift every offset; the test looks at one line only.
        head = text[:100]
        self._text = text if head.isprintable() and " " not in head else "".join(text.split())

    def __len__(self) -> int:
        return len(self._text) * 3 // 4 - self._text[-2:].count("=")

    def read(self, start: int, length: int) -> bytes:
        """Bytes `start` to `start + length`, fewer at the end; b"" where it is not base64."""
        first = start // 3
        text = self._text[first * 4 : (start + length + 2) // 3 * 4]
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=False)
        except (binascii.Error, ValueError):
            return b""
        return raw[start - first * 3 :][:length]

    def all(self) -> bytes:
        """Everything, decoded."""
        return self.read(0, len(self._text))


def picture_size(data: str) -> tuple[int, int] | None:
    """(width, height) in pixels of a PNG, JPEG, GIF or WebP given as base64, or None."""
    source = Base64Bytes(data)
    head = source.read(0, 32)
    for magic, reader in _READERS:
        if head.startswith(magic):
            try:
                size = reader(source, head)
            except struct.error:  # the picture ends inside its header
                return None
            return size if size is not None and min(size) > 0 else None
    return None


def _png(_: Base64Bytes, head: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(_: Base64Bytes, head: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _webp(_: Base64Bytes, head: bytes) -> tuple[int, int] | None:
    match head[8:16]:
        case b"WEBPVP8 ":  # lossy: 14 bits each, after the frame tag and start code
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"WEBPVP8L":  # lossless: 14 bits each, minus one, in one little-endian word
            (bits,) = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"WEBPVP8X":  # extended: 24 bits each, minus one
            wide, high = struct.unpack_from("<I", head, 24)[0], struct.unpack_from("<I", head, 26)
            return (wide & 0xFFFFFF) + 1, (high[0] >> 8) + 1
    return None


def _jpeg(source: Base64Bytes, _: bytes) -> tuple[int, int] | None:
    at = 2
    for _segment in range(_MOST_SEGMENTS):
        mark, kind, length = struct.unpack(">BBH", source.read(at, 4))
        if mark != 0xFF:
            return None
        if kind == 0xFF:  # a fill byte before the marker
            at += 1
        elif kind in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", source.read(at + 5, 4))
            return width, height
        else:
            at += 2 + length
    return None


_Reader = Callable[[Base64Bytes, bytes], tuple[int, int] | None]
_READERS: tuple[tuple[bytes, _Reader], ...] = (
    (b"\x89PNG\r\n\x1a\n", _png),
    (b"\xff\xd8", _jpeg),
    (b"GIF8", _gif),
    (b"RIFF", _webp),
)
