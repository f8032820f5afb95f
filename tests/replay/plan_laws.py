"""The laws of plans and views as checks of one transcript, for samples and for whole sets.

Invariant: plans are drawn from a seed, hold each kind of edit where the transcript allows it, and
know nothing of any policy; a broken law is an AssertionError.
"""

from __future__ import annotations

from random import Random

from tenure.core.edit import Drop, Edit, Insert, Reason, Replace, Span
from tenure.core.message import BlockKind, Message, Origin, message_id
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import View, apply

WHY = Reason("test", "for the law")


def some_edits(transcript: Transcript, mix: Random) -> list[Edit]:
    """Edits that may stand in one plan, in an order of their own: a tenth of the blocks dropped, a
    fifth replaced, two notes, perhaps a span dropped or summarised."""
    found: list[Edit] = []
    for block in transcript.all_blocks():
        luck = mix.random()
        if luck < 0.1:
            found.append(Drop((block.key,), WHY))
        elif luck < 0.3 and block.kind is not BlockKind.OTHER:
            # What no wire knows can't be made to say other words: it stays or is dropped.
            message = transcript.messages[block.index]
            body = transcript.wire.stand_in(block, message, f"[{block.key}]")
            found.append(Replace(block.key, (body,), WHY, handle=f"h-{block.key}"))
    length = len(transcript)
    for at in mix.sample(range(length), min(2, length)):
        note = Message({"role": "user", "content": f"note {at}"}, origin=Origin.HARNESS)
        found.append(Insert(message_id(at), note, WHY))
    first = mix.randrange(length)
    span = Span(message_id(first), message_id(min(length - 1, first + mix.randrange(12))))
    summary = b'{"role":"user","content":"summary"}'
    found += mix.choice([[], [Drop((span,), WHY)], [Replace(span, (summary,), WHY)]])
    mix.shuffle(found)
    return found


def raws(view: View) -> list[bytes]:
    """The bytes of each message of a view."""
    return [entry.message.raw for entry in view.entries]


def shorter(transcript: Transcript, length: int) -> Transcript:
    """The first messages of a transcript as one of their own."""
    made = Transcript(transcript.wire)
    for message in transcript.messages[:length]:
        made.append(message)
    return made


def the_empty_plan_is_the_identity(transcript: Transcript) -> None:
    view = apply(transcript, Plan())
    assert len(view.entries) == len(transcript) > 0
    for number, entry in enumerate(view.entries):
        assert entry.message is transcript.messages[number]
        assert entry.sources == (message_id(number),)
        assert not entry.edits


def append_extends(transcript: Transcript, mix: Random) -> int:
    """Step by step from a drawn length on; how many entries the first view had."""
    growing = shorter(transcript, mix.randint(1, len(transcript) - 1))
    plan = Plan(some_edits(growing, mix))
    view = apply(growing, plan)
    began = raws(view)
    for message in transcript.messages[len(growing) :]:
        before = raws(view)
        growing.append(message)
        view = view.extend(growing)
        assert raws(view)[: len(before)] == before
        # Nothing of the plan names what is new: it leaves as it came.
        assert view.entries[-1].message is message
    assert raws(view) == raws(apply(transcript, plan))
    assert raws(view)[: len(began)] == began
    return len(began)


def without_undoes(transcript: Transcript, mix: Random) -> int:
    """How many edits were taken out again."""
    plan = Plan(some_edits(transcript, mix))
    gone = [edit for edit in plan if mix.random() < 0.5]
    rest = plan.without(*gone)
    assert len(rest) + len(gone) == len(plan)
    assert raws(apply(transcript, rest.add(*gone).without(*gone))) == raws(apply(transcript, rest))
    assert raws(apply(transcript, rest.add(*gone))) == raws(apply(transcript, plan))
    whole = [message.raw for message in transcript.messages]
    assert raws(apply(transcript, plan.without(*plan.edits))) == whole
    assert raws(apply(transcript, plan.without(*plan.edits), apply(transcript, plan))) == whole
    return len(gone)


def edits_once_made_stay(transcript: Transcript, mix: Random) -> int:
    """The transcript and the plan grow by turns; what an edit put into the view is there, byte for
    byte, ever after. How many edited entries were looked at again."""
    lengths = sorted({mix.randint(1, len(transcript)) for _ in range(4)} | {len(transcript)})
    made: dict[tuple[str, ...], tuple[tuple[Edit, ...], bytes]] = {}
    plan, view, looked = Plan(), None, 0
    for length in lengths:
        growing = shorter(transcript, length)
        new = [edit for edit in some_edits(growing, mix) if _is_new(edit, plan, growing)]
        plan = plan.add(*new)
        view = apply(growing, plan, view)
        for entry in view.entries:
            if isinstance(entry.edits[0] if entry.edits else None, Insert):
                continue
            known = made.get(entry.sources)
            if known is not None:
                # A block edit more may come to the same message; the edits known so far stay.
                assert set(known[0]) <= set(entry.edits), "an edit that was made went"
                if set(known[0]) == set(entry.edits):
                    looked += 1
                    assert known[1] == entry.message.raw, "an edit that was made is spelled anew"
            if entry.edits:
                made[entry.sources] = entry.edits, entry.message.raw
        assert raws(view) == raws(apply(growing, plan)), "an earlier view does more than save work"
    return looked


def _is_new(edit: Edit, plan: Plan, transcript: Transcript) -> bool:
    """True for an edit of one block that no edit of the plan has touched."""
    if isinstance(edit, Insert):
        return False
    return all(
        isinstance(target, str)
        and target not in plan.by_key
        and not plan.covered(transcript.block(target).index)
        for target in edit.targets
    )
