"""What an inspection says about a small recording whose every size is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenure.core.message import Block, BlockKind, Message, Origin
from tenure.core.usage import Usage
from tenure.cost.diagnose import Outcome
from tenure.replay.cache_truth import COMPACTED, TOOLS, cache_steps
from tenure.replay.holdings import CLASSES, Holdings, Share, class_of, merged
from tenure.replay.inspection import Inspection, inspect, inspect_one, total
from tenure.replay.outlook import outlook
from tenure.replay.recording import Recording
from tenure.replay.repeats import Row, old_versions, repeats
from tenure.replay.reuse import AT_ONCE, LATER, NEVER, reuse_of
from tenure.replay.trace import Thread
from tests.replay.recorded import Recorder, recording_of, trace_of


def _errand() -> Thread:
    recorder = Recorder().user("look into build_7x.log")
    recorder.call("Read", {"path": "a.py"}, "the target is omega_v7 " + "x" * 400)
    recorder.call("Read", {"path": "b.py"}, "y" * 800)
    recorder.call("Bash", {"command": "ls"}, "nothing")
    recorder.call("Bash", {"command": "grep omega_v7"}, "12")
    return recorder.call("Read", {"path": "b.py"}, "y" * 800).say("done").thread()


def _reported(thread: Thread, *usages: Usage) -> Thread:
    steps = [replace(step, usage=usage) for step, usage in zip(thread.steps, usages, strict=True)]
    return replace(thread, steps=tuple(steps))


def _inspected(*threads: Thread) -> Inspection:
    return inspect(recording_of(threads))


def _holdings(thread: Thread) -> Holdings:
    return Holdings.of(recording_of([thread]).threads[0])


def test_what_is_carried_is_every_prompt_together() -> None:
    holdings = _holdings(_errand())
    assert sum(one.tokens * one.carried for one in holdings.held) == sum(holdings.prompts)


def test_a_block_is_carried_from_the_request_after_it_arrived() -> None:
    holdings = _holdings(_errand())
    first, *_, last = holdings.held
    assert (first.since, first.carried, first.start) == (0, 6, 0)
    assert (last.since, last.carried) == (6, 0)
    results = list(holdings.results())
    assert [one.since for one in results] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("kind", "origin", "expected"),
    [
        (BlockKind.TEXT, Origin.USER, "user words"),
        (BlockKind.MEDIA, Origin.USER, "user words"),
        (BlockKind.TEXT, Origin.HARNESS, "harness"),
        (BlockKind.TEXT, Origin.SYSTEM, "system"),
        (BlockKind.TEXT, Origin.ASSISTANT, "assistant text"),
        (BlockKind.THINKING, Origin.ASSISTANT, "reasoning"),
        (BlockKind.TOOL_CALL, Origin.ASSISTANT, "tool calls"),
        (BlockKind.TOOL_RESULT, Origin.TOOL, "tool results"),
    ],
)
def test_a_block_has_one_class(kind: BlockKind, origin: Origin, expected: str) -> None:
    assert class_of(Block("k", 0, (), kind, origin, "x")) == expected
    assert expected in CLASSES


def test_every_origin_has_a_class() -> None:
    blocks = [Block("k", 0, (), BlockKind.OTHER, origin, "x") for origin in Origin]
    assert {class_of(block) for block in blocks} <= set(CLASSES)


def test_shares_of_one_name_are_added_and_the_heaviest_comes_first() -> None:
    shares = [Share("a", 1, 10, 20, 0.5), Share("b", 1, 5, 90, 1.0), Share("a", 2, 1, 2, 0.25)]
    assert merged(shares) == (Share("b", 1, 5, 90, 1.0), Share("a", 3, 11, 22, 0.75))


def test_a_result_is_used_later_at_once_or_never() -> None:
    holdings = _holdings(_errand())
    reuse = reuse_of(holdings)
    fates = [reuse.fate(one) for one in holdings.results()]
    # omega_v7 is said at step 3 by what arrived with step 1; b.py, read at step 2, again at step 4.
    assert fates == [LATER, LATER, NEVER, NEVER, NEVER]
    assert [use.age for use in reuse.uses] == [2, 2]


def test_what_the_next_reply_says_is_used_at_once() -> None:
    recorder = Recorder().user("go").call("Bash", {"command": "ls"}, "file_one.txt")
    thread = recorder.call("Read", {"path": "file_one.txt"}, "text").say("done").thread()
    holdings = _holdings(thread)
    reuse = reuse_of(holdings)
    assert [reuse.fate(one) for one in holdings.results()] == [AT_ONCE, NEVER]
    assert [use.age for use in reuse.uses] == [0]


def test_a_position_is_the_middle_of_the_result_in_the_prompt() -> None:
    holdings = _holdings(_errand())
    use = reuse_of(holdings).uses[0]
    result = next(holdings.results())
    middle = (result.start + result.tokens / 2) / holdings.prompts[3]
    assert use.position == pytest.approx(middle)
    assert 0 < use.position < 1


def test_a_repeat_counts_all_but_the_newest_as_older() -> None:
    (repeat,) = repeats(Row("s", "main"), _holdings(_errand()))
    assert (repeat.tool, repeat.subject, repeat.times) == ("Read", "b.py", 2)
    assert repeat.tokens == 2 * repeat.older


def test_an_older_version_that_a_newer_one_covers_is_superseded() -> None:
    page = " ".join(f"word_{number}" for number in range(40))
    recorder = Recorder().user("go").call("Read", {"path": "a.py", "limit": 9}, page)
    thread = recorder.call("Read", {"path": "a.py"}, page + " new_word_1").say("done").thread()
    holdings = _holdings(thread)
    (row,) = old_versions(Row("s", "main"), holdings)
    assert (row.subject, row.superseded) == ("a.py", 1)
    assert row.older == next(holdings.results()).tokens
    assert repeats(Row("s", "main"), holdings) == []


def test_the_bill_adds_what_was_reported_and_counts_what_was_not() -> None:
    thread = Recorder().user("a").say("b").user("c").say("d").thread()
    thread = _reported(thread, Usage(fresh=100, output=10), Usage(cache_read=100, cache_write=50))
    bill = _inspected(thread).bill
    assert bill.requests == 2
    assert bill.prompt_usd == pytest.approx((100 + 10 + 62.5) * 5e-6)
    assert bill.output_usd == pytest.approx(50 * 5e-6)
    silent = replace(thread, steps=tuple(replace(step, usage=None) for step in thread.steps))
    assert (_inspected(silent).bill.unreported, _inspected(silent).bill.usd) == (2, 0)


def test_each_step_is_priced_as_its_own_model() -> None:
    thread = Recorder().user("a").say("b").thread()
    thread = _reported(thread, Usage(fresh=1000))
    (step,) = thread.steps
    small = replace(thread, steps=(replace(step, model="claude-haiku-4-5"),))
    assert _inspected(small).bill.usd == pytest.approx(1000 * 1e-6)


def test_the_usd_of_the_classes_is_that_of_the_prompts() -> None:
    thread = _reported(_errand(), *(Usage(fresh=500 + 300 * n, output=5) for n in range(6)))
    found = _inspected(thread)
    assert sum(one.usd for one in found.classes) == pytest.approx(found.bill.prompt_usd)


def test_a_total_is_the_sum_of_its_sessions() -> None:
    thread = _reported(_errand(), *(Usage(fresh=500 + 300 * n, output=5) for n in range(6)))
    one = _inspected(thread)
    both = total([one, one])
    assert both.sessions == 2
    assert both.steps == 2 * one.steps
    assert both.bill.usd == pytest.approx(2 * one.bill.usd)
    assert [(s.name, s.tokens) for s in both.classes] == [
        (s.name, 2 * s.tokens) for s in one.classes
    ]
    assert len(both.uses) == 2 * len(one.uses)
    assert [row.tokens for row in both.results] == sorted(
        (row.tokens for row in both.results), reverse=True
    )


def test_the_total_of_nothing_is_empty() -> None:
    assert (total([]).steps, total([]).bill.usd, total([]).peak) == (0, 0, 0)


def _cached(thread: Thread, *, expired: int = -1) -> Thread:
    """The thread with what a cache would report, read whole but at one step."""
    usages, held = [], 0
    for number in range(len(thread.steps)):
        prompt = 5_000 + 200 * number
        read = 0 if number == expired else held
        usages.append(Usage(cache_read=read, cache_write=prompt - read, output=20))
        held = prompt
    return _reported(thread, *usages)


def test_a_cache_that_holds_gives_no_miss() -> None:
    steps = cache_steps(recording_of([_cached(_errand())]))
    assert len(steps) == 5
    assert {step.diagnosis.observed for step in steps} == {Outcome.HIT}
    assert sum(step.usd for step in steps) == 0


def test_a_miss_costs_its_lost_tokens_at_the_difference_of_write_and_read() -> None:
    steps = cache_steps(recording_of([_cached(_errand(), expired=3)]))
    (miss,) = [step for step in steps if step.diagnosis.lost]
    assert (miss.thread, miss.step, miss.diagnosis.lost) == ("main", 3, 5_400)
    assert miss.diagnosis.observed is Outcome.DROP
    assert miss.usd == pytest.approx(5_400 * (1.25 - 0.1) * 5e-6)


def test_an_expiry_is_foreseen_from_the_clock() -> None:
    recorder = Recorder(seconds=400).user("a").say("b").user("c").say("d").user("e").say("f")
    steps = cache_steps(recording_of([_cached(recorder.thread(), expired=1)]))
    assert [step.diagnosis.predicted.outcome for step in steps] == [Outcome.EXPIRY] * 2
    assert [step.diagnosis.observed for step in steps] == [Outcome.EXPIRY, Outcome.HIT]


def test_a_tool_search_is_a_cause() -> None:
    search = Recorder().user("a").call("ToolSearch", {"query": "x"}, "found").say("b")
    steps = cache_steps(recording_of([_cached(search.thread(), expired=1)]))
    assert [step.diagnosis.cause for step in steps] == [TOOLS]


def test_a_compaction_is_a_cause() -> None:
    before = _cached(Recorder().user("a").say("b").thread())
    after = Recorder().user("the summary").say("c").thread("main-2")
    soon = tuple(replace(step, at=1_050.0) for step in after.steps)
    after = _cached(replace(after, steps=soon, after_compaction=True))
    (step,) = cache_steps(recording_of([before, after]))
    assert (step.thread, step.step, step.diagnosis.cause) == ("main-2", 0, COMPACTED)
    assert step.diagnosis.predicted.outcome is step.diagnosis.observed is Outcome.DROP


def test_sub_agents_are_chains_of_their_own() -> None:
    side = replace(_cached(_errand()), name="agent", kind="sidechain")
    steps = cache_steps(recording_of([_cached(_errand()), side]))
    assert [step.thread for step in steps] == ["main"] * 5 + ["agent"] * 5
    assert not any(step.diagnosis.lost for step in steps)


def test_an_outlook_is_read_off_the_last_main_thread() -> None:
    found = outlook(trace_of(_cached(_errand())))
    assert found is not None
    assert found.steps == 6
    assert found.resident == 6_000 + 20
    assert (found.growth.added, found.growth.output) == (200, 20)
    assert found.freed > 0
    assert found.offset is not None


def test_a_trace_without_steps_has_no_outlook_and_an_empty_inspection() -> None:
    waiting = Message({"role": "user", "content": "hello"}, origin=Origin.USER)
    empty = trace_of(Thread("main", "main", (), (waiting,)))
    assert outlook(empty) is None
    assert inspect_one(empty).steps == 0


def test_inspecting_changes_nothing_in_a_recording() -> None:
    recording: Recording = recording_of([_errand()])
    assert inspect(recording) == inspect(recording)
