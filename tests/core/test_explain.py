"""The explanation says what the plan and the ledger say."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.edit import CHOSEN, Drop, Reason, Weighed
from tenure.core.explain import as_dict, line, weighed_line
from tenure.testing.strategies import Event, Step, sessions
from tests.policies.play import Table

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=15)
@given(events=sessions(most_steps=8), window=st.sampled_from([4_000, 8_000, 30_000]))
def test_every_edit_is_explained_with_its_reason_figures_and_handle(
    wire: str, events: list[Event], window: int
) -> None:
    table = Table(wire, window, system="be kind " * 30, tools="[1]" * 30)
    table.play(events, lambda _: None)
    machine = table.machine
    told = machine.explain()
    text = str(told)
    assert told.edits == machine.plan.edits
    assert told.ledger == machine.ledger
    assert told.steps == machine.step
    assert told.policy == "tenure"
    for edit in told.edits:
        assert edit.handle in text
        assert edit.reason.words in line(edit)
        assert f"price {edit.reason.price:,.0f}" in line(edit)
        assert f"{edit.reason.tokens_before:,} to {edit.reason.tokens_after:,}" in line(edit)
    part = told.occupancy
    meter = machine.parts.meter
    estimated = meter.before(len(machine.transcript), machine.plan)
    # What the provider reported is shared out as the estimates stand to each other.
    assert part.system == 60 * part.used // estimated
    assert part.tools == 22 * part.used // estimated
    assert part.used == part.system + part.tools + part.messages
    assert part.used == machine.parts.meter.resident(machine.plan)
    assert part.limit == machine.budget.limit
    again = json.loads(json.dumps(told.as_dict()))
    assert len(again["edits"]) == len(told.edits)
    assert again["ledger"]["spent"] == machine.ledger.spent


def test_without_edits_it_says_so_and_changes_nothing() -> None:
    table = Table("anthropic_messages")
    table.user("go")
    told = table.machine.explain()
    assert str(told).endswith("nothing was left out")
    assert "policy tenure, 0 requests" in str(told)
    assert table.machine.explain() == told
    assert len(table.store.read(table.machine.scope, "s")) == 2


@pytest.mark.parametrize("factor", [0.2, 0.5, 1.0, 3.0])
def test_no_part_of_a_short_session_is_empty_whatever_the_provider_reports(factor: float) -> None:
    """System text and tools that are counted too dear must not eat up the messages."""
    table = Table("anthropic_messages", 100_000, system="be kind " * 300, tools="[1]" * 300)
    table.user("find out why the nightly build broke")
    table.request()
    table.reply(Step(text="ok", drift=factor))
    part = table.machine.explain().occupancy
    assert min(part.system, part.tools, part.messages) > 0
    assert part.used == table.machine.parts.meter.resident(table.machine.plan)


def test_a_copy_of_the_ledger_is_told() -> None:
    table = Table("anthropic_messages")
    table.user("go")
    told = table.machine.explain()
    table.machine.ledger.spent += 7
    assert told.ledger.spent == 0


def test_a_way_that_cannot_be_taken_has_no_price_of_nothing() -> None:
    ways = (
        Weighed("delegate", 0.0, 0.0, "no run of oldest results to clear"),
        Weighed("strip", 120.0, 3.0),
        Weighed("wait", 0.0, 0.0, CHOSEN),
    )
    assert weighed_line(ways) == (
        "delegate is no way: no run of oldest results to clear; strip costs 120 and saves 3 a step; "
        "wait costs 0 and saves 0 a step (chosen)"
    )


def test_steps_are_counted_from_one_for_people_and_from_nought_for_programs() -> None:
    reason = Reason("p", "old", "pays", 10, 1, price=4.0, step=0, about="result of Read")
    edit = Drop(("m1:0",), reason)
    assert line(edit).startswith("step 1, pays: ")
    assert as_dict(edit)["reason"]["step"] == 0
