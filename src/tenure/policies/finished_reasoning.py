"""Tier 3: reasoning of finished user turns.

Invariant: the latest turn's reasoning stays as it is; of readable reasoning the last sentence is
kept, since it holds the conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenure.core.message import Block, BlockKind
from tenure.core.policy import Candidate, Situation
from tenure.policies.protect import gone

# A conclusion stands at the end: what is in front of this many characters is not looked at.
_END = 600
_SENTENCE = re.compile(r"[^.!?\n]{15,300}[.!?]?\s*$")


class FinishedReasoning:
    """The reasoning blocks of one transcript that are still in the view."""

    def __init__(self) -> None:
        self.live: dict[str, Block] = {}
        self._pinned = 0
        self._seen = 0

    def catch_up(self, situation: Situation) -> None:
        """Takes in what was appended."""
        transcript = situation.transcript
        if transcript.wire.name == "openai_responses":
            # There an item that came with reasoning is refused without it (providers.md 3.2).
            return
        for index in range(self._seen, len(transcript)):
            if transcript.messages[index].pinned:
                if any(b.kind is BlockKind.THINKING and b.signed for b in transcript.blocks[index]):
                    self._pinned = index
                continue
            for block in transcript.blocks[index]:
                if block.kind is BlockKind.THINKING:
                    self.live[block.key] = block
        self._seen = len(transcript)

    def held(self, situation: Situation) -> int:
        """The number of the first message that may be edited: where the model's thinking is bound
        to what stands before it, nothing before thinking that must stay."""
        if not situation.profile.preserved_thinking:
            return 0
        restored = (situation.transcript.block(key) for key in situation.restored)
        indexes = (b.index for b in restored if b.kind is BlockKind.THINKING and b.signed)
        return max(self._pinned, *indexes, 0)

    def candidates(self, situation: Situation, *, before: int) -> Iterator[Candidate]:
        """Those in front of the last finished user turn's end, oldest first."""
        turns = situation.transcript.user_turns
        end = min(before, turns[-1]) if turns else 0
        for key in [k for k in self.live if gone(situation, k)]:
            del self.live[key]
        for block in self.live.values():
            if block.index >= end:
                break
            size = situation.meter.size(block).estimate
            since = situation.step_of(block.index)
            yield Candidate(block, 3, -1.0, size, 0.0, since, "its user turn has ended")


def conclusion(text: str) -> str:
    """The last sentence of a reasoning text, empty when there is none to read."""
    found = _SENTENCE.search(text[-_END:].strip())
    return found[0].strip() if found else ""
