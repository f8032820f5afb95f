"""Histories that once made a law fall, and their neighbours, by wire format; every law of mending
that a session keeps is tried on them.

Invariant: each is a list of messages, made as small as it goes, under a name that says what is wrong. `make fuzz` prints what it finds; it belongs here before it is put right.
"""

from __future__ import annotations

from typing import Any

GO: dict[str, Any] = {"role": "user", "content": "go"}
MARK: dict[str, Any] = {"type": "ephemeral"}


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


FINDS: dict[str, dict[str, list[Any]]] = {
    "anthropic_messages": {
        "a list says when to clear": [GO, {"role": "system", "content": "0", "clear_at": []}],
        "an object says when to clear": [GO, {"role": "system", "content": "0", "clear_at": {}}],
        "a lifetime that is a list": [
            {"role": "user", "content": [_text("a", cache_control={**MARK, "ttl": []})]}
        ],
        "a mark that is a list": [{"role": "user", "content": [_text("a", cache_control=[])]}],
        "a type that is a list": [{"role": "user", "content": [{"type": [], "text": "a"}]}],
        "a role that is an object": [{"role": {}, "content": "a"}, GO],
    },
    "openai_chat": {
        "a role nobody knows": [{"role": "critic", "content": "not good: word_91"}],
        "a role that is an object": [{"role": {}, "content": "a"}, GO],
        "a part whose type is a list": [{"role": "user", "content": [{"type": [], "text": "a"}]}],
        "a call that is a number": [
            {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0"}, 5]},
            {"role": "tool", "tool_call_id": "call_0", "content": None},
        ],
    },
    "openai_responses": {
        "a type that is a list": [{"type": [], "content": "a"}, GO],
        "a role that is an object": [{"role": {}, "content": "a"}, GO],
        "a part whose type is a list": [{"role": "user", "content": [{"type": [], "text": "a"}]}],
        "a call of nothing": [
            {"type": "function_call", "call_id": None, "name": None, "arguments": None}
        ],
        "an output that is no value": [
            {"type": "function_call_output", "call_id": "call_0", "output": None}
        ],
    },
}
