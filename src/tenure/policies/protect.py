"""What no policy may touch.

Invariant: the user's words, pinned messages, the tail and open tool loops stay; of a very long
paste the head, the tail and the sentences that ask for something stay.
"""

from __future__ import annotations

from tenure.core.edit import Replace
from tenure.core.message import Block, BlockKind, Origin
from tenure.core.policy import Situation

# A longer text from the user is a paste: its middle may go behind a handle, nothing else of it.
PASTE_TOKENS = 8_000


def tail_starts(situation: Situation, keep_steps: int) -> int:
    """The number of the first message of the protected tail: what the last `keep_steps` requests
    brought, and everything not sent yet."""
    steps = situation.steps
    if not steps:
        return 0
    first = situation.step - keep_steps
    at = len(steps)
    while at > 0 and steps[at - 1] >= first:
        at -= 1
    return at


def gone(situation: Situation, key: str) -> bool:
    """True when a block can be no candidate any more: it is edited, or was and has been restored."""
    return key in situation.plan.by_key or key in situation.restored


def untouchable(situation: Situation, block: Block) -> bool:
    """True when the block may not be edited at all, whatever the budget."""
    message = situation.transcript.messages[block.index]
    if message.pinned or block.origin in (Origin.USER, Origin.SYSTEM):
        return True
    if gone(situation, block.key) or situation.plan.covered(block.index):
        return True
    return block.kind is BlockKind.TOOL_CALL and block.key in {
        b.key for b in situation.transcript.open_calls.values()
    }


def shortened_result(situation: Situation, block: Block) -> Replace | None:
    """The edit of a result that was shortened when it arrived: a forced eviction may take its
    place once what is left of it must go too."""
    edit = situation.plan.by_key.get(block.key)
    if block.kind is not BlockKind.TOOL_RESULT or not isinstance(edit, Replace):
        return None
    if any(block.key in clearing.along for clearing in situation.plan.delegated):
        return None  # The provider has cleared what was left.
    return edit if edit.reason.when == "arrival" else None


def is_paste(situation: Situation, block: Block) -> bool:
    """True for a user's text so long that its middle may be put behind a handle."""
    return (
        block.kind is BlockKind.TEXT
        and block.origin is Origin.USER
        and not situation.transcript.messages[block.index].pinned
        and not gone(situation, block.key)
        and not situation.plan.covered(block.index)
        and situation.meter.size(block).estimate > PASTE_TOKENS
    )
