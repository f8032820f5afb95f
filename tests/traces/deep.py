"""Small sessions of each format in which one value nests deep.

Invariant: only one line holds the deep value, and the session has a reply without it.
"""

from __future__ import annotations

import json
from typing import Any

from tests.traces import rows as claude

FORMATS = ("claude-code", "codex", "openai-chat", "anthropic-messages")
PLACES = ("tool input", "tool result", "unknown block")
_HERE = "\x00the deep value\x00"


def lines(format: str, place: str, levels: int) -> list[bytes]:
    """The lines of the file. Where a format spells a call's arguments as text, so is this."""
    deep = "[" * levels + "]" * levels
    texts = [json.dumps(row) for row in _ROWS[format](place)]
    spelled = json.dumps(deep) if place == "tool input" and format in _SPELLED else deep
    return [text.replace(json.dumps(_HERE), spelled).encode() for text in texts]


_SPELLED = ("codex", "openai-chat")


def _values(place: str, plain_input: Any) -> tuple[Any, Any, Any]:
    """What stands in the three places."""
    return (
        _HERE if place == "tool input" else plain_input,
        _HERE if place == "tool result" else "12",
        _HERE if place == "unknown block" else 1,
    )


def _claude(place: str) -> list[Any]:
    arguments, answer, unknown = _values(place, {"path": "a"})
    called = {"type": "tool_use", "id": "t1", "name": "Read", "input": arguments}
    return [
        claude.user("u", None, "go"),
        claude.reply("a", "u", "m1", called),
        claude.result("r", "a", "t1", answer),
        claude.reply("b", "r", "m2", {"type": "x_unknown", "value": unknown}),
        claude.reply("c", "b", "m3", claude.text("done")),
    ]


def _codex(place: str) -> list[Any]:
    arguments, answer, unknown = _values(place, "{}")
    items: list[Any] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": arguments},
        {"type": "function_call_output", "call_id": "c1", "output": answer},
        {"type": "x_unknown_call", "value": unknown},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "k"}]},
    ]
    return [{"type": "response_item", "payload": item} for item in items]


def _chat(place: str) -> list[Any]:
    arguments, answer, unknown = _values(place, "{}")
    function = {"name": "sh", "arguments": arguments}
    return [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": answer},
        {"role": "assistant", "content": [{"type": "x_unknown", "value": unknown}]},
        {"role": "assistant", "content": "done"},
    ]


def _anthropic(place: str) -> list[Any]:
    arguments, answer, unknown = _values(place, {"path": "a"})
    called = {"type": "tool_use", "id": "t1", "name": "sh", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": answer}
    thought = {"type": "thinking", "thinking": "hm", "signature": "x"}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [called]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "x_unknown", "value": unknown}]},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "done"}]},
    ]


_ROWS = {
    "claude-code": _claude,
    "codex": _codex,
    "openai-chat": _chat,
    "anthropic-messages": _anthropic,
}
