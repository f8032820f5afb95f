"""Signatures on thinking that say which text, which prefix and which predecessor they belong to.

Invariant: a signature verifies for exactly the text it was made for, and is bound to its prefix
without thinking plus the thinking block before it. So oldest thinking may go from the front, and
nothing else of the prefix may change (platform docs, preserved thinking).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tenure.testing.prompt import canonical

_PART = 12

Walked: TypeAlias = Sequence[tuple[str, Mapping[str, Any], int]]
"""(role, block, message index) in reading order."""


def sign(thinking: str, before: Walked) -> str:
    """The signature of `thinking` spoken after the prompt `before`."""
    prefix = _Prefix()
    for role, block, message in before:
        prefix.read(role, block, message)
    parts = (_digest(thinking), prefix.digest, _digest(prefix.last_signature))
    return base64.b64encode(b"".join(parts)).decode()


def is_for_text(signature: str, thinking: str) -> bool:
    """Whether the thinking is unchanged."""
    return _parts(signature)[0] == _digest(thinking)


def unbound(walked: Walked) -> Iterator[int]:
    """Positions in `walked` of thinking blocks whose prefix is not the one they were signed for."""
    prefix = _Prefix()
    for position, (role, block, message) in enumerate(walked):
        if block.get("type") == "thinking":
            _, signed_prefix, predecessor = _parts(block["signature"])
            last = prefix.last_signature
            if signed_prefix != prefix.digest or (last and predecessor != _digest(last)):
                yield position
        prefix.read(role, block, message)


class _Prefix:
    """What has been read so far: a running digest without thinking, and the last signature."""

    def __init__(self) -> None:
        self._running = hashlib.sha256()
        self.last_signature = ""

    @property
    def digest(self) -> bytes:
        return self._running.digest()[:_PART]

    def read(self, role: str, block: Mapping[str, Any], message: int) -> None:
        if block.get("type") == "thinking":
            self.last_signature = str(block["signature"])
        elif block.get("type") != "redacted_thinking" and not block.get("defer_loading"):
            self._running.update(_bytes(f"{role}\0{message}\0{canonical(block)}\n"))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _digest(text: str) -> bytes:
    return hashlib.sha256(_bytes(text)).digest()[:_PART]


def _parts(signature: str) -> tuple[bytes, bytes, bytes]:
    try:
        raw = base64.b64decode(signature, validate=True)
    except ValueError:
        raw = b""
    return raw[:_PART], raw[_PART : 2 * _PART], raw[2 * _PART :]
