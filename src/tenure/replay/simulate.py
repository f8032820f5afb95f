"""A recorded session replayed under a policy.

Invariant: threads after a compaction are sessions of their own, as are sub-agents'; those of one
model share its prompt cache, which sees their requests in the order of their times. Providers never
read across models.
"""

from __future__ import annotations

from collections.abc import Callable

from tenure.core.policy import Policy
from tenure.cost.prefix_cache import PrefixCache
from tenure.replay.oracle import Foresight
from tenure.replay.outcome import SimulatedSession, StepRow
from tenure.replay.recording import RecordedThread, Recording
from tenure.replay.thread_run import MeterFor, ThreadRun, Watch

PolicyFactory = Callable[[], Policy]


def simulate(
    recording: Recording,
    policy: PolicyFactory,
    meter_for: MeterFor,
    *,
    watch: Watch | None = None,
) -> SimulatedSession:
    """The recording under a policy; one new policy object per thread."""
    return _simulate(recording, lambda _: policy(), meter_for, watch)


def simulate_foresight(recording: Recording, meter_for: MeterFor) -> SimulatedSession:
    """The recording under the policy that knows what will be used (`replay.oracle`)."""
    return _simulate(recording, Foresight, meter_for, None)


def _simulate(
    recording: Recording,
    policy_for: Callable[[RecordedThread], Policy],
    meter_for: MeterFor,
    watch: Watch | None,
) -> SimulatedSession:
    caches = {one.profile: PrefixCache(one.profile) for one in recording.threads}
    runs = [
        ThreadRun(
            recording, thread, policy_for(thread), caches[thread.profile], meter_for, watch=watch
        )
        for thread in recording.threads
    ]
    rows: list[StepRow] = []
    waiting = [run for run in runs if not run.done]
    while waiting:
        run = min(waiting, key=lambda one: one.next_at)
        if not run.begun:
            run.branch_from(other for other in runs if other.begun)
        rows.append(run.step())
        waiting = [one for one in waiting if not one.done]
    return SimulatedSession(
        recording.trace.name,
        runs[0].machine.parts.policy.name if runs else "",
        recording.profile.name,
        recording.profile.context_window,
        recording.factor,
        tuple(rows),
    )
