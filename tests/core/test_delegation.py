"""The provider's own edits: the same blocks stay cleared, and what it reports is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.delegation import ToolUses, confirmed, ignored, tool_uses, wanted
from tenure.core.edit import Delegated, Drop, Reason, Replace
from tenure.core.message import Block, BlockKind, Message
from tenure.core.plan import Plan
from tenure.core.server_edit import Applied
from tenure.core.transcript import Transcript
from tenure.core.view import apply
from tenure.wire.detect import wire_for
from tests.effort import seconds_of

CLEAR = "clear_tool_uses_20250919"
WIRE = wire_for("anthropic_messages")


def size(_block: Block) -> int:
    return 250


def conversation(calls: int) -> Transcript:
    transcript = Transcript(WIRE)
    _say(transcript, {"role": "user", "content": "go"})
    for n in range(calls):
        call = {"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"n": n}}
        _say(transcript, {"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"c{n}", "content": f"text {n}"}
        _say(transcript, {"role": "user", "content": [result]})
    return transcript


def _say(transcript: Transcript, data: dict[str, object]) -> None:
    transcript.append(Message(data, origin=WIRE.origin(data)))


def clearing(count: int, *, before: int = 1_000, applied: bool = False) -> Delegated:
    keys = tuple(f"result:c{n}" for n in range(count))
    return Delegated(CLEAR, keys, Reason("test", "old", tokens_before=before), "d", applied=applied)


@given(st.integers(1, 12), st.data())
def test_what_is_kept_grows_with_the_session_so_that_the_same_results_stay_cleared(
    calls: int, data: st.DataObject
) -> None:
    cleared = data.draw(st.integers(1, calls))
    more = data.draw(st.integers(0, 6))
    plan = Plan([clearing(cleared)])
    (now,) = wanted(plan, conversation(calls))
    (later,) = wanted(plan, conversation(calls + more))
    assert now.tool_uses - now.keep == later.tool_uses - later.keep == cleared
    assert (now.tool_uses, later.tool_uses) == (calls, calls + more)


@given(
    steps=st.lists(
        st.sampled_from(["call", "answer", "late", "words", "ask", "plan"]), min_size=1, max_size=40
    )
)
def test_tool_uses_that_grow_are_those_from_scratch(steps: list[str]) -> None:
    transcript, plan, known = conversation(1), Plan([clearing(1)]), ToolUses()
    calls = 0
    for step in steps:
        match step:
            case "call":
                calls += 1
                call = {"type": "tool_use", "id": f"n{calls}", "name": "read", "input": {}}
                _say(transcript, {"role": "assistant", "content": [call]})
            case "answer" | "late":
                number = calls if step == "answer" else 1
                result = {"type": "tool_result", "tool_use_id": f"n{number}", "content": "text"}
                _say(transcript, {"role": "user", "content": [result]})
            case "words":
                _say(transcript, {"role": "user", "content": "go on"})
            case "plan":
                free = [b for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_RESULT]
                free = [b for b in free if b.key not in plan.by_key]
                if free:
                    plan = plan.add(Drop((free[-1].key,), Reason("test", "gone")))
        if step == "ask":
            assert known.update(plan, transcript).results == tool_uses(plan, transcript)
    assert wanted(plan, transcript, known) == wanted(plan, transcript)


def test_one_more_call_costs_the_same_in_a_long_session() -> None:
    def cost(calls: int) -> float:
        transcript, plan, known = conversation(calls), Plan([clearing(3)]), ToolUses()
        known.update(plan, transcript)

        def more() -> None:
            for n in range(300):
                call = {"type": "tool_use", "id": f"m{n}", "name": "read", "input": {}}
                _say(transcript, {"role": "assistant", "content": [call]})
                result = {"type": "tool_result", "tool_use_id": f"m{n}", "content": "text"}
                _say(transcript, {"role": "user", "content": [result]})
                known.update(plan, transcript)

        return seconds_of(more)

    assert cost(8_000) < 4 * cost(400) + 0.05


def test_results_that_left_the_view_are_not_counted() -> None:
    plan = Plan([clearing(2), Drop(("call:c3", "result:c3"), Reason("test", "gone"))])
    (asked,) = wanted(plan, conversation(6))
    assert (asked.tool_uses, asked.keep) == (5, 3)


def test_the_view_is_sent_whole() -> None:
    transcript = conversation(3)
    view = apply(transcript, Plan([clearing(2)]))
    assert view.messages == [message.data for message in transcript.messages]
    assert all(entry.edits == () for entry in view.entries)


def test_a_report_settles_which_blocks_were_cleared_and_what_that_freed() -> None:
    transcript, edit = conversation(5), clearing(3)
    ((old, new),) = confirmed(Plan([edit]), transcript, [Applied(CLEAR, 2, 400)], size)
    assert old is edit
    assert new.targets == ("result:c0", "result:c1")
    assert new.applied
    assert new.reason.tokens_before == 2 * size(transcript.block("result:c0"))
    assert "2 results and 400 tokens" in new.reason.words
    assert confirmed(Plan([new]), transcript, [Applied(CLEAR, 2, 400)], size) == []


def test_a_reply_without_a_report_changes_nothing() -> None:
    plan, transcript = Plan([clearing(2)]), conversation(4)
    assert confirmed(plan, transcript, [], size) == []
    assert confirmed(plan, transcript, [Applied("clear_thinking_20251015", 1, 9)], size) == []
    assert confirmed(plan, transcript, [Applied(CLEAR, 0, 0)], size) == []


def test_only_results_are_cleared() -> None:
    transcript = conversation(4)
    ((_, new),) = confirmed(Plan([clearing(1)]), transcript, [Applied(CLEAR, 4, 10)], size)
    assert {transcript.block(key).kind for key in new.targets} == {BlockKind.TOOL_RESULT}


def test_asked_for_more_than_was_done_the_end_stays_where_it_was_asked_for() -> None:
    transcript = conversation(6)
    edit = replace(clearing(4), upto="result:c3")
    ((_, new),) = confirmed(Plan([edit]), transcript, [Applied(CLEAR, 3, 9)], size)
    assert new.targets == ("result:c0", "result:c1", "result:c2")
    (asked,) = wanted(Plan([new]), transcript)
    assert asked.keep == 2


def test_calls_are_counted_also_those_without_a_result() -> None:
    transcript = conversation(2)
    lone = {"type": "tool_use", "id": "lone", "name": "read", "input": {}}
    _say(transcript, {"role": "assistant", "content": [lone]})
    _say(transcript, {"role": "user", "content": "never mind"})
    (asked,) = wanted(Plan([clearing(1)]), transcript)
    assert (asked.tool_uses, asked.keep) == (3, 2)


def test_a_result_that_stands_edited_in_the_view_goes_along() -> None:
    transcript = conversation(4)
    ours = Replace("result:c1", (b"{}",), Reason("t", "short", tokens_after=40), "r")
    plan = Plan([ours, clearing(1)])
    ((_, new),) = confirmed(plan, transcript, [Applied(CLEAR, 3, 9)], size)
    assert (new.targets, new.along) == (("result:c0", "result:c2"), ("result:c1",))
    assert new.reason.tokens_before == 250 + 250 + 40


@pytest.mark.parametrize(
    ("prompt", "applied", "reported", "heeded"),
    [
        (9_000, False, (), False),
        (9_000, True, (), False),
        (5_100, False, (), True),
        (9_000, False, (Applied(CLEAR, 2, 9),), True),
        (9_000, False, (Applied("drop_block", 2, 9),), False),
        (None, False, (), False),
        (None, True, (), True),
    ],
)
def test_silence_is_judged_by_the_size_of_the_prompt(
    *, prompt: int | None, applied: bool, reported: tuple[Applied, ...], heeded: bool
) -> None:
    edit = clearing(2, applied=applied)
    plan = Plan([edit])

    def resident(plan: Plan) -> int:
        return 5_000 if plan.delegated else 9_000

    assert ignored(plan, [CLEAR], reported, prompt, resident) == (() if heeded else (edit,))
    # What was not asked for can't be ignored.
    assert ignored(plan, ["drop_block"], reported, prompt, resident) == ()
