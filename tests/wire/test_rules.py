"""The rules of validity, each with the smallest request that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import JsonObject
from tenure.wire.detect import WIRES, AnyWire
from tests.formats import any_wire
from tests.wire.corpus import NAMES, body
from tests.wire.strategies import conversations

U: dict[str, Any] = {"role": "user", "content": "go"}
SAID: dict[str, Any] = {"role": "assistant", "content": "done"}


def _asks(*ids: str, before: Any = ()) -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": i, "name": "n", "input": {}} for i in ids]
    return {"role": "assistant", "content": [*before, *calls]}


def _answers(*ids: str, after: Any = (), before: Any = ()) -> dict[str, Any]:
    results = [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in ids]
    return {"role": "user", "content": [*before, *results, *after]}


TEXT = {"type": "text", "text": "hm"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
FETCH = {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_fetch", "input": {}}
EFFORT = {"role": "system", "content": [], "output_config": {"effort": "low"}}
FOUND = {
    "type": "search_result",
    "source": "s",
    "title": "t",
    "content": [{"type": "text", "text": "x"}],
}
FETCHED = {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_s", "content": {}}


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([], []),
        ([U, SAID, U], []),
        ([U, U, SAID, SAID, U], []),
        ([U, _asks("a", "b"), _answers("b", "a"), SAID], []),
        ([U, _asks("a", "b"), _answers("a"), _answers("b", after=[TEXT]), U], []),
        ([U, _asks("a"), _answers("a"), _asks("a"), _answers("a")], ["repeated-id"]),
        ([U, _asks("a", before=[THINKING, TEXT]), _answers("a")], []),
        ([{"role": "assistant", "content": [{"type": "compaction", "content": "x"}]}, SAID, U], []),
        ([SAID, U], ["first-message"]),
        ([_answers("a")], ["orphan-result"]),
        ([U, _asks("a"), U], ["unanswered-call"]),
        ([U, _asks("a", "b"), _answers("a"), SAID], ["unanswered-call"]),
        ([U, _asks("a"), _asks("b"), _answers("b")], ["open-loop"]),
        ([U, _asks("a")], ["open-loop"]),
        ([U, _asks("a"), _answers("a"), U, _answers("a")], ["duplicate-result"]),
        ([U, _asks("a"), _answers("a", before=[TEXT])], ["results-first"]),
        ([U, _asks("a"), U, _answers("a")], ["results-first"]),
        ([U, _asks("a", "a"), _answers("a")], ["duplicate-call"]),
        ([U, _asks("a"), _answers("a", "a")], ["duplicate-result"]),
        ([U, _asks("a"), _answers("a", "z")], ["orphan-result"]),
        ([U, {"role": "assistant", "content": []}, U], ["empty-content"]),
        ([{"role": "user", "content": ""}], ["empty-content"]),
        ([{"role": "user", "content": [{"type": "text", "text": " \n"}]}], ["empty-text"]),
        ([U, {"role": "assistant", "content": [TEXT, THINKING]}], ["thinking-last"]),
        ([U, {"role": "assistant", "content": [THINKING]}, _asks("a"), _answers("a")], []),
        ([U, {"role": "assistant", "content": [FETCH, FETCHED, TEXT]}, U], []),
        ([U, {"role": "assistant", "content": [FETCH]}], []),
        ([U, {"role": "assistant", "content": [FETCH]}, U], ["server-call-pending"]),
        ([U, {"role": "assistant", "content": [FETCH]}, {"role": "assistant", "content": [FETCHED]}], []),
        ([U, _asks("a", before=[FETCH]), _answers("a"), {"role": "assistant", "content": [FETCHED]}], []),
        ([U, _asks("a", before=[FETCH]), _answers("a", after=[TEXT])], ["server-call-pending"]),
        ([U, {"role": "assistant", "content": [FETCHED]}], ["server-result-alone"]),
        ([U, {"role": "system", "content": "x"}, SAID], []),
        ([U, _asks("a"), _answers("a"), {"role": "system", "content": "x"}], []),
        ([U, SAID, {"role": "system", "content": "x"}, U], ["system-place"]),
        ([U, SAID, {"role": "system", "content": [], "output_config": {"effort": "low"}}, U], []),
        ([U, _asks("a"), {"role": "system", "content": "x"}, _answers("a")], ["system-place"]),
        ([U, _asks("a"), EFFORT, _answers("a")], ["system-place"]),
        ([U, _asks("a"), EFFORT], ["open-loop"]),
        ([U, _asks("a"), EFFORT, U], ["unanswered-call", "system-place"]),
        ([U, {"role": "system", "content": "x"}, EFFORT, {"role": "system", "content": "y"}], ["system-row"]),
        ([U, {"role": "system", "content": "x", "clear_at": "soon"}], ["system-fields"]),
        ([U | {"clear_at": "never"}], ["system-fields"]),
        ([U | {"output_config": {"effort": "low"}}], ["system-fields"]),
        ([U, {"role": "system", "output_config": {"effort": "low"}}], ["message-shape"]),
        ([U, {"role": "assistant", "content": [FETCH | {"id": "s"}, FETCHED | {"tool_use_id": "s"}, TEXT]}, U],
         ["server-call-id"]),
        ([U, {"role": "assistant", "content": [FETCH, FETCHED | {"tool_use_id": " srvtoolu_s"}, TEXT]}, U],
         ["server-call-id"]),
        ([{"role": "user", "content": [FOUND | {"content": "x"}]}], ["block-shape"]),
        ([{"role": "user", "content": [FOUND]}], []),
    ],
)  # fmt: skip
def test_anthropic_rules(messages: list[JsonObject], rules: list[str]) -> None:
    found = WIRES["anthropic_messages"].violations(messages)
    assert [v.rule for v in found] == rules


def _calls(*ids: str) -> dict[str, Any]:
    function = {"name": "n", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _tool(id: str, content: Any = "x") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([], []),
        ([SAID, U, SAID], []),
        ([U, _calls("a", "b"), _tool("b"), _tool("a"), SAID], []),
        ([U, _calls("a"), _tool("a"), _calls("a"), _tool("a")], ["reused-id"]),
        ([U, _calls("a"), _tool("a", "")], []),
        ([U, _calls("a"), U, _tool("a")], ["unanswered-call", "orphan-result"]),
        ([U, _calls("a", "b"), _tool("a"), SAID], ["unanswered-call"]),
        ([U, _calls("a", "b"), _tool("a")], ["open-loop"]),
        ([U, _tool("a")], ["orphan-result"]),
        ([U, _calls("a"), _tool("a"), _tool("a")], ["duplicate-result"]),
        ([U, _calls("a", "a"), _tool("a")], ["duplicate-call"]),
        ([U, {"role": "assistant", "content": None}], ["empty-content"]),
        ([U, {"role": "assistant", "content": None, "refusal": "no"}], ["empty-content"]),
        ([U, {"role": "assistant", "audio": {"id": "audio_1"}}, U], []),
        ([U, {"role": "function", "name": "n", "content": None}], []),
        ([{"role": "user"}], ["empty-content"]),
        ([U, _calls("a"), _tool("a", None)], ["empty-content"]),
    ],
)
def test_chat_rules(messages: list[JsonObject], rules: list[str]) -> None:
    assert [v.rule for v in WIRES["openai_chat"].violations(messages)] == rules


def _call(id: str, type: str = "function_call") -> dict[str, Any]:
    said = "input" if type == "custom_tool_call" else "arguments"
    return {"type": type, "call_id": id, "name": "n", said: "{}"}


def _output(id: str, type: str = "function_call_output") -> dict[str, Any]:
    return {"type": type, "call_id": id, "output": "x"}


THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}


@pytest.mark.parametrize(
    ("items", "rules"),
    [
        ([], []),
        ([U, THOUGHT, SAID, U], []),
        (
            [
                U,
                THOUGHT,
                {**THOUGHT, "id": "rs_2"},
                _call("a"),
                _call("b"),
                _output("b"),
                _output("a"),
                SAID,
            ],
            [],
        ),
        ([U, _call("a", "custom_tool_call"), _output("a", "custom_tool_call_output")], []),
        ([U, _call("a"), _output("a"), _call("a"), _output("a")], ["reused-id"]),
        ([U, _call("a"), U], ["unanswered-call"]),
        ([U, _call("a")], ["open-loop"]),
        ([U, _call("a"), _call("b"), _output("b")], ["open-loop"]),
        ([U, _output("a")], ["orphan-result"]),
        ([U, _output("a"), _call("a")], ["result-before-call", "open-loop"]),
        ([U, _call("a"), _output("a"), _output("a")], ["duplicate-result"]),
        ([U, _call("a"), _call("a"), _output("a")], ["duplicate-call"]),
        ([U, THOUGHT, U], ["reasoning-alone"]),
        ([U, _call("a"), THOUGHT, _output("a")], ["reasoning-alone"]),
        ([U, THOUGHT], ["reasoning-alone"]),
        ([{"role": "user", "content": []}], ["empty-content"]),
        ([{"type": "compaction_trigger"}, U], ["trigger-not-last"]),
        ([U, {"type": "compaction_trigger"}], []),
    ],
)
def test_responses_rules(items: list[JsonObject], rules: list[str]) -> None:
    assert [v.rule for v in WIRES["openai_responses"].violations(items)] == rules


def test_a_violation_says_which_message_and_why() -> None:
    (found,) = WIRES["anthropic_messages"].violations([U, SAID, U, _asks("toolu_9"), U])
    assert found.message == 3
    assert "toolu_9" in found.words


@pytest.mark.fuzz
@given(any_wire().flatmap(lambda w: st.tuples(st.just(w), conversations(w))))
def test_what_the_dialect_makes_breaks_no_rule(made: tuple[AnyWire, list[JsonObject]]) -> None:
    wire, messages = made
    assert wire.violations(messages) == []


@pytest.mark.fuzz
@given(
    any_wire().flatmap(lambda w: st.tuples(st.just(w), conversations(w))),
    st.data(),
)
def test_a_result_that_goes_missing_is_noticed(
    made: tuple[AnyWire, list[JsonObject]], data: st.DataObject
) -> None:
    wire, messages = made
    at = data.draw(st.integers(0, len(messages) - 1))
    lenses = wire.lenses(messages[at])
    found = {v.rule for v in wire.violations(messages[:at] + messages[at + 1 :])}
    if any(lens.kind.value == "tool_result" for lens in lenses):
        assert found & {"unanswered-call", "open-loop"}
    if any(lens.kind.value == "tool_call" for lens in lenses):
        assert "orphan-result" in found


@pytest.mark.parametrize("name", NAMES)
def test_the_bodies_of_the_corpus_break_no_rule(name: str) -> None:
    wire = WIRES[name]
    # A lone surrogate stands in one of them, since bodies hold them, and a part that no API has.
    found = wire.violations([m.data for m in wire.cut(body(name)).messages])
    assert {v.rule for v in found} <= {"unsendable-text", "picture-data", "part-type"}
