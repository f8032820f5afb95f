"""Cache truth: misses are foreseen from clock and transcript, and named from what was reported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.cache_prediction import FOLDER, blinded, run
from tenure.core.usage import Usage
from tenure.cost.diagnose import (
    ObservedRequest,
    Outcome,
    diagnose,
    hidden_overhead,
    predict,
    score,
)
from tenure.cost.prefix_tree import Segment
from tenure.traces import read

OPUS, HAIKU = "claude-opus-4-6", "claude-haiku-4-5"


def request(
    start: float, read: int, write: int, *, long: bool = False, **more: object
) -> ObservedRequest:
    """A request that added 500 tokens to the one before."""
    made = ObservedRequest(
        start=start,
        model=OPUS,
        added=[Segment(("said", start), 500)],
        reported=Usage(3, read, write, write if long else 0),
    )
    return replace(made, **more)  # type: ignore[arg-type]


FIRST = request(0, 0, 20_500)


def test_the_hidden_overhead_is_what_the_first_prompt_has_beyond_the_transcript() -> None:
    assert hidden_overhead(FIRST) == 20_003


def test_a_request_in_time_is_a_hit() -> None:
    (one,) = diagnose([FIRST, request(299, 20_500, 500)])
    assert one.predicted.outcome is one.observed is Outcome.HIT
    assert (one.lost, one.cause) == (0, "")


def test_a_request_after_the_ttl_expires() -> None:
    (one,) = diagnose([FIRST, request(301, 0, 21_000)])
    assert one.predicted.outcome is one.observed is Outcome.EXPIRY
    assert one.cause == "301 s passed, the TTL is 300 s"
    assert one.lost == 20_500


def test_the_ttl_in_use_is_seen_from_the_first_write() -> None:
    first = request(0, 0, 20_500, long=True)
    in_time, late = request(3599, 20_500, 500, long=True), request(7300, 0, 21_500, long=True)
    outcomes = [one.outcome for one in predict([first, in_time, late])]
    assert outcomes == [Outcome.HIT, Outcome.EXPIRY]


def test_a_compaction_is_a_drop_with_its_name() -> None:
    (one,) = diagnose([FIRST, request(60, 20_000, 900, broken="compacted")])
    assert one.predicted.outcome is one.observed is Outcome.DROP
    assert one.cause == "compacted"
    assert one.predicted.read == pytest.approx(20_000, abs=10)


def test_after_a_break_the_same_words_are_not_found_in_the_cache() -> None:
    rebuilt = request(60, 20_000, 900, added=FIRST.added, broken="resumed")
    (one,) = predict([FIRST, rebuilt])
    assert one.outcome is Outcome.DROP
    assert one.read == 20_003


def test_a_switch_of_model_reads_nothing() -> None:
    (one,) = diagnose([FIRST, request(60, 0, 21_000, model=HAIKU)])
    assert one.predicted.outcome is one.observed is Outcome.DROP
    assert one.cause == f"model changed to {HAIKU}"


def test_switching_back_in_time_reads_what_the_first_model_had() -> None:
    back = request(120, 20_500, 1000)
    found = predict([FIRST, request(60, 0, 21_000, model=HAIKU), back])
    assert found[1].read == pytest.approx(20_500, abs=10)


def test_a_rewind_reads_up_to_the_point_it_continues_from() -> None:
    more = request(60, 20_500, 500)
    rewound = request(120, 20_500, 500, parent=0)
    (_, one) = diagnose([FIRST, more, rewound])
    assert one.predicted.outcome is one.observed is Outcome.DROP
    assert one.predicted.read == pytest.approx(20_500, abs=10)
    assert one.cause == "continued from an earlier point"


def test_a_prompt_that_shrank_was_edited_by_the_client() -> None:
    (one,) = diagnose([FIRST, request(60, 10_000, 5_000)])
    assert one.observed is Outcome.DROP
    assert one.predicted.outcome is Outcome.HIT
    assert one.cause == "the client edited earlier messages: the prompt shrank by 5500 tokens"


def test_the_providers_own_diagnosis_comes_first_unless_it_knows_nothing() -> None:
    changed = request(60, 0, 21_000, reason="tools_changed")
    unknown = request(60, 0, 21_000, reason="unavailable")
    assert diagnose([FIRST, changed])[0].cause == "provider: tools_changed"
    assert diagnose([FIRST, unknown])[0].cause == "unexplained"


def test_no_request_and_one_request_have_nothing_to_diagnose() -> None:
    assert diagnose([]) == diagnose([FIRST]) == []


GAPS = st.lists(st.sampled_from([1.0, 120.0, 299.0, 301.0, 3601.0]), min_size=1, max_size=10)


@given(GAPS, st.data())
def test_predictions_read_no_usage_after_the_first(gaps: list[float], data: st.DataObject) -> None:
    start, requests = 0.0, [FIRST]
    for gap in gaps:
        start += gap
        requests.append(request(start, 1, 1))
    tokens = st.integers(0, 10**6)
    usages = st.builds(Usage, tokens, tokens, tokens)
    others = [replace(one, reported=data.draw(usages)) for one in requests[1:]]
    assert predict(requests) == predict([FIRST, *others])


def test_a_score_counts_both_kinds_apart() -> None:
    found = diagnose(
        [
            FIRST,
            request(400, 0, 21_000),  # expiry, foreseen
            request(800, 21_000, 500),  # foreseen, did not happen
            request(810, 0, 22_000),  # drop, not foreseen
        ]
    )
    expiry, drop = score(found, Outcome.EXPIRY), score(found, Outcome.DROP)
    assert (expiry.hits, expiry.false_alarms, expiry.overlooked) == (1, 1, 0)
    assert (expiry.precision, expiry.recall) == (0.5, 1.0)
    assert (drop.precision, drop.recall) == (None, 0.0)


def test_the_recorded_sessions_reach_the_wanted_recall_on_expiries(
    shared_data: Callable[..., Path],
) -> None:
    shared_data(*FOLDER)
    figures = run()
    assert figures["reached"] is True
    assert figures["main_requests"] == 1500  # as the recordings' README counts them


def test_a_blinded_trace_has_one_usage_left(shared_data: Callable[..., Path]) -> None:
    path = min(shared_data(*FOLDER).glob("*.jsonl.gz"))
    (trace,) = read(path)
    usages = [step.usage for thread in blinded(trace).threads for step in thread.steps]
    assert usages[0] is not None
    assert set(usages[1:]) == {None}
