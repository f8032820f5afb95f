"""When to evict: forced by the budget, when it pays, when the cache is cold anyway, or not now.

Invariant: an unforced batch is proposed only when its expected saving is worth the rewrite, the
carrying cost already paid for its tokens reaches the rewrite (the ski-rental rule), and the
session's cost bound allows it.

Economics (architecture.md section 6): a batch that frees R tokens and whose first changed token
stands at offset a of n costs (w - r)(n - a) - w R once and saves r R on each later step; on a cold
cache everything is written anyway, so it costs - w R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenure.core.message import Block
from tenure.core.policy import Candidate, Situation
from tenure.core.session import RECALL_CALL_TOKENS


@dataclass(frozen=True, slots=True)
class Settings:
    """The knobs of the default policy.

    `grace`: steps a result stays after it was last touched. `margin`: the expected saving must be
    this many times the rewrite price. `horizon`: steps expected to follow, as a share of those
    made (a session's age is the best guess of its rest), at least `least_horizon`. `share`: the
    cost bound. `from_share`: below this share of the task budget nothing is managed.
    Values fitted on the recorded sessions by `benchmarks/replay.py`; the optimum is flat.
    """

    grace: int = 3
    margin: float = 2.0
    horizon: float = 0.5
    least_horizon: int = 10
    share: float = 0.10
    from_share: float = 0.20
    task_budget: int = 200_000
    keep_steps: int = 3

    def steps_ahead(self, step: int) -> int:
        """How many steps are expected to follow."""
        return max(self.least_horizon, int(step * self.horizon))


@dataclass(frozen=True, slots=True)
class Batch:
    """Candidates to evict together, what that costs once and saves per step."""

    candidates: tuple[Candidate, ...]
    when: str
    price: float
    saves: float


def choose(
    situation: Situation, candidates: Sequence[Candidate], settings: Settings
) -> Batch | None:
    """The best unforced batch among candidates in transcript order; None to wait.

    A batch is a suffix of the worthwhile candidates: evicting one at offset a rewrites all that
    follows, so every worthwhile candidate behind it goes along.
    """
    profile, plan, meter = situation.profile, situation.plan, situation.meter
    steps = settings.steps_ahead(situation.step)
    n = meter.before(len(situation.transcript), plan)
    value = carried = 0.0
    freed = 0
    chosen: list[Candidate] = []
    best: tuple[float, int, float, int] | None = None
    for candidate in reversed(candidates):
        worth = expected_saving(situation, candidate, n, steps)
        if worth <= 0:
            continue
        chosen.append(candidate)
        value += worth
        freed += candidate.frees
        carried += profile.read * candidate.frees * max(0, situation.step - candidate.since)
        price = -profile.write * freed
        if not situation.cold:
            behind = n - meter.before(candidate.block.index, plan)
            price += (profile.write - profile.read) * behind
        gain = value - (settings.margin * price if price > 0 else price)
        pays = price <= carried and situation.ledger.allows(price, settings.share)
        if gain > 0 and pays and (best is None or gain > best[0]):
            best = (gain, len(chosen), price, freed)
    if best is None:
        return None
    when = "cold" if situation.cold else "pays"
    batch = tuple(reversed(chosen[: best[1]]))
    return Batch(batch, when, best[2], profile.read * best[3])


def may_pay(situation: Situation, frees: Sequence[tuple[Block, int]], settings: Settings) -> bool:
    """Whether a batch of these could pay, newest first with the tokens that each would free, if all
    of them were stale: when not even that pays, `choose` need not be asked."""
    profile, plan, meter = situation.profile, situation.plan, situation.meter
    n = meter.before(len(situation.transcript), plan)
    carried, freed = 0.0, 0
    for block, size in frees:
        freed += size
        since = situation.step_of(block.index)
        carried += profile.read * size * max(0, situation.step - since)
        behind = n - meter.before(block.index, plan)
        price = (profile.write - profile.read) * behind - profile.write * freed
        if price <= carried and situation.ledger.allows(price, settings.share):
            return True
    return False


def expected_saving(situation: Situation, candidate: Candidate, n: int, steps: int) -> float:
    """Expected saving of one candidate over `steps` steps, its expected re-fetch deducted."""
    profile = situation.profile
    saving = profile.read * candidate.frees * steps
    refetch = (
        profile.read * n
        + profile.output * RECALL_CALL_TOKENS
        + profile.write * situation.meter.size(candidate.block).estimate
    )
    return saving - candidate.need * refetch
