"""What must leave a view together, so that what stays is legal.

Invariant: dropping everything that is returned leaves no call without its result, no reasoning
without what it led to, and no assistant turn that ends in reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable

from tenure.core.message import Block, BlockKind, Origin
from tenure.core.transcript import Transcript
from tenure.wire.rules_responses import made_by_model
from tenure.wire.values import text_of


def bound_together(transcript: Transcript, block: Block) -> tuple[Block, ...]:
    """The block and all that must be dropped with it, in order of the transcript.

    A call and its result; in Responses the whole run of items that a reasoning item led to, with
    their outputs; elsewhere the reasoning of a message that says nothing else.
    """
    if transcript.wire.name == "openai_responses":
        unit = _run(transcript, _model_side(transcript, block))
    else:
        unit = _pair(transcript, block)
    return tuple(sorted(unit, key=lambda b: (b.index, _place(b))))


def _pair(transcript: Transcript, block: Block) -> set[Block]:
    """The block with its partner, and the thinking that would then end a turn."""
    unit = _with_partners(transcript, [block])
    for index in {member.index for member in unit}:
        at, left = index, _cut_tail(transcript, index, unit)
        if index + 1 < len(transcript) and _by_assistant(transcript, index + 1):
            continue
        # Harnesses may keep one block a message: then the end of the turn is a message before.
        while (
            not left
            and at > 0
            and _by_assistant(transcript, at)
            and _by_assistant(transcript, at - 1)
        ):
            at -= 1
            left = _cut_tail(transcript, at, unit)
    return unit


def _cut_tail(transcript: Transcript, index: int, unit: set[Block]) -> list[Block]:
    """What stays of a message; thinking at its end joins the unit."""
    left = [b for b in transcript.blocks[index] if b not in unit]
    while left and left[-1].kind is BlockKind.THINKING:
        unit.add(left.pop())
    return left


def _by_assistant(transcript: Transcript, index: int) -> bool:
    return transcript.messages[index].origin is Origin.ASSISTANT


def _run(transcript: Transcript, index: int) -> set[Block]:
    """The blocks of the items from the reasoning before `index` to the next one, with outputs."""
    first = index
    while first > 0 and not _is_reasoning(transcript, first) and _of_model(transcript, first - 1):
        first -= 1
    if not _is_reasoning(transcript, first):
        return _with_partners(transcript, transcript.blocks[index])
    while first > 0 and _is_reasoning(transcript, first - 1):
        first -= 1
    last = first
    while last < len(transcript) and _is_reasoning(transcript, last):
        last += 1
    while (
        last < len(transcript)
        and _of_model(transcript, last)
        and not _is_reasoning(transcript, last)
    ):
        last += 1
    return _with_partners(
        transcript, (b for at in range(first, last) for b in transcript.blocks[at])
    )


def _model_side(transcript: Transcript, block: Block) -> int:
    """The item of the call when the block is an output, else its own."""
    partner = transcript.partner(block) if block.kind is BlockKind.TOOL_RESULT else None
    return partner.index if partner is not None else block.index


def _with_partners(transcript: Transcript, blocks: Iterable[Block]) -> set[Block]:
    unit = set(blocks)
    for member in tuple(unit):
        partner = transcript.partner(member)
        if partner is not None:
            unit.add(partner)
    return unit


def _is_reasoning(transcript: Transcript, index: int) -> bool:
    return transcript.messages[index].data.get("type") == "reasoning"


def _of_model(transcript: Transcript, index: int) -> bool:
    data = transcript.messages[index].data
    return made_by_model(data, text_of(data.get("type")) or "message")


def _place(block: Block) -> tuple[tuple[str, int], ...]:
    return tuple((str(s), -1) if isinstance(s, str) else ("", s) for s in block.path)
