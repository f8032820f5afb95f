"""The policies that tenure is compared with: doing nothing, and clearing old tool results.

Invariant: they know nothing of prices. A cleared result keeps its place and its call; a placeholder
with a handle says what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenure.core.budget import Budget
from tenure.core.edit import Edit, Reason, Replace
from tenure.core.message import Block, BlockKind
from tenure.core.policy import Situation
from tenure.policies.tombstone import handle_for


@dataclass(frozen=True, slots=True)
class AppendOnly:
    """Everything stays. What every saving is measured against."""

    name: str = "append-only"

    def wakes_at(self, budget: Budget) -> int:
        """Never."""
        return max(budget.window, budget.limit) * 1_000

    def propose(self, situation: Situation) -> Sequence[Edit]:  # noqa: ARG002
        """Nothing."""
        return ()


@dataclass(slots=True)
class ClearToolResults:
    """Clears all but the newest `keep` tool results whenever the prompt exceeds `trigger` tokens.

    With the default figures this is Anthropic's server-side edit `clear_tool_uses_20250919`
    (platform docs, context editing: trigger 100,000 input tokens, keep 3 tool uses), done on the
    client's side and with a handle. A result that is not longer than its placeholder stays.
    """

    trigger: int = 100_000
    keep: int = 3
    # Every result in order, how many messages were looked through, and what is too short to clear.
    _results: list[Block] = field(default_factory=list)
    _seen: int = 0
    _short: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """clear-100k-keep-3, or clear-every-step without a trigger."""
        if not self.trigger:
            return "clear-every-step"
        return f"clear-{self.trigger // 1000}k-keep-{self.keep}"

    def wakes_at(self, budget: Budget) -> int:  # noqa: ARG002
        """Above the trigger."""
        return self.trigger

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """A placeholder for each result that is older than the newest `keep`."""
        for blocks in situation.transcript.blocks[self._seen :]:
            self._results += [b for b in blocks if b.kind is BlockKind.TOOL_RESULT]
        self._seen = len(situation.transcript)
        if situation.meter.resident(situation.plan) <= self.trigger:
            return ()
        old = self._results[: max(0, len(self._results) - self.keep)]
        standing = [b for b in old if b.key not in self._short and _may_go(situation, b)]
        edits = [self._cleared(situation, block) for block in standing]
        worth = [e for e in edits if e.reason.tokens_after < e.reason.tokens_before]
        self._short.update({b.key for b in standing} - {str(e.target) for e in worth})
        return worth

    def _cleared(self, situation: Situation, block: Block) -> Replace:
        handle = handle_for(situation.nonce, block.key)
        text = f"[old tool result {handle} cleared]"
        message = situation.transcript.messages[block.index]
        body = situation.transcript.wire.stand_in(block, message, text)
        meter = situation.meter
        before, after = meter.size(block).estimate, meter.stand_in(block, text)
        read = situation.profile.read
        reason = Reason(
            self.name,
            f"older than the newest {self.keep} tool results",
            "forced",
            before,
            after,
            saves=read * (before - after),
            step=situation.step,
        )
        return Replace(block.key, (body,), reason, handle)


def _may_go(situation: Situation, block: Block) -> bool:
    plan = situation.plan
    if block.key in plan.by_key or block.key in situation.restored or plan.covered(block.index):
        return False
    return not situation.transcript.messages[block.index].pinned
