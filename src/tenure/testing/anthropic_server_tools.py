"""Tools that the provider runs itself: their calls and results, and a turn that pauses.

Invariant: consecutive assistant messages are one turn, as the API merges them. A call may stay
without a result only while the turn is still open: at the end of the conversation (`pause_turn`),
or before messages that hold nothing but results of the client's own tools.
Source: platform docs, server tools and stop reasons; anthropic 2.14.0 server_tool_use_block_param.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.anthropic_walk import At, blocks, is_server_result
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

CALLS = ("server_tool_use", "mcp_tool_use")
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")


def server_fields(asked: Asked) -> Iterator[Refusal]:
    """Server calls and results carry their ids, and stand in assistant messages."""
    for at, role, block in blocks(asked.body):
        kind = block["type"]
        if kind == "server_tool_use" and not SERVER_ID.fullmatch(str(block.get("id"))):
            yield invalid(f"{at.path}.{kind}.id: String should match pattern '{SERVER_ID.pattern}'")
        if kind in CALLS and not isinstance(block.get("id"), str):
            yield invalid(f"{at.path}.{kind}.id: Field required")
        if kind in CALLS and not isinstance(block.get("input"), dict):
            yield invalid(f"{at.path}.{kind}.input: Input should be a valid dictionary")
        if is_server_result(block) and not isinstance(block.get("tool_use_id"), str):
            yield invalid(f"{at.path}.{kind}.tool_use_id: Field required")
        if (kind in CALLS or is_server_result(block)) and role != "assistant":
            yield invalid(f"{at.path}: `{kind}` blocks can only be in `assistant` messages")


def server_calls_unique(asked: Asked) -> Iterator[Refusal]:
    """No two server calls share an id."""
    seen: set[str] = set()
    for at, _, block in blocks(asked.body):
        if block["type"] in CALLS:
            if block["id"] in seen:
                yield invalid(f"{at.path}: `{block['type']}` ids must be unique")
            seen.add(block["id"])


def server_pairs(asked: Asked) -> Iterator[Refusal]:
    """A server call's result follows it in the assistant's turn; a result has its call there."""
    messages = asked.body["messages"]
    waiting: dict[str, tuple[At, Mapping[str, Any]]] = {}
    for index, message in enumerate(messages):
        content = as_blocks(message["content"])
        if waiting and _interrupts(message):
            yield from _unanswered(waiting)
        for place, block in enumerate(content):
            if block["type"] in CALLS:
                waiting[block["id"]] = (At(index, place), block)
            elif is_server_result(block) and waiting.pop(block["tool_use_id"], None) is None:
                yield invalid(
                    f"{At(index, place).path}: unexpected `tool_use_id` found in `{block['type']}` "
                    f"blocks: {block['tool_use_id']}. Each `{block['type']}` block must have a "
                    "corresponding `server_tool_use` block before it."
                )
    spoken = [message for message in messages if message["content"]]
    if waiting and spoken and spoken[-1]["role"] == "assistant" and not is_paused(asked):
        yield from _unanswered(waiting)


def is_paused(asked: Asked) -> bool:
    """Whether the last message is an assistant turn that the provider paused."""
    last = asked.body["messages"][-1]
    ending = as_blocks(last["content"])[-1:]
    ran = any(block["type"] in CALLS or is_server_result(block) for block in ending)
    return last["role"] == "assistant" and ran


def _unanswered(waiting: Mapping[str, tuple[At, Mapping[str, Any]]]) -> Iterator[Refusal]:
    for call_id, (at, block) in waiting.items():
        name = block.get("name")
        yield invalid(
            f"{at.path}: `{name}` tool use with id `{call_id}` was found without a corresponding "
            f"`{name}_tool_result` block"
        )


def _interrupts(message: Mapping[str, Any]) -> bool:
    """Whether somebody speaks in between; a system message that only sets the effort does not."""
    content = as_blocks(message["content"])
    results = all(block["type"] == "tool_result" for block in content)
    return message["role"] != "assistant" and not results


server_rules: Rules = {
    "server_fields": server_fields,
    "server_calls_unique": server_calls_unique,
    "server_pairs": server_pairs,
}
