"""Shortening what has just arrived when it does not fit.

Invariant: only messages not sent yet are touched, so no cached prefix breaks; room is shared out
fairly: no result is emptied to keep another one whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.edit import Replace
from tenure.core.message import Block, BlockKind, Origin
from tenure.core.plan import Plan
from tenure.core.policy import Situation
from tenure.policies.protect import is_paste, untouchable
from tenure.policies.tombstone import shortened

# A shortened text keeps at least this much, so that it still says what it was.
LEAST_KEPT = 150


def shorten(situation: Situation, plan: Plan, policy: str) -> list[Replace]:
    """Shortens the newest results (and pastes) so that they fit what is left beside the rest.

    An arrival may take the room that is left, and at least the budget's headroom, which older
    text has to make way for; only what is larger than both is shortened.
    """
    first = len(situation.steps)
    blocks = [b for bs in situation.transcript.blocks[first:] for b in bs if _may(situation, b)]
    if not blocks:
        return []
    total = situation.meter.resident(plan)
    sizes = [situation.meter.size(b).estimate for b in blocks]
    others = total - sum(sizes)
    room = max(situation.budget.headroom, situation.budget.limit - others)
    if sum(sizes) <= room:
        return []
    keep = fair_share(sizes, room)
    return [
        shortened(situation, b, kept, f"{size} tokens did not fit", when="arrival", policy=policy)
        for b, size, kept in zip(blocks, sizes, keep, strict=True)
        if kept < size
    ]


def fair_share(sizes: Sequence[int], room: int) -> list[int]:
    """How much each may keep of `room`: small ones all of it, the large ones equal parts."""
    level, left, shares = 0, room, list(sizes)
    order = sorted(range(len(sizes)), key=lambda i: sizes[i])
    for rank, i in enumerate(order):
        level = max(LEAST_KEPT, left // (len(sizes) - rank))
        shares[i] = min(sizes[i], level)
        left -= shares[i]
    return shares


def _may(situation: Situation, block: Block) -> bool:
    if is_paste(situation, block):
        return True
    if block.kind is BlockKind.TOOL_RESULT:
        return not untouchable(situation, block)
    harness = block.kind is BlockKind.TEXT and block.origin is Origin.HARNESS
    return harness and not untouchable(situation, block)
