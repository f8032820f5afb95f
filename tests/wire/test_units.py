"""What must leave a view together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.edit import Drop, Reason
from tenure.core.legal import Terms
from tenure.core.message import BlockKind, JsonObject
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import apply
from tenure.wire.detect import WIRES, AnyWire
from tenure.wire.units import bound_together
from tests.formats import any_wire
from tests.wire.strategies import conversations

WHY = Reason("test", "left out")
U: dict[str, Any] = {"role": "user", "content": "go"}


def _transcript(wire: AnyWire, messages: list[JsonObject]) -> Transcript:
    transcript = Transcript(wire)
    for data in messages:
        transcript.append(wire.message(data))
    return transcript


def _keys(transcript: Transcript, key: str) -> list[str]:
    return [b.key for b in bound_together(transcript, transcript.block(key))]


@pytest.mark.fuzz
@given(
    any_wire().flatmap(lambda w: st.tuples(st.just(w), conversations(w))),
    st.data(),
)
def test_dropping_what_is_bound_together_breaks_no_rule(
    made: tuple[AnyWire, list[JsonObject]], data: st.DataObject
) -> None:
    wire, messages = made
    # A request ends in words to the model; what an end of its own may hold is another rule.
    transcript = _transcript(wire, [*messages, *wire.user("go on")])
    plan = Plan()
    for _ in range(data.draw(st.integers(1, 3))):
        block = data.draw(st.sampled_from(list(transcript.all_blocks())))
        keys = [b.key for b in bound_together(transcript, block) if b.key not in plan.by_key]
        if block.index > 0 and keys:
            plan = plan.add(Drop(tuple(keys), WHY))
    assert wire.violations(apply(transcript, plan).messages) == []


def test_what_is_left_at_the_end_when_a_call_goes_is_mended() -> None:
    """Found by fuzzing: the text in front of the last calls ends in blanks, and the calls go."""
    wire = WIRES["anthropic_messages"]
    call = {"type": "tool_use", "id": "a", "name": "n", "input": {}}
    said = [{"type": "text", "text": "I look\r"}, call]
    result = [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]
    transcript = _transcript(
        wire,
        [U, {"role": "assistant", "content": said}, {"role": "user", "content": result}],
    )
    view = apply(transcript, Plan([Drop(tuple(_keys(transcript, "call:a")), WHY)]))
    assert [v.rule for v in wire.violations(view.messages)] == ["trailing-space"]
    mended = wire.mend(view.messages, Terms())
    assert wire.violations(mended.messages) == []
    assert mended.messages[-1]["content"][0]["text"] == "I look"


def test_a_call_and_its_result_go_together() -> None:
    wire = WIRES["anthropic_messages"]
    call = {"type": "tool_use", "id": "a", "name": "n", "input": {}}
    other = {**call, "id": "b"}
    results = [{"type": "tool_result", "tool_use_id": i, "content": "x"} for i in "ab"]
    transcript = _transcript(
        wire,
        [U, {"role": "assistant", "content": [call, other]}, {"role": "user", "content": results}],
    )
    assert _keys(transcript, "result:a") == _keys(transcript, "call:a") == ["call:a", "result:a"]


def test_thinking_that_would_end_a_turn_goes_along_even_from_the_message_before() -> None:
    wire = WIRES["anthropic_messages"]
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    call = {"type": "tool_use", "id": "a", "name": "n", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    for said in ([[thinking, call]], [[thinking], [call]]):
        turns = [{"role": "assistant", "content": content} for content in said]
        transcript = _transcript(wire, [U, *turns, {"role": "user", "content": [result]}])
        kinds = [b.kind for b in bound_together(transcript, transcript.block("call:a"))]
        assert kinds == [BlockKind.THINKING, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT]


def test_a_reasoning_item_takes_all_that_it_led_to() -> None:
    wire = WIRES["openai_responses"]
    call = {"type": "function_call", "call_id": "a", "name": "n", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = [U, reasoning, call, {**call, "call_id": "b"}, output, {**output, "call_id": "b"}]
    transcript = _transcript(wire, [*items, {"role": "assistant", "content": "done"}])
    for key in ("call:a", "result:b", transcript.blocks[1][0].key):
        assert [b.index for b in bound_together(transcript, transcript.block(key))] == [
            1,
            2,
            3,
            4,
            5,
        ]
    assert [b.index for b in bound_together(transcript, transcript.blocks[6][0])] == [6]
