"""The policy of the house: evict what nothing needs, in batches, when it pays.

Invariant: one object serves one session; all it keeps is a fold over the transcript. What may go
(the finders), when (the schedule) and how (the evictor) are separate files; this one joins them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.budget import Budget
from tenure.core.edit import Edit
from tenure.core.message import BlockKind
from tenure.core.policy import Candidate, Situation
from tenure.policies import arrivals, forced
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.evictor import bound_thinking, evict, priced
from tenure.policies.finished_reasoning import FinishedReasoning
from tenure.policies.protect import tail_starts
from tenure.policies.references import References
from tenure.policies.schedule import Settings, choose
from tenure.policies.stale_results import Results
from tenure.policies.superseded import Superseded

# With many candidates a decision is looked at again only every few steps: the work stays
# constant per step, and a batch waits a few steps longer at most.
_CANDIDATES_PER_STEP, _LONGEST_WAIT = 64, 16


class Tenure:
    """Proposes arrivals to shorten, forced evictions, and batches that pay for themselves."""

    name = "tenure"

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._references = References()
        self._results = Results(self._references, DuplicateResults(), Superseded(), {})
        self._reasoning = FinishedReasoning()
        self._next_look = 0

    def wakes_at(self, budget: Budget) -> int:
        """20 % of the task budget (below, managing can't pay), or the window's limit if less."""
        s = self.settings
        return int(min(budget.limit, s.from_share * min(s.task_budget, budget.limit)))

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """The edits to add now."""
        self._results.catch_up(situation)
        self._reasoning.catch_up(situation)
        limit = situation.budget.limit
        new: list[Edit] = []
        if situation.meter.resident(situation.plan) > limit:
            new += arrivals.shorten(situation, situation.plan, self.name)
            resident = situation.meter.resident(situation.plan.add(*new))
            if resident > limit:
                excess = resident - int(limit * forced.LOW_WATER)
                new += self._forced(situation, excess, {t for e in new for t in e.targets})
            return new
        return self._unforced(situation)

    def _unforced(self, situation: Situation) -> list[Edit]:
        if not situation.cold and situation.step < self._next_look:
            return []
        if situation.profile.preserved_thinking and not _turn_ended(situation):
            return []
        candidates = self._candidates(situation, self.settings.grace)
        wait = len(candidates) // _CANDIDATES_PER_STEP
        self._next_look = situation.step + min(_LONGEST_WAIT, wait)
        batch = choose(situation, candidates, self.settings)
        if batch is None:
            return []
        edits = [e for c in batch.candidates if _frees(e := self._evict(situation, c, batch.when))]
        return self._finish(situation, edits, batch.when, batch.price)

    def _forced(self, situation: Situation, excess: int, taken: set[object]) -> list[Edit]:
        candidates = [c for c in self._candidates(situation, 0) if c.block.key not in taken]
        edits = forced.evict_until(
            situation,
            candidates,
            lambda c: self._evict(situation, c, "forced"),
            excess=excess,
        )
        edits = [e for e in edits if not taken.intersection(e.targets)]
        price = _rewrite_price(situation, edits)
        return self._finish(situation, edits, "forced", price)

    def _evict(self, situation: Situation, candidate: Candidate, when: str) -> Edit:
        return evict(situation, candidate, self._references, when=when, policy=self.name)

    def _finish(
        self, situation: Situation, edits: list[Edit], when: str, price: float
    ) -> list[Edit]:
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
        return sorted(found, key=lambda c: c.block.index)


def _frees(edit: Edit) -> bool:
    return edit.reason.tokens_after < edit.reason.tokens_before


def _turn_ended(situation: Situation) -> bool:
    """True when the newest messages are a user's words, so that no tool loop is open."""
    last = situation.transcript.blocks[-1]
    return not any(b.kind is BlockKind.TOOL_RESULT for b in last)


def _rewrite_price(situation: Situation, edits: Sequence[Edit]) -> float:
    """(w - r)(n - a) - w R of a batch, or - w R on a cold cache."""
    keys = [t for e in edits for t in e.targets if isinstance(t, str)]
    if not keys:
        return 0.0
    meter, plan, profile = situation.meter, situation.plan, situation.profile
    freed = sum(e.reason.tokens_before - e.reason.tokens_after for e in edits)
    price = -profile.write * freed
    if not situation.cold:
        first = min(situation.transcript.block(k).index for k in keys)
        behind = meter.before(len(situation.transcript), plan) - meter.before(first, plan)
        price += (profile.write - profile.read) * behind
    return price
