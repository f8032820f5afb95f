"""Tier 1: tool results that no recent message refers to.

Invariant: a result is stale when nothing named a string of it, and its call was not repeated, for
`grace` steps. Tiers 2 and 4 are results too: they are told apart by why nothing needs them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from tenure.core import recall
from tenure.core.message import Block, BlockKind
from tenure.core.plan import Plan
from tenure.core.policy import Candidate, Situation
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.protect import gone, untouchable
from tenure.policies.references import References
from tenure.policies.score import Facts, chance_within, score
from tenure.policies.superseded import Superseded

# What a tombstone without a digest takes, tokens; a smaller block is not worth one.
TOMBSTONE_TOKENS = 60
# Superseded and duplicate results are rarely needed; their newer twin answers for them.
_COVERED_NEED = 0.2
# Fetches per eviction in the recorded sessions; a session that needs more is managed less, down to
# a tenth of the evictions' worth.
_USUAL_RECALLS, _MOST_NEEDY = 0.05, 10.0


@dataclass(slots=True)
class Results:
    """All results of one transcript that are still whole in the view."""

    references: References
    duplicates: DuplicateResults
    superseded: Superseded
    live: dict[str, Block]
    seen: int = 0
    tokens: int = 0
    count: int = 0
    plan: Plan = field(default_factory=Plan)
    unread: deque[Block] = field(default_factory=deque)
    recalls: int = 0

    def catch_up(self, situation: Situation) -> None:
        """Takes in what was appended, and lets go what the plan edits."""
        transcript = situation.transcript
        self.references.catch_up(transcript)
        for index in range(self.seen, len(transcript)):
            for block in transcript.blocks[index]:
                if block.kind is BlockKind.TOOL_RESULT:
                    self._take(situation, block)
        self.seen = len(transcript)
        if situation.plan is not self.plan:
            self.plan = situation.plan
            for key in [k for k in self.live if gone(situation, k)]:
                del self.live[key]

    def _take(self, situation: Situation, block: Block) -> None:
        self.duplicates.see(situation.transcript, block)
        self.superseded.see(situation.transcript, block)
        size = situation.meter.size(block).estimate
        self.tokens += size
        self.count += 1
        self.unread.append(block)
        self.recalls += block.tool == recall.NAME
        if size > 2 * TOMBSTONE_TOKENS and not untouchable(situation, block):
            self.live[block.key] = block

    def candidates(
        self, situation: Situation, *, before: int, grace: int, ahead: int
    ) -> Iterator[Candidate]:
        """The stale ones among the first `before` messages, oldest first; their need is the chance
        of being wanted within `ahead` steps."""
        mean = self.tokens / max(1, self.count)
        # Evicted ones too: whose a string is must not depend on what was evicted when.
        while self.unread and self.unread[0].index < before:
            self.references.of(self.unread.popleft())
        for block in self.live.values():
            if block.index >= before:
                break
            found = self._judge(situation, block, (grace, ahead), mean)
            if found is not None:
                yield found

    def _judge(
        self, situation: Situation, block: Block, terms: tuple[int, int], mean: float
    ) -> Candidate | None:
        grace, ahead = terms
        referred = self.references.of(block)
        touched = max(block.index, referred.last)
        age = situation.step - situation.step_of(touched)
        newer = self.duplicates.newer.get(block.key) or self.superseded.newer.get(block.key)
        if age < grace and newer is None:
            return None
        size = situation.meter.size(block).estimate
        facts = Facts(age, referred.strings, size, mean)
        need = chance_within(age, ahead) * self._neediness()
        tier, words = 1, _words(age, referred.strings)
        if newer is not None:
            need *= _COVERED_NEED
            tier, words = self._covered(block)
        since = situation.step_of(block.index)
        return Candidate(
            block, tier, score(block, facts), size - TOMBSTONE_TOKENS, need, since, words
        )

    def _neediness(self) -> float:
        """How much more often this session fetches evicted text again than the recorded ones did.

        Counted from one fetch on, so that a few evictions alone say little.
        """
        expected = _USUAL_RECALLS * len(self.plan.by_key)
        return min(_MOST_NEEDY, max(1 / 2, (self.recalls + 1) / (expected + 1)))

    def _covered(self, block: Block) -> tuple[int, str]:
        if block.key in self.duplicates.newer:
            return 2, "the same call was made again later"
        return 4, "a later result holds the newer version"


def _words(age: int, refs: int) -> str:
    if refs:
        return f"not referred to for {age} steps"
    return f"no message of {age} steps refers to it"
