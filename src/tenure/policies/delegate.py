"""Leaving the clearing to the provider, where a change of ours would cost the model its thinking.

Invariant: what is cleared is a run of results from the oldest call on, which is all that the
provider's edit can do; once cleared it stays cleared, and a later edit only clears more. Pinned and
restored results and the tail end the run.

On models that bind thinking to its prefix (providers.md 1.4) the check compares what was sent, so
the provider's own `clear_tool_uses_20250919` keeps all thinking valid. Its price is the same
rewrite of the prompt cache: (w - r)(n - a) - w R for the first cleared result at offset a of n and
R tokens freed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tenure.core.delegation import tool_uses
from tenure.core.edit import Delegated, Edit, Insert, Reason, Weighed
from tenure.core.message import Block, Message, Origin, message_id
from tenure.core.policy import Candidate, Situation
from tenure.core.server_edit import CLEAR_RESULTS
from tenure.policies.schedule import Settings, expected_saving
from tenure.policies.tombstone import handle_for

# What the provider puts in the place of a cleared result, tokens; its text is not documented.
PLACEHOLDER_TOKENS = 20
# A forced clearing goes down to this share of the limit. It begins at the oldest results, so each
# rewrites nearly the whole prompt: few and deep.
LOW_WATER = 0.5


class Run(NamedTuple):
    """Results to clear next, oldest call first: what that costs once, what it frees in tokens, and
    the expected gain over the steps to come."""

    blocks: tuple[Block, ...]
    price: float
    frees: int
    gain: float = 0.0


def standing(plan_edits: Sequence[Edit]) -> Delegated | None:
    """The clearing of results that is in force."""
    found = (e for e in plan_edits if isinstance(e, Delegated) and e.edit == CLEAR_RESULTS)
    return next(found, None)


def clearable(situation: Situation, before: int) -> list[Block]:
    """The results of the oldest calls that are not cleared yet, up to the first that must stay or
    that stands in message number `before` or behind."""
    transcript, known = situation.transcript, standing(situation.plan.delegated)
    cleared = set(known.cleared) if known else set[str]()
    found: list[Block] = []
    for result in tool_uses(situation.plan, transcript):
        if result is None or result.key in cleared:
            continue
        pinned = transcript.messages[result.index].pinned
        if pinned or result.key in situation.restored or result.index >= before:
            break
        found.append(result)
    return found


def held(situation: Situation, block: Block) -> int:
    """What a result takes in the view now, tokens."""
    edit = situation.plan.by_key.get(block.key)
    return edit.reason.tokens_after if edit else situation.meter.size(block).estimate


def priced_run(situation: Situation, blocks: Sequence[Block], gain: float = 0.0) -> Run:
    """The run of these results with its price."""
    frees = sum(held(situation, b) - PLACEHOLDER_TOKENS for b in blocks)
    first = min(b.index for b in blocks)
    price = rewrite(situation, first) - situation.profile.write * frees
    return Run(tuple(blocks), price, frees, gain)


def rewrite(situation: Situation, first: int) -> float:
    """(w - r)(n - a): what writing the prompt cache anew from a message on costs; 0 when it is cold."""
    if situation.cold:
        return 0.0
    meter, plan, profile = situation.meter, situation.plan, situation.profile
    behind = meter.before(len(situation.transcript), plan) - meter.before(first, plan)
    return (profile.write - profile.read) * behind


def choose(
    situation: Situation, candidates: Sequence[Candidate], before: int, settings: Settings
) -> Run | None:
    """The run of oldest results whose clearing gains most over `settings.steps_ahead`; None to wait.

    A result that is no candidate is needed still: it may go along, and is counted as fetched again.
    """
    profile, meter = situation.profile, situation.meter
    by_key = {c.block.key: c for c in candidates}
    steps = settings.steps_ahead(situation.step)
    blocks = clearable(situation, before)
    if not blocks:
        return None
    n = meter.before(len(situation.transcript), situation.plan)
    start = rewrite(situation, min(b.index for b in blocks))
    value = carried = 0.0
    freed = 0
    best: Run | None = None
    for count, block in enumerate(blocks, 1):
        frees = held(situation, block) - PLACEHOLDER_TOKENS
        since = situation.step_of(block.index)
        candidate = by_key.get(block.key)
        if candidate is not None or frees > PLACEHOLDER_TOKENS:
            need = candidate.need if candidate else 1.0
            words = candidate.words if candidate else "in the way of what is not needed"
            here = Candidate(block, 1, 0.0, frees, need, since, words)
            value += expected_saving(situation, here, n, steps)
        freed += frees
        carried += profile.read * frees * max(0, situation.step - since)
        price = start - profile.write * freed
        gain = value - (settings.margin * price if price > 0 else price)
        pays = price <= carried and situation.ledger.allows(price, settings.share)
        if gain > 0 and pays and (best is None or gain > best.gain):
            best = Run(tuple(blocks[:count]), price, freed, gain)
    return best


def shrink_to(situation: Situation, excess: int, before: int) -> Run | None:
    """The run whose clearing frees at least `excess` tokens, or all that may go; None when that is
    nothing."""
    chosen: list[Block] = []
    for block in clearable(situation, before):
        chosen.append(block)
        excess -= held(situation, block) - PLACEHOLDER_TOKENS
        if excess <= 0:
            break
    run = priced_run(situation, chosen) if chosen else None
    return run if run and run.frees > 0 else None


def delegated(
    situation: Situation, run: Run, *, when: str, policy: str, weighed: Sequence[Weighed] = ()
) -> Delegated:
    """The edit that has this run cleared, and what was cleared before."""
    known, plan = standing(situation.plan.delegated), situation.plan
    targets = [*(known.targets if known else ()), *_keys(run, plan.by_key, edited=False)]
    along = [*(known.along if known else ()), *_keys(run, plan.by_key, edited=True)]
    count = len(targets) + len(along)
    before = sum(held(situation, b) for b in run.blocks) + (
        known.reason.tokens_before if known else 0
    )
    after = PLACEHOLDER_TOKENS * count
    reason = Reason(
        policy,
        f"{count} old tool results, cleared by the provider so that thinking stays valid",
        when,
        before,
        after,
        price=run.price,
        saves=situation.profile.read * (before - after),
        step=situation.step,
        about=f"results of {count} calls",
        weighed=tuple(weighed),
    )
    # The model was told the handle once, so it stays.
    handle = known.handle if known else handle_for(situation.nonce, f"d:{run.blocks[0].key}")
    options = known.options if known else b"{}"
    return Delegated(
        CLEAR_RESULTS, tuple(targets), reason, handle, options,
        upto=run.blocks[-1].key, along=tuple(along),
    )  # fmt: skip


def _keys(run: Run, by_key: Mapping[str, Edit], *, edited: bool) -> list[str]:
    return [b.key for b in run.blocks if (b.key in by_key) is edited]


def _all_covered(situation: Situation, edit: Delegated) -> bool:
    """Whether a span stands for all that it clears."""
    block = situation.transcript.block
    return all(situation.plan.covered(block(key).index) for key in edit.cleared)


def told(situation: Situation, new: Sequence[Edit]) -> list[Insert]:
    """Where the model can recall but was not told yet, a text at the end that tells it the handle of
    what is cleared: what the provider puts in a result's place names none.

    It stands behind all that was said so far, never between a call and its result; while the last
    word is the model's own (a paused turn), it waits.
    """
    edit = standing([*situation.plan.delegated, *new])
    last = len(situation.transcript) - 1
    if not situation.recall or edit is None or _all_covered(situation, edit):
        return []
    if situation.transcript.messages[last].origin is Origin.ASSISTANT:
        return []
    about = f"note of {edit.handle}"
    known = (e for e in situation.plan.edits if isinstance(e, Insert) and situation.plan.shows(e))
    if any(insert.reason.about == about for insert in known):
        return []
    text = (
        f"[tenure {edit.handle}: to save room, results of the oldest tool calls are cleared in this "
        f"conversation from here on. Where one reads as cleared, recall brings it back: handle "
        f'"{edit.handle}" alone lists them, "{edit.handle}.1" is the result of the first call, and '
        f'a pattern with "{edit.handle}" searches them all.]'
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
        about=about,
    )
    said = Message({"role": "user", "content": text}, origin=Origin.HARNESS)
    return [Insert(message_id(last), said, reason)]
