"""Headers of pictures of a stated size, in base64; the pixels are missing or are filler."""

from __future__ import annotations

import base64
import struct
import zlib


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def png(width: int, height: int, *, filler: int = 0) -> str:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + b"IHDR" + header
    return encoded(
        b"\x89PNG\r\n\x1a\n" + chunk + struct.pack(">I", zlib.crc32(chunk[4:])) + bytes(filler)
    )


def gif(width: int, height: int) -> str:
    return encoded(b"GIF89a" + struct.pack("<HH", width, height) + bytes(30))


def jpeg(width: int, height: int, *, metadata: int = 0, fill: bool = False) -> str:
    segments = b""
    while metadata > 0:
        size = min(metadata, 65_533)
        segments += b"\xff\xe1" + struct.pack(">H", size + 2) + bytes(size)
        metadata -= size
    mark = b"\xff\xff\xc2" if fill else b"\xff\xc0"
    frame = mark + struct.pack(">HBHHB", 17, 8, height, width, 3)
    return encoded(b"\xff\xd8" + segments + frame + bytes(40))


def webp_lossy(width: int, height: int) -> str:
    frame = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
    return _riff(b"VP8 " + struct.pack("<I", len(frame)) + frame)


def webp_lossless(width: int, height: int) -> str:
    bits = (width - 1) | (height - 1) << 14
    return _riff(b"VP8L" + struct.pack("<I", 5) + b"\x2f" + struct.pack("<I", bits))


def webp_extended(width: int, height: int) -> str:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return _riff(b"VP8X" + struct.pack("<I", 10) + bytes(4) + size)


def wav(seconds: float, *, rate: int = 16_000) -> str:
    data = bytes(int(seconds * rate * 2))
    form = struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16)
    body = b"WAVEfmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return encoded(b"RIFF" + struct.pack("<I", len(body)) + body)


def _riff(chunk: bytes) -> str:
    return encoded(b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk + bytes(20))
