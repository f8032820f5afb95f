"""The cache marks of a session's requests, on each API that has them.

Invariant: marks of the caller's own win: where there is one, none is added. A mark changes only the
copy that leaves, and only messages that carry one are copied; the work does not grow with the session.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from tenure.core.command import Summarize
from tenure.core.fold import Outgoing
from tenure.core.lifetime import CacheCosts
from tenure.core.message import JsonObject
from tenure.core.session import SessionMachine
from tenure.cost.models import ModelProfile
from tenure.wire import marks
from tenure.wire.breakpoints import (
    PointRules,
    chosen_lifetime,
    has_breakpoints,
    plan_breakpoints,
)
from tenure.wire.mark_plan import MarkRules, plan_marks

ANTHROPIC = "anthropic_messages"


def has_points(wire: str, model: ModelProfile) -> bool:
    """Whether explicit breakpoints of OpenAI can be set: on models that have two lifetimes."""
    return wire != ANTHROPIC and model.provider == "openai" and model.ttl_long > 0


def as_cached(wire: str, model: ModelProfile, head: JsonObject) -> ModelProfile:
    """The profile at the lifetime that the caller has chosen for what the request caches."""
    if not _chosen(wire, model, head) <= {"1h", "12h"}:
        return model
    return model.with_(write=model.write_long or model.write, ttl_short=model.ttl_long)


def cache_costs(
    wire: str, model: ModelProfile, head: JsonObject, *, layout: bool
) -> CacheCosts | None:
    """What a cached token costs, where it is ours to set marks and to choose their lifetime."""
    if model.write_long is None or not model.ttl_long:
        return None
    able = wire == ANTHROPIC or (layout and has_points(wire, model))
    if not able or _chosen(wire, model, head) != _NONE:
        return None
    return CacheCosts(model.read, model.write, model.write_long, model.ttl_short, model.ttl_long)


_NONE = frozenset({""})


def _chosen(wire: str, model: ModelProfile, head: JsonObject) -> frozenset[str]:
    """The lifetimes that the caller has chosen in the head; only "" where it is left to us."""
    if wire == ANTHROPIC:
        own = [mark for _, mark in marks.own_marks(head, ())]
        return frozenset(str(mark.get("ttl") or "5m") for mark in own) or _NONE
    return frozenset({chosen_lifetime(head)}) if has_points(wire, model) else _NONE


class Marker:
    """Sets the marks of one session's requests, one after the other."""

    def __init__(
        self, machine: SessionMachine, wire: str, model: ModelProfile, *, layout: bool
    ) -> None:
        self._machine = machine
        self._wire = wire
        self._model = model
        self._able = wire == ANTHROPIC or (layout and has_points(wire, model))
        # So many messages were searched for marks of the caller's own, and if there was one.
        self._looked = 0
        self._own = False

    def marked(self, outgoing: Outgoing) -> tuple[JsonObject, Mapping[int, JsonObject]]:
        """The head of the request, and the messages that carry a mark by their numbers."""
        copy = outgoing.copy
        if not self._able or self._has_own(copy.head):
            return copy.head, {}
        sent = copy.sent(outgoing.count)
        places = [0, *(copy.ends[n - 1] for n in outgoing.marks if n)]

        def tokens(count: int) -> int:
            return self._tokens(outgoing, count)

        if self._wire == ANTHROPIC:
            return self._planned(copy.head, sent, places, long=outgoing.long, tokens=tokens)
        asked = PointRules(minimum=self._model.cache_minimum, long=outgoing.long)
        points = plan_breakpoints(self._wire, copy.head, sent, places, asked, own=(), tokens=tokens)
        return points.head, points.messages

    def summarizing(self, asked: Summarize) -> JsonObject:
        """The head of a request for a summary and its messages, marked where earlier requests were."""
        head, messages = asked.head, [*asked.messages]
        if self._able and not self._has_own(head):
            # What is marked was long enough before, and the end is behind it.
            long_enough = self._model.cache_minimum
            head, changed = self._planned(
                head, messages, asked.places, long=asked.long, tokens=lambda _: long_enough
            )
            for number, message in changed.items():
                messages[number] = message
        return {**head, "messages": messages}

    def _planned(
        self,
        head: JsonObject,
        sent: Sequence[JsonObject],
        places: Sequence[int],
        *,
        long: bool,
        tokens: Callable[[int], int],
    ) -> tuple[JsonObject, Mapping[int, JsonObject]]:
        rules = MarkRules(
            lookback=self._model.lookback,
            minimum=self._model.cache_minimum,
            long=long,
            automatic=True,
        )
        plan = plan_marks(head, sent, places, rules, own=(), tokens=tokens)
        return plan.head, plan.messages

    def _has_own(self, head: JsonObject) -> bool:
        messages = self._machine.transcript.messages
        fresh = [message.data for message in messages[self._looked :]]
        self._looked = len(messages)
        if self._wire == ANTHROPIC:
            self._own |= any(map(marks.is_marked, fresh))
            return self._own or marks.count_marks(head) > 0
        self._own |= has_breakpoints({}, fresh)
        return self._own or has_breakpoints(head, ())

    def _tokens(self, outgoing: Outgoing, count: int) -> int:
        """The likely size of the prompt up to the first `count` messages of the copy."""
        machine, copy = self._machine, outgoing.copy
        if not count:
            return machine.parts.meter.likely_before(0, machine.plan)
        entry = outgoing.view.entries[bisect_left(copy.ends, count)]
        index = machine.transcript.index_of(entry.sources[-1])
        return machine.parts.meter.likely_before(index + 1, machine.plan)
