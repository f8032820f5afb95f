"""What a Responses item must be by itself, and the nearest item that is so.

Invariant: total and idempotent. A sound item comes back as the very object given; items of types
we do not know, item references and compaction items are never touched but for text that no JSON can
carry. `phase` and unknown fields stay. Ids are not judged here.
"""

from __future__ import annotations

from typing import Any

from tenure.core.message import JsonObject
from tenure.wire.mend_common import foreign_label, lost_json
from tenure.wire.rules_openai_ids import sound_name
from tenure.wire.rules_openai_parts import INPUT_PARTS, OUTPUT_PARTS, by_user, sound_content
from tenure.wire.shape import Findings, Shaped, Takes, argument_text, spoken, without_unsendable
from tenure.wire.values import is_array, is_object, text_of

ROLES = frozenset({"user", "assistant", "system", "developer"})
# Characters of a call id that Responses takes: public issues of 2025.
LONGEST_ID = 64
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


def shaped(item: Any, takes: Takes) -> Shaped:
    """The item as Responses takes it, and what had to be done for that."""
    item, unsendable = without_unsendable(item)
    notes = Findings(takes, unsendable)
    if is_object(item) and kind_of(item) in OPAQUE:
        return _of_provider(item, notes)
    if not is_object(item):
        words = f"an item is {type(item).__name__}, not an object"
        notes.add("item-object", words, "sent as a user's text", item)
        return notes.shaped(by_user("an item that was no object", item, INPUT_PARTS))
    kind = kind_of(item)
    if kind == "message":
        item = _sound_message(item, notes)
    elif kind == "reasoning":
        item = _sound_reasoning(item, notes)
    elif kind in CLIENT_CALLS:
        item = _sound_call(item, kind, notes)
    elif kind in _PLAIN_OUTPUTS:
        item = _sound_output(item, notes)
    return notes.shaped(_with_sound_id(item, kind_of(item), notes))


def _of_provider(item: JsonObject, notes: Findings) -> Shaped:
    """A compaction item or a reference: sealed, so that nothing but its frame can be judged."""
    name, sealed = item.get("id"), item.get("encrypted_content")
    if kind_of(item) == "item_reference":
        if not isinstance(name, str) or not name:
            notes.add("empty-item", "an item reference has no id that is text", "left out", item)
        return notes.shaped(item)
    if not isinstance(sealed, str):
        words = "a compaction item has no sealed text"
        notes.add("empty-item", words, "left out", item)
    elif len(sealed) > MOST_SEALED:
        notes.leave("compaction-size", _too_long(sealed), ("encrypted_content",))
    return notes.shaped(_with_sound_id(item, "compaction", notes))


def _with_sound_id(item: JsonObject, kind: str, notes: Findings) -> JsonObject:
    name = item.get("id")
    if name is None or isinstance(name, str):
        return item
    free = kind in FREE_IDS or kind in {"reasoning", "compaction"}
    words = f"the id of a {kind} is {type(name).__name__}, not text"
    done = "id left out" if free else "id sent as its JSON text"
    notes.add("item-id", words, done, name, ("id",))
    if free:
        return {key: value for key, value in item.items() if key != "id"}
    return {**item, "id": spoken(name)}


def as_words(item: JsonObject, what: str) -> JsonObject:
    """An assistant's message that says what an item held which can't be sent."""
    return {"role": "assistant", "content": f"{foreign_label(what)}\n{lost_json(item).decode()}"}


def _too_long(sealed: str) -> str:
    return f"encrypted_content has {len(sealed)} characters, at most {MOST_SEALED} are taken back"


def _sound_message(item: JsonObject, notes: Findings) -> JsonObject:
    role = text_of(item.get("role"))
    if role not in ROLES:
        words = f"role {item.get('role')!r} is not known"
        notes.add("role-known", words, "sent as a user's labelled text", item)
        rest = {key: value for key, value in item.items() if key != "content"}
        what = "a message whose role this API does not know"
        if rest:
            what += f"; beside its content it holds {lost_json(rest).decode()}"
        return by_user(what, item.get("content"), INPUT_PARTS)
    if item.get("type") not in (None, "message"):
        words = f"the type of a message is {item['type']!r}"
        notes.add("item-object", words, "its type set to message", item["type"])
        item = {**item, "type": "message"}
    content = item.get("content")
    if content is None or (is_array(content) and not content):
        words = f"the {role} message has no content"
        notes.add("empty-content", words, "content set to empty text", path=("content",))
        return {**item, "content": ""}
    by_model = role == "assistant"
    parts = OUTPUT_PARTS if by_model else INPUT_PARTS
    where = "an assistant message" if by_model else ""
    new = sound_content(content, parts, notes, text_only=where)
    return item if new is content else {**item, "content": new}


def _sound_reasoning(item: JsonObject, notes: Findings) -> JsonObject:
    sealed = item.get("encrypted_content")
    if isinstance(sealed, str) and len(sealed) > MOST_SEALED:
        notes.add("reasoning-size", _too_long(sealed), "left out", item, ("encrypted_content",))
    elif sealed is not None and not isinstance(sealed, str):
        words = f"the sealed text of a reasoning item is {type(sealed).__name__}"
        notes.add("sealed-text", words, "left out", sealed, ("encrypted_content",))
        item = {key: value for key, value in item.items() if key != "encrypted_content"}
    summary = item.get("summary")
    if is_array(summary):
        return item
    words = "a reasoning item has no list as its summary"
    notes.add("reasoning-summary", words, "summary set to []", summary, ("summary",))
    return {**item, "summary": []}


def _sound_call(item: JsonObject, kind: str, notes: Findings) -> JsonObject:
    field = _SAID_BY.get(kind)
    if field is None:
        return item
    if not isinstance(item.get("name"), str) or not item["name"]:
        words = "a call does not say which tool it calls"
        notes.add("broken-call", words, "sent as labelled text", item)
        return as_words(item, "a tool call that does not say which tool it calls")
    name = sound_name(item["name"], notes, ("name",))
    if name is not item["name"]:
        item = {**item, "name": name}
    given = item.get(field)
    if isinstance(given, str):
        return item
    words = f"{field} of call {name!r} are no text"
    notes.add("arguments-text", words, "spelled as JSON text", given, (field,))
    text = argument_text(given) if field == "arguments" else spoken(given)
    return {**item, field: text}


def _sound_output(item: JsonObject, notes: Findings) -> JsonObject:
    output = item.get("output")
    if output is None:
        words = "an output has no content"
        notes.add("empty-content", words, "output set to empty text", path=("output",))
        return {**item, "output": ""}
    new = sound_content(output, INPUT_PARTS, notes, field="output")
    return item if new is output else {**item, "output": new}
