"""The laws of the default policy over generated sessions of all three APIs, at small windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.edit import Edit
from tenure.core.fold import Outgoing
from tenure.core.policy import Situation
from tenure.core.protocols import ToolCall
from tenure.policies.default import Tenure
from tenure.policies.schedule import Settings
from tenure.testing.strategies import Event, Result, Step, log_text, sessions
from tests.policies.laws import Laws, least
from tests.policies.play import BOUND_THINKING, PROFILE, Table

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
FEW = settings(max_examples=15)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("bound", [False, True], ids=["free thinking", "bound thinking"])
@FEW
@given(events=sessions(), window=st.sampled_from([2_500, 4_000, 8_000, 20_000, 60_000]))
def test_every_request_and_every_proposal_holds_the_laws(
    wire: str, bound: bool, events: list[Event], window: int
) -> None:
    table = Table(wire, window, profile=BOUND_THINKING if bound else PROFILE)
    laws = Laws(table)
    if not table.play(events, laws.look):
        assert least(table) * 1.25 > table.machine.budget.most
    laws.handles_answer()


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(events=sessions(paste=60_000, pinned=False), window=st.sampled_from([12_000, 30_000]))
def test_a_long_paste_keeps_its_ends_its_demands_and_a_handle(
    wire: str, events: list[Event], window: int
) -> None:
    table = Table(wire, window)
    laws = Laws(table)
    if not table.play(events, laws.look):
        assert least(table) * 1.25 > table.machine.budget.most
    laws.handles_answer()


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    events=sessions(most_steps=8),
    more=sessions(most_steps=6),
    window=st.sampled_from([4_000, 8_000, 16_000]),
    which=st.integers(0, 99),
)
def test_what_is_undone_comes_back_and_stays(
    wire: str, events: list[Event], more: list[Event], window: int, which: int
) -> None:
    table = Table(wire, window)
    laws = Laws(table)
    table.play(events, laws.look)
    if table.machine.outgoing is not None or not table.machine.plan.edits:
        return
    undone = table.machine.plan.edits[which % len(table.machine.plan)]
    table.run(table.machine.undo([undone], table.now))
    block = table.machine.transcript.block(str(undone.targets[0]))
    laws.edits = table.machine.plan.edits

    def look(outgoing: Outgoing) -> None:
        laws.look(outgoing)
        entry = next(e for e in outgoing.view.entries if e.sources == (block.message_id,))
        assert block.text in [o.text for o in table.wire.lenses(entry.message.data)]

    # Room for what came back, and not so much that nothing has to go.
    table.window *= 2
    table.machine.budget = replace(table.machine.budget, window=table.window)
    table.play(renumbered(more), look)


@pytest.mark.parametrize("wire", WIRES)
def test_a_long_loop_with_stale_results_is_evicted_in_batches_that_pay(wire: str) -> None:
    table = Table(wire, 120_000)
    laws = Laws(table)
    table.user("go through all the files")
    for number in range(60):
        table.now += 10
        laws.look(table.request())
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, 4_000))])
    batches = [d.edits for d in table.watched.decisions if d.edits]
    assert {e.reason.when for edits in batches for e in edits} == {"pays"}
    assert 1 <= len(batches) <= 12, "eager"
    assert max(len(edits) for edits in batches) >= 5
    assert table.machine.ledger.saved > table.machine.ledger.unforced > 0
    laws.handles_answer()


@pytest.mark.parametrize("wire", WIRES)
def test_a_cold_cache_is_an_occasion(wire: str) -> None:
    table = Table(wire, 120_000)
    laws = Laws(table)
    table.user("go through all the files")
    for number in range(12):
        table.now += 10
        laws.look(table.request())
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, 12_000))])
    table.now += 4_000
    laws.look(table.request())
    assert {e.reason.when for e in table.watched.decisions[-1].edits} == {"cold"}


def renumbered(events: list[Event]) -> list[Event]:
    """The events with call ids of their own."""
    return [
        replace(e, calls=tuple(c._replace(id=f"late_{c.id}") for c in e.calls))
        if isinstance(e, Step)
        else e
        for e in events
    ]


class Judging(Tenure):
    """The policy without its shortcut: every block is judged at every step."""

    spared = False

    def _may_pay(self, situation: Situation) -> bool:
        self.spared = not super()._may_pay(situation)
        return True

    def propose(self, situation: Situation) -> Sequence[Edit]:
        self.spared = False
        found = super().propose(situation)
        assert not (self.spared and found), "spared, and would have paid"
        return found


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    events=sessions(most_steps=25),
    window=st.sampled_from([30_000, 200_000]),
    read=st.sampled_from([0.02, 0.1, 0.5]),
)
def test_what_is_spared_judging_would_not_have_paid(
    wire: str, events: list[Event], window: int, read: float
) -> None:
    table = Table(wire, window, make=Judging, profile=PROFILE.with_(read=read))
    table.play(events, lambda _: None)


def test_many_steps_are_spared_judging_and_some_pay() -> None:
    spared = paid = 0
    make = partial(Judging, Settings(from_share=0.0))
    table = Table("anthropic_messages", 2_000_000, make=make)
    table.user("go")
    for number in range(80):
        outgoing = table.request()
        policy = table.watched.policy
        assert isinstance(policy, Judging)
        spared += policy.spared
        paid = len(outgoing.view.plan)
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, 700))])
    assert spared > 15
    assert paid > 10
