"""Reads the marks of a body, apart from the code under test, and strategies of marked bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tenure.core.message import JsonObject
from tenure.cost.models import profile
from tenure.testing.anthropic_marks import mark_rules
from tenure.testing.refusal import Asked, Ledger
from tenure.wire.mark_plan import MarkPlan


def body_of(plan: MarkPlan, messages: Sequence[JsonObject]) -> dict[str, Any]:
    """The body that a plan makes of these messages."""
    sent = [plan.messages.get(n, message) for n, message in enumerate(messages)]
    return {**plan.head, "messages": sent}


def refusals(body: Mapping[str, Any]) -> list[str]:
    """The rules about marks by which the scripted server refuses a body."""
    asked = Asked(body, {}, 200_000, Ledger(), lambda _: (), profile=profile("claude"))
    return [name for name, rule in mark_rules.items() if list(rule(asked))]


def marks(body: Mapping[str, Any]) -> list[Any]:
    """Every mark of a body, in prompt order."""
    found = list(_marks(body.get("tools"))) + list(_marks(body.get("system")))
    for message in body["messages"]:
        found += _marks(message["content"])
    return [*found, *([body["cache_control"]] if body.get("cache_control") else [])]


def _marks(blocks: Any) -> Iterator[Any]:
    for block in blocks if isinstance(blocks, list) else ():
        yield from _marks(block.get("content"))
        if block.get("cache_control"):
            yield block["cache_control"]


def bare(value: Any) -> Any:
    """The value without marks, string content as the one block it stands for."""
    if isinstance(value, dict):
        new = {key: bare(item) for key, item in value.items() if key != "cache_control"}
        for key in ("content", "system"):
            if isinstance(new.get(key), str):
                new[key] = [{"type": "text", "text": new[key]}]
        return new
    return [bare(item) for item in value] if isinstance(value, list) else value


_mark = st.sampled_from([None, None, None, {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"},
                         {"type": "ephemeral", "ttl": "1h"}])  # fmt: skip


def _marked(block: dict[str, Any], mark: Any) -> dict[str, Any]:
    return {**block, "cache_control": mark} if mark else block


_text = st.builds(lambda t, m: _marked({"type": "text", "text": t}, m),
                  st.sampled_from(["hello", "rules"]), _mark)  # fmt: skip
_plain = st.sampled_from(
    [
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}},
        {"type": "tool_use", "id": "a", "name": "n", "input": {"cache_control": 1}},
        {"type": "tool_result", "tool_use_id": "a", "content": "x"},
        {"type": "new_kind", "x": 1},
    ]
)
_result = st.builds(
    lambda inner: {"type": "tool_result", "tool_use_id": "a", "content": inner},
    st.lists(_text, max_size=2),
)
content = st.sampled_from(["go", "  "]) | st.lists(_text | _plain | _result, min_size=1, max_size=4)
messages = st.lists(
    st.builds(lambda r, c: {"role": r, "content": c}, st.sampled_from(["user", "assistant"]), content),
    min_size=1,
    max_size=6,
)  # fmt: skip
heads = st.fixed_dictionaries(
    {},
    optional={
        "system": st.just("rules") | st.lists(_text, max_size=2),
        "tools": st.lists(st.builds(lambda m: _marked({"name": "n", "input_schema": {}}, m), _mark),
                          max_size=2),
        "cache_control": _mark.filter(bool),
    },
)  # fmt: skip
