"""Several policies on the same recordings, side by side.

Invariant: every policy gets the same recording, the same sizes and an empty cache; the result of one
trace does not depend on the others, so traces can be compared in different processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.core.policy import SessionMeter as Meter
from tenure.core.protocols import Counter
from tenure.cost.models import ModelProfile, profile
from tenure.policies import by_name
from tenure.policies.clearing import AppendOnly
from tenure.replay.bill import Bill, bill_of
from tenure.replay.oracle import Foresight
from tenure.replay.outcome import Cost, SimulatedSession
from tenure.replay.recording import Recording, Settings, prepare
from tenure.replay.simulate import simulate, simulate_foresight
from tenure.replay.thread_run import Watch
from tenure.replay.trace import Trace
from tenure.tokens.counter import BlockCounter
from tenure.tokens.meter import SessionMeter
from tenure.wire.detect import wire_for

BASELINE = AppendOnly().name
POLICIES = (BASELINE, "clear-100k-keep-3", "clear-every-step", "tenure")
"""What is compared when nothing is said."""


@dataclass(frozen=True, slots=True)
class SessionResult:
    """One trace under each policy, by the policy's name in the order given.

    `profile` holds the prices that its costs are units of; `threads` the profile of each thread
    that has another one, by the thread's name; `bill` what the provider reported of the recording;
    `beginning_lost` names the threads whose first request the file lacks (`replay.recording`).
    """

    name: str
    source: str
    format: str
    model: str
    steps: int
    sessions: Mapping[str, SimulatedSession]
    profile: ModelProfile
    threads: Mapping[str, ModelProfile] = field(default_factory=dict)
    bill: Bill = field(default_factory=Bill)
    beginning_lost: tuple[str, ...] = ()

    @property
    def billed(self) -> Cost | None:
        """The recorded usage by part, in the units of the session's costs; None where none was
        recorded, or where its model has no price."""
        if self.recorded_usd is None or not self.profile.input_price:
            return None
        return self.bill.spent.times(1 / self.profile.input_price)

    @property
    def wrote_long(self) -> bool:
        """Whether the recording wrote its cache for the longer of two lifetimes, for the most part."""
        usage = self.bill.usage
        return 2 * usage.cache_write_1h > usage.cache_write

    @property
    def recorded_usd(self) -> float | None:
        """What the recorded usage costs; None where none was recorded."""
        return self.bill.usd if self.bill.requests > self.bill.unreported else None

    def as_json(self) -> dict[str, Any]:
        """The trace's row of `Comparison.as_json`; what was recorded is null where nothing was."""
        billed = self.billed
        return {
            "name": self.name,
            "source": self.source,
            "format": self.format,
            "model": self.model,
            "steps": self.steps,
            "recorded_usd": self.recorded_usd,
            "recorded_cost": None if billed is None else billed.total,
            "billed": _billed([self]),
            "prices": {
                "read": self.profile.read,
                "write": self.profile.write,
                "ttl": self.profile.cache_ttl,
            },
            "beginning_lost": list(self.beginning_lost),
            "policies": {name: _figures(one) for name, one in self.sessions.items()},
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """All traces. Costs are in units of the base input price of one token of each trace's model."""

    settings: Settings
    results: tuple[SessionResult, ...]

    def cost(self, policy: str) -> Cost:
        """What all traces cost under a policy."""
        return sum((one.sessions[policy].cost for one in self.results), Cost())

    def ratio(self, policy: str) -> float | None:
        """The policy's cost over append-only's; None when that was not replayed or cost nothing."""
        if BASELINE not in self.policies:
            return None
        baseline = self.cost(BASELINE).total
        return self.cost(policy).total / baseline if baseline else None

    def recorded(self) -> tuple[float, int]:
        """What the recorded usage of all traces costs in USD, and how many requests of them have
        none and are not in it."""
        known = [usd for one in self.results if (usd := one.recorded_usd) is not None]
        return sum(known), sum(one.bill.unreported for one in self.results)

    @property
    def recorded_any(self) -> bool:
        """Whether any usage was recorded."""
        return any(one.recorded_usd is not None for one in self.results)

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies compared, in order."""
        return tuple(self.results[0].sessions) if self.results else ()

    def as_json(self) -> dict[str, Any]:
        """`total.<policy>` and `sessions[].policies.<policy>`, with the figures of each, and `billed`
        of all and of each."""
        return {
            "billed": _billed(self.results),
            "total": {name: self._total(name) for name in self.policies},
            "sessions": [one.as_json() for one in self.results],
        }

    def _total(self, policy: str) -> dict[str, Any]:
        sessions = [one.sessions[policy] for one in self.results]
        cost = self.cost(policy)
        return {
            "cost": cost.total,
            "ratio": self.ratio(policy),
            "parts": _parts(cost),
            "refetches": sum(one.refetches for one in sessions),
            "violations": sum(one.violations.total() for one in sessions),
            "evictions": sum(one.evictions for one in sessions),
            "over_budget": sum(one.over_budget for one in sessions),
            "peak_tokens": max((one.peak_tokens for one in sessions), default=0),
        }


def compare(
    traces: Iterable[Trace],
    policies: Sequence[str] = POLICIES,
    settings: Settings = Settings(),  # noqa: B008
) -> Comparison:
    """Replays every trace under every policy, one after the other.

    Raises ConfigError for a policy that is not known.
    """
    return Comparison(settings, tuple(compare_one(t, policies, settings) for t in traces))


def compare_one(
    trace: Trace,
    policies: Sequence[str] = POLICIES,
    settings: Settings = Settings(),  # noqa: B008
) -> SessionResult:
    """Replays one trace under every policy; arguments and result can cross processes."""
    recording = recording_of(trace, settings)
    sessions = {name: replay(recording, name) for name in policies}
    steps = sum(len(thread.replies) for thread in recording.threads)
    return SessionResult(
        trace.name,
        trace.source,
        trace.format,
        recording.profile.name,
        steps,
        sessions,
        recording.profile,
        {
            one.thread.name: one.profile
            for one in recording.threads
            if one.profile != recording.profile
        },
        sum((bill_of(recording, one) for one in recording.threads), Bill()),
        tuple(one.thread.name for one in recording.threads if one.beginning_lost),
    )


def recording_of(trace: Trace, settings: Settings = Settings()) -> Recording:  # noqa: B008
    """The trace made ready, each thread counted by the tokenizer of its own model."""
    return prepare(trace, settings, wire_for(trace.wire), _counter)


def replay(recording: Recording, policy: str, *, watch: Watch | None = None) -> SimulatedSession:
    """The recording under the policy of that name, or "foresight".

    Raises ConfigError for a policy that is not known.
    """
    if policy == Foresight.name:
        return simulate_foresight(recording, _meter)
    return simulate(recording, lambda: by_name(policy), _meter, watch=watch)


def _counter(model: str) -> Counter:
    return BlockCounter(model, profile(model).provider)


def _meter(counter: Counter, hidden: str) -> Meter:
    return SessionMeter(counter, system=hidden)


def _figures(session: SimulatedSession) -> dict[str, Any]:
    cost = session.cost
    return {
        "cost": cost.total,
        "parts": _parts(cost),
        "refetches": session.refetches,
        "violations": session.violations.total(),
        "evictions": session.evictions,
        "over_budget": session.over_budget,
        "peak_tokens": session.peak_tokens,
    }


def _billed(results: Sequence[SessionResult]) -> dict[str, Any] | None:
    """The recorded bill of sessions in the units of their costs; None where none was recorded."""
    known = [found for one in results if (found := one.billed) is not None]
    if not known:
        return None
    cost = sum(known, Cost())
    parts = _parts(cost)
    del parts["refetch"]
    return {
        "cost": cost.total,
        "usd": sum(one.bill.usd for one in results),
        "parts": parts,
        "requests": sum(one.bill.requests for one in results),
        "without_usage": sum(one.bill.unreported for one in results),
    }


def _parts(cost: Cost) -> dict[str, float]:
    return {
        "read": cost.read,
        "written": cost.written,
        "fresh": cost.fresh,
        "output": cost.output,
        "refetch": cost.refetch,
    }
