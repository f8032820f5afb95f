"""Greedy with foresight: what a policy could reach that knew which results are used again.

Invariant: it evicts only results that no later reply of the recording uses, so it never has to
fetch one again. It is no true optimum: a batch goes as soon as it pays by the end of the thread,
though waiting for more might pay better, and a result that is used much later is never evicted.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.budget import Budget
from tenure.core.edit import Edit, Reason, Replace
from tenure.core.message import Block, BlockKind
from tenure.core.policy import Situation
from tenure.policies.tombstone import handle_for
from tenure.replay.recording import RecordedThread


class Foresight:
    """The policy, for the one thread whose future it knows."""

    name = "foresight"

    def __init__(self, thread: RecordedThread) -> None:
        self._last_use = thread.dependencies.last_uses()
        self._steps = len(thread.replies)
        self._seen = 0
        self._standing: list[Block] = []

    def wakes_at(self, budget: Budget) -> int:  # noqa: ARG002
        """Always."""
        return 0

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """The suffix of useless results whose eviction saves most by the end, if it saves at all."""
        transcript = situation.transcript
        for blocks in transcript.blocks[self._seen :]:
            self._standing += [b for b in blocks if b.kind is BlockKind.TOOL_RESULT]
        self._seen = len(transcript)
        plan = situation.plan
        self._standing = [b for b in self._standing if b.key not in plan.by_key]
        # A result is read once at least; the reply asked for begins at the transcript's length.
        sent, reply = len(situation.steps), len(transcript)
        useless = [
            b for b in self._standing if b.index < sent and self._last_use.get(b.key, -1) < reply
        ]
        edits = [self._edit(situation, block) for block in useless]
        worth = [
            (block, edit)
            for block, edit in zip(useless, edits, strict=True)
            if edit.reason.tokens_after < edit.reason.tokens_before
        ]
        best = self._best(situation, worth)
        return [edit for _, edit in worth[best:]]

    def _best(self, situation: Situation, worth: Sequence[tuple[Block, Replace]]) -> int:
        """Where the most saving suffix begins; the length when none saves."""
        profile, meter = situation.profile, situation.meter
        later = self._steps - situation.step - 1
        # What arrived since the last request is written once either way.
        cached = meter.before(len(situation.steps), situation.plan)
        best, best_net, freed = len(worth), 0.0, 0
        for place in range(len(worth) - 1, -1, -1):
            block, edit = worth[place]
            freed += edit.reason.tokens_before - edit.reason.tokens_after
            behind = max(0, cached - meter.before(block.index, situation.plan))
            warm = 0.0 if situation.cold else (profile.write - profile.read) * behind
            net = profile.read * freed * later - (warm - profile.write * freed)
            if net > best_net:
                best, best_net = place, net
        return best

    def _edit(self, situation: Situation, block: Block) -> Replace:
        handle = handle_for(situation.nonce, block.key)
        text = f"[old tool result {handle} cleared]"
        message = situation.transcript.messages[block.index]
        body = situation.transcript.wire.stand_in(block, message, text)
        before, after = situation.meter.size(block).estimate, situation.meter.stand_in(block, text)
        words = "no later reply of the recording uses it"
        reason = Reason(self.name, words, "pays", before, after, step=situation.step)
        return Replace(block.key, (body,), reason, handle)
