"""A rewritten history is a fork: a new session that begins with what the old one had.

Invariant: the fork's log stands for itself; the edits that were sent with the shared prefix stay,
byte for byte, so that its prompt cache stays warm. What could not be placed is listed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tenure.core.command import Flow
from tenure.core.edit import Delegated, Edit, Insert
from tenure.core.fold import Parts
from tenure.core.plan import spans_of
from tenure.core.record import Appended, Cancelled, PlanChanged, Record, Requested, Started
from tenure.core.session import SessionMachine
from tenure.core.transcript import Transcript


def fork(
    parent: SessionMachine, parts: Parts, name: str, *, length: int, at: float
) -> Flow[tuple[SessionMachine, tuple[Edit, ...]]]:
    """A session that shares the parent's first `length` messages, and the edits left behind.

    `parts` must be fresh (a policy and a meter serve one session). The rewrite prices of the
    inherited edits were paid by the parent, so they count as 0 here. Edits that left the parent's
    plan come along as well, so that what was undone stays and their handles stay good.
    """
    machine = SessionMachine(parts, name, parent.scope)
    _, left = rebase(parent.plan, parent.transcript, length)
    records: list[Record] = [
        Started(parts.wire.name, str(parent.head.get("model", "")), parent.head, parent.nonce, at)
    ]
    records += _history(parent, length, at)
    records += _changes(parent, length, at)
    yield from machine.commit(*records)
    return machine, left


def rebase(
    plan: Iterable[Edit], transcript: Transcript, length: int
) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
    """The edits whose targets all lie in the first `length` messages, and the others."""
    shared = {e: _shared(e, transcript, length) for e in plan}
    kept = tuple(cut for cut in shared.values() if _ends(cut, transcript) < length)
    left = tuple(e for e, cut in shared.items() if _ends(cut, transcript) >= length)
    return kept, left


def _ends(edit: Edit, transcript: Transcript) -> int:
    if isinstance(edit, Insert):
        return transcript.index_of(edit.after)
    targets = edit.cleared if isinstance(edit, Delegated) else edit.targets
    ends = [transcript.block(t).index for t in targets if isinstance(t, str)]
    return max([*ends, *(span.bounds[1] for span in spans_of(edit))])


def _shared(edit: Edit, transcript: Transcript, length: int) -> Edit:
    """The edit; of a clearing by the provider what it took in the shared messages, so that they are
    shown as they were."""
    if not isinstance(edit, Delegated):
        return edit
    targets, along = (
        tuple(key for key in keys if transcript.block(key).index < length)
        for keys in (edit.targets, edit.along)
    )
    count = len(targets) + len(along)
    if not count or count == len(edit.cleared):
        return edit
    share = count / len(edit.cleared)
    reason = replace(
        edit.reason,
        tokens_before=int(edit.reason.tokens_before * share),
        tokens_after=int(edit.reason.tokens_after * share),
    )
    # Without an end of its own it ends at the last of them.
    return replace(edit, targets=targets, along=along, upto="", reason=reason)


def _changes(parent: SessionMachine, length: int, at: float) -> list[PlanChanged]:
    """How the shared part of the plan came to be."""
    changes: list[PlanChanged] = []
    for change in parent.changes:
        added, removed = (
            tuple(map(_paid, rebase(edits, parent.transcript, length)[0]))
            for edits in (change.added, change.removed)
        )
        if added or removed or change.ignored:
            changes.append(PlanChanged(added, removed, at, change.ignored))
    return changes


def _history(parent: SessionMachine, length: int, at: float) -> list[Record]:
    """The shared messages, with the requests that carried them in between."""
    records: list[Record] = []
    for index in range(length):
        if index and _step(parent, index) != _step(parent, index - 1):
            records += [Requested(index, 0, parent.last_at or at), Cancelled(at)]
        records.append(Appended(parent.transcript.messages[index], at))
    if length <= len(parent.steps):
        records += [Requested(length, 0, parent.last_at or at), Cancelled(at)]
    return records


def _step(parent: SessionMachine, index: int) -> int:
    return parent.steps[index] if index < len(parent.steps) else parent.step


def _paid(edit: Edit) -> Edit:
    return replace(edit, reason=replace(edit.reason, price=0.0))
