"""The laws of policies over recorded sessions of each format, and over generated ones for the
policies that tenure is compared with.

Invariant: windows are a share of what the session would need, so that every policy has to act.
A sample; `python -m benchmarks.views` looks at all recordings in windows that models have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.message import BlockKind, Message, Origin
from tenure.core.policy import Policy
from tenure.policies.clearing import AppendOnly, ClearToolResults
from tenure.policies.default import Tenure
from tenure.testing.strategies import Event, sessions
from tests.policies.laws import CommonLaws, Laws, least
from tests.policies.play import BOUND_THINKING, PROFILE, Quarter, Table, raws
from tests.replay.sample import WIRES, Recorded, sample_of

PER_WIRE = pytest.mark.parametrize("wire", WIRES)
Shared = Callable[..., Path]

RIVALS: dict[str, Callable[[], Policy]] = {
    "append-only": AppendOnly,
    "clear-every-step": lambda: ClearToolResults(0, 3),
    # The default trigger, of 100k tokens, is above what these sessions hold.
    "clear-5k-keep-2": lambda: ClearToolResults(5_000, 2),
}


def pinned(recorded: Recorded, every: int = 4) -> Recorded:
    """The thread with each so-manieth of its tool results pinned by the caller."""
    number = 0

    def pin(message: Message) -> Message:
        nonlocal number
        number += message.origin is Origin.TOOL
        pins = message.origin is Origin.TOOL and number % every == 1
        if not pins:
            return message
        return Message(message.data, origin=message.origin, pinned=True)

    replies = tuple(replace(r, arrivals=tuple(map(pin, r.arrivals))) for r in recorded.replies)
    return replace(recorded, replies=replies)


def needs(recorded: Recorded) -> int:
    """The tokens of the whole thread."""
    return sum(Quarter().count(b).estimate for b in recorded.transcript().all_blocks())


def played(recorded: Recorded, table: Table, laws: CommonLaws) -> bool:
    """Plays it under these laws; whether the budget took every request."""
    whole = table.play_recorded(recorded, laws.look)
    laws.handles_answer()
    # Once more from the start: the same requests, byte for byte.
    other, seen = replace(table, store=type(table.store)(), now=1_000.0), list[list[bytes]]()
    other.play_recorded(recorded, lambda outgoing: seen.append(raws(outgoing)))
    assert other.machine.plan == table.machine.plan
    if laws.sent:
        assert len(seen) == len(laws.sent)
        assert seen[-1] == laws.last
    return whole


@PER_WIRE
@pytest.mark.parametrize("bound", [False, True], ids=["free thinking", "bound thinking"])
def test_tenure_holds_its_laws_on_recorded_sessions(
    shared_data: Shared, wire: str, *, bound: bool
) -> None:
    whens: set[str] = set()
    gone: set[BlockKind] = set()
    batches = pins = 0
    for share, recorded in product((0.5, 0.75), sample_of(shared_data, wire)):
        marked = pinned(recorded)
        window = 1_500 + int(needs(recorded) * share)
        profile = BOUND_THINKING if bound else PROFILE
        table = Table(wire, window, make=Tenure, profile=profile)
        laws = Laws(table)
        if not played(marked, table, laws):
            assert least(table) * 1.25 > table.machine.budget.most
        transcript = table.machine.transcript
        batches += laws.batches
        pins += sum(message.pinned for message in transcript.messages)
        for edit in table.machine.plan.edits:
            whens.add(edit.reason.when)
            gone |= {transcript.block(str(target)).kind for target in edit.targets}
    assert batches >= 5
    assert pins >= 5
    assert "forced" in whens
    assert BlockKind.TOOL_RESULT in gone


@PER_WIRE
def test_in_a_large_window_tenure_waits_until_it_pays_on_recorded_sessions(
    shared_data: Shared, wire: str
) -> None:
    whens: set[str] = set()
    for recorded in sample_of(shared_data, wire):
        table = Table(wire, 2 * needs(recorded), make=Tenure)
        laws = Laws(table)
        assert played(pinned(recorded), table, laws)
        whens |= {edit.reason.when for edit in table.machine.plan.edits}
    assert whens
    assert whens <= {"pays", "cold"}


@PER_WIRE
@pytest.mark.parametrize("name", RIVALS)
def test_each_rival_holds_the_common_laws_on_recorded_sessions(
    shared_data: Shared, wire: str, name: str
) -> None:
    batches = pins = 0
    for recorded in sample_of(shared_data, wire):
        table = Table(wire, 1_000_000, make=RIVALS[name])
        laws = CommonLaws(table)
        assert played(pinned(recorded), table, laws)
        batches += laws.batches
        pins += sum(message.pinned for message in table.machine.transcript.messages)
    assert pins >= 5
    assert (batches >= 5) == (name != "append-only")


@PER_WIRE
@pytest.mark.parametrize("name", RIVALS)
@settings(max_examples=10)
@given(events=sessions(), more=st.integers(0, 1))
def test_each_rival_holds_the_common_laws(
    wire: str, name: str, events: list[Event], more: int
) -> None:
    table = Table(wire, 1_000_000, make=RIVALS[name], profile=(PROFILE, BOUND_THINKING)[more])
    laws = CommonLaws(table)
    assert table.play(events, laws.look)
    laws.handles_answer()


@PER_WIRE
def test_generated_sessions_give_each_rival_something_to_do(wire: str) -> None:
    """What the property above is about does happen on sessions like those that it draws."""
    from tenure.core.protocols import ToolCall
    from tenure.testing.strategies import Result, Step, log_text

    for name, make in RIVALS.items():
        table = Table(wire, 1_000_000, make=make)
        laws = CommonLaws(table)
        table.user("go through all the files")
        for number in range(12):
            calls = tuple(ToolCall(f"c{number}_{at}", "read", {"n": at}) for at in range(2))
            laws.look(table.request())
            table.reply(Step(calls=calls, thinking="hm"))
            table.results([Result(log_text(number * 2 + at, 2_000)) for at in range(2)])
        assert (laws.batches > 1) == (name != "append-only"), name
        laws.handles_answer()
