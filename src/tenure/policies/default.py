"""The policy of the house: evict what nothing needs, in batches, when it pays.

Invariant: one object serves one session; all it keeps is a fold over the transcript. What may go
(the finders), when (the schedule) and how (the evictor) are separate files; this one joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.core.budget import Budget
from tenure.core.edit import CHOSEN, Edit, Weighed
from tenure.core.message import BlockKind
from tenure.core.policy import Candidate, Situation
from tenure.policies import arrivals, compact, delegate, forced, ways
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.evictor import bound_thinking, evict, priced
from tenure.policies.finished_reasoning import FinishedReasoning
from tenure.policies.protect import tail_starts
from tenure.policies.references import References
from tenure.policies.schedule import Settings, choose, expected_saving, may_pay
from tenure.policies.stale_results import TOMBSTONE_TOKENS, Results
from tenure.policies.superseded import Superseded

# With many results a decision is looked at only every few steps: the work stays constant per step,
# and a batch waits a few steps longer at most.
_RESULTS_PER_STEP, _LONGEST_WAIT = 32, 16
_FULL = "the window is full"


class Tenure:
    """Proposes arrivals to shorten, forced evictions, and batches that pay for themselves."""

    name = "tenure"

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._references = References()
        self._results = Results(self._references, DuplicateResults(), Superseded(), {})
        self._reasoning = FinishedReasoning()

    def wakes_at(self, budget: Budget) -> int:
        """20 % of the task budget (below, managing can't pay), or the window's limit if less."""
        s = self.settings
        return int(min(budget.limit, s.from_share * min(s.task_budget, budget.limit)))

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """The edits to add now."""
        self._catch_up(situation)
        if situation.meter.resident(situation.plan) > situation.budget.limit:
            new = self._over(situation)
        else:
            new = self._unforced(situation)
        return [*new, *delegate.told(situation, new)]

    def ways(self, situation: Situation) -> Sequence[Weighed]:
        """What clearing all old results would cost now, by each way, where thinking is bound."""
        if not situation.profile.preserved_thinking:
            return ()
        self._catch_up(situation)
        tail = tail_starts(situation, self.settings.keep_steps)
        blocks = delegate.clearable(situation, tail)
        if not blocks:
            return ()
        run = delegate.priced_run(situation, blocks)
        return ways.weigh(situation, ways.own_of(run), run, ways.WAIT)

    def _catch_up(self, situation: Situation) -> None:
        self._results.catch_up(situation)
        self._reasoning.catch_up(situation)

    def _unforced(self, situation: Situation) -> list[Edit]:
        every = min(_LONGEST_WAIT, len(self._results.live) // _RESULTS_PER_STEP)
        if not situation.cold and every and situation.step % every:
            return []
        edits = situation.plan.edits
        if edits and edits[-1].reason.step == situation.step:
            return []  # This step has had its decision.
        bound = situation.profile.preserved_thinking
        if not (bound or situation.cold or self._may_pay(situation)):
            return []
        candidates = self._candidates(situation, self.settings.grace)
        if not bound:
            return self._own(situation, candidates, None)[1]
        run = self._run(situation, candidates)
        gain, own = self._own(situation, candidates, run)
        if run is None or gain > run.gain:
            return own
        when = "cold" if situation.cold else "pays"
        weighed = ways.weigh(situation, ways.own_of(run), run, ways.DELEGATE)
        return [delegate.delegated(situation, run, when=when, policy=self.name, weighed=weighed)]

    def _may_pay(self, situation: Situation) -> bool:
        """False where judging each block can be spared: no batch of all that is left would pay."""
        size = situation.meter.size
        found = [(b, size(b).estimate - TOMBSTONE_TOKENS) for b in self._results.live.values()]
        found += [(b, size(b).estimate) for b in self._reasoning.live.values()]
        found.sort(key=lambda one: -one[0].index)
        return may_pay(situation, found, self.settings)

    def _run(self, situation: Situation, candidates: Sequence[Candidate]) -> delegate.Run | None:
        """What the provider would best clear: thinking stays valid, so an open tool loop is no
        reason to wait."""
        if not situation.delegates:
            return None
        tail = tail_starts(situation, self.settings.keep_steps)
        return delegate.choose(situation, candidates, tail, self.settings)

    def _own(
        self, situation: Situation, candidates: Sequence[Candidate], run: delegate.Run | None
    ) -> tuple[float, list[Edit]]:
        """The best batch of edits of ours, and its expected gain."""
        batch = choose(situation, candidates, self.settings)
        if batch is None:
            return 0.0, []
        made = [self._evict(situation, c, batch.when) for c in batch.candidates]
        new = [e for e in made if _freed(e) > 0]
        first = ways.first_of(situation, new)
        bound = first is not None and situation.profile.preserved_thinking
        if bound and ways.bound_behind(situation, first or 0) and not _turn_ended(situation):
            return 0.0, []  # In an open tool loop the model needs its thinking.
        new = self._finish(situation, new, batch.when, run)
        # Tombstones and the thinking that went along may make it dearer than it looked.
        price = sum(e.reason.price for e in new)
        if not situation.ledger.allows(price, self.settings.share):
            return 0.0, []
        steps = self.settings.steps_ahead(situation.step)
        n = situation.meter.before(len(situation.transcript), situation.plan)
        value = sum(expected_saving(situation, c, n, steps) for c in batch.candidates)
        return value - (self.settings.margin * price if price > 0 else price), new

    def _over(self, situation: Situation) -> list[Edit]:
        """The provider's clearing where thinking is bound; edits of ours for what is left."""
        limit, meter, plan = situation.budget.limit, situation.meter, situation.plan
        cleared = self._delegated_until(situation, meter.resident(plan))
        rest = replace(situation, plan=plan.put(*cleared))
        left = meter.resident(rest.plan)
        if cleared and left <= limit:
            # What is cleared can't be summarised any more once all that was sent outgrows the window.
            lasts = left <= limit * delegate.LOW_WATER
            return cleared if lasts else self._compacted(situation, cleared) or cleared
        floor = self._reasoning.held(situation)
        own = self._over_by_own(rest, floor)
        if floor and situation.drop_block != "no" and meter.resident(rest.plan.put(*own)) > limit:
            # Thinking that must be sent as it is can still be left out by the provider.
            own = self._over_by_own(rest, 0)
        made = [*cleared, *own]
        return self._compacted(situation, made) or made

    def _compacted(self, situation: Situation, made: Sequence[Edit]) -> list[Edit]:
        """A summary by the provider instead of these edits, where they do not make room enough,
        would cost the model its thinking, or cost more for each token that they free."""
        found = compact.possible(situation)
        if isinstance(found, str):
            return []
        fits = situation.meter.resident(situation.plan.put(*made)) <= situation.budget.limit
        price, saves = (sum(getattr(e.reason, of) for e in made) for of in ("price", "saves"))
        freed = sum(map(_freed, made))
        thinks = situation.profile.preserved_thinking and ways.costs_thinking(situation, made)
        if fits and not thinks and price * found.frees <= found.price * freed:
            return []
        note = "costs the model its thinking" if thinks else ""
        weighed = (
            compact.way(situation, found)._replace(note=CHOSEN),
            Weighed("evict", price, saves, note if fits else "not enough"),
        )
        return compact.asked(situation, found, policy=self.name, weighed=weighed)

    def _delegated_until(self, situation: Situation, resident: int) -> list[Edit]:
        """The provider's clearing that takes a view that is too large to the low water mark."""
        if not (situation.profile.preserved_thinking and situation.delegates):
            return []
        tail = tail_starts(situation, keep_steps=2)
        excess = resident - int(situation.budget.limit * delegate.LOW_WATER)
        run = delegate.shrink_to(situation, excess, tail)
        if run is None:
            return []
        own = ways.own_of(run)
        weighed = ways.weigh(situation, own, run, ways.DELEGATE, why_not=_FULL)
        return [
            delegate.delegated(situation, run, when="forced", policy=self.name, weighed=weighed)
        ]

    def _over_by_own(self, situation: Situation, floor: int) -> list[Edit]:
        """Arrivals shortened to their room, older text evicted as far as it must go; if that is
        not enough, arrivals keep only what is left."""
        limit, meter, plan = situation.budget.limit, situation.meter, situation.plan
        new = arrivals.shorten(situation, self.name, floor=floor)
        resident = meter.resident(plan.put(*new))
        old: list[Edit] = []
        for excess in (resident - int(limit * forced.LOW_WATER), resident):
            if resident > limit:
                old = self._forced(situation, excess, {t for e in new for t in e.targets}, floor)
                resident = meter.resident(plan.put(*new, *old))
        if resident > limit:
            rest = plan.put(*old)
            taken = {t for e in old for t in e.targets}
            new = arrivals.shorten(situation, self.name, floor=floor, rest=rest, taken=taken)
        if self._way(situation, [*new, *old]) == ways.DROP:
            return [*new, *self._dropping(situation, old, "forced", beside=new)]
        forced_edits = self._finish(situation, old, "forced")
        done = {t for e in (*new, *forced_edits) for t in e.targets}
        stripped = bound_thinking(situation, new, when="arrival", policy=self.name)
        return [*new, *forced_edits, *(e for e in stripped if done.isdisjoint(e.targets))]

    def _forced(
        self, situation: Situation, excess: int, taken: set[object], floor: int
    ) -> list[Edit]:
        return forced.evict_until(
            situation,
            self._candidates(situation, 0),
            lambda c: self._evict(situation, c, "forced"),
            excess=excess,
            spared=lambda block: block.index < floor or block.key in taken,
        )

    def _evict(self, situation: Situation, candidate: Candidate, when: str) -> Edit:
        return evict(situation, candidate, self._references, when=when, policy=self.name)

    def _finish(
        self, situation: Situation, edits: list[Edit], when: str, run: delegate.Run | None = None
    ) -> list[Edit]:
        """The edits with the thinking that they unbind, and their prices."""
        if not edits or not situation.profile.preserved_thinking:
            return priced(edits, _rewrite_price(situation, edits), situation.profile.read)
        if self._way(situation, edits) == ways.DROP:
            return self._dropping(situation, edits, when, run=run)
        first = ways.first_of(situation, edits) or 0
        stripped = bound_thinking(situation, edits, when=when, policy=self.name)
        price = _rewrite_price(situation, [*edits, *stripped])
        lost = ways.lost(situation, first) if stripped else 0.0
        made = priced([*edits, *stripped], price, situation.profile.read, lost=lost)
        return self._weighed(situation, made, edits, ways.STRIP, run)

    def _dropping(
        self,
        situation: Situation,
        edits: list[Edit],
        when: str,
        *,
        beside: Sequence[Edit] = (),
        run: delegate.Run | None = None,
    ) -> list[Edit]:
        """The edits and the provider's leaving out of the thinking that they, and those `beside`
        them, unbind."""
        first = ways.first_of(situation, [*beside, *edits]) or 0
        dropped = ways.drop(situation, [*beside, *edits], when=when, policy=self.name)
        price = _rewrite_price(situation, edits)
        lost = ways.lost(situation, first) if dropped else 0.0
        made = priced(edits, price, situation.profile.read, lost=lost)
        return [*self._weighed(situation, made, edits, ways.DROP, run), *dropped]

    def _way(self, situation: Situation, edits: Sequence[Edit]) -> str:
        first = ways.first_of(situation, edits)
        if first is None or not situation.profile.preserved_thinking:
            return ways.STRIP
        return ways.cheaper(situation, first)

    def _weighed(
        self,
        situation: Situation,
        made: list[Edit],
        edits: Sequence[Edit],
        way: str,
        run: delegate.Run | None,
    ) -> list[Edit]:
        """The batch, its first edit telling what each way would have cost."""
        first = ways.first_of(situation, edits)
        if first is None or not made:
            return made
        own = ways.Own(first, sum(map(_freed, edits)))
        forced_by = _FULL if made[0].reason.when == "forced" else ""
        weighed = ways.weigh(situation, own, run, way, why_not=forced_by)
        return [replace(made[0], reason=replace(made[0].reason, weighed=weighed)), *made[1:]]

    def _candidates(self, situation: Situation, grace: int) -> list[Candidate]:
        tail = tail_starts(situation, self.settings.keep_steps)
        ahead = self.settings.steps_ahead(situation.step)
        found = [
            *self._results.candidates(situation, before=tail, grace=grace, ahead=ahead),
            *self._reasoning.candidates(situation, before=tail),
        ]
        floor = self._reasoning.held(situation)
        known = situation.plan.by_key  # Edits that were decided a moment ago among them.
        free = (c for c in found if c.block.index >= floor and c.block.key not in known)
        return sorted(free, key=lambda c: c.block.index)


def _freed(edit: Edit) -> int:
    return edit.reason.tokens_before - edit.reason.tokens_after


def _turn_ended(situation: Situation) -> bool:
    """True when the newest messages are a user's words, so that no tool loop is open."""
    last = situation.transcript.blocks[-1]
    return not any(b.kind is BlockKind.TOOL_RESULT for b in last)


def _rewrite_price(situation: Situation, edits: Sequence[Edit]) -> float:
    """(w - r)(n - a) - w R of a batch, or - w R on a cold cache."""
    first = ways.first_of(situation, edits)
    if first is None:
        return 0.0
    freed = sum(map(_freed, edits))
    return delegate.rewrite(situation, first) - situation.profile.write * freed
