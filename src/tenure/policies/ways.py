"""The ways to make room on a model that binds thinking to its prefix, each with its price.

Invariant: a price is what the way costs beyond doing nothing, now and once, in units of the base
input price of one token; the same figures decide and are shown.

Source: providers.md 1.4 and 1.5. An edit of ours at offset a of n rewrites (w - r)(n - a) and unbinds
all later thinking: T tokens, of which the model thinks the latest again at the price of output. To
*strip* it is to leave it out of what is sent. Under *drop_block* the provider leaves it out, for
which a setting of the thinking changes: that rewrites the cache of all messages, unless the caller
has made the setting already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenure.core.edit import CHOSEN, Delegated, Drop, Edit, Reason, Weighed
from tenure.core.message import Block, BlockKind
from tenure.core.policy import Situation
from tenure.core.server_edit import DROP_THINKING
from tenure.policies import compact
from tenure.policies.delegate import PLACEHOLDER_TOKENS, Run, rewrite
from tenure.policies.stale_results import TOMBSTONE_TOKENS
from tenure.policies.tombstone import handle_for

DELEGATE, STRIP, DROP, WAIT = "delegate", "strip", "drop_block", "wait"


class Own(NamedTuple):
    """What edits of ours come to: the first message they touch, and the tokens they free before any
    thinking goes."""

    first: int
    frees: int


def bound_behind(situation: Situation, first: int) -> list[Block]:
    """The thinking in the view from message number `first` on that is bound to its prefix."""
    plan, transcript = situation.plan, situation.transcript
    return [
        block
        for blocks in transcript.blocks[first:]
        for block in blocks
        if block.kind is BlockKind.THINKING
        and block.signed
        and block.key not in plan.by_key
        and not plan.covered(block.index)
    ]


def dropping(situation: Situation) -> Delegated | None:
    """The provider's leaving out of unbound thinking that is in force."""
    return next((e for e in situation.plan.delegated if e.edit == DROP_THINKING), None)


def weigh(
    situation: Situation, own: Own, run: Run | None, chosen: str, *, why_not: str = ""
) -> tuple[Weighed, ...]:
    """Each way with its price, the chosen one marked; `why_not` tells why nothing can be left as it
    is, when the budget forces it."""
    read, write = situation.profile.read, situation.profile.write
    size, latest = _thinking(situation, own.first)
    frees = own.frees + size
    strip = rewrite(situation, own.first) - write * frees + latest
    drop = strip + _setting(situation, own.first)
    no_run = "" if run else "no run of oldest results to clear"
    found = [
        Weighed(
            DELEGATE,
            run.price if run else 0.0,
            read * run.frees if run else 0.0,
            no_run if situation.delegates else "not to be asked of the provider",
        ),
        compact.way(situation, compact.possible(situation)),
        Weighed(STRIP, strip, read * frees),
        Weighed(
            DROP,
            drop,
            read * frees,
            "" if situation.drop_block != "no" else "the request's thinking setting rules it out",
        ),
        Weighed(WAIT, 0.0, 0.0, why_not),
    ]
    return tuple(w._replace(note=CHOSEN) if w.way == chosen else w for w in found)


def own_of(run: Run) -> Own:
    """The same results evicted by edits of ours, with tombstones."""
    longer = (TOMBSTONE_TOKENS - PLACEHOLDER_TOKENS) * len(run.blocks)
    return Own(min(b.index for b in run.blocks), run.frees - longer)


def cheaper(situation: Situation, first: int) -> str:
    """Strip or drop_block for edits from message number `first` on. Of equals the one that needs
    nothing of the provider, unless the caller has asked for it anyway."""
    if situation.drop_block == "given" or (situation.drop_block == "ask" and dropping(situation)):
        return DROP
    pinned = any(
        situation.transcript.messages[b.index].pinned or b.key in situation.restored
        for b in bound_behind(situation, first)
    )
    # What is pinned leaves as it is: only the provider may leave it out then.
    return DROP if pinned and situation.drop_block == "ask" else STRIP


def drop(situation: Situation, edits: Sequence[Edit], *, when: str, policy: str) -> list[Delegated]:
    """The edit that has the provider leave out the thinking that these edits unbind, and what it
    has left out before."""
    first, taken = first_of(situation, edits) or 0, {t for e in edits for t in e.targets}
    known = dropping(situation)
    blocks = [b for b in bound_behind(situation, first) if b.key not in taken]
    if not blocks:
        return []
    targets = (*(known.targets if known else ()), *(b.key for b in blocks))
    size = sum(situation.meter.size(b).estimate for b in blocks)
    reason = Reason(
        policy,
        "bound to text that was edited before it; the provider leaves it out",
        when,
        size + (known.reason.tokens_before if known else 0),
        0,
        price=_setting(situation, first),
        step=situation.step,
        about=f"{len(targets)} blocks of thinking",
    )
    handle = known.handle if known else handle_for(situation.nonce, f"d:{targets[0]}")
    return [Delegated(DROP_THINKING, targets, reason, handle)]


def lost(situation: Situation, first: int) -> float:
    """The price of the thinking that edits from message number `first` on unbind."""
    return _thinking(situation, first)[1]


def costs_thinking(situation: Situation, edits: Sequence[Edit]) -> bool:
    """Whether edits leave out thinking, or have the provider do so."""
    if any(isinstance(e, Delegated) and e.edit == DROP_THINKING for e in edits):
        return True
    keys = (t for e in edits if isinstance(e, Drop) for t in e.targets if isinstance(t, str))
    return any(situation.transcript.block(key).kind is BlockKind.THINKING for key in keys)


def first_of(situation: Situation, edits: Sequence[Edit]) -> int | None:
    """The number of the first message that these edits change in the view."""
    keys = (t for e in edits if not isinstance(e, Delegated) for t in e.targets)
    return min(
        (situation.transcript.block(k).index for k in keys if isinstance(k, str)), default=None
    )


def _thinking(situation: Situation, first: int) -> tuple[int, float]:
    """The tokens of the thinking that goes, and what thinking the latest of it again costs: older
    thinking was background."""
    sizes = [situation.meter.size(b).estimate for b in bound_behind(situation, first)]
    return sum(sizes), (sizes[-1] if sizes else 0) * situation.profile.output


def _setting(situation: Situation, first: int) -> float:
    """What changing the thinking setting costs beside a rewrite from message number `first` on."""
    if situation.drop_block == "given" or dropping(situation):
        return 0.0
    return rewrite(situation, 0) - rewrite(situation, first)
