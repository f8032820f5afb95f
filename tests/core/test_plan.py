"""The laws of a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.edit import Drop, Insert, Reason, Replace, Span
from tenure.core.message import Message, Origin
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.errors import PlanError
from tests.core.edits import WHY, planned

NOTE = Message({"role": "user", "content": "note"}, origin=Origin.HARNESS)


@given(planned(), st.data())
def test_without_undoes_add(made: tuple[Transcript, Plan], data: st.DataObject) -> None:
    _, plan = made
    gone = [e for e in plan if data.draw(st.booleans())]
    smaller = plan.without(*gone)
    assert len(smaller) == len(plan) - len(gone)
    assert set(smaller.add(*gone).edits) == set(plan.edits)
    assert Plan().add(*plan.edits) == plan
    assert plan.without(*plan.edits) == Plan()


@given(planned(), st.data())
def test_diff_tells_what_was_added_and_what_was_taken_out(
    made: tuple[Transcript, Plan], data: st.DataObject
) -> None:
    _, plan = made
    earlier = plan.without(*[e for e in plan if data.draw(st.booleans())])
    added, removed = plan.diff(earlier)
    assert removed == ()
    assert set(earlier.edits) | set(added) == set(plan.edits)
    assert earlier.diff(plan) == ((), added)
    assert plan.diff(plan) == ((), ())


def test_the_empty_plan_has_nothing_and_adding_nothing_is_the_same_plan() -> None:
    plan = Plan()
    assert plan.add() is plan
    assert (len(plan), list(plan)) == (0, [])


def test_a_block_is_edited_once() -> None:
    plan = Plan([Drop(("a", "b"), WHY)])
    for second in (Drop(("b",), WHY), Replace("a", (b"1",), WHY)):
        with pytest.raises(PlanError, match="edited twice"):
            plan.add(second)
    with pytest.raises(PlanError, match="edited twice"):
        Plan([Drop(("a", "a"), WHY)])


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        ((1, 3), (4, 6), True),
        ((1, 6), (2, 3), True),
        ((1, 6), (1, 3), True),
        ((1, 6), (4, 6), True),
        ((1, 3), (3, 6), False),
        ((1, 4), (2, 6), False),
        ((1, 3), (1, 3), False),
    ],
)
def test_spans_are_disjoint_or_nested(
    one: tuple[int, int], other: tuple[int, int], fits: bool
) -> None:
    drops = [Drop((Span(f"m{a}", f"m{b}"),), WHY) for a, b in (one, other)]
    for order in (drops, drops[::-1]):
        if fits:
            assert len(Plan(order)) == 2
            continue
        with pytest.raises(PlanError, match="disjoint or nested"):
            Plan(order)


def test_the_outermost_span_counts() -> None:
    inner, outer = Drop((Span("m2", "m3"),), WHY), Replace(Span("m1", "m6"), (b"{}",), WHY)
    plan = Plan([inner, outer])
    assert plan.spans == ((1, 6, outer),)
    assert plan.without(outer).spans == ((2, 3, inner),)
    assert [plan.covered(i) for i in (0, 1, 6, 7)] == [False, True, True, False]


def test_a_span_that_runs_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="backwards"):
        Span("m3", "m2")


def test_an_edit_that_is_not_in_the_plan_cant_be_taken_out() -> None:
    with pytest.raises(PlanError, match="not in the plan"):
        Plan().without(Drop(("a",), WHY))


def test_edits_are_found_by_key_and_by_place() -> None:
    drop = Drop(("a", "b"), WHY, handle="h1")
    inserts = [Insert("m1", NOTE, Reason("p", w)) for w in ("first", "second")]
    plan = Plan([drop, *inserts])
    assert plan.by_key == {"a": drop, "b": drop}
    assert plan.inserts == {"m1": tuple(inserts)}


def test_equal_plans_are_equal_values() -> None:
    one, other = (
        Plan([Insert("m1", Message({"content": "x"}, origin=Origin.USER), WHY)]) for _ in "ab"
    )
    assert one == other
    assert hash(one) == hash(other)
    assert one != Plan()
