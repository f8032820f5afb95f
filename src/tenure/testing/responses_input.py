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
    """All items the model reads, those of previous_response_id included."""
    previous = asked.body.get("previous_response_id") or ""
    return [*asked.ledger.stored.get(previous, []), *own_items(asked.body)]
