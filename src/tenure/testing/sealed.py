"""What only the server can write: opaque texts that it knows again when they come back.

Invariant: `opened` gives back exactly what `seal` put in, and None for anything else. The seal is a
digest, not a secret: it tells mistakes from the real thing, not attackers.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

PART = 12
"""Bytes of a digest."""


def digest(text: str) -> bytes:
    """The digest of a text; lone surrogates included."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:PART]


def seal(kind: str, inside: bytes) -> str:
    """An opaque text that holds `inside` and can be opened for the same kind only."""
    return base64.b64encode(_stamp(kind, inside) + inside).decode()


def opened(kind: str, text: Any) -> bytes | None:
    """What was sealed, or None for a text that this server never made."""
    if not isinstance(text, str):
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    stamp, inside = raw[:PART], raw[PART:]
    return inside if stamp == _stamp(kind, inside) else None


def _stamp(kind: str, inside: bytes) -> bytes:
    return hashlib.sha256(kind.encode() + b"\0" + inside).digest()[:PART]
