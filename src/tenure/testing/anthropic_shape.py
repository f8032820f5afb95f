"""The shape of a Messages request: fields, messages, blocks and tools, before anything is compared.

Invariant: after these rules every message is a role with text or typed blocks, and every field that
a later rule reads has the type it expects. Source: anthropic 2.14.0, message_create_params.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.anthropic_walk import blocks
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

ROLES = ("user", "assistant", "system")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MOST_MESSAGES = 100_000

OBJECTS = ("thinking", "output_config", "tool_choice", "metadata", "context_management")
HOLDERS = ("tool_result", "search_result")
"""Blocks whose content is blocks, or in a result text or nothing."""


def required_fields(asked: Asked) -> Iterator[Refusal]:
    """model, messages and, unless only counting, max_tokens."""
    wanted: dict[str, type] = {"model": str, "messages": list, "max_tokens": int}
    if asked.counting:
        del wanted["max_tokens"]
    for name, kind in wanted.items():
        if name not in asked.body:
            yield invalid(f"{name}: Field required")
        elif not isinstance(asked.body[name], kind):
            yield invalid(f"{name}: Input should be a valid {kind.__name__}")


def message_shape(asked: Asked) -> Iterator[Refusal]:
    """Each message has a known role and content of text or typed blocks."""
    if not asked.body["messages"]:
        yield invalid("messages: at least one message is required")
    for index, message in enumerate(asked.body["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield invalid(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
            return
        content = message.get("content")
        if isinstance(content, str):
            continue
        if not isinstance(content, list) or not all(_is_block(block) for block in content):
            yield invalid(f"messages.{index}.content: Input should be a string or typed blocks")


def field_types(asked: Asked) -> Iterator[Refusal]:
    """Optional fields have their types where they are given."""
    body = asked.body
    for name in OBJECTS:
        if body.get(name) is not None and not isinstance(body[name], dict):
            yield invalid(f"{name}: Input should be an object")
    binding = (body.get("thinking") or {}).get("block_binding")
    if binding is not None and not isinstance(binding, dict):
        yield invalid("thinking.block_binding: Input should be an object")
    system = body.get("system")
    if not (system is None or isinstance(system, str) or _are_blocks(system)):
        yield invalid("system: Input should be a string or a list of text blocks")
    tools = body.get("tools")
    if tools is not None and not _are(dict, tools):
        yield invalid("tools: Input should be a valid list")
    if len(body["messages"]) > MOST_MESSAGES:
        yield invalid(f"messages: List should have at most {MOST_MESSAGES} items")


def block_shape(asked: Asked) -> Iterator[Refusal]:
    """Blocks inside a block are typed, and a picture says where it comes from."""
    for at, _, block in blocks(asked.body):
        inner = block.get("content")
        if block["type"] in HOLDERS and not (_are_blocks(inner) or _is_brief(block)):
            yield invalid(f"{at.path}.{block['type']}.content: Input should be a valid list")
        if block["type"] == "image" and not isinstance(block.get("source"), dict):
            yield invalid(f"{at.path}.image.source: Field required")


def first_message(asked: Asked) -> Iterator[Refusal]:
    """The first message is the user's, or an assistant's that begins with a compaction block."""
    first = asked.body["messages"][0]
    opening = [block["type"] for block in as_blocks(first["content"])[:1]]
    if first["role"] != "user" and not (first["role"] == "assistant" and opening == ["compaction"]):
        yield invalid('messages: first message must use the "user" role')


def tool_names(asked: Asked) -> Iterator[Refusal]:
    """Tool names are spelled by the rules and unique."""
    seen: set[str] = set()
    for index, tool in enumerate(asked.body.get("tools") or []):
        name = str(tool.get("name", ""))
        if not TOOL_NAME.fullmatch(name):
            yield invalid(f"tools.{index}.name: String should match pattern '{TOOL_NAME.pattern}'")
        if name in seen:
            yield invalid("tools: Tool names must be unique.")
        if "input_schema" not in tool and tool.get("type", "custom") == "custom":
            yield invalid(f"tools.{index}.custom.input_schema: Field required")
        seen.add(name)


def _is_block(block: Any) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str)


def _are_blocks(content: Any) -> bool:
    return isinstance(content, list) and all(_is_block(block) for block in content)


def _is_brief(block: Mapping[str, Any]) -> bool:
    return block["type"] == "tool_result" and isinstance(block.get("content"), str | None)


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


shape_rules: Rules = {
    "required_fields": required_fields,
    "message_shape": message_shape,
    "field_types": field_types,
    "block_shape": block_shape,
    "first_message": first_message,
    "tool_names": tool_names,
}
