"""What Chat Completions refuses, one named rule each.

Invariant: rules on shape come first, so that the later ones may index freely.
Sources: openai 3.57.0 docstrings; wordings are the long-known ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.openai_common import too_long
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

ROLES = ("developer", "system", "user", "assistant", "tool", "function")


def required_fields(asked: Asked) -> Iterator[Refusal]:
    """model, and messages that are not empty."""
    if not isinstance(asked.body.get("model"), str):
        yield invalid("you must provide a model parameter", param="model")
    messages = asked.body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield invalid("Invalid 'messages': expected a non-empty array", param="messages")


def message_shape(asked: Asked) -> Iterator[Refusal]:
    """A known role; content unless the assistant only calls tools."""
    for index, message in enumerate(asked.body["messages"]):
        path = f"messages[{index}]"
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            yield invalid(f"Invalid value at '{path}.role'", param=f"{path}.role")
            return
        content = message.get("content")
        calls = message.get("tool_calls") or message.get("function_call")
        if content is None and not (message["role"] == "assistant" and calls):
            yield invalid(
                f"Invalid value for 'content': expected a string, got null at '{path}'",
                param=f"{path}.content",
            )
        if content is not None and not _is_content(content):
            yield invalid(f"Invalid type for '{path}.content'", param=f"{path}.content")


def call_shape(asked: Asked) -> Iterator[Refusal]:
    """Tool calls carry an id, a name and arguments spelled as a string."""
    for index, message in enumerate(asked.body["messages"]):
        path = f"messages[{index}].tool_calls"
        if message.get("tool_calls") == []:
            yield invalid(f"[] is too short - '{path}'", param=path)
        for call in message.get("tool_calls") or []:
            inner = call.get("function") or call.get("custom") or {}
            if not isinstance(call.get("id"), str) or not isinstance(inner.get("name"), str):
                yield invalid(f"Missing required parameter: '{path}'", param=path)
            if call.get("function") and not isinstance(inner.get("arguments"), str):
                yield invalid(f"Invalid type for '{path}.function.arguments'", param=path)


def tool_content(asked: Asked) -> Iterator[Refusal]:
    """A tool message names its call and holds text only."""
    for index, message in enumerate(asked.body["messages"]):
        if message["role"] != "tool":
            continue
        if not isinstance(message.get("tool_call_id"), str):
            param = f"messages[{index}].tool_call_id"
            yield invalid(f"Missing required parameter: '{param}'.", param=param)
        if any(part.get("type") != "text" for part in as_blocks(message["content"])):
            yield invalid("Invalid content type in a 'tool' message", param=f"messages[{index}]")


def calls_answered(asked: Asked) -> Iterator[Refusal]:
    """Every call is answered before any message of another role."""
    messages = asked.body["messages"]
    for index, message in enumerate(messages):
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        for later in messages[index + 1 :]:
            if later["role"] != "tool":
                break
            waiting = [call_id for call_id in waiting if call_id != later["tool_call_id"]]
        if waiting:
            yield invalid(
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(waiting)}",
                param=f"messages[{index}].tool_calls",
            )


def results_expected(asked: Asked) -> Iterator[Refusal]:
    """Every tool message answers a call of the assistant message it follows, once."""
    open_calls: list[str] = []
    for index, message in enumerate(asked.body["messages"]):
        if message["role"] != "tool":
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
        elif message["tool_call_id"] in open_calls:
            open_calls.remove(message["tool_call_id"])
        else:
            yield invalid(
                "Invalid parameter: messages with role 'tool' must be a response to a preceding "
                "message with 'tool_calls'.",
                param=f"messages[{index}].role",
            )


def window(asked: Asked) -> Iterator[Refusal]:
    """The prompt and the wanted output fit."""
    wanted = asked.body.get("max_completion_tokens") or asked.body.get("max_tokens") or 0
    if asked.tokens + wanted > asked.window:
        yield too_long(asked.tokens + wanted, asked.window, "messages")


def _is_content(content: Any) -> bool:
    if isinstance(content, str):
        return True
    return isinstance(content, list) and all(isinstance(part, Mapping) for part in content)


RULES: Rules = {
    "required_fields": required_fields,
    "message_shape": message_shape,
    "call_shape": call_shape,
    "tool_content": tool_content,
    "calls_answered": calls_answered,
    "results_expected": results_expected,
    "window": window,
}
