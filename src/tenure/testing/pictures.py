"""The format and size of a picture, read from its first bytes.

Invariant: None for whatever is no picture of the four formats that providers take, never an error.
Source of the layouts: the PNG, GIF and WebP specifications; ITU T.81 (JPEG), annex B.
"""

from __future__ import annotations

from typing import NamedTuple

START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ALONE = frozenset((0x01, *range(0xD0, 0xD9)))
"""JPEG markers that no length follows."""


class Picture(NamedTuple):
    """A media type, and width and height in pixels."""

    media_type: str
    width: int
    height: int


def picture(data: bytes) -> Picture | None:
    """What the bytes are a picture of, or None."""
    for read in (_png, _gif, _webp, _jpeg):
        found = read(data)
        if found is not None and found.width and found.height:
            return found
    return None


def _png(data: bytes) -> Picture | None:
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return Picture("image/png", _big(data[16:20]), _big(data[20:24]))


def _gif(data: bytes) -> Picture | None:
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 10:
        return None
    return Picture("image/gif", _little(data[6:8]), _little(data[8:10]))


def _webp(data: bytes) -> Picture | None:
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            width, height = _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            bits = _little(data[21:25])
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case _:
            return None
    return Picture("image/webp", width, height)


def _jpeg(data: bytes) -> Picture | None:
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in START_OF_FRAME:
            return Picture("image/jpeg", _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7]))
        if marker == 0xFF:  # padding
            at += 1
        elif marker in ALONE:
            at += 2
        else:
            at += 2 + max(2, _big(data[at + 2 : at + 4]))
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
