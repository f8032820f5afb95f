"""The items a Responses request stands for: stored ones first, then its own.

Invariant: a string input is one user message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.testing.refusal import Asked


def own_items(body: Mapping[str, Any]) -> list[Any]:
    """The request's own input as items."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}] if given else []
    return list(given or [])


def items_of(asked: Asked) -> list[Any]:
    """All items the model reads: those of previous_response_id first, references resolved."""
    previous = asked.body.get("previous_response_id") or ""
    own = [asked.ledger.items.get(_referred(item), item) for item in own_items(asked.body)]
    return [*asked.ledger.stored.get(previous, []), *own]


def is_reference(item: Any) -> bool:
    """Whether the item only names a stored one; the type may be left out (openai 3.57.0)."""
    return item.get("type") == "item_reference" or set(item) == {"id"}


def _referred(item: Any) -> str:
    return str(item.get("id")) if is_reference(item) else ""


def parts_of(item: Mapping[str, Any]) -> list[Any]:
    """The content parts of a message or of a tool's output; a text has none."""
    content = item.get("output" if "output" in item else "content")
    return content if isinstance(content, list) else []
