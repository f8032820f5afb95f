"""Anthropic Messages conversations: a request body, or JSONL of bodies or of messages.

Invariant: messages stay as they are; one conversation is one trace, and a body that extends the one
before it is a later request of the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tenure.core.message import Origin
from tenure.replay.trace import Trace
from tenure.traces.conversation import joined, thread_of
from tenure.traces.lines import Records
from tenure.traces.openai_chat import conversations, is_message, messages_in, numbered
from tenure.traces.origins import user_origin
from tenure.traces.values import as_dict, as_list, text_of

_BLOCK_TYPES = frozenset(
    "tool_use tool_result thinking redacted_thinking image document server_tool_use".split()
)


def is_anthropic(value: Any) -> bool:
    """Whether a JSON value that holds messages, or is one, is spelled as Anthropic does."""
    body = as_dict(value)
    if "system" in body or text_of(body, "model").startswith("claude"):
        return True
    if any("input_schema" in as_dict(tool) for tool in as_list(body.get("tools"))):
        return True
    messages = messages_in(value) or ([value] if is_message(value) else [])
    blocks = [block for message in messages for block in as_list(message.get("content"))]
    return any(
        text_of(block, "type") in _BLOCK_TYPES or "cache_control" in as_dict(block)
        for block in blocks
    )


def read_anthropic_messages(found: Records, name: str, path: Path) -> list[Trace]:
    """The conversations of a file."""
    skipped: dict[str, int] = {}
    talks = joined(conversations(found.records, skipped))
    return [
        Trace(
            name=numbered(name, number, talk, len(talks)),
            source=str(path),
            format="anthropic-messages",
            wire="anthropic_messages",
            model=talk.model,
            threads=(thread_of(talk, _origin),),
            damage=tuple(found.damage) if number == 1 else (),
            skipped=skipped if number == 1 else {},
            head=talk.head,
        )
        for number, talk in enumerate(talks, 1)
    ]


def _origin(message: dict[str, Any]) -> Origin:
    role = message.get("role")
    if role != "user":
        return Origin.ASSISTANT if role == "assistant" else Origin.SYSTEM
    content = message.get("content")
    others = [one for one in as_list(content) if text_of(one, "type") != "tool_result"]
    if isinstance(content, list) and not others:
        return Origin.TOOL
    origin = user_origin(content if isinstance(content, str) else others)
    # A result with nothing but reminders beside it is still the tool's message.
    if origin is Origin.HARNESS and len(others) < len(as_list(content)):
        return Origin.TOOL
    return origin
