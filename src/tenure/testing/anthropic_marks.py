"""Cache marks in the Messages API: how many, where, in which order.

Invariant: marks are read in prompt order, the automatic one (top level) last.
Source: platform docs, prompt-caching.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tenure.testing.anthropic_walk import walk
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

MOST_MARKS = 4
TTLS = ("5m", "1h")


class Marked(NamedTuple):
    """A mark and the block that carries it; the automatic mark's block is empty."""

    mark: Any
    block: Mapping[str, Any]


def mark_shape(asked: Asked) -> Iterator[Refusal]:
    """A mark is ephemeral and lives 5 minutes or an hour."""
    for mark, _ in _marks(asked.body):
        if not isinstance(mark, Mapping) or mark.get("type") != "ephemeral":
            yield invalid("cache_control.type: Input should be 'ephemeral'")
        elif (mark.get("ttl") or "5m") not in TTLS:
            yield invalid("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")


def mark_count(asked: Asked) -> Iterator[Refusal]:
    """At most four, the automatic one included."""
    found = len(_marks(asked.body))
    if found > MOST_MARKS:
        yield invalid(
            f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {found}."
        )


def mark_place(asked: Asked) -> Iterator[Refusal]:
    """Not on thinking, not on empty text, not in a system message that will be cleared."""
    for index, message in enumerate(asked.body["messages"]):
        for block in as_blocks(message["content"]):
            if message.get("clear_at") == "next_user_message" and _mark_of(block):
                yield invalid(f"messages.{index}: cache_control cannot be set with `clear_at`")
    for _, block in _marks(asked.body):
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            yield invalid(f"messages: `{kind}` blocks cannot have cache_control")
        if kind == "text" and not block.get("text"):
            yield invalid("messages: cache_control cannot be set for empty text blocks")


def mark_order(asked: Asked) -> Iterator[Refusal]:
    """A mark of an hour stands before every mark of five minutes."""
    short_seen = False
    for mark, _ in _marks(asked.body):
        long = mark.get("ttl") == "1h"
        if long and short_seen:
            yield invalid(
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
            )
        short_seen = short_seen or not long


def mark_automatic(asked: Asked) -> Iterator[Refusal]:
    """The automatic mark agrees with one that its block carries already."""
    automatic = asked.body.get("cache_control") or {}
    mark = _mark_of(_last_cacheable(asked.body)) if automatic else None
    if mark and (mark.get("ttl") or "5m") != (automatic.get("ttl") or "5m"):
        yield invalid("cache_control: ttl differs from that of the last block's cache_control")


def _last_cacheable(body: Mapping[str, Any]) -> Any:
    """The block that an automatic mark stands on: it walks back over those that may have none."""
    for message in reversed(body["messages"]):
        if message.get("clear_at") == "next_user_message":
            continue
        for block in reversed(as_blocks(message["content"])):
            thinks = block.get("type") in ("thinking", "redacted_thinking")
            blank = block.get("type") == "text" and not str(block.get("text") or "").strip()
            if not (thinks or blank):
                return block
    return None


def _marks(body: Mapping[str, Any]) -> list[Marked]:
    found: list[Marked] = []
    for _, block, _message in walk(body):
        inner = block.get("content")
        carriers = [*(inner if isinstance(inner, list) else []), block]
        found += [Marked(mark, part) for part in carriers if (mark := _mark_of(part))]
    if body.get("cache_control"):
        found.append(Marked(body["cache_control"], {}))
    return found


def _mark_of(part: Any) -> Any:
    return part.get("cache_control") if isinstance(part, Mapping) else None


mark_rules: Rules = {
    "mark_shape": mark_shape,
    "mark_count": mark_count,
    "mark_place": mark_place,
    "mark_order": mark_order,
    "mark_automatic": mark_automatic,
}
