"""A recorded session replayed: what is paid, what is fetched again, what the policy gets to see."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tenure.core.budget import Budget
from tenure.core.edit import Edit, Reason, Replace
from tenure.core.policy import Policy, Situation
from tenure.core.session import RECALL_CALL_TOKENS
from tenure.core.usage import Usage
from tenure.cost.models import profile
from tenure.policies.clearing import AppendOnly, ClearToolResults
from tenure.replay.outcome import Cost, SimulatedSession
from tenure.replay.recording import MISSING_RESULT, Settings
from tenure.replay.simulate import simulate, simulate_foresight
from tenure.replay.thread_run import ThreadRun
from tenure.replay.trace import Thread
from tests.replay.recorded import MODEL, Recorder, meter, recording_of

LONG = "lorem ipsum dolor " * 1_200  # 5,401 tokens here, enough for the cache's minimum


@dataclass
class EvictFirst:
    """Puts `words` in the place of the first result at the request number `step`."""

    words: str
    step: int
    name: str = "evict-first"
    steps: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    def wakes_at(self, budget: Budget) -> int:
        return 0

    def propose(self, situation: Situation) -> Sequence[Edit]:
        self.steps.append(situation.step)
        self.resident.append(situation.meter.resident(situation.plan))
        if situation.step != self.step:
            return ()
        transcript = situation.transcript
        block = transcript.block("result:toolu_0")
        body = transcript.wire.stand_in(block, transcript.messages[block.index], self.words)
        size = situation.meter.size(block).estimate
        reason = Reason(self.name, "told to", "forced", size, situation.meter.text(self.words))
        return (Replace(block.key, (body,), reason, "t-0"),)


def replayed(
    recorder: Recorder, policy: Callable[[], Policy], settings: Settings | None = None
) -> SimulatedSession:
    return simulate(recording_of([recorder.thread()], settings), policy, meter)


def a_session() -> Recorder:
    r = Recorder().user(LONG).call("ls", {}, "conf_main.py " + LONG).call("pwd", {}, "home")
    return r.call("read", {"path": "conf_main.py"}, "text").say("done")


def test_append_only_reads_what_it_wrote_and_writes_what_is_new() -> None:
    rows = replayed(a_session(), AppendOnly).rows
    prompts = [row.resident for row in rows]
    assert [row.usage.cache_read for row in rows] == [0, *prompts[:-1]]
    assert [row.usage.prompt for row in rows] == prompts
    assert all(row.usage.fresh == 0 for row in rows)


def test_costs_are_in_units_of_the_base_input_price() -> None:
    session = replayed(a_session(), AppendOnly, Settings(read=0.5, write=2.0))
    cost, usage = session.cost, session.usage
    assert cost.read == pytest.approx(0.5 * usage.cache_read)
    assert cost.written == pytest.approx(2.0 * usage.cache_write)
    assert cost.output == pytest.approx(5 * 20 * len(session.rows))
    assert cost.total == pytest.approx(cost.read + cost.written + cost.fresh + cost.output)


def test_an_evicted_result_that_is_used_is_fetched_again_at_the_definitions_price() -> None:
    session = replayed(a_session(), lambda: EvictFirst("gone_away.py", 2))
    (refetch,) = session.rows[2].refetches
    assert (refetch.result, refetch.missing) == ("result:toolu_0", ("conf_main.py",))
    row, whole = session.rows[2], replayed(a_session(), lambda: EvictFirst("conf_main.py", 2))
    asked = whole.rows[2].resident
    output = RECALL_CALL_TOKENS * 5
    assert refetch.cost == pytest.approx(0.1 * asked + output + 1.25 * refetch.tokens)
    # The call itself is written too; nothing else is added to the bill.
    added = row.cost.total - whole.rows[2].cost.total
    call = row.resident - asked - refetch.tokens
    assert added == pytest.approx(refetch.cost + 1.25 * call, abs=1)
    assert session.cost.refetch == refetch.cost


def test_a_tombstone_that_holds_the_string_spares_the_re_fetch() -> None:
    assert replayed(a_session(), lambda: EvictFirst("it named conf_main.py", 2)).refetches == 0


def test_a_repeated_call_needs_the_result_whatever_the_tombstone_holds() -> None:
    r = Recorder().user(LONG).call("ls", {}, "conf_main.py").call("pwd", {}, "home")
    r.call("ls", {}, "conf_main.py").say("done")
    session = replayed(r, lambda: EvictFirst("conf_main.py", 2))
    (refetch,) = session.rows[2].refetches
    assert (refetch.missing, refetch.repeat) == ((), True)


def test_what_was_fetched_stays_resident_and_is_not_fetched_twice() -> None:
    r = Recorder().user(LONG).call("ls", {}, f"conf_main.py conf_other.py {LONG}")
    r.call("pwd", {}, "home").call("read", {"path": "conf_main.py"}, "text")
    r.call("read", {"path": "conf_other.py"}, "text").say("done")
    session = replayed(r, lambda: EvictFirst("gone", 2))
    assert [len(row.refetches) for row in session.rows] == [0, 0, 1, 0, 0]
    assert session.rows[2].resident > session.rows[1].resident


def test_the_policy_sees_the_usage_of_its_own_views_not_the_recorded_one() -> None:
    r = a_session()
    r.steps = [replace(s, usage=Usage(fresh=90_000 + n, output=20)) for n, s in enumerate(r.steps)]
    policy = EvictFirst("gone", 99)
    session = replayed(r, lambda: policy)
    assert policy.resident == [row.resident for row in session.rows]


def test_estimates_are_scaled_by_the_growth_that_the_provider_reported() -> None:
    r = a_session()
    plain = recording_of([r.thread()])
    sizes = plain.threads[0].sizes
    sent, steps = 1_000, []
    for step in r.steps:
        sent += 2 * sum(map(sizes.message, step.arrivals))
        steps.append(replace(step, usage=Usage(fresh=sent, output=20)))
        sent += 2 * sum(map(sizes.message, step.reply))
    r.steps = steps
    recording = recording_of([r.thread()])
    assert recording.factor == pytest.approx(2.0)
    assert recording.threads[0].sizes.hidden == pytest.approx(1_000, abs=2)
    rows = simulate(recording, AppendOnly, meter).rows
    wanted = [step.usage.prompt for step in r.steps if step.usage is not None]
    assert [row.resident for row in rows] == pytest.approx(wanted, abs=20)


def test_an_interrupted_call_gets_a_result_that_says_so() -> None:
    r = Recorder().user("go").call("ls", {}, None).user("why?").say("sorry")
    recording = recording_of([r.thread()])
    block = recording.threads[0].transcript.block("result:toolu_0")
    assert (block.text, block.is_error) == (MISSING_RESULT, True)
    assert len(simulate(recording, AppendOnly, meter).rows) == 2


def test_a_request_over_budget_is_recorded_and_sent_under_the_plan_as_it_stood() -> None:
    r = Recorder().user(LONG).user(LONG).say("ok").user("and?").say("done")
    session = replayed(r, AppendOnly, Settings(window=10_000, max_tokens=1_000))
    assert [row.over_budget for row in session.rows] == [True, True]
    assert session.over_budget == 2
    assert session.rows[0].usage.cache_write == session.rows[0].resident > 10_000


def test_a_thread_after_a_compaction_reads_the_hidden_text_of_the_first() -> None:
    first, second = Recorder().user("go").say("ok"), Recorder().user("summary").say("ok")
    first.steps = [replace(first.steps[0], usage=Usage(fresh=20_000, output=20))]
    after = Thread("main-2", "main", tuple(second.steps), (), after_compaction=True)
    recording = recording_of([first.thread(), after])
    rows = simulate(recording, AppendOnly, meter).rows
    assert rows[1].usage.cache_read == recording.threads[0].sizes.hidden > 19_000


def test_requests_without_a_time_come_ten_seconds_apart() -> None:
    r = a_session()
    r.steps = [replace(step, at=None) for step in r.steps]
    assert [row.at for row in replayed(r, AppendOnly).rows] == [10.0, 20.0, 30.0, 40.0]


def test_a_pause_longer_than_the_cache_lives_makes_everything_be_written_again() -> None:
    r = a_session()
    r.steps[2:] = [replace(step, at=(step.at or 0) + 301) for step in r.steps[2:]]
    rows = replayed(r, AppendOnly).rows
    assert rows[2].usage == Usage(cache_write=rows[2].resident, output=20)
    rows = replayed(r, AppendOnly, Settings(ttl=3_600)).rows
    assert rows[2].usage.cache_read == rows[1].resident


def test_a_violation_counts_only_when_the_unedited_messages_lack_it() -> None:
    session = replayed(a_session(), lambda: EvictFirst("gone", 2))
    assert session.violations.total() == 0

    @dataclass
    class Orphan(EvictFirst):
        def propose(self, situation: Situation) -> Sequence[Edit]:
            made = EvictFirst.propose(self, situation)
            # Text where a result must stand.
            body = (b'{"type":"text","text":"x"}',)
            return [replace(edit, body=body) for edit in made if isinstance(edit, Replace)]

    assert replayed(a_session(), lambda: Orphan("gone", 2)).violations.total() > 0


def test_evictions_carry_reason_and_original() -> None:
    session = replayed(a_session(), lambda: EvictFirst("gone", 2))
    (eviction,) = session.rows[2].evictions
    assert eviction.original.startswith("conf_main.py")
    assert (eviction.handle, eviction.tool, eviction.words) == ("t-0", "ls", "told to")


def test_a_replay_gives_the_same_every_time_and_crosses_processes() -> None:
    def once() -> SimulatedSession:
        return replayed(a_session(), lambda: ClearToolResults(0, 1))

    assert once() == once() == pickle.loads(pickle.dumps(once()))
    assert once().evictions > 0


def test_foresight_never_fetches_again_and_pays_no_more() -> None:
    r = a_session()
    for n in range(30):
        r.call("read", {"path": f"file {n}"}, LONG)
    recording = recording_of([r.thread()], Settings(window=1_000_000))
    best = simulate_foresight(recording, meter)
    assert best.refetches == 0 < best.evictions
    assert best.cost.total < simulate(recording, AppendOnly, meter).cost.total


def test_every_request_is_watched_those_of_re_fetches_too() -> None:
    seen: list[int] = []

    def watch(run: ThreadRun, usage: Usage) -> None:
        seen.append(len(run.view.messages))

    recording = recording_of([a_session().thread()])
    simulate(recording, lambda: EvictFirst("gone", 2), meter, watch=watch)
    assert seen == [1, 3, 5, 7, 9]


def test_a_sub_agent_is_priced_at_its_own_model_in_units_of_the_main_one() -> None:
    small, big = profile("claude-haiku-4-5"), profile(MODEL)
    agent = a_session()
    agent.steps = [replace(step, model=small.name) for step in agent.steps]
    side = replace(agent.thread("agent"), kind="sidechain")
    recording = recording_of([Recorder().user("go").say("ok").thread(), side])
    assert [one.profile.name for one in recording.threads] == [big.name, small.name]
    rows = simulate(recording, AppendOnly, meter).rows
    alone = simulate(recording_of([agent.thread()], Settings(model=small.name)), AppendOnly, meter)
    mine = sum((row.cost for row in rows if row.thread == "agent"), Cost())
    rate = small.input_price / big.input_price
    assert rate < 1
    assert mine.total == pytest.approx(alone.cost.total * rate)
    # A model named for the replay is that of all threads.
    named = recording_of([side], Settings(model=MODEL, read=0.3))
    assert (named.threads[0].profile.name, named.threads[0].profile.read) == (big.name, 0.3)


def test_models_share_no_cache() -> None:
    first, second = Recorder().user(LONG).say("ok"), Recorder().user(LONG).say("ok")
    second.steps = [replace(step, at=1_030.0) for step in second.steps]
    threads = [first.thread(), second.thread("main-2")]
    assert simulate(recording_of(threads), AppendOnly, meter).rows[1].usage.cache_read > 0
    second.steps = [replace(step, model="claude-sonnet-4-5") for step in second.steps]
    threads = [first.thread(), second.thread("main-2")]
    assert simulate(recording_of(threads), AppendOnly, meter).rows[1].usage.cache_read == 0
