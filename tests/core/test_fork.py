"""A rewritten history is a fork: it inherits what was sent with the shared prefix."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.drive import drive
from tenure.core.fork import fork, rebase
from tenure.core.session import SessionMachine
from tenure.core.view import apply
from tenure.testing.strategies import Event, sessions
from tests.policies.play import Table

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
FEW = settings(max_examples=20)


def forked(table: Table, length: int) -> tuple[SessionMachine, tuple[object, ...]]:
    machine, left = drive(
        fork(table.machine, table.parts(), "fork", length=length, at=table.now), table.perform
    )
    return machine, left


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    events=sessions(most_steps=10),
    window=st.sampled_from([4_000, 8_000]),
    share=st.floats(0, 1),
)
def test_the_shared_prefix_is_sent_with_the_same_bytes(
    wire: str, events: list[Event], window: int, share: float
) -> None:
    table = Table(wire, window)
    table.play(events, lambda _: None)
    parent = table.machine
    length = int(len(parent.transcript) * share)
    machine, left = forked(table, length)
    assert len(machine.transcript) == length
    assert [m.raw for m in machine.transcript.messages] == [
        m.raw for m in parent.transcript.messages[:length]
    ]
    assert {*machine.plan.by_key} | {t for e in left for t in e.targets} == {*parent.plan.by_key}  # type: ignore[attr-defined]
    mine = apply(machine.transcript, machine.plan)
    theirs = apply(parent.transcript, parent.plan)
    shared = [e for e in theirs.entries if int(e.sources[0][1:]) < length]
    assert [e.message.raw for e in mine.entries] == [e.message.raw for e in shared]
    for edit in machine.plan.edits:
        assert machine.fetch(edit.handle) == parent.fetch(edit.handle)
        assert edit.reason.price == 0.0


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(events=sessions(most_steps=8), window=st.sampled_from([4_000, 8_000]))
def test_a_fork_stands_on_its_own_log(wire: str, events: list[Event], window: int) -> None:
    table = Table(wire, window)
    table.play(events, lambda _: None)
    machine, _ = forked(table, len(table.machine.transcript))
    again = SessionMachine(table.parts(), "fork")
    again.load(table.store.read(machine.scope, "fork"))
    assert again.plan == machine.plan
    assert again.steps == machine.steps
    assert again.ledger == machine.ledger
    assert [len(s) for s in again.transcript.blocks] == [len(s) for s in machine.transcript.blocks]
    meter, other = machine.parts.meter, again.parts.meter
    machine.explain()
    again.explain()
    assert meter.resident(machine.plan) == other.resident(again.plan)
    assert meter.bound(machine.transcript) == other.bound(again.transcript)


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    events=sessions(most_steps=8),
    window=st.sampled_from([4_000, 8_000]),
    share=st.floats(0, 1),
    undone=st.sets(st.integers(0, 20)),
)
def test_what_was_undone_stays_undone_in_a_fork_and_its_handles_stay_good(
    wire: str, events: list[Event], window: int, share: float, undone: set[int]
) -> None:
    table = Table(wire, window)
    table.play(events, lambda _: None)
    parent = table.machine
    if parent.outgoing is not None:
        table.run(parent.cancel(table.now))
    length = int(len(parent.transcript) * share)
    back = [e for n, e in enumerate(parent.plan.edits) if n in undone]
    table.run(parent.undo(back, table.now))
    forked(table, length)
    again = SessionMachine(table.parts(), "fork")
    again.load(table.store.read(parent.scope, "fork"))
    placed, _ = rebase(back, parent.transcript, length)
    assert {key for edit in placed for key in edit.targets} <= again.restored <= parent.restored
    assert again.plan.edits == tuple(
        replace(e, reason=replace(e.reason, price=0.0))
        for e in rebase(parent.plan, parent.transcript, length)[0]
    )
    for edit in placed:
        assert again.fetch(edit.handle) == parent.fetch(edit.handle)


def test_the_edits_that_could_not_be_placed_are_listed() -> None:
    table = Table("anthropic_messages", 4_000)
    table.user("x" * 40_000)
    table.request()
    (edit,) = table.machine.plan.edits
    assert rebase(table.machine.plan, table.machine.transcript, 0) == ((), (edit,))
    assert rebase(table.machine.plan, table.machine.transcript, 1) == ((edit,), ())
