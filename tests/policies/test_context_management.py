"""Anthropic's context edits on our side, against a definition of their documented meaning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.protocols import ToolCall
from tenure.errors import ConfigError
from tenure.policies.context_management import (
    CLEAR_THINKING,
    CLEAR_TOOL_USES,
    ClearThinking,
    ClearToolUses,
    ContextManagement,
    parse,
)
from tenure.testing.strategies import Result, Step
from tests.policies.play import Table

FORMATS = ["anthropic_messages", "openai_chat", "openai_responses"]
TOOLS = ["read", "run", "search"]


def amount(kind: str, least: int, most: int) -> st.SearchStrategy[dict[str, Any]]:
    return st.integers(least, most).map(lambda n: {"type": kind, "value": n})


@st.composite
def clearing(draw: st.DrawFn) -> dict[str, Any]:
    """Parameters of clear_tool_uses, any of them left out."""
    every = {
        "trigger": amount("input_tokens", 1, 2_000) | amount("tool_uses", 1, 8),
        "keep": amount("tool_uses", 0, 4),
        "clear_at_least": amount("input_tokens", 0, 900),
        "exclude_tools": st.lists(st.sampled_from(TOOLS), unique=True, max_size=2),
        "clear_tool_inputs": st.booleans()
        | st.lists(st.sampled_from(TOOLS), unique=True, max_size=2),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(every))))
    return {"type": CLEAR_TOOL_USES, **{name: draw(every[name]) for name in sorted(chosen)}}


def table(wire: str, edits: list[dict[str, Any]]) -> Table:
    return Table(wire, window=10**6, make=lambda: ContextManagement({"edits": edits}))


Made = list[tuple[str, int]]
"""The tool calls of a session in order: the tool, and the length of its result in words."""


def play(given_table: Table, calls: Made) -> None:
    """A step for each call, a request at the end; one token is four characters there."""
    given_table.user("go")
    for number, (tool, words) in enumerate(calls):
        given_table.request()
        call = ToolCall(f"c{number}", tool, {"path": f"src/{number}.py", "why": "x" * 80})
        given_table.reply(Step(thinking=f"thought {number}", calls=(call,)))
        given_table.results([Result("word " * words)])
    given_table.request()


def cleared_by_definition(calls: Made, edit: dict[str, Any], tokens: int) -> tuple[set[int], bool]:
    """The numbers of the calls whose results go, and whether the trigger was reached at all."""
    trigger = edit.get("trigger", {"type": "input_tokens", "value": 100_000})
    reached = (tokens if trigger["type"] == "input_tokens" else len(calls)) > trigger["value"]
    keep = edit.get("keep", {"value": 3})["value"]
    old = range(max(0, len(calls) - keep)) if reached else range(0)
    return {n for n in old if calls[n][0] not in edit.get("exclude_tools", [])}, reached


SESSIONS = st.lists(st.tuples(st.sampled_from(TOOLS), st.integers(30, 200)), min_size=1, max_size=9)


@given(st.sampled_from(FORMATS), SESSIONS, clearing())
def test_the_results_that_the_documentation_says_are_cleared(
    wire: str, calls: Made, edit: dict[str, Any]
) -> None:
    one = table(wire, [edit])
    play(one, calls)
    machine = one.machine
    unedited = one.count([m.data for m in machine.transcript.messages])
    plan = machine.plan.by_key
    gone = {n for n in range(len(calls)) if f"result:c{n}" in plan}
    inputs = {n for n in range(len(calls)) if f"call:c{n}" in plan}
    wanted, _ = cleared_by_definition(calls, edit, unedited)
    freed = sum(e.reason.tokens_before - e.reason.tokens_after for e in machine.plan)
    if gone:
        assert gone == wanted
        assert freed >= edit.get("clear_at_least", {"value": 0})["value"]
    elif wanted:
        whole = table(wire, [{k: v for k, v in edit.items() if k != "clear_at_least"}])
        play(whole, calls)
        most = sum(e.reason.tokens_before - e.reason.tokens_after for e in whole.machine.plan)
        assert most < edit["clear_at_least"]["value"]
    also = edit.get("clear_tool_inputs", False)
    named = set(TOOLS) if also is True else set(also or [])
    assert inputs == {n for n in gone if calls[n][0] in named}
    reported = one.watched.policy.applied_edits(machine.plan)  # type: ignore[attr-defined]
    if gone:
        ((name, count, tokens),) = reported
        assert (name, count, tokens) == (CLEAR_TOOL_USES, len(gone), freed)
    else:
        assert reported == []
    assert one.machine.outgoing is not None
    assert one.wire.violations(one.machine.outgoing.view.messages) == []


@given(
    st.sampled_from(["anthropic_messages"]),
    SESSIONS,
    st.just("all") | amount("thinking_turns", 1, 5),
)
def test_the_reasoning_of_all_but_the_newest_turns_is_cleared(
    wire: str, calls: Made, keep: Any
) -> None:
    one = table(wire, [{"type": CLEAR_THINKING, "keep": keep}])
    play(one, calls)
    assert one.machine.outgoing is not None
    said = str(one.machine.outgoing.view.messages)
    kept = len(calls) if keep == "all" else keep["value"]
    for number in range(len(calls)):
        assert (f"thought {number}" in said) == (number >= len(calls) - kept)
    reported = one.watched.policy.applied_edits(one.machine.plan)  # type: ignore[attr-defined]
    assert [r.cleared for r in reported] == [n for n in [len(calls) - kept] if n > 0]


def test_reasoning_items_of_responses_stay() -> None:
    one = table("openai_responses", [{"type": CLEAR_THINKING}])
    play(one, [("read", 30)] * 4)
    assert len(one.machine.plan) == 0


def test_the_defaults_are_the_documented_ones() -> None:
    assert parse({"edits": [{"type": CLEAR_THINKING}, {"type": CLEAR_TOOL_USES}]}) == (
        ClearThinking(),
        ClearToolUses(),
    )
    default = ClearToolUses()
    assert (default.trigger.value, default.keep, default.clear_at_least) == (100_000, 3, 0)


WRONG: dict[str, list[dict[str, Any]]] = {
    "edits": [{}, {"edits": "x"}, {"edits": [1]}],
    "edits[0].type": [{"edits": [{"type": "compact_20260112"}]}, {"edits": [{}]}],
    "edits[0].keep": [
        {"edits": [{"type": CLEAR_THINKING, "keep": {"type": "thinking_turns", "value": 0}}]},
        {"edits": [{"type": CLEAR_TOOL_USES, "keep": 3}]},
        {"edits": [{"type": CLEAR_TOOL_USES, "keep": {"type": "tool_uses", "value": True}}]},
    ],
    "edits[0].trigger": [
        {"edits": [{"type": CLEAR_TOOL_USES, "trigger": {"type": "turns", "value": 1}}]}
    ],
    "edits[0].exclude_tools": [{"edits": [{"type": CLEAR_TOOL_USES, "exclude_tools": "read"}]}],
    "edits[0].surprise": [{"edits": [{"type": CLEAR_TOOL_USES, "surprise": 1}]}],
}


@pytest.mark.parametrize(("where", "config"), [(w, c) for w, many in WRONG.items() for c in many])
def test_what_the_api_would_refuse_is_named(where: str, config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        ContextManagement(config)
    assert caught.value.key == where
    assert where in str(caught.value)


@pytest.mark.parametrize(
    "edits",
    [
        [{"type": CLEAR_TOOL_USES}, {"type": CLEAR_THINKING}],
        [{"type": CLEAR_TOOL_USES}, {"type": CLEAR_TOOL_USES}],
    ],
    ids=["thinking comes first", "each once"],
)
def test_the_order_and_number_of_edits_is_checked(edits: list[dict[str, Any]]) -> None:
    with pytest.raises(ConfigError):
        parse({"edits": edits})
