"""Shortening what has just arrived when it does not fit.

Invariant: only messages not sent yet are touched, so no cached prefix breaks; what one reply asked
for shares its room fairly: no result is emptied to keep another one whole. Of a whole history that
was appended at once, the newest results are served first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from tenure.core.edit import Drop, Reason, Replace
from tenure.core.message import Block, BlockKind, Origin
from tenure.core.plan import Plan
from tenure.core.policy import Situation
from tenure.policies.protect import is_paste, untouchable
from tenure.policies.tombstone import shortened

# A shortened text keeps at least this much, so that it still says what it was.
LEAST_KEPT = 150
# The share of the limit up to which arrivals stay whole, and the share of it that they keep when
# they don't: what follows needs room as well.
_FILLS, _KEEPS = 0.9, 0.5


def shorten(
    situation: Situation,
    policy: str,
    *,
    floor: int = 0,
    rest: Plan | None = None,
    taken: Collection[object] = (),
) -> list[Replace]:
    """Shortens the newest results (and pastes) so that they fit what is left beside the others.

    An arrival may take the room that is left, and at least the budget's headroom, which older
    text has to make way for; only what is larger than both is shortened. With `rest`, the plan
    under which nothing else can make way any more, it gets only the room that is left. Messages
    before number `floor` and blocks that are `taken` stay.
    """
    first = max(floor, len(situation.steps))
    arrived = (b for bs in situation.transcript.blocks[first:] for b in bs)
    blocks = [b for b in arrived if b.key not in taken and _may(situation, b)]
    if not blocks:
        return []
    sizes = [situation.meter.size(b).estimate for b in blocks]
    room = _room(situation, blocks, sum(sizes), rest)
    if sum(sizes) <= room:
        return []
    keep = _newest_first(_replies(situation, blocks), sizes, room)
    return [
        shortened(situation, b, kept, f"{size} tokens did not fit", when="arrival", policy=policy)
        for b, size, kept in zip(blocks, sizes, keep, strict=True)
        if kept < size
    ]


def _room(situation: Situation, blocks: Sequence[Block], size: int, rest: Plan | None) -> int:
    """The tokens these blocks may take, in the unit of their own estimates: the whole view's
    figure is corrected by what the provider reported, a single block's is not."""
    meter, budget = situation.meter, situation.budget
    plan = situation.plan if rest is None else rest
    without = Drop(tuple(b.key for b in blocks), Reason("arrivals", "to see what is left"))
    others = meter.resident(plan.add(without))
    scale = max(0.1, (meter.resident(plan) - others) / max(1, size))
    if rest is not None:
        return int((budget.limit - others) / scale)
    left = budget.limit * _FILLS - others
    if size * scale > left:
        left = min(left, budget.limit * _KEEPS)
    return int(max(budget.headroom, left) / scale)


def _replies(situation: Situation, blocks: Sequence[Block]) -> list[int]:
    """How many messages of the model stand between the first message not sent and each block."""
    messages, at, seen, counts = situation.transcript.messages, len(situation.steps), 0, list[int]()
    for block in blocks:
        seen += sum(m.origin is Origin.ASSISTANT for m in messages[at : block.index])
        at = max(at, block.index)
        counts.append(seen)
    return counts


def _newest_first(replies: Sequence[int], sizes: Sequence[int], room: int) -> list[int]:
    """The shares of all: each reply's results take theirs before those of the reply before it, and
    leave these the least that is kept."""
    together = [list(run) for _, run in groupby(range(len(sizes)), key=lambda i: replies[i])]
    older = sum(min(size, LEAST_KEPT) for size in sizes)
    shares: list[int] = []
    for run in reversed(together):
        own = [sizes[i] for i in run]
        older -= sum(min(size, LEAST_KEPT) for size in own)
        kept = fair_share(own, room - older)
        room -= sum(kept)
        shares[:0] = kept
    return shares


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
