"""Cache marks of Anthropic Messages: `cache_control` on the blocks that end a cached prefix.

Invariant: at most four in a request, the automatic one at the top level included; never on thinking
or on an empty text (the API refuses both); a marked message is a new dict that shares the rest.
Source: providers.md 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.core.message import JsonObject

KEY = "cache_control"
MOST = 4
_UNMARKABLE = frozenset({"thinking", "redacted_thinking", "fallback", "compaction"})


def count_marks(head: JsonObject) -> int:
    """The marks of a request's head: top level, system blocks and tools."""
    blocks = [*_blocks(head.get("system")), *_blocks(head.get("tools"))]
    return sum(KEY in block for block in (head, *blocks))


def is_marked(message: JsonObject) -> bool:
    """True when a message holds a mark of its own."""
    content = _blocks(message.get("content"))
    return any(KEY in block for block in content) or any(
        KEY in inner for block in content for inner in _blocks(block.get("content"))
    )


def marked(message: JsonObject, mark: JsonObject) -> JsonObject | None:
    """The message with a mark on its last block that may have one; None when none may."""
    content = message.get("content")
    if isinstance(content, str):
        if not content.strip() or message.get("role") == "system":
            return None
        return {**message, "content": [{"type": "text", "text": content, KEY: mark}]}
    blocks = list(content) if isinstance(content, list) else []
    if not blocks or not _may_have(blocks[-1]):
        return None
    return {**message, "content": [*blocks[:-1], {**blocks[-1], KEY: mark}]}


def marked_head(head: JsonObject, mark: JsonObject) -> dict[str, Any]:
    """The head with a mark behind what is sent with every request: the system text, else the tools."""
    system, tools = head.get("system"), head.get("tools")
    if isinstance(system, str) and system.strip():
        return {**head, "system": [{"type": "text", "text": system, KEY: mark}]}
    for key, blocks in (("system", system), ("tools", tools)):
        if isinstance(blocks, list) and blocks and _may_have(blocks[-1]):
            return {**head, key: [*blocks[:-1], {**blocks[-1], KEY: mark}]}
    return dict(head)


def _may_have(block: Any) -> bool:
    if not isinstance(block, Mapping) or str(block.get("type")) in _UNMARKABLE:
        return False
    return block.get("type") != "text" or bool(str(block.get("text", "")).strip())


def _blocks(value: Any) -> Sequence[JsonObject]:
    return [b for b in value if isinstance(b, Mapping)] if isinstance(value, list) else []
