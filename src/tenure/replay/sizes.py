"""Token sizes of a recorded thread's blocks, in the tokens of the model that the thread ran on.

Invariant: one count per distinct text, whichever policy asks and however often.

An estimator errs a little, and recordings hide text (reasoning that was sent but not kept), so the
estimates are scaled by one factor for the whole trace: it is the growth of the prompt that the provider
reported between consecutive requests, summed over the trace, over the growth that was estimated.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import ceil

from tenure.core.message import Block, Message
from tenure.core.protocols import Count, Counter, Wire
from tenure.cost.prefix_tree import Segment

HIDDEN = "\0the system text and the tools of a recording\0"
"""Stands for text that is sent with every request; `Sizes.count_text` knows how long it was."""

_FEWEST_PAIRS = 3
_LARGEST_FACTOR = 3.0


def calibrate(pairs: list[tuple[int, int]]) -> float:
    """The factor from (reported growth, estimated growth) pairs of consecutive requests, tokens.

    Pairs in which nothing grew are left out (something was removed between the requests); 1.0
    when fewer than three are left, and never beyond a factor of 3 either way.
    """
    kept = [(reported, estimated) for reported, estimated in pairs if reported > 0 < estimated]
    if len(kept) < _FEWEST_PAIRS:
        return 1.0
    factor = sum(r for r, _ in kept) / sum(e for _, e in kept)
    return min(_LARGEST_FACTOR, max(1 / _LARGEST_FACTOR, factor))


@dataclass(slots=True)
class Sizes:
    """A `Counter` that scales another one and remembers what it counted.

    `hidden` is the length of `HIDDEN`, tokens.
    """

    counter: Counter
    wire: Wire
    factor: float = 1.0
    hidden: int = 0
    _counts: dict[Hashable, Count] = field(default_factory=dict)
    # Keyed by identity, and holding the message so that the identity stays its own.
    _segments: dict[int, tuple[Message, tuple[Segment, ...]]] = field(default_factory=dict)

    def scaled(self, factor: float, hidden: int) -> Sizes:
        """The same counts under another factor."""
        return Sizes(self.counter, self.wire, factor, hidden, self._counts)

    # -- Counter -------------------------------------------------------------------------------

    def bound(self, block: Block) -> int:
        """The bound from sizes alone, scaled up but never down."""
        return ceil(self.counter.bound(block) * max(1.0, self.factor))

    def count(self, block: Block) -> Count:
        """Estimate and upper bound of a block."""
        key: Hashable = (block.kind, block.tool, block.text)
        if block.media:
            key = (key, repr(block.media))
        known = self._counts.get(key)
        if known is None:
            known = self._counts[key] = self.counter.count(block)
        return self._scale(known)

    def bound_text(self, text: str) -> int:
        """The bound of a bare text."""
        if text == HIDDEN:
            return self.hidden
        return ceil(self.counter.bound_text(text) * max(1.0, self.factor))

    def count_text(self, text: str) -> Count:
        """Estimate and upper bound of a bare text."""
        if text == HIDDEN:
            return Count(self.hidden, self.hidden)
        return self._scale(self.counter.count_text(text))

    # -- of messages ---------------------------------------------------------------------------

    def segments(self, message: Message) -> tuple[Segment, ...]:
        """The message as pieces of a prompt, one per block, keyed by the message's own bytes."""
        known = self._segments.get(id(message))
        if known is None:
            known = self._segments[id(message)] = (message, self._cut(message))
        return known[1]

    def message(self, message: Message) -> int:
        """Estimated tokens of a message."""
        return sum(segment.tokens for segment in self.segments(message))

    def _cut(self, message: Message) -> tuple[Segment, ...]:
        raw = message.raw
        return tuple(
            Segment((raw, number), self.count(block).estimate, _KINDS.get(block.kind, "text"))
            for number, block in enumerate(self._blocks(message))
        )

    def _blocks(self, message: Message) -> list[Block]:
        """The blocks as a meter sees them; keys and numbers play no part in a size."""
        return [
            Block(
                "", 0, lens.path, lens.kind, lens.origin or message.origin, lens.text,
                lens.call_id, lens.tool, lens.media, lens.is_error, lens.signed,
            )
            for lens in self.wire.lenses(message.data)
        ]  # fmt: skip

    def _scale(self, count: Count) -> Count:
        return Count(round(count.estimate * self.factor), ceil(count.upper * self.factor))


# The cache's lookback counts a run of calls, or of results, as one position.
_KINDS = {"tool_call": "tool_use", "tool_result": "tool_result"}
