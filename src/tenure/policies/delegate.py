"""Leaving the clearing to the provider, where a change of ours would cost the model its thinking.

Invariant: what is cleared is a run of results from the oldest on, which is all that the provider's
edit can do; once cleared it stays cleared, and a later edit only clears more.

On models that bind thinking to its prefix (providers.md 1.4) the check compares what was sent, so
the provider's own `clear_tool_uses_20250919` keeps all thinking valid. Its price is the same
rewrite of the prompt cache: (w - r)(n - a) - w R for the first cleared result at offset a of n and
R tokens freed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.edit import Delegated, Edit, Insert, Reason
from tenure.core.message import Block, BlockKind, Message, Origin, message_id
from tenure.core.policy import Candidate, Situation
from tenure.policies.protect import gone
from tenure.policies.schedule import Batch, Settings, expected_saving
from tenure.policies.tombstone import handle_for

CLEAR_RESULTS = "clear_tool_uses_20250919"
# What the provider puts in the place of a cleared result, tokens; its text is not documented.
PLACEHOLDER_TOKENS = 20
# A forced clearing goes down to this share of the limit. It begins at the oldest results, so each
# rewrites nearly the whole prompt: few and deep.
LOW_WATER = 0.5


def clearable(situation: Situation, before: int) -> list[Block]:
    """The oldest results that are still whole, up to the first that must stay."""
    found: list[Block] = []
    for index in range(before):
        for block in situation.transcript.blocks[index]:
            if block.kind is not BlockKind.TOOL_RESULT or _is_cleared(situation, block):
                continue
            pinned = situation.transcript.messages[index].pinned
            if pinned or block.key in situation.restored:
                return found
            if not gone(situation, block.key):
                found.append(block)
    return found


def choose(
    situation: Situation, candidates: Sequence[Candidate], before: int, settings: Settings
) -> Batch | None:
    """The run of oldest results whose clearing gains most over `settings.steps_ahead`; None to wait.

    A result that is no candidate ends the run: something still needs it.
    """
    profile, meter = situation.profile, situation.meter
    by_key = {c.block.key: c for c in candidates}
    steps = settings.steps_ahead(situation.step)
    n = meter.before(len(situation.transcript), situation.plan)
    value = carried = 0.0
    freed = 0
    chosen: list[Candidate] = []
    best: tuple[float, int, float, int] | None = None
    for block in clearable(situation, before):
        candidate = by_key.get(block.key)
        if candidate is None:
            if meter.size(block).estimate <= 2 * PLACEHOLDER_TOKENS:
                continue  # Too small to matter either way.
            break
        chosen.append(candidate)
        value += expected_saving(situation, candidate, n, steps)
        frees = meter.size(block).estimate - PLACEHOLDER_TOKENS
        freed += frees
        carried += profile.read * frees * max(0, situation.step - candidate.since)
        price = -profile.write * freed
        if not situation.cold:
            first = meter.before(chosen[0].block.index, situation.plan)
            price += (profile.write - profile.read) * (n - first)
        gain = value - (settings.margin * price if price > 0 else price)
        pays = price <= carried and situation.ledger.allows(price, settings.share)
        if gain > 0 and pays and (best is None or gain > best[0]):
            best = (gain, len(chosen), price, freed)
    if best is None:
        return None
    when = "cold" if situation.cold else "pays"
    return Batch(tuple(chosen[: best[1]]), when, best[2], profile.read * best[3])


def delegated(
    situation: Situation, last: Block, *, when: str, policy: str, price: float = 0.0
) -> Delegated:
    """The edit that has every result up to `last` cleared, those cleared before included."""
    known = tuple(t for e in situation.plan.delegated for t in e.targets)
    new = [b for b in clearable(situation, last.index + 1) if b.index <= last.index]
    size = {b.key: situation.meter.size(b).estimate for b in new}
    before = sum(e.reason.tokens_before for e in situation.plan.delegated) + sum(size.values())
    targets = (*known, *size)
    after = PLACEHOLDER_TOKENS * len(targets)
    reason = Reason(
        policy,
        f"{len(targets)} old tool results, cleared by the provider so that thinking stays valid",
        when,
        before,
        after,
        price=price,
        saves=situation.profile.read * (before - after),
        step=situation.step,
        about=f"results of {len(targets)} calls",
    )
    # The oldest stays the oldest, so the handle that the model was told stays good.
    handle = handle_for(situation.nonce, f"d:{targets[0]}")
    return Delegated(CLEAR_RESULTS, targets, reason, handle)


def told(situation: Situation, edit: Delegated) -> list[Edit]:
    """The edit, and where the model can recall but was not told of its handle yet, a text at the
    end that tells it: what the provider puts in a result's place names no handle."""
    if not situation.recall or situation.plan.delegated:
        return [edit]
    text = (
        f"[tenure {edit.handle} · results of old tool calls are cleared in this conversation to "
        f'save room. recall with handle "{edit.handle}" and a pattern brings the lines that you '
        "need back]"
    )
    size = situation.meter.text(text)
    reason = Reason(
        edit.reason.policy,
        "tells the model how to get cleared results back",
        edit.reason.when,
        0,
        size,
        price=situation.profile.write * size,
        step=situation.step,
    )
    said = Message({"role": "user", "content": text}, origin=Origin.HARNESS)
    return [edit, Insert(message_id(len(situation.transcript) - 1), said, reason)]


def shrink_to(situation: Situation, excess: int, before: int) -> Block | None:
    """The result up to which clearing frees at least `excess` tokens, or the last that may go."""
    last: Block | None = None
    for block in clearable(situation, before):
        last = block
        excess -= situation.meter.size(block).estimate - PLACEHOLDER_TOKENS
        if excess <= 0:
            break
    return last


def _is_cleared(situation: Situation, block: Block) -> bool:
    return isinstance(situation.plan.by_key.get(block.key), Delegated)
