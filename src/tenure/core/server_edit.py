"""What is asked of the provider's own context editing, and what it says it did.

Invariant: values only; `core.delegation` works them out, the wire spells and reads them.
"""

from __future__ import annotations

from typing import NamedTuple


class Wanted(NamedTuple):
    """A server edit to ask for: its type, its other parameters as JSON text, how many tool uses
    there are in the request, and how many of the newest to keep."""

    edit: str
    options: bytes
    tool_uses: int
    keep: int


class Applied(NamedTuple):
    """What the provider says it did: an edit's type, how many tool uses or thinking turns it
    cleared, and how many input tokens that took off."""

    edit: str
    cleared: int
    tokens: int
