"""What a Responses item must be by itself, and the nearest item that is so.

Invariant: total and idempotent. A sound item comes back as the very object given; items of types
we do not know, item references and compaction items are never touched but for text that no JSON can
carry. `phase` and unknown fields stay. Ids are not judged here.
"""

from __future__ import annotations

from typing import Any

from tenure.core.message import JsonObject
from tenure.wire.mend_common import foreign_label, lost_json
from tenure.wire.shape import (
    INPUT_PARTS,
    OUTPUT_PARTS,
    Fault,
    Shaped,
    argument_text,
    by_user,
    sound_content,
    spoken,
    without_unsendable,
)
from tenure.wire.values import is_array, is_object, text_of

ROLES = frozenset({"user", "assistant", "system", "developer"})
# Characters of sealed text that the API takes back (reported in public issues, providers.md 3.2).
MOST_SEALED = 10_485_760
CLIENT_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "computer_call",
    }
)
CALL_OUTPUTS = frozenset(f"{call}_output" for call in CLIENT_CALLS)
# Types whose id may be left out (openai 3.57.0: optional in their params; a message has the easy
# spelling without one), and types that must have one.
FREE_IDS = frozenset(
    {
        "message",
        "function_call",
        "custom_tool_call",
        "shell_call",
        "apply_patch_call",
        "tool_search_call",
        *(CALL_OUTPUTS - {"local_shell_call_output"}),
    }
)
BOUND_IDS = frozenset(
    {
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "computer_call",
        "local_shell_call",
    }
)
# The field that holds what a call says, where it is text, and the outputs that are plain content.
_SAID_BY = {"function_call": "arguments", "custom_tool_call": "input"}
_PLAIN_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
# Opaque: the provider's own, sealed.
OPAQUE = frozenset({"compaction", "item_reference"})


def kind_of(item: JsonObject) -> str:
    """The type of an item: without one it is a message, or a reference if it has nothing but an id."""
    kind = item.get("type")
    if kind is None and "id" in item and len(item) == 1 + ("type" in item):
        return "item_reference"
    return text_of(kind) or "message"


def call_of(item: JsonObject, kind: str) -> Any:
    """The call id of a call or an output; the shell output of old names it by `id`."""
    if kind == "local_shell_call_output" and item.get("call_id") is None:
        return item.get("id")
    return item.get("call_id")


def shaped(item: Any) -> Shaped:
    """The item as Responses takes it, and what had to be done for that."""
    if is_object(item) and kind_of(item) in OPAQUE:
        return Shaped(item, tuple(_too_long(item, "compaction-size")))
    item, faults = without_unsendable(item)
    if not is_object(item):
        words = f"an item is {type(item).__name__}, not an object"
        new = by_user("an item that was no object", item, INPUT_PARTS)
        fault = Fault("item-object", words, "sent as a user's text", lost_json(item))
        return Shaped(new, (*faults, fault))
    kind = kind_of(item)
    if kind == "message":
        item = _sound_message(item, faults)
    elif kind == "reasoning":
        item = _sound_reasoning(item, faults)
    elif kind in CLIENT_CALLS:
        item = _sound_call(item, kind, faults)
    elif kind in _PLAIN_OUTPUTS:
        item = _sound_output(item, faults)
    return Shaped(_with_sound_id(item, kind_of(item), faults), tuple(faults))


def _with_sound_id(item: JsonObject, kind: str, faults: list[Fault]) -> JsonObject:
    name = item.get("id")
    free = kind in FREE_IDS or kind == "reasoning"
    if name is None or isinstance(name, str) or not (free or kind in BOUND_IDS):
        return item
    words = f"the id of a {kind} is {type(name).__name__}, not text"
    done = "id left out" if free else "id sent as its JSON text"
    faults.append(Fault("item-id", words, done, lost_json(name), ("id",)))
    if free:
        return {key: value for key, value in item.items() if key != "id"}
    return {**item, "id": spoken(name)}


def as_words(item: JsonObject, what: str) -> JsonObject:
    """An assistant's message that says what an item held which can't be sent."""
    return {"role": "assistant", "content": f"{foreign_label(what)}\n{lost_json(item).decode()}"}


def _too_long(item: JsonObject, rule: str) -> list[Fault]:
    size = len(text_of(item.get("encrypted_content")))
    if size <= MOST_SEALED:
        return []
    words = f"encrypted_content has {size} characters, at most {MOST_SEALED} are taken back"
    return [Fault(rule, words, "left out", path=("encrypted_content",))]


def _sound_message(item: JsonObject, faults: list[Fault]) -> JsonObject:
    role = text_of(item.get("role"))
    if role not in ROLES:
        words = f"role {item.get('role')!r} is not known"
        done = "sent as a user's labelled text"
        faults.append(Fault("role-known", words, done, lost_json(item)))
        rest = {key: value for key, value in item.items() if key != "content"}
        what = "a message whose role this API does not know"
        if rest:
            what += f"; beside its content it holds {lost_json(rest).decode()}"
        return by_user(what, item.get("content"), INPUT_PARTS)
    if item.get("type") not in (None, "message"):
        words = f"the type of a message is {item['type']!r}"
        done = "its type set to message"
        faults.append(Fault("item-object", words, done, lost_json(item["type"])))
        item = {**item, "type": "message"}
    content = item.get("content")
    if content is None or (is_array(content) and not content):
        words = f"the {role} message has no content"
        faults.append(Fault("empty-content", words, "content set to empty text", path=("content",)))
        return {**item, "content": ""}
    by_model = role == "assistant"
    parts = OUTPUT_PARTS if by_model else INPUT_PARTS
    where = "an assistant message" if by_model else ""
    new, found = sound_content(content, parts, text_only=where)
    faults += found
    return {**item, "content": new} if found else item


def _sound_reasoning(item: JsonObject, faults: list[Fault]) -> JsonObject:
    faults += _too_long(item, "reasoning-size")
    summary = item.get("summary")
    if is_array(summary):
        return item
    lost = b"" if summary is None else lost_json(summary)
    words = "a reasoning item has no list as its summary"
    faults.append(Fault("reasoning-summary", words, "summary set to []", lost, ("summary",)))
    return {**item, "summary": []}


def _sound_call(item: JsonObject, kind: str, faults: list[Fault]) -> JsonObject:
    field = _SAID_BY.get(kind)
    if field is None:
        return item
    if not isinstance(item.get("name"), str) or not item["name"]:
        words = "a call does not say which tool it calls"
        faults.append(Fault("broken-call", words, "sent as labelled text", lost_json(item)))
        return as_words(item, "a tool call that does not say which tool it calls")
    given = item.get(field)
    if isinstance(given, str):
        return item
    words = f"{field} of call {item['name']!r} are no text"
    lost = b"" if given is None else lost_json(given)
    faults.append(Fault("arguments-text", words, "spelled as JSON text", lost, (field,)))
    text = argument_text(given) if field == "arguments" else spoken(given)
    return {**item, field: text}


def _sound_output(item: JsonObject, faults: list[Fault]) -> JsonObject:
    output = item.get("output")
    if output is None:
        words = "an output has no content"
        faults.append(Fault("empty-content", words, "output set to empty text", path=("output",)))
        return {**item, "output": ""}
    new, found = sound_content(output, INPUT_PARTS, field="output")
    faults += found
    return {**item, "output": new} if found else item
