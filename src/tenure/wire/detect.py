"""Which wire format a name or a request body stands for.

Invariant: a body is judged by what only one API spells that way, never by the model's name unless
nothing else tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from tenure.core.message import JsonObject
from tenure.errors import ConfigError, RequestError
from tenure.wire.anthropic_messages import AnthropicMessages
from tenure.wire.openai_chat import OpenAIChat
from tenure.wire.openai_responses import OpenAIResponses
from tenure.wire.values import is_array, is_object, text_of

AnyWire: TypeAlias = AnthropicMessages | OpenAIChat | OpenAIResponses

WIRES: dict[str, AnyWire] = {
    wire.name: wire for wire in (AnthropicMessages(), OpenAIChat(), OpenAIResponses())
}
_CHAT_ROLES = frozenset({"tool", "developer", "function"})
_CHAT_FIELDS = frozenset({"tool_calls", "function_call", "refusal", "reasoning_content"})
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal"})
_CHAT_HEAD = frozenset(
    {
        "max_completion_tokens",
        "response_format",
        "reasoning_effort",
        "n",
        "stop",
        "frequency_penalty",
    }
)
_ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "compaction"}
)
_ANTHROPIC_HEAD = frozenset(
    {
        "system",
        "thinking",
        "stop_sequences",
        "anthropic_version",
        "context_management",
        "output_config",
    }
)


def wire_for(name: str) -> AnyWire:
    """The wire format of that name; ConfigError names the accepted ones."""
    try:
        return WIRES[name]
    except KeyError:
        known = ", ".join(WIRES)
        raise ConfigError(
            f"{name!r} is not a wire format; accepted: {known}", source="wire", key=name
        ) from None


def detect(body: JsonObject) -> AnyWire:
    """The wire format of a request body (or of `{"messages": [...]}` alone).

    Plain text exchanges are spelled alike by Anthropic and Chat: then the model's name decides,
    else `max_tokens`, which Anthropic demands. RequestError when there are no messages at all.
    """
    messages = body.get("messages")
    if not is_array(messages):
        if "input" in body:
            return WIRES["openai_responses"]
        raise RequestError("the body has neither 'messages' nor 'input': no wire format fits")
    for sign in _signs(body, messages):
        return WIRES[sign]
    if text_of(body.get("model")).startswith("claude"):
        return WIRES["anthropic_messages"]
    anthropic = "max_tokens" in body and not body.get("model")
    return WIRES["anthropic_messages" if anthropic else "openai_chat"]


def _signs(body: JsonObject, messages: Any) -> Iterator[str]:
    """What only one of the two formats spells that way, the head first."""
    if _ANTHROPIC_HEAD & body.keys():
        yield "anthropic_messages"
    if _CHAT_HEAD & body.keys():
        yield "openai_chat"
    tools = body.get("tools")
    for tool in tools if is_array(tools) else ():
        if is_object(tool):
            yield "openai_chat" if is_object(tool.get("function")) else "anthropic_messages"
    for message in messages:
        if not is_object(message):
            continue
        if text_of(message.get("role")) in _CHAT_ROLES or _CHAT_FIELDS & message.keys():
            yield "openai_chat"
        content = message.get("content")
        for part in content if is_array(content) else ():
            kind = text_of(part.get("type")) if is_object(part) else ""
            if kind in _CHAT_PARTS:
                yield "openai_chat"
            if kind in _ANTHROPIC_BLOCKS or (is_object(part) and "cache_control" in part):
                yield "anthropic_messages"
    if messages and is_object(messages[0]) and messages[0].get("role") == "system":
        yield "openai_chat"
