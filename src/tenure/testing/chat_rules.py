"""What Chat Completions refuses, one named rule each.

Invariant: rules on shape come first, so that the later ones may index freely.
Sources: openai 3.57.0 docstrings; wordings are the long-known ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.openai_common import (
    breakpoints,
    cache_options,
    field_types,
    misnamed,
    overlong,
    too_long,
    unfit,
)
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

PARTS: Mapping[str, tuple[str, ...]] = {
    "developer": ("text",),
    "system": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": ("text",),
}
"""The kinds of content parts by role."""

ROLES = tuple(PARTS)
LONGEST_ID = 40
"""Characters of a call's id. Source: public issues of 2025."""


def required_fields(asked: Asked) -> Iterator[Refusal]:
    """model, and messages that are not empty."""
    if not isinstance(asked.body.get("model"), str) or not asked.body["model"]:
        yield invalid("you must provide a model parameter", param="model")
    messages = asked.body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield invalid("Invalid 'messages': expected a non-empty array", param="messages")


def message_shape(asked: Asked) -> Iterator[Refusal]:
    """A known role; content unless the assistant only calls tools or refers to its own speech, or a
    function gave none back (openai 3.57.0, `content: Required[Optional[str]]`)."""
    for index, message in enumerate(asked.body["messages"]):
        path = f"messages[{index}]"
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            yield invalid(f"Invalid value at '{path}.role'", param=f"{path}.role")
            return
        content = message.get("content")
        if content is None and not _may_be_silent(message):
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
        calls = message.get("tool_calls")
        if calls == []:
            yield invalid(f"[] is too short - '{path}'", param=path)
        if calls is not None and not _are(Mapping, calls):
            yield invalid(f"Invalid type for '{path}'", param=path)
            return
        if calls and message["role"] != "assistant":
            yield invalid(f"'{path}' is only allowed in 'assistant' messages", param=path)
        for number, call in enumerate(calls or []):
            yield from _call(f"{path}[{number}]", call)


def calls_unique(asked: Asked) -> Iterator[Refusal]:
    """No two calls of one message share an id."""
    for index, message in enumerate(asked.body["messages"]):
        ids = [call["id"] for call in message.get("tool_calls") or []]
        for call_id in ids:
            if ids.count(call_id) > 1:
                path = f"messages[{index}].tool_calls"
                yield invalid(f"Duplicate value for 'tool_call_id' of '{call_id}'", param=path)


def content_types(asked: Asked) -> Iterator[Refusal]:
    """Each role takes parts of its own kinds; results are text."""
    for index, message in enumerate(asked.body["messages"]):
        for number, part in enumerate(as_blocks(message.get("content"))):
            path = f"messages[{index}].content[{number}].type"
            yield from unfit(path, part.get("type"), PARTS[message["role"]])
            if part.get("type") == "text" and not isinstance(part.get("text"), str):
                yield invalid(f"Invalid type for '{path[:-5]}.text'", param=f"{path[:-5]}.text")


def tool_content(asked: Asked) -> Iterator[Refusal]:
    """A tool message names its call."""
    for index, message in enumerate(asked.body["messages"]):
        if message["role"] == "tool" and not isinstance(message.get("tool_call_id"), str):
            param = f"messages[{index}].tool_call_id"
            yield invalid(f"Missing required parameter: '{param}'.", param=param)


def cache_breakpoints(asked: Asked) -> Iterator[Refusal]:
    """Breakpoints on content parts are spelled by the rules."""
    yield from breakpoints(
        asked,
        (
            (f"messages[{index}].content[{number}]", part)
            for index, message in enumerate(asked.body["messages"])
            for number, part in enumerate(as_blocks(message.get("content")))
        ),
    )


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


def _may_be_silent(message: Mapping[str, Any]) -> bool:
    instead = any(message.get(name) for name in ("tool_calls", "function_call", "audio"))
    by_function = message["role"] == "function" and "content" in message
    return (message["role"] == "assistant" and instead) or by_function


def _call(path: str, call: Mapping[str, Any]) -> Iterator[Refusal]:
    if not isinstance(call.get("id"), str):
        yield invalid(f"Missing required parameter: '{path}.id'.", param=f"{path}.id")
        return
    yield from overlong(f"{path}.id", call["id"], LONGEST_ID)
    kind = "custom" if call.get("type") == "custom" else "function"
    inner = call.get(kind)
    if not isinstance(inner, Mapping):
        yield invalid(f"Missing required parameter: '{path}.{kind}'.", param=f"{path}.{kind}")
        return
    yield from misnamed(f"{path}.{kind}.name", inner.get("name"))
    written = "input" if kind == "custom" else "arguments"
    if not isinstance(inner.get(written), str):
        param = f"{path}.{kind}.{written}"
        yield invalid(f"Invalid type for '{param}': expected a string", param=param)


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _is_content(content: Any) -> bool:
    if isinstance(content, str):
        return True
    return isinstance(content, list) and all(isinstance(part, Mapping) for part in content)


RULES: Rules = {
    "required_fields": required_fields,
    "field_types": field_types,
    "message_shape": message_shape,
    "call_shape": call_shape,
    "calls_unique": calls_unique,
    "tool_content": tool_content,
    "content_types": content_types,
    "cache_options": cache_options,
    "cache_breakpoints": cache_breakpoints,
    "calls_answered": calls_answered,
    "results_expected": results_expected,
    "window": window,
}
