"""The policies that tenure is compared with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenure.core.budget import Budget
from tenure.core.policy import Policy
from tenure.policies.clearing import AppendOnly, ClearToolResults
from tenure.replay.outcome import SimulatedSession
from tenure.replay.simulate import simulate
from tests.replay.recorded import Recorder, meter, recording_of

LONG = "lorem ipsum dolor " * 220  # 991 tokens here


def replayed(policy: Callable[[], Policy], results: int = 8) -> SimulatedSession:
    r = Recorder().user("read them all")
    for n in range(results):
        r.call("read", {"path": f"file {n}"}, LONG)
    return simulate(recording_of([r.say("done").thread()]), policy, meter)


def cleared(session: SimulatedSession) -> list[list[str]]:
    return [[target for e in row.evictions for target in e.targets] for row in session.rows]


def test_the_names_say_trigger_and_keep() -> None:
    assert ClearToolResults().name == "clear-100k-keep-3"
    assert ClearToolResults(0).name == "clear-every-step"
    assert ClearToolResults(50_000, 5).name == "clear-50k-keep-5"


def test_clearing_at_every_step_keeps_the_newest_three() -> None:
    assert cleared(replayed(lambda: ClearToolResults(0)))[3:] == [
        [],
        *([f"result:toolu_{n}"] for n in range(5)),
    ]


def test_clearing_at_a_trigger_waits_for_it_and_then_clears_all_but_the_newest() -> None:
    found = cleared(replayed(lambda: ClearToolResults(trigger=4_500)))
    assert found[:5] == [[], [], [], [], []]
    assert found[5] == ["result:toolu_0", "result:toolu_1"]
    assert found[6:8] == [[], ["result:toolu_2", "result:toolu_3"]]


def test_a_cleared_result_keeps_its_place_and_names_a_handle() -> None:
    session = replayed(lambda: ClearToolResults(0))
    first = next(e for row in session.rows for e in row.evictions)
    assert first.handle in first.stand_in
    assert first.original == LONG
    assert first.tokens_after < first.tokens_before
    assert session.violations.total() == 0


@pytest.mark.parametrize("keep", [0, 1, 8, 9])
def test_any_number_may_be_kept(keep: int) -> None:
    session = replayed(lambda: ClearToolResults(0, keep))
    assert session.evictions == max(0, 8 - keep)


def test_a_result_no_longer_than_its_placeholder_stays() -> None:
    r = Recorder().user("go")
    for n in range(6):
        r.call("pwd", {"n": n}, "home")
    session = simulate(recording_of([r.say("ok").thread()]), lambda: ClearToolResults(0, 1), meter)
    assert session.evictions == 0


def test_append_only_is_never_asked() -> None:
    budget = Budget(window=200_000, max_tokens=8_000)
    assert AppendOnly().wakes_at(budget) > budget.window
    assert replayed(AppendOnly).evictions == 0
