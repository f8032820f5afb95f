"""Conversations as agents have them, in each wire format, and odd spellings of the same JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tenure.core.message import JsonObject
from tenure.core.protocols import ToolCall
from tenure.wire.detect import AnyWire

WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    | st.sampled_from('"\\/é日😀\u2028'),
    min_size=1,
    max_size=30,
).filter(lambda text: bool(text.strip()))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
# NUL breaks a rule of every API.
_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
JSON = st.recursive(
    SCALARS | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAME, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(_NAME, JSON, max_size=3)


@st.composite
def conversations(draw: st.DrawFn, wire: AnyWire, *, open_end: bool = False) -> list[JsonObject]:
    """A legal conversation of a few steps; with `open_end` it may end in unanswered calls."""
    messages: list[JsonObject] = wire.user(draw(WORDS))
    count = 0
    for step in range(draw(st.integers(0, 5))):
        calls = [
            ToolCall(f"call_{count + at}", draw(st.sampled_from(["read", "grep"])), draw(ARGUMENTS))
            for at in range(draw(st.integers(0, 3)))
        ]
        count += len(calls)
        thinking = draw(st.none() | WORDS)
        text = draw(WORDS if not calls else st.none() | WORDS)
        messages += wire.reply(reply_body(wire.name, thinking, text, calls, step=step))[0]
        results = [(call, draw(WORDS), draw(st.booleans())) for call in calls]
        messages += wire.results(results)
        if not calls:
            messages += wire.user(draw(WORDS))
    if open_end and draw(st.booleans()):
        last = ToolCall("call_last", "read", {})
        messages += wire.reply(reply_body(wire.name, None, None, [last]))[0]
    return messages


def reply_body(
    name: str, thinking: str | None, text: str | None, calls: list[ToolCall], *, step: int = 1
) -> dict[str, Any]:
    """A reply of the provider that says this; `step` is part of its ids."""
    if name == "openai_responses":
        return _responses(thinking, text, calls, step)
    made = {
        "anthropic_messages": _anthropic,
        "openai_chat": _chat,
    }[name]
    return made(thinking, text, calls)


def _anthropic(thinking: str | None, text: str | None, calls: list[ToolCall]) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if thinking is not None:
        content.append({"type": "thinking", "thinking": thinking, "signature": "c2ln"})
    if text is not None:
        content.append({"type": "text", "text": text})
    content += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.input} for c in calls]
    return {"type": "message", "role": "assistant", "content": content, "usage": {}}


def _chat(thinking: str | None, text: str | None, calls: list[ToolCall]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thinking is not None:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "function": {"name": c.name, "arguments": json.dumps(c.input)},
            }
            for c in calls
        ]
    return {"choices": [{"index": 0, "message": message}]}


def _responses(
    thinking: str | None, text: str | None, calls: list[ToolCall], step: int
) -> dict[str, Any]:
    # Ids come with reasoning: without it they would be alone.
    def named(id: str) -> dict[str, str]:
        return {"id": id} if thinking is not None else {}

    output: list[dict[str, Any]] = []
    if thinking is not None:
        summary = [{"type": "summary_text", "text": thinking}]
        output.append({"type": "reasoning", "id": f"rs_{step}", "summary": summary})
    if text is not None:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append(
            {
                "type": "message",
                **named(f"msg_{step}"),
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    output += [
        {
            "type": "function_call",
            **named(f"fc_{c.id}"),
            "call_id": c.id,
            "name": c.name,
            "arguments": json.dumps(c.input),
        }
        for c in calls
    ]
    return {"output": output}


@st.composite
def spelled(draw: st.DrawFn, value: Any) -> str:
    """The JSON text of a value as no serializer writes it: odd blanks, escapes, duplicate keys."""
    blank = st.sampled_from(["", "", " ", "\n\t", "\r\n "])

    def text(value: Any) -> str:
        if isinstance(value, dict):
            members = [f"{string(k)}{draw(blank)}:{draw(blank)}{text(v)}" for k, v in value.items()]
            if value and draw(st.integers(0, 5)) == 0:
                first = next(iter(value))
                members.insert(0, f"{string(first)}:{draw(st.sampled_from(['1', '[]', 'null']))}")
            return "{" + draw(blank) + joined(members) + draw(blank) + "}"
        if isinstance(value, list):
            return "[" + draw(blank) + joined([text(item) for item in value]) + draw(blank) + "]"
        return string(value) if isinstance(value, str) else json.dumps(value)

    def joined(parts: list[str]) -> str:
        return "".join(
            part if not at else f"{draw(blank)},{draw(blank)}{part}"
            for at, part in enumerate(parts)
        )

    def string(value: str) -> str:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    return text(value)
