"""Compaction in the Responses API: on request, by a threshold, and at an endpoint of its own.

Invariant: what a compaction stands for is sealed in its item and in nothing else.
Source: openai 3.57.0, compacted_response, response_compaction_item, response_create_params.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.testing.refusal import Asked
from tenure.testing.responses_input import items_of, own_items
from tenure.testing.sealed import seal


def triggered(asked: Asked) -> bool:
    """Whether the input ends in a `compaction_trigger`."""
    last = own_items(asked.body)[-1:]
    return any(item.get("type") == "compaction_trigger" for item in last)


def due(asked: Asked) -> bool:
    """Whether a threshold of `context_management` is reached."""
    entries = asked.body.get("context_management") or []
    thresholds = [entry.get("compact_threshold") for entry in entries]
    return any(limit is not None and asked.tokens >= limit for limit in thresholds)


def item_of(summary: str, step: int) -> dict[str, Any]:
    """The opaque item that stands for everything before it."""
    sealed = seal("compaction", summary.encode("utf-8", "surrogatepass"))
    return {"id": f"cmp_{step:06d}", "type": "compaction", "encrypted_content": sealed}


def compacted(
    asked: Asked, summary: str, *, step: int, created: int, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """The answer of /v1/responses/compact: the user's messages, then the compaction item."""
    kept = [_returned(item, f"{step:06d}_{n}") for n, item in enumerate(items_of(asked))]
    return {
        "id": f"resp_{step:06d}",
        "object": "response.compaction",
        "created_at": created,
        "output": [*filter(None, kept), item_of(summary, step)],
        "usage": dict(usage),
    }


def _returned(item: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """A user message as output spells it; None for every other item."""
    if item.get("role") != "user":
        return None
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    given = {key: value for key, value in item.items() if key not in ("type", "content")}
    whole = {"id": f"msg_{name}", "status": "completed", **given}
    return {**whole, "type": "message", "content": content}
