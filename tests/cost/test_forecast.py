"""Forecasts equal the step-by-step simulation, and edits cost what architecture.md section 6 says."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.usage import Usage
from tenure.cost.forecast import (
    Growth,
    carrying_cost,
    compaction_price,
    edit_price,
    steps_below,
    worth_managing,
)
from tenure.cost.models import Cliff, ModelProfile, profile
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment
from tenure.cost.price import price

OPUS = profile("claude-opus-4-6").with_(cache_minimum=1)
CHEAP_READS = OPUS.with_(read=0.025)
TOKENS = st.integers(1, 5000)


def stepwise(
    model: ModelProfile, resident: int, steps: int, growth: tuple[int, int], *, cold: bool
) -> float:
    """C(k) from the simulated cache and the price of each request."""
    cache = PrefixCache(model)
    node = cache.extend(cache.root, [Segment("resident", resident)])
    cache.request(node, [Mark(node)], at=0)
    total = 0.0
    for step in range(steps):
        node = cache.extend(node, [Segment(step, growth[0])])
        usage = cache.request(node, [Mark(node)], at=1e6 * cold + step).usage
        total += price(Usage(0, usage.cache_read, usage.cache_write, 0, growth[1]), model)
    return total


@given(TOKENS, st.integers(0, 8), TOKENS, TOKENS, st.booleans())
def test_the_carrying_cost_is_the_sum_over_simulated_steps(
    resident: int, steps: int, added: int, output: int, cold: bool
) -> None:
    closed = carrying_cost(OPUS, resident, steps, Growth(added, output), cold=cold)
    assert closed == pytest.approx(stepwise(OPUS, resident, steps, (added, output), cold=cold))


@given(TOKENS, st.integers(0, 8), TOKENS, TOKENS, st.booleans(), st.integers(1, 20_000))
def test_a_cliff_makes_the_steps_above_it_dearer(
    resident: int, steps: int, added: int, output: int, cold: bool, limit: int
) -> None:
    dear = OPUS.with_(cliff=Cliff(limit, 5, 3))
    closed = carrying_cost(dear, resident, steps, Growth(added, output), cold=cold)
    assert closed == pytest.approx(stepwise(dear, resident, steps, (added, output), cold=cold))


def test_without_a_cache_every_step_sends_the_whole_prompt_anew() -> None:
    wanted = (1000 + 100) + (1000 + 200) + (1000 + 300)
    assert carrying_cost(OPUS, 1000, 3, Growth(100), cached=False) == pytest.approx(wanted)
    assert carrying_cost(profile("gpt-4"), 1000, 3, Growth(100)) == pytest.approx(wanted)


def test_a_session_that_does_not_grow_never_reaches_the_cliff() -> None:
    assert steps_below(1000, 999, Growth(0), 50) == 50
    assert steps_below(1000, 1001, Growth(0), 50) == 0


@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.integers(0, 6),
    st.sampled_from([OPUS, CHEAP_READS]),
    st.booleans(),
)
def test_the_price_of_an_edit_is_the_simulated_difference_to_doing_nothing(
    head: int, freed: int, tail: int, later: int, model: ModelProfile, cold: bool
) -> None:
    def cost(edited: bool) -> float:
        cache = PrefixCache(model)
        before = cache.extend(cache.root, [Segment("head", head)])
        full = cache.extend(before, [Segment("old", freed), Segment("tail", tail)])
        cache.request(full, [Mark(before), Mark(full)], at=0)
        node: PrefixNode = cache.extend(before, [Segment("tail", tail)]) if edited else full
        total = 0.0
        for step in range(1 + later):
            at = 1e6 * cold + step
            total += price(cache.request(node, [Mark(before), Mark(node)], at=at).usage, model)
        return total

    edit = edit_price(model, head + freed + tail, head, freed, cold=cold)
    assert edit.net(later) == pytest.approx(cost(edited=False) - cost(edited=True))


def test_the_edit_formula_by_hand() -> None:
    """n = 100,000, a = 20,000, R = 30,000, w = 1.25, r = 0.1 (architecture.md section 6)."""
    edit = edit_price(OPUS, 100_000, 20_000, 30_000)
    assert edit.once == pytest.approx(1.15 * 80_000 - 1.25 * 30_000)  # 54,500
    assert edit.per_step == pytest.approx(3000)
    assert edit.break_even == 19
    assert edit_price(CHEAP_READS, 100_000, 20_000, 30_000).break_even == 81


def test_when_the_cache_is_cold_an_edit_pays_at_once() -> None:
    edit = edit_price(OPUS, 100_000, 20_000, 30_000, cold=True)
    assert edit.once == pytest.approx(-1.25 * 30_000)
    assert edit.break_even == 0


def test_an_edit_that_frees_nothing_never_pays() -> None:
    assert edit_price(OPUS, 1000, 500, 0).break_even == inf


@given(TOKENS, TOKENS, TOKENS)
def test_at_the_break_even_step_and_not_before_an_edit_has_paid(
    head: int, freed: int, tail: int
) -> None:
    edit = edit_price(OPUS, head + freed + tail, head, freed)
    assert edit.net(edit.break_even) >= -1e-6
    if edit.break_even:
        assert edit.net(edit.break_even - 1) < 0


def test_a_compaction_pays_for_the_call_the_summary_and_the_rewrite() -> None:
    made = compaction_price(
        OPUS, 100_000, head=10_000, tail=20_000, summary=2_000, instructions=500
    )
    call = 0.1 * 100_000 + 500 + 5 * 2_000
    next_request = 0.1 * 10_000 + 1.25 * 22_000
    assert made.once == pytest.approx(call + next_request - 0.1 * 100_000)
    assert made.per_step == pytest.approx(0.1 * 68_000)


def test_a_cold_compaction_reads_the_view_as_plain_input_and_saves_the_write() -> None:
    made = compaction_price(OPUS, 100_000, head=10_000, tail=20_000, summary=2_000, cold=True)
    assert made.once == pytest.approx(100_000 + 5 * 2_000 + 1.25 * (32_000 - 100_000))


def test_a_view_under_a_fifth_of_the_task_budget_is_not_managed() -> None:
    assert not worth_managing(19_999, 100_000)
    assert worth_managing(20_000, 100_000)


def test_impossible_amounts_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="cannot free 600 of 1000"):
        edit_price(OPUS, 1000, 500, 600)
    with pytest.raises(ValueError, match="offset is -1"):
        edit_price(OPUS, 1000, -1, 600)
    with pytest.raises(ValueError, match="more than the 1000 resident"):
        compaction_price(OPUS, 1000, head=600, tail=500, summary=1)
    with pytest.raises(ValueError, match="steps is -1"):
        carrying_cost(OPUS, 1000, -1, Growth(1))
    with pytest.raises(ValueError, match="must be positive"):
        worth_managing(1, 0)
