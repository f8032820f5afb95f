"""What goes when the budget forces it: milder tiers first, the user's words never.

Invariant: every edit keeps its call legal (a result or an argument keeps its block, ids and error
flag); the order is fixed, so the same situation gives the same edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from tenure.core.edit import Edit
from tenure.core.message import Block, BlockKind, Origin
from tenure.core.policy import Candidate, Situation
from tenure.policies.protect import is_paste, shortened_result, tail_starts, untouchable
from tenure.policies.stale_results import TOMBSTONE_TOKENS
from tenure.policies.tombstone import shortened, tombstone

# Evicting down to this share of the limit, so that the next steps do not force again.
LOW_WATER = 0.75
# What a shortened paste and any other shortened text keep, tokens.
_KEPT_PASTE, _KEPT_TEXT = 1_200, 150
_POLICY = "forced"

Make: TypeAlias = Callable[[], Edit]


def evict_until(
    situation: Situation,
    candidates: Sequence[Candidate],
    evict: Callable[[Candidate], Edit],
    *,
    excess: int,
    spared: Callable[[Block], bool],
) -> list[Edit]:
    """Edits that free about `excess` tokens, or all that may go but the `spared`.

    Order: candidates by tier-blind score; results outside the tail; call arguments, harness
    text and assistant text outside the tail; the middle of pastes; results inside the tail.
    """
    edits: list[Edit] = []
    taken: set[str] = set()
    for block, make in _in_order(situation, candidates, evict):
        if excess <= 0:
            break
        if block.key in taken or spared(block):
            continue
        edit = make()
        freed = _held(situation, block) - edit.reason.tokens_after
        if freed > 0:
            taken.add(block.key)
            edits.append(edit)
            excess -= freed
    return edits


def _in_order(
    situation: Situation, candidates: Sequence[Candidate], evict: Callable[[Candidate], Edit]
) -> Iterator[tuple[Block, Make]]:
    for c in sorted(candidates, key=lambda c: (c.score, c.block.index)):
        yield c.block, partial(evict, c)
    tail = tail_starts(situation, keep_steps=2)
    for wanted in (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL, BlockKind.TEXT):
        for block in _blocks(situation, range(tail), wanted):
            yield block, partial(_stand_in, situation, block)
    for block in situation.transcript.all_blocks():
        if is_paste(situation, block):
            yield block, partial(_shorten, situation, block, _KEPT_PASTE, "a long paste")
    sent = len(situation.steps)
    for block in _blocks(situation, range(tail, sent), BlockKind.TOOL_RESULT):
        yield block, partial(_stand_in, situation, block)


def _blocks(situation: Situation, where: range, kind: BlockKind) -> Iterator[Block]:
    for index in where:
        for block in situation.transcript.blocks[index]:
            free = shortened_result(situation, block) or not untouchable(situation, block)
            if block.kind is kind and free and _held(situation, block) > 2 * TOMBSTONE_TOKENS:
                yield block


def _held(situation: Situation, block: Block) -> int:
    """What a block takes in the view now, tokens."""
    edit = shortened_result(situation, block)
    return edit.reason.tokens_after if edit else situation.meter.size(block).estimate


def _stand_in(situation: Situation, block: Block) -> Edit:
    words = "the window was full"
    if block.kind is BlockKind.TEXT and block.origin is not Origin.TOOL:
        return _shorten(situation, block, _KEPT_TEXT, words)
    return tombstone(situation, block, words, when="forced", policy=_POLICY, kept=())


def _shorten(situation: Situation, block: Block, keep: int, words: str) -> Edit:
    return shortened(situation, block, keep, words, when="forced", policy=_POLICY)
