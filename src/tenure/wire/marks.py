"""Cache marks of Anthropic Messages: `cache_control` on the blocks that end a cached prefix.

Invariant: at most four in a request, the automatic one at the top level included; never on thinking
or on an empty text (the API refuses both); a marked message is a new dict that shares the rest.
Source: providers.md 1.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenure.core.message import JsonObject, Path

KEY = "cache_control"
MOST = 4
# The blocks whose type has the field in the SDK (anthropic 2.14.0); of others we do not know.
_MARKABLE = frozenset(
    {
        "text",
        "image",
        "document",
        "search_result",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "container_upload",
        "mcp_tool_use",
        "mcp_tool_result",
    }
)


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
    if not blocks or not may_have(blocks[-1]):
        return None
    return {**message, "content": [*blocks[:-1], {**blocks[-1], KEY: mark}]}


def marked_head(head: JsonObject, mark: JsonObject) -> dict[str, Any]:
    """The head with a mark behind what is sent with every request: the system text, else the tools."""
    system, tools = head.get("system"), head.get("tools")
    if isinstance(system, str) and system.strip():
        return {**head, "system": [{"type": "text", "text": system, KEY: mark}]}
    for key, blocks in (("system", system), ("tools", tools)):
        if isinstance(blocks, list) and blocks and (key == "tools" or may_have(blocks[-1])):
            return {**head, key: [*blocks[:-1], {**blocks[-1], KEY: mark}]}
    return dict(head)


def may_have(block: Any) -> bool:
    """Whether a block of a message or of the system text may carry a mark."""
    if not isinstance(block, Mapping) or str(block.get("type")) not in _MARKABLE:
        return False
    return block.get("type") != "text" or bool(str(block.get("text", "")).strip())


def own_marks(
    head: JsonObject, messages: Sequence[JsonObject], numbers: Iterable[int] | None = None
) -> list[tuple[Path, JsonObject]]:
    """The marks of a request with the paths of their blocks, in prompt order; the automatic one,
    of path (), last. Only the messages of these numbers are searched (None: all)."""
    found: list[tuple[Path, JsonObject]] = []
    for key in ("tools", "system"):
        _collect(head.get(key), (key,), found)
    for number in range(len(messages)) if numbers is None else sorted(numbers):
        _collect(messages[number].get("content"), ("messages", number, "content"), found)
    if isinstance(head.get(KEY), Mapping):
        found.append(((), head[KEY]))
    return found


def _collect(blocks: Any, path: Path, found: list[tuple[Path, JsonObject]]) -> None:
    for at, block in enumerate(blocks if isinstance(blocks, list | tuple) else ()):
        if not isinstance(block, Mapping):
            continue
        if len(path) == 3:
            _collect(block.get("content"), (*path, at, "content"), found)
        if isinstance(block.get(KEY), Mapping):
            found.append(((*path, at), block[KEY]))


def _blocks(value: Any) -> Sequence[JsonObject]:
    return [b for b in value if isinstance(b, Mapping)] if isinstance(value, list) else []
