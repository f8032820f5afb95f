"""The lifetime of cache marks: the rule against every course that the next steps can take."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.lifetime import CacheCosts, Lifetime, Load, long_saves, pauses

COSTS = CacheCosts(read=0.1, write=1.25, write_long=2.0)
costs = st.builds(
    CacheCosts,
    read=st.floats(0.02, 0.3),
    write=st.floats(1, 1.5),
    write_long=st.floats(1.5, 3),
    short=st.just(300.0),
    long=st.just(3600.0),
)
gaps = st.lists(st.sampled_from([10.0, 299.0, 300.0, 301.0, 2000.0, 3600.0, 3601.0]), max_size=3)
loads = st.builds(Load, st.floats(0, 1e5), st.floats(0, 1e4), st.floats(0, 1e5))


def _course(course: tuple[float, ...], c: CacheCosts, load: Load, *, long: bool) -> float:
    """What one course of pauses costs, step by step as the provider bills it."""
    lives, write = (c.long, c.write_long or 0) if long else (c.short, c.write)
    cost, held = write * load.fresh, load.resident
    for pause in course:
        cost += (
            c.read * held + write * load.added if pause <= lives else write * (held + load.added)
        )
        held += load.added
    return cost


@given(gaps.filter(bool), costs, loads, st.integers(0, 4))
def test_the_saving_is_the_mean_over_every_course_of_pauses(
    seen: list[float], c: CacheCosts, load: Load, steps: int
) -> None:
    courses = list(product(seen, repeat=steps))
    mean = sum(
        _course(one, c, load, long=False) - _course(one, c, load, long=True) for one in courses
    ) / len(courses)
    found = long_saves(pauses(seen, c), c, load, steps=steps)
    assert found == pytest.approx(mean, rel=1e-6, abs=1e-3)


@given(costs, loads, st.integers(1, 100))
def test_a_session_without_pauses_keeps_the_short_lifetime(
    c: CacheCosts, load: Load, steps: int
) -> None:
    assert long_saves(pauses([10.0] * 5, c), c, load, steps=steps) <= 0


@given(costs, loads, st.integers(1, 100))
def test_pauses_that_outlive_both_lifetimes_never_pay_for_the_long_one(
    c: CacheCosts, load: Load, steps: int
) -> None:
    assert long_saves(pauses([9000.0] * 3, c), c, load, steps=steps) <= 1e-6


def test_a_model_without_a_long_lifetime_has_no_choice() -> None:
    c = CacheCosts(read=0.1, write=1.25, write_long=None)
    lifetime = Lifetime(c)
    assert not any(lifetime.request(at, tokens=10**6) for at in range(0, 10**5, 1000))


times = st.lists(st.floats(0, 10_000), max_size=30)


@pytest.mark.fuzz
@given(times, costs, st.lists(st.integers(0, 10**6), min_size=31, max_size=31))
def test_what_is_warm_keeps_its_lifetime(
    gaps: list[float], c: CacheCosts, tokens: list[int]
) -> None:
    lifetime, at = Lifetime(c), 0.0
    long = lifetime.request(at, tokens=tokens[0])
    assert not long
    for gap, size in zip(gaps, tokens[1:], strict=False):
        before = at
        at += gap
        now = lifetime.request(at, tokens=size)
        if at - before <= (c.long if long else c.short):
            assert now == long
        long = now


@given(times, st.integers(0, 10**6))
def test_the_choice_is_a_fold_of_the_times(gaps: list[float], tokens: int) -> None:
    one, other = Lifetime(COSTS), Lifetime(COSTS)
    first = [one.request(sum(gaps[:n]), tokens=tokens) for n in range(len(gaps))]
    assert [other.request(sum(gaps[:n]), tokens=tokens) for n in range(len(gaps))] == first


def test_an_hour_pays_when_people_come_back_after_ten_minutes() -> None:
    lifetime = Lifetime(COSTS)
    asked = [lifetime.request(at, tokens=80_000) for at in range(0, 6_000, 600)]
    assert asked == [False] + [True] * 9


def test_one_long_night_in_a_busy_session_does_not_pay() -> None:
    lifetime = Lifetime(COSTS)
    for at in range(0, 3_000, 30):
        assert not lifetime.request(at, tokens=50_000 + at)
    assert not lifetime.request(30_000, tokens=60_000)


def test_a_user_who_often_leaves_for_ten_minutes_has_an_hour_from_the_start() -> None:
    habit = pauses([30.0] * 9 + [600.0], COSTS)
    assert Lifetime(COSTS, habit=habit, ahead=40).request(0, tokens=50_000)
    assert not Lifetime(COSTS, habit=pauses([30.0] * 10, COSTS)).request(0, tokens=50_000)
