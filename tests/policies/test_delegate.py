"""What the provider is asked to clear, over generated sessions: the oldest results, and no others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.delegation import tool_uses
from tenure.core.edit import CHOSEN, Delegated, Insert
from tenure.core.fold import Outgoing, Parts
from tenure.core.message import BlockKind, Origin
from tenure.core.policy import DropBlock, Policy
from tenure.core.protocols import ToolCall
from tenure.core.server_edit import CLEAR_RESULTS
from tenure.policies import delegate, ways
from tenure.policies.protect import tail_starts
from tenure.testing.strategies import Event, Step, log_text, reply, sessions
from tenure.testing.strategies import Result as Given
from tests.policies.play import BOUND_THINKING, Table

WIRE = "anthropic_messages"


@dataclass
class Cleared(Table):
    """A table whose provider clears what it is asked to, and says so."""

    drop_block: DropBlock = "no"
    cleared: list[tuple[str, ...]] = field(default_factory=list)

    def parts(self, policy: Policy | None = None) -> Parts:
        return replace(super().parts(policy), delegates=True, drop_block=self.drop_block)

    def reply(self, step: Step) -> None:
        outgoing = self.machine.outgoing
        assert outgoing is not None
        whole = self.count(outgoing.view.messages)
        uses = tool_uses(self.machine.plan, self.machine.transcript)
        counts = [one.tool_uses - one.keep for one in outgoing.wanted if one.edit == CLEAR_RESULTS]
        gone = [b for b in uses[: counts[0] if counts else 0] if b]
        meter = self.machine.parts.meter
        freed = sum(meter.size(b).estimate - delegate.PLACEHOLDER_TOKENS for b in gone)
        drift = step.drift if step.drift is not None else 1.0
        data = reply(self.wire_name, step, max(1, int((whole - freed) * drift)))
        edit = {
            "type": CLEAR_RESULTS,
            "cleared_tool_uses": counts[0] if counts else 0,
            "cleared_input_tokens": freed,
        }
        report = {"context_management": {"applied_edits": [edit]}} if counts else {}
        self.cleared.append(tuple(b.key for b in gone))
        self.run(self.machine.reply({**data, **report}, self.now))


def check(table: Cleared, outgoing: Outgoing, known: list[tuple[str, ...]]) -> None:
    """The laws of one request: results alone, oldest first, none pinned or of the tail, for good."""
    machine = table.machine
    plan, transcript = machine.plan, machine.transcript
    clearings = [e for e in plan.delegated if e.edit == CLEAR_RESULTS]
    assert len(clearings) <= 1
    (keys,) = [e.cleared for e in clearings] or [()]
    blocks = [transcript.block(key) for key in keys]
    assert all(b.kind is BlockKind.TOOL_RESULT for b in blocks)
    order = [b.key for b in tool_uses(plan, transcript) if b]
    assert set(keys) == set(order[: len(keys)]), "not the oldest"
    assert not any(transcript.messages[b.index].pinned for b in blocks)
    tail = tail_starts(machine.situation(cold=False), 1)
    assert all(b.index < tail for b in blocks)
    assert set(known[-1] if known else ()) <= set(keys), "what was cleared came back"
    known.append(keys)
    asked = [one for one in outgoing.wanted if one.edit == CLEAR_RESULTS]
    assert [a.tool_uses - a.keep for a in asked] == ([len(keys)] if keys else [])
    notes = [e for e in plan.edits if isinstance(e, Insert)]
    assert len(notes) <= 1
    for note in notes:
        at = transcript.index_of(note.after)
        assert transcript.messages[at].origin is not Origin.ASSISTANT
        assert clearings[0].handle in note.message.raw.decode()


@settings(max_examples=15)
@given(events=sessions(), window=st.sampled_from([2_500, 4_000, 8_000, 20_000, 60_000]))
def test_only_the_oldest_results_are_cleared_and_once_cleared_they_stay(
    events: list[Event], window: int
) -> None:
    table = Cleared(WIRE, window, profile=BOUND_THINKING)
    known: list[tuple[str, ...]] = []
    table.play(events, lambda outgoing: check(table, outgoing, known))
    for edit in table.machine.plan.delegated:
        blocks = [table.machine.transcript.block(key) for key in edit.cleared]
        whole = table.machine.fetch(edit.handle)
        assert all(b.text in whole for b in blocks)
        each = {table.machine.fetch(f"{edit.handle}.{n}") for n in range(1, len(blocks) + 1)}
        assert all(any(text.startswith(b.text) for text in each) for b in blocks)
    resumed = table.resumed()
    assert resumed.plan == table.machine.plan
    assert resumed.explain().edits == table.machine.explain().edits


def reads(table: Cleared, steps: int, *, size: int = 4_000, pause: float = 1.0) -> None:
    """A tool loop: each step thinks and reads one long text."""
    for n in range(steps):
        table.now += pause
        table.request()
        at = len(table.machine.transcript)
        call = ToolCall(f"c{at}", "read", {"path": f"src/f{at}.py"})
        table.reply(Step(thinking=f"thought {n} " * 9, calls=(call,)))
        table.results([Given(log_text(n, size))])


def clearing(table: Cleared) -> Delegated:
    found = delegate.standing(table.machine.plan.edits)
    assert found is not None
    return found


def test_a_full_window_forces_a_clearing_deep_enough_for_some_steps() -> None:
    table = Cleared(WIRE, 12_000, profile=BOUND_THINKING)
    table.user("go")
    reads(table, 12)
    edit = clearing(table)
    assert edit.reason.when == "forced"
    by_way = {w.way: w for w in edit.reason.weighed}
    assert by_way[ways.DELEGATE].note == CHOSEN
    assert by_way[ways.DELEGATE].price == pytest.approx(edit.reason.price)
    assert by_way[ways.WAIT].note == "the window is full"
    assert not [e for e in table.machine.plan.edits if not isinstance(e, Delegated | Insert)]


def test_a_cold_cache_is_an_occasion() -> None:
    table = Cleared(WIRE, 400_000, profile=BOUND_THINKING)
    table.user("go")
    reads(table, 11, size=16_000)
    assert delegate.standing(table.machine.plan.edits) is None
    table.now += 4_000
    table.request()
    edit = clearing(table)
    assert edit.reason.when == "cold"
    assert edit.reason.price < 0


def test_a_long_session_clears_when_it_pays() -> None:
    table = Cleared(WIRE, 2_000_000, profile=BOUND_THINKING)
    table.user("go")
    reads(table, 90, size=12_000)
    edit = clearing(table)
    assert edit.reason.when == "pays"
    assert edit.reason.saves > 0


def test_a_pinned_text_from_a_tool_ends_the_run() -> None:
    table = Cleared(WIRE, 12_000, profile=BOUND_THINKING)
    table.user("go")
    reads(table, 2)
    transcript = table.machine.transcript
    transcript.messages[-1].pinned = True
    reads(table, 12)
    cleared = [e.cleared for e in table.machine.plan.delegated]
    assert all(len(keys) <= 1 for keys in cleared)


def test_the_note_waits_while_the_last_word_is_the_models_own() -> None:
    table = Cleared(WIRE, 12_000, profile=BOUND_THINKING)
    table.user("go")
    reads(table, 12)
    situation = table.machine.situation(cold=False)
    bare = replace(situation, plan=situation.plan.without(*_notes(table)))
    assert len(delegate.told(bare, ())) == 1
    assert delegate.told(replace(bare, recall=False), ()) == []
    table.request()
    table.reply(Step(text="done"))
    after = table.machine.situation(cold=False)
    bare = replace(after, plan=after.plan.without(*_notes(table)))
    assert delegate.told(bare, ()) == []


def _notes(table: Cleared) -> list[Any]:
    return [e for e in table.machine.plan.edits if isinstance(e, Insert)]
