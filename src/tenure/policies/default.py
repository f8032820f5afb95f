"""The policy of the house: evict what nothing needs, in batches, when it pays.

Invariant: one object serves one session; all it keeps is a fold over the transcript. What may go
(the finders), when (the schedule) and how (the evictor) are separate files; this one joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.core.budget import Budget
from tenure.core.edit import Delegated, Edit
from tenure.core.message import BlockKind
from tenure.core.policy import Candidate, Situation
from tenure.policies import arrivals, delegate, forced
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.evictor import bound_thinking, evict, priced
from tenure.policies.finished_reasoning import FinishedReasoning
from tenure.policies.protect import tail_starts
from tenure.policies.references import References
from tenure.policies.schedule import Settings, choose
from tenure.policies.stale_results import Results
from tenure.policies.superseded import Superseded

# With many results a decision is looked at only every few steps: the work stays constant per step,
# and a batch waits a few steps longer at most.
_RESULTS_PER_STEP, _LONGEST_WAIT = 32, 16


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
        self._results.catch_up(situation)
        self._reasoning.catch_up(situation)
        if situation.meter.resident(situation.plan) > situation.budget.limit:
            return self._over(situation)
        return self._unforced(situation)

    def _unforced(self, situation: Situation) -> list[Edit]:
        every = min(_LONGEST_WAIT, len(self._results.live) // _RESULTS_PER_STEP)
        if not situation.cold and every and situation.step % every:
            return []
        edits = situation.plan.edits
        if edits and edits[-1].reason.step == situation.step:
            return []  # This step has had its decision.
        if situation.profile.preserved_thinking and situation.delegates:
            return self._delegated(situation)
        if situation.profile.preserved_thinking and not _turn_ended(situation):
            return []
        batch = choose(situation, self._candidates(situation, self.settings.grace), self.settings)
        if batch is None:
            return []
        new = [
            e for c in batch.candidates if _freed(e := self._evict(situation, c, batch.when)) > 0
        ]
        new = self._finish(situation, new, batch.when)
        # Tombstones and the thinking that went along may make it dearer than it looked.
        price = sum(e.reason.price for e in new)
        return new if situation.ledger.allows(price, self.settings.share) else []

    def _delegated(self, situation: Situation) -> list[Edit]:
        """The provider clears: thinking stays valid, so an open tool loop is no reason to wait."""
        tail = tail_starts(situation, self.settings.keep_steps)
        found = self._candidates(situation, self.settings.grace)
        batch = delegate.choose(situation, found, tail, self.settings)
        if batch is None:
            return []
        last = batch.candidates[-1].block
        edit = delegate.delegated(
            situation, last, when=batch.when, policy=self.name, price=batch.price
        )
        return delegate.told(situation, edit)

    def _delegated_until(self, situation: Situation, resident: int) -> list[Edit]:
        """The provider's clearing that takes a view that is too large to the low water mark."""
        tail = tail_starts(situation, keep_steps=2)
        excess = resident - int(situation.budget.limit * delegate.LOW_WATER)
        last = delegate.shrink_to(situation, excess, tail)
        if last is None:
            return []
        edit = delegate.delegated(situation, last, when="forced", policy=self.name)
        price = _rewrite_price(situation, [edit])
        reason = replace(edit.reason, price=price)
        return delegate.told(situation, replace(edit, reason=reason))

    def _over(self, situation: Situation) -> list[Edit]:
        """Arrivals shortened to their room, older text evicted as far as it must go; if that is
        not enough, arrivals keep only what is left."""
        limit, meter, plan = situation.budget.limit, situation.meter, situation.plan
        if situation.profile.preserved_thinking and situation.delegates:
            cleared = self._delegated_until(situation, meter.resident(plan))
            if cleared and meter.resident(plan.put(*cleared)) <= limit:
                return cleared
        floor = self._reasoning.held(situation)
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

    def _finish(self, situation: Situation, edits: list[Edit], when: str) -> list[Edit]:
        price = _rewrite_price(situation, edits)
        stripped = bound_thinking(situation, edits, when=when, policy=self.name)
        # The model thinks the latest of it again; older thinking was background.
        lost = stripped[-1].reason.tokens_before * situation.profile.output if stripped else 0.0
        return priced([*edits, *stripped], price, situation.profile.read, lost=lost)

    def _candidates(self, situation: Situation, grace: int) -> list[Candidate]:
        tail = tail_starts(situation, self.settings.keep_steps)
        ahead = self.settings.steps_ahead(situation.step)
        found = [
            *self._results.candidates(situation, before=tail, grace=grace, ahead=ahead),
            *self._reasoning.candidates(situation, before=tail),
        ]
        floor = self._reasoning.held(situation)
        return sorted((c for c in found if c.block.index >= floor), key=lambda c: c.block.index)


def _freed(edit: Edit) -> int:
    return edit.reason.tokens_before - edit.reason.tokens_after


def _turn_ended(situation: Situation) -> bool:
    """True when the newest messages are a user's words, so that no tool loop is open."""
    last = situation.transcript.blocks[-1]
    return not any(b.kind is BlockKind.TOOL_RESULT for b in last)


def _rewrite_price(situation: Situation, edits: Sequence[Edit]) -> float:
    """(w - r)(n - a) - w R of a batch, or - w R on a cold cache."""
    # A clearing by the provider holds what it has cleared before, which costs nothing again.
    over = [e for e in situation.plan.superseded(edits) if isinstance(e, Delegated)]
    known = {t for e in over for t in e.targets}
    keys = [t for e in edits for t in e.targets if isinstance(t, str) and t not in known]
    if not keys:
        return 0.0
    meter, plan, profile = situation.meter, situation.plan, situation.profile
    freed = sum(map(_freed, edits)) - sum(map(_freed, over))
    price = -profile.write * freed
    if not situation.cold:
        first = min(situation.transcript.block(k).index for k in keys)
        behind = meter.before(len(situation.transcript), plan) - meter.before(first, plan)
        price += (profile.write - profile.read) * behind
    return price
