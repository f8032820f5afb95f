"""What a message means, whichever way it is spelled: the table of what counts as equal.

Invariant: an output as received, its echo in a later request and the string spelling of a single
text give the same bytes. Cache marks and nulls never count.
"""

from __future__ import annotations

import json
from typing import Any

from tenure.core.message import JsonObject
from tenure.wire.values import is_array, is_object, text_of

MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
# Chat: made by the server for the reader; never sent back.
_CHAT_OUTPUT_ONLY = frozenset({"annotations", "parsed"})
# Responses: ids may be left out by clients that store nothing; status is refused on some items.
_ITEM_OUTPUT_ONLY = frozenset({"status", "id", "parsed_arguments"})
_PART_OUTPUT_ONLY = frozenset({"annotations", "logprobs", "parsed"})

_EXACT = frozenset({"input", "arguments"})


class FreeForm(str):
    """The input of a custom tool call: free text, not JSON arguments."""

    __slots__ = ()


def without_marks(value: Any) -> Any:
    """The value without cache marks, which move from request to request and mean nothing."""
    if is_object(value):
        return {key: without_marks(item) for key, item in value.items() if key not in MARKS}
    if is_array(value):
        return [without_marks(item) for item in value]
    return value


def anthropic(data: JsonObject) -> bytes:
    """Role and blocks; string content is a text block, is_error false and no citations are absent."""
    blocks = []
    for block in _parts(data.get("content"), "text"):
        if not is_object(block):
            blocks.append(block)
            continue
        new = {key: value for key, value in block.items() if key != "parsed_output"}
        if new.get("type") == "text" and not new.get("text"):
            continue
        if new.get("type") == "tool_result":
            new["content"] = _parts(new.get("content"), "text")
        if not new.get("is_error", True):
            del new["is_error"]
        if not new.get("citations", True):
            del new["citations"]
        blocks.append(new)
    return _canonical({**data, "content": blocks})


def chat(data: JsonObject) -> bytes:
    """All fields of the message; string content is one text part, empty content is absent."""
    new = {key: value for key, value in data.items() if key not in _CHAT_OUTPUT_ONLY}
    new["content"] = [p for p in _parts(data.get("content"), "text") if p != _text("text", "")]
    if is_object(data.get("audio")):
        new["audio"] = {"id": data["audio"].get("id")}
    calls = data.get("tool_calls")
    new["tool_calls"] = [_chat_call(c) for c in (calls if is_array(calls) else ())] or None
    return _canonical(new)


def responses(data: JsonObject) -> bytes:
    """The item without ids and status; an easy message is the full one."""
    kind = data.get("type", "message")
    if kind == "reasoning":
        # The sealed text may be left out on the way back; the id names it.
        hidden = {"status", "encrypted_content"} if data.get("id") else {"status"}
        kept = {key: value for key, value in data.items() if key not in hidden}
        return _canonical({**kept, "content": data.get("content") or None})
    new = {key: value for key, value in data.items() if key not in _ITEM_OUTPUT_ONLY}
    if kind == "item_reference":
        new["id"] = data.get("id")
    if kind == "message":
        spelling = "output_text" if data.get("role") == "assistant" else "input_text"
        new["type"] = "message"
        new["content"] = [_part(p) for p in _parts(data.get("content"), spelling)]
    if kind == "function_call":
        new["arguments"] = parsed_arguments(data.get("arguments"))
    if "output" in data:
        new["output"] = _parts(data["output"], "input_text")
    return _canonical(new)


def parsed_arguments(arguments: Any) -> Any:
    """The arguments of a call as JSON values; text that is no JSON stays text."""
    if not isinstance(arguments, str) or isinstance(arguments, FreeForm):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def spoken_input(text: str) -> Any:
    """The input of a call that says `text`: the object it spells, else an object around it."""
    value = parsed_arguments(text)
    return value if isinstance(value, dict) else {"tombstone": text}


def flagged(content: str | list[Any], *, is_error: bool) -> str | list[Any]:
    """The content of a result, saying that it is an error where the API has no flag for it."""
    if not is_error:
        return content
    if isinstance(content, str):
        return content if content.lower().startswith("error") else f"Error: {content}"
    return [{"type": text_of(content[0].get("type")), "text": "Error:"}, *content]


def _parts(content: Any, spelling: str) -> list[Any]:
    if isinstance(content, str):
        return [_text(spelling, content)]
    if is_array(content):
        return list(content)
    return [] if content is None else [content]


def _text(spelling: str, text: str) -> dict[str, str]:
    return {"type": spelling, "text": text}


def _part(part: Any) -> Any:
    if not is_object(part):
        return part
    return {key: value for key, value in part.items() if key not in _PART_OUTPUT_ONLY}


def _chat_call(call: Any) -> Any:
    if not is_object(call):
        return call
    new = {key: value for key, value in call.items() if key != "index"}
    new.setdefault("type", "function")
    if is_object(new.get("function")):
        arguments = parsed_arguments(new["function"].get("arguments"))
        new["function"] = {"name": new["function"].get("name"), "arguments": arguments}
    return new


def _canonical(value: Any) -> bytes:
    text = json.dumps(_plain(value), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.encode()


def _plain(value: Any, *, exact: bool = False) -> Any:
    """Without nulls and marks; whole floats are integers, as other languages write them.

    What a tool gets (`exact`) keeps its nulls: there they are data.
    """
    if is_object(value):
        return {
            str(key): _plain(item, exact=exact or key in _EXACT)
            for key, item in value.items()
            if exact or (item is not None and key not in MARKS)
        }
    if is_array(value):
        return [_plain(item, exact=exact) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
