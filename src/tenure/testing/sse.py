"""Server-sent events, written.

Invariant: one call makes one complete event, ended by an empty line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

PIECE = 24
"""Characters per delta: small, so that every text of a sentence arrives in several events."""


def event(payload: Mapping[str, Any], *, name: str | None = None) -> bytes:
    """One event; `name` becomes its `event:` line."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def pieces(text: str) -> Iterator[str]:
    """`text` in the portions in which a stream sends it; nothing for an empty text."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]
