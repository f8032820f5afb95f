"""What is asked of the provider's own context editing, and what it says it did.

Invariant: values only; `core.delegation` works them out, the wire spells and reads them.
"""

from __future__ import annotations

from typing import NamedTuple

CLEAR_RESULTS = "clear_tool_uses_20250919"
"""The edit that puts a placeholder in the place of the oldest tool results."""

DROP_THINKING = "drop_block"
"""The edit that leaves out thinking whose prefix has changed, where it is bound to that."""


COMPACT = "compaction"
"""The edit that puts a summary of the provider's in the place of all messages up to one: asked for in
a request of its own."""


class Wanted(NamedTuple):
    """A server edit to ask for: its type, its other parameters as JSON text, and, where it clears
    tool uses, how many there are in the request and how many of the newest to keep."""

    edit: str
    options: bytes
    tool_uses: int = 0
    keep: int = 0


class Applied(NamedTuple):
    """What the provider says it did: an edit's type, how many tool uses, thinking turns or thinking
    blocks it cleared, and how many input tokens that took off, where it says so."""

    edit: str
    cleared: int
    tokens: int = 0
