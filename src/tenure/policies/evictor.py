"""Turning candidates into edits: the tombstone with its digest, the conclusion of reasoning.

Invariant: an eviction frees tokens or is not made; where the model's thinking is bound to its
prefix, everything later that is bound goes with it, in the same batch and at a stated price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.core.edit import Drop, Edit, Reason
from tenure.core.message import Block, BlockKind
from tenure.core.policy import Candidate, Situation
from tenure.policies.finished_reasoning import conclusion
from tenure.policies.references import References
from tenure.policies.tombstone import about, digest, handle_for, tombstone

# A digest takes at most this share of what it replaces, and this many characters.
_DIGEST_SHARE, _DIGEST_LIMIT = 0.03, 160


def evict(
    situation: Situation, candidate: Candidate, references: References, *, when: str, policy: str
) -> Edit:
    """The edit that evicts one candidate."""
    block = candidate.block
    if block.kind is BlockKind.THINKING:
        return _reasoning(situation, candidate, when=when, policy=policy)
    room = min(_DIGEST_LIMIT, int(len(block.text) * _DIGEST_SHARE))
    kept = digest(block.text, known=references.known_elsewhere, limit=room)
    return tombstone(situation, block, candidate.words, when=when, policy=policy, kept=kept)


def _reasoning(situation: Situation, candidate: Candidate, *, when: str, policy: str) -> Edit:
    block = candidate.block
    last = conclusion(block.text)
    if last and not block.signed and not situation.profile.preserved_thinking:
        return tombstone(situation, block, candidate.words, when=when, policy=policy, kept=[last])
    return drop_thinking(situation, block, candidate.words, when=when, policy=policy)


def drop_thinking(
    situation: Situation, block: Block, words: str, *, when: str, policy: str
) -> Drop:
    """Leaves a reasoning block out; its handle still brings the text back."""
    size = situation.meter.size(block).estimate
    reason = Reason(
        policy, words, when, size, 0, step=situation.step, about=about(situation, block)
    )
    return Drop((block.key,), reason, handle_for(situation.nonce, block.key))


def bound_thinking(
    situation: Situation, edits: Sequence[Edit], *, when: str, policy: str
) -> list[Edit]:
    """The thinking blocks that these edits invalidate on a model that binds thinking to its
    prefix (providers.md 1.4): all behind the first edited message that are still in the view."""
    edited = {t for e in edits for t in e.targets if isinstance(t, str)}
    if not situation.profile.preserved_thinking or not edited:
        return []
    transcript = situation.transcript
    first = min(transcript.block(t).index for t in edited)
    words = "bound to text that was edited before it"
    return [
        drop_thinking(situation, block, words, when=when, policy=policy)
        for blocks in transcript.blocks[first:]
        for block in blocks
        if block.kind is BlockKind.THINKING
        and block.signed
        and block.key not in situation.plan.by_key
        and block.key not in edited
        and not situation.plan.covered(block.index)
    ]


def priced(edits: Sequence[Edit], price: float, read: float, *, lost: float = 0.0) -> list[Edit]:
    """The edits with the batch's price shared out by what each frees, and its saving per step.

    `lost` is the price of thinking that the model has to do again, added to the whole.
    """
    freed = [e.reason.tokens_before - e.reason.tokens_after for e in edits]
    total = max(1, sum(freed))
    return [
        replace(e, reason=replace(e.reason, price=(price + lost) * f / total, saves=read * f))
        for e, f in zip(edits, freed, strict=True)
    ]
