"""The comparison's JSON, which users and scripts read."""

from __future__ import annotations

import json
import pickle

import pytest

from tenure.errors import ConfigError
from tenure.replay.compare import POLICIES, Comparison, compare, compare_one
from tenure.replay.recording import Settings
from tests.replay.recorded import Recorder, trace_of

FIGURES = {"cost", "refetches", "violations", "evictions", "peak_tokens"}


def a_comparison() -> Comparison:
    r = Recorder().user("please list")
    for n in range(8):
        r.call("read", {"path": f"file {n}"}, f"line_{n} " * 2_000)
    return compare([trace_of(r.thread()), trace_of(r.say("done").thread())])


def test_the_json_has_the_promised_figures_for_each_policy() -> None:
    found = json.loads(json.dumps(a_comparison().as_json()))
    assert tuple(found["total"]) == POLICIES
    for session in found["sessions"]:
        assert tuple(session["policies"]) == POLICIES
        for figures in session["policies"].values():
            assert figures.keys() >= FIGURES


def test_totals_are_the_sums_of_the_sessions() -> None:
    found = a_comparison().as_json()
    for name, total in found["total"].items():
        each = [session["policies"][name] for session in found["sessions"]]
        for key in ("cost", "refetches", "violations", "evictions"):
            assert total[key] == pytest.approx(sum(one[key] for one in each))
        assert total["peak_tokens"] == max(one["peak_tokens"] for one in each)


def test_append_only_is_the_measure() -> None:
    comparison = a_comparison()
    assert comparison.ratio("append-only") == 1.0
    assert comparison.ratio("clear-every-step") == pytest.approx(
        comparison.cost("clear-every-step").total / comparison.cost("append-only").total
    )
    assert Comparison(Settings(), ()).as_json() == {"billed": None, "total": {}, "sessions": []}


def test_a_result_crosses_processes() -> None:
    result = compare_one(trace_of(Recorder().user("hello there").say("hi").thread()))
    assert pickle.loads(pickle.dumps(result)) == result


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="no-such-policy"):
        compare_one(trace_of(Recorder().user("hello there").say("hi").thread()), ["no-such-policy"])
