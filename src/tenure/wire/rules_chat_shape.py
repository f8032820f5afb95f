"""What a Chat Completions message must be by itself, and the nearest message that is so.

Invariant: total and idempotent. A sound message comes back as the very object given; a copy says
the same words, and what it could not say is in a fault's `lost`. Ids are not judged here: a call
and its results must get the same one.
"""

from __future__ import annotations

from typing import Any

from tenure.core.message import JsonObject
from tenure.wire.mend_common import lost_json
from tenure.wire.shape import (
    CHAT_PARTS,
    Fault,
    Shaped,
    argument_text,
    by_user,
    sound_content,
    spoken,
    without_unsendable,
)
from tenure.wire.values import is_array, is_object, text_of

ROLES = frozenset({"developer", "system", "user", "assistant", "tool", "function"})
# Where nothing but text may stand, as labels name it (openai 3.57.0, the params of each role).
_TEXT_ONLY = {
    "tool": "a tool message",
    "function": "a function message",
    "system": "a system message",
    "developer": "a developer message",
    "assistant": "an assistant message",
}
_CALLS = frozenset({"tool_calls", "function_call"})
# What an assistant message may hold in the place of content.
_SPEAKS = ("tool_calls", "function_call", "refusal", "audio")


def shaped(message: Any) -> Shaped:
    """The message as Chat Completions takes it, and what had to be done for that."""
    message, faults = without_unsendable(message)
    if not is_object(message):
        words = f"a message is {type(message).__name__}, not an object"
        new = by_user("a message that was no object", message, CHAT_PARTS)
        fault = Fault("message-object", words, "sent as a user's text", lost_json(message))
        return Shaped(new, (*faults, fault))
    role = text_of(message.get("role"))
    if role not in ROLES:
        words = f"role {message.get('role')!r} is not known"
        fault = Fault("role-known", words, "sent as a user's labelled text", lost_json(message))
        return Shaped(_of_no_role(message), (*faults, fault))
    if type(message.get("content")) is str and not message.keys() & _CALLS:
        return Shaped(message, tuple(faults))  # Most messages.
    message = _with_sound_calls(message, role, faults)
    return Shaped(_with_sound_content(message, role, faults), tuple(faults))


def _of_no_role(message: JsonObject) -> JsonObject:
    rest = {key: value for key, value in message.items() if key != "content"}
    what = "a message whose role this API does not know"
    told = f"{what}; beside its content it holds {lost_json(rest).decode()}"
    return by_user(told if rest else what, message.get("content"), CHAT_PARTS)


def _with_sound_content(message: JsonObject, role: str, faults: list[Fault]) -> JsonObject:
    content = message.get("content")
    if content is None or (is_array(content) and not content):
        if role == "assistant" and any(message.get(key) for key in _SPEAKS):
            return message
        if role == "function" and "content" in message and content is None:
            return message
        words = f"the {role} message has no content"
        faults.append(Fault("empty-content", words, "content set to empty text", path=("content",)))
        return {**message, "content": ""}
    new, found = sound_content(content, CHAT_PARTS, text_only=_TEXT_ONLY.get(role, ""))
    faults += found
    return {**message, "content": new} if found else message


def _with_sound_calls(message: JsonObject, role: str, faults: list[Fault]) -> JsonObject:
    legacy = message.get("function_call")
    if legacy is not None:
        message = _with_sound_legacy(message, legacy, faults)
    calls = message.get("tool_calls")
    if calls is None:
        return message
    if role != "assistant" or not is_array(calls) or not calls:
        words = f"tool_calls of a {role} message: {type(calls).__name__}"
        empty = is_array(calls) and not calls
        rule = "empty-calls" if empty else "broken-call"
        lost = b"" if empty else lost_json(calls)
        faults.append(Fault(rule, words, "tool_calls left out", lost, ("tool_calls",)))
        return _without(message, "tool_calls")
    sound = [_sound_call(call, at, faults) for at, call in enumerate(calls)]
    if all(new is old for new, old in zip(sound, calls, strict=True)):
        return message
    kept = [call for call in sound if call is not None]
    return {**message, "tool_calls": kept} if kept else _without(message, "tool_calls")


def _without(message: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in message.items() if name != key}


def _sound_call(call: Any, at: int, faults: list[Fault]) -> Any:
    """The call as the API takes it; None when it does not say what is called."""
    for field, given in (("custom", "input"), ("function", "arguments")):
        inner = call.get(field) if is_object(call) else None
        if is_object(inner) and isinstance(inner.get("name"), str) and inner["name"]:
            if isinstance(inner.get(given), str):
                return call
            words = f"{given} of call {inner['name']!r} are no text"
            path = ("tool_calls", at, field, given)
            lost = b"" if inner.get(given) is None else lost_json(inner[given])
            faults.append(Fault("arguments-text", words, "spelled as JSON text", lost, path))
            text = (
                spoken(inner.get(given)) if field == "custom" else argument_text(inner.get(given))
            )
            return {**call, field: {**inner, given: text}}
    words = "a tool call does not say which tool it calls"
    faults.append(Fault("broken-call", words, "left out", lost_json(call), ("tool_calls", at)))
    return None


def _with_sound_legacy(message: JsonObject, legacy: Any, faults: list[Fault]) -> JsonObject:
    if not is_object(legacy) or not isinstance(legacy.get("name"), str):
        words = "function_call does not say which function it calls"
        lost = lost_json(legacy)
        faults.append(Fault("broken-call", words, "left out", lost, ("function_call",)))
        return _without(message, "function_call")
    given = legacy.get("arguments")
    if isinstance(given, str):
        return message
    words = f"arguments of function_call {legacy['name']!r} are no text"
    lost = b"" if given is None else lost_json(given)
    path = ("function_call", "arguments")
    faults.append(Fault("arguments-text", words, "spelled as JSON text", lost, path))
    return {**message, "function_call": {**legacy, "arguments": argument_text(given)}}
