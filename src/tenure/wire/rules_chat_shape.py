"""What a Chat Completions message must be by itself, and the nearest message that is so.

Invariant: total and idempotent. A sound message comes back as the very object given; a copy says
the same words, and what it could not say is in a fault's `lost`. Ids are not judged here: a call
and its results must get the same one.
"""

from __future__ import annotations

from typing import Any

from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import lost_json
from tenure.wire.rules_openai_ids import sound_name
from tenure.wire.rules_openai_parts import CHAT_PARTS, CHAT_SAID, by_user, sound_content
from tenure.wire.shape import Findings, Shaped, Takes, argument_text, spoken, without_unsendable
from tenure.wire.values import is_array, is_object, text_of

ROLES = frozenset({"developer", "system", "user", "assistant", "tool", "function"})
# Characters of a call id that Chat Completions takes: public issues of 2025.
LONGEST_ID = 40
# Where nothing but text may stand, as labels name it (openai 3.57.0, the params of each role).
_TEXT_ONLY = {
    "tool": "a tool message",
    "function": "a function message",
    "system": "a system message",
    "developer": "a developer message",
    "assistant": "an assistant message",
}
_CALLS = frozenset({"tool_calls", "function_call"})
# What an assistant message may hold in the place of content (openai 3.57.0; the guide on audio).
_SPEAKS = ("tool_calls", "function_call", "audio")


def shaped(message: Any, takes: Takes) -> Shaped:
    """The message as Chat Completions takes it, and what had to be done for that."""
    message, unsendable = without_unsendable(message)
    if (
        not unsendable
        and type(message) is dict
        and type(message.get("content")) is str
        and text_of(message.get("role")) in ROLES
        and not message.keys() & _CALLS
    ):
        return Shaped(message)  # Most messages.
    notes = Findings(takes, unsendable)
    if not is_object(message):
        words = f"a message is {type(message).__name__}, not an object"
        notes.add("message-object", words, "sent as a user's text", lost=message)
        new = by_user("a message that was no object", message, CHAT_PARTS)
        return notes.shaped(new)
    role = text_of(message.get("role"))
    if role not in ROLES:
        words = f"role {message.get('role')!r} is not known"
        notes.add("role-known", words, "sent as a user's labelled text", message)
        return notes.shaped(_of_no_role(message))
    message = _with_sound_calls(message, role, notes)
    return notes.shaped(_with_sound_content(message, role, notes))


def _of_no_role(message: JsonObject) -> JsonObject:
    rest = {key: value for key, value in message.items() if key != "content"}
    what = "a message whose role this API does not know"
    told = f"{what}; beside its content it holds {lost_json(rest).decode()}"
    return by_user(told if rest else what, message.get("content"), CHAT_PARTS)


def _with_sound_content(message: JsonObject, role: str, notes: Findings) -> JsonObject:
    content = message.get("content")
    if content is None or (is_array(content) and not content):
        if role == "assistant" and any(message.get(key) for key in _SPEAKS):
            return message
        if role == "function" and "content" in message and content is None:
            return message
        words = f"the {role} message has no content"
        notes.add("empty-content", words, "content set to empty text", path=("content",))
        return {**message, "content": ""}
    parts = CHAT_SAID if role == "assistant" else CHAT_PARTS
    new = sound_content(content, parts, notes, text_only=_TEXT_ONLY.get(role, ""))
    return message if new is content else {**message, "content": new}


def _with_sound_calls(message: JsonObject, role: str, notes: Findings) -> JsonObject:
    legacy = message.get("function_call")
    if legacy is not None:
        message = _with_sound_legacy(message, legacy, notes)
    calls = message.get("tool_calls")
    if calls is None:
        return message
    if role != "assistant" or not is_array(calls) or not calls:
        words = f"tool_calls of a {role} message: {type(calls).__name__}"
        empty = is_array(calls) and not calls
        rule = "empty-calls" if empty else "broken-call"
        notes.add(rule, words, "tool_calls left out", None if empty else calls, ("tool_calls",))
        return _without(message, "tool_calls")
    sound = [_sound_call(call, ("tool_calls", at), notes) for at, call in enumerate(calls)]
    kept = [call for call in sound if call is not None]
    if len(kept) == len(calls) and all(a is b for a, b in zip(kept, calls, strict=True)):
        return message
    return {**message, "tool_calls": kept} if kept else _without(message, "tool_calls")


def _without(message: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in message.items() if name != key}


def _sound_call(call: Any, path: Path, notes: Findings) -> JsonObject | None:
    """The call as the API takes it; None when it does not say what is called."""
    said = _said_by(call)
    if said is None:
        words = "a tool call does not say which tool it calls"
        notes.add("broken-call", words, "left out", call, path)
        return None
    kind, given = said
    inner = call[kind]
    new = _sound_inner(inner, given, (*path, kind), notes)
    if call.get("type") == kind:
        return call if new is inner else {**call, kind: new}
    words = f"a call of {inner['name']!r} has the type {call.get('type')!r}"
    notes.add("call-type", words, f"its type set to {kind}", call.get("type"), (*path, "type"))
    return {**call, "type": kind, kind: new}


def _said_by(call: Any) -> tuple[str, str] | None:
    """The field that says what is called, and where in it the arguments stand."""
    fields = [("custom", "input"), ("function", "arguments")]
    if is_object(call) and call.get("type") != "custom":
        fields.reverse()
    for field, given in fields:
        inner = call.get(field) if is_object(call) else None
        if is_object(inner) and isinstance(inner.get("name"), str) and inner["name"]:
            return field, given
    return None


def _sound_inner(inner: JsonObject, given: str, path: Path, notes: Findings) -> JsonObject:
    name = sound_name(inner["name"], notes, (*path, "name"))
    if name is not inner["name"]:
        inner = {**inner, "name": name}
    value = inner.get(given)
    if isinstance(value, str):
        return inner
    words = f"{given} of call {name!r} are no text"
    notes.add("arguments-text", words, "spelled as JSON text", value, (*path, given))
    return {**inner, given: spoken(value) if given == "input" else argument_text(value)}


def _with_sound_legacy(message: JsonObject, legacy: Any, notes: Findings) -> JsonObject:
    path: Path = ("function_call",)
    if not is_object(legacy) or not isinstance(legacy.get("name"), str) or not legacy["name"]:
        words = "function_call does not say which function it calls"
        notes.add("broken-call", words, "left out", legacy, path)
        return _without(message, "function_call")
    new = _sound_inner(legacy, "arguments", path, notes)
    return message if new is legacy else {**message, "function_call": new}
