"""Signatures on thinking that say which text, which prefix and which predecessor they belong to.

Invariant: a signature verifies for exactly the text it was made for, and is bound to its prefix
without thinking plus the thinking block before it. So oldest thinking may go from the front, and
nothing else of the prefix may change (platform docs, preserved thinking).

A break of the prefix ends all thinking after it but that which was spoken when the break was
already there; so a signature also names the last broken block that it was spoken after.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from tenure.testing.anthropic_walk import THINKING
from tenure.testing.prompt import HEAD, canonical
from tenure.testing.sealed import PART, digest, opened, seal

REDACTED = "redacted"
"""What stands for the text of thinking that the client never sees."""

NONE = b"\0" * PART

Walked: TypeAlias = Sequence[tuple[str, Mapping[str, Any], int]]
"""(role, block, message index) in reading order."""


class Signed(NamedTuple):
    """A signature's parts: digests of the text, its prefix, the thinking block before it and the
    last broken one before it, and the model that thought."""

    text: bytes
    prefix: bytes
    predecessor: bytes
    broken: bytes
    model: str


class Examined(NamedTuple):
    """The positions of thinking blocks that are bound to another prefix, and the prefix read."""

    unbound: list[int]
    prefix: Prefix


def sign(thinking: str, before: Walked, *, model: str = "") -> str:
    """The signature of `thinking` spoken by `model` after the prompt `before`."""
    prefix = examine(before).prefix
    parts = (digest(thinking), prefix.state, prefix.last, prefix.broken, model.encode())
    return base64.b64encode(b"".join(parts)).decode()


def signature_of(block: Mapping[str, Any]) -> str:
    """The signature of a thinking block, wherever its kind keeps it."""
    found = block.get("data" if block["type"] == "redacted_thinking" else "signature")
    return found if isinstance(found, str) else ""


def is_for_text(signature: str, thinking: str) -> bool:
    """Whether the thinking is unchanged."""
    return read(signature).text == digest(thinking)


def examine(walked: Walked) -> Examined:
    """Reads a prompt and finds the thinking blocks whose prefix is not the one they had."""
    prefix, unbound = Prefix(), []
    for position, (role, block, message) in enumerate(walked):
        if block.get("type") in THINKING and not prefix.hears(signature_of(block)):
            unbound.append(position)
        prefix.read(role, block, message)
    return Examined(unbound, prefix)


def read(signature: str) -> Signed:
    """The parts of a signature; those of garbage are empty and equal nothing."""
    try:
        raw = base64.b64decode(signature, validate=True)
        model = raw[4 * PART :].decode()
    except ValueError:
        return Signed(b"", b"", b"", b"", "")
    parts = [raw[at : at + PART] for at in range(0, 4 * PART, PART)]
    return Signed(parts[0], parts[1], parts[2], parts[3], model)


class Prefix:
    """What has been read so far, as a chain of digests: without thinking, but with its links."""

    def __init__(self) -> None:
        self.state = NONE
        self.last = NONE
        self.broken = NONE
        self.role = ""
        self._head: bytes | None = None
        self._message: int | None = None
        self._summarised: str | None = None

    @property
    def head(self) -> bytes:
        """The state after tools and system."""
        return self.state if self._head is None else self._head

    def hears(self, signature: str) -> bool:
        """Whether thinking with this signature may stand here; one that may not breaks the rest."""
        signed = read(signature)
        linked = self.last in (NONE, signed.predecessor)
        sound = signed.prefix == self.state and linked and self.broken in (NONE, signed.broken)
        if not sound:
            self.broken = digest(signature)
        return sound

    def read(self, role: str, block: Mapping[str, Any], message: int) -> None:
        """Takes one block in."""
        if message != HEAD and self._head is None:
            self._head = self.state
        if block.get("type") in THINKING:
            self.last = digest(signature_of(block))
        elif block.get("type") == "compaction" and not block.get("signature"):
            self._begins_anew(role, block, message)
        elif not block.get("defer_loading") and not self._adopts(block):
            if self._summarised is not None and role in (self._summarised, "system"):
                self.state = digest("no seam")
            self._summarised = None
            begins = message != self._message
            self._message, self.role = message, role
            written = f"{role}\0{begins}\0{canonical(block)}\n"
            self.state = hashlib.sha256(self.state + _bytes(written)).digest()[:PART]

    def sealed(self, content: str, changes: str, *, preserved: bool) -> str:
        """A compaction signature that lets what follows keep its thinking.

        The kept tail must follow what was summarised directly, under the same system and tools,
        and begin with another role (platform docs, compaction, keeping a tail).
        """
        role = self.role.encode() if preserved else b""
        parts = (digest(content), digest(changes), self.head, self.state, self.last, self.broken)
        return seal("compaction", b"".join((*parts, role)))

    def _begins_anew(self, role: str, block: Mapping[str, Any], message: int) -> None:
        """What stands before a compaction by threshold is unread, and may be left out later."""
        if block.get("content") is not None:
            written = _bytes(f"compacted\0{canonical(block['content'])}")
            self.state = hashlib.sha256(self.head + written).digest()[:PART]
            self.last, self.broken, self.role, self._message = NONE, NONE, role, message

    def _adopts(self, block: Mapping[str, Any]) -> bool:
        """Whether the block is a compaction block that stands for what it summarised."""
        raw = opened("compaction", block.get("signature"))
        if (
            block.get("type") != "compaction"
            or raw is None
            or raw[2 * PART : 3 * PART] != self.head
        ):
            return False
        role = raw[6 * PART :].decode()
        if not role:
            return False
        self.state, self.last, self.broken = (raw[at * PART : (at + 1) * PART] for at in (3, 4, 5))
        self._message, self._summarised, self.role = None, role, role
        return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
