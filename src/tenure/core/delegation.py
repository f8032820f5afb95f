"""The provider's own edits: what to ask for so that the same blocks stay cleared, and what it did.

Invariant: the provider clears the results of a run of calls from the oldest on and counts from the
newest back, so the number to keep is worked out anew for each request; what it reports is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tenure.core.edit import Delegated, Drop
from tenure.core.message import Block, BlockKind
from tenure.core.plan import Plan
from tenure.core.server_edit import CLEAR_RESULTS, DROP_THINKING, Applied, Wanted
from tenure.core.transcript import Transcript


def tool_uses(plan: Plan, transcript: Transcript) -> list[Block | None]:
    """The result of each tool call in the view, in the order of the calls; None where it has none
    there (the copy that leaves may say so in a result of its own, which is counted as well)."""
    found: list[Block | None] = []
    for call in transcript.all_blocks():
        if call.kind is BlockKind.TOOL_CALL and _shows(plan, call):
            result = transcript.partner(call)
            found.append(result if result and _shows(plan, result) else None)
    return found


def _shows(plan: Plan, block: Block) -> bool:
    return not plan.covered(block.index) and not isinstance(plan.by_key.get(block.key), Drop)


def wanted(plan: Plan, transcript: Transcript) -> tuple[Wanted, ...]:
    """The server edits that the request under this plan asks for."""
    if not plan.delegated:
        return ()
    place: dict[str, int] | None = None
    count = 0
    found: list[Wanted] = []
    for edit in plan.delegated:
        if edit.edit == DROP_THINKING:
            found.append(Wanted(edit.edit, edit.options))
            continue
        if place is None:
            uses = tool_uses(plan, transcript)
            count, place = len(uses), {b.key: at for at, b in enumerate(uses) if b}
        ends = (edit.upto,) if edit.upto in place else edit.cleared
        last = max((place.get(key, -1) for key in ends), default=-1)
        found.append(Wanted(edit.edit, edit.options, count, count - last - 1))
    return tuple(found)


def confirmed(
    plan: Plan, transcript: Transcript, applied: Sequence[Applied], size: Callable[[Block], int]
) -> list[tuple[Delegated, Delegated]]:
    """The edits of the plan that the provider's report changes, each with what becomes of it.

    The blocks are inferred: the results of as many calls as it says, oldest first. `size` is the
    estimate of a block. Where the edit ends stays as it was asked for: asked otherwise, the provider
    would clear otherwise.
    """
    reports = {one.edit: one for one in applied if one.cleared}
    changed: list[tuple[Delegated, Delegated]] = []
    for edit in plan.delegated:
        report = reports.get(edit.edit)
        if report is None:
            continue
        if edit.edit == CLEAR_RESULTS:
            new = _as_reported(plan, transcript, edit, report, size)
        else:
            new = replace(edit, applied=True)
        if new.cleared != edit.cleared or not edit.applied:
            changed.append((edit, new))
    return changed


def _as_reported(
    plan: Plan,
    transcript: Transcript,
    edit: Delegated,
    report: Applied,
    size: Callable[[Block], int],
) -> Delegated:
    if edit.applied and report.cleared == len(edit.cleared):
        return edit
    blocks = [b for b in tool_uses(plan, transcript)[: report.cleared] if b]
    if {b.key for b in blocks} == set(edit.cleared):
        targets, along, before = edit.targets, edit.along, edit.reason.tokens_before
    else:
        targets, along, before = _split(plan, edit, blocks, size)
    each = edit.reason.tokens_after // max(1, len(edit.cleared))
    words = f"{edit.reason.words}; it reports {report.cleared} results and {report.tokens:,} tokens"
    after = each * (len(targets) + len(along))
    reason = replace(edit.reason, words=words, tokens_before=before, tokens_after=after)
    return replace(edit, targets=targets, along=along, reason=reason, applied=True)


def _split(
    plan: Plan, edit: Delegated, blocks: Sequence[Block], size: Callable[[Block], int]
) -> tuple[tuple[str, ...], tuple[str, ...], int]:
    """Of these blocks those that nothing else edits, the others, and what all held in the view."""
    targets, along, before = list[str](), list[str](), 0
    for block in blocks:
        other = plan.by_key.get(block.key)
        if other is None or other is edit:
            targets.append(block.key)
            before += size(block)
        else:
            along.append(block.key)
            before += other.reason.tokens_after
    return tuple(targets), tuple(along), before


def ignored(
    plan: Plan,
    applied: Sequence[Applied],
    prompt: int | None,
    resident: Callable[[Plan], int],
) -> tuple[Delegated, ...]:
    """The clearings that the provider was asked for and did not make: it is silent about them, and
    the prompt (its reported tokens, None when unknown) is nearer to what it is without them.

    `resident` is the estimate of a plan's view. Of a reply that tells nothing at all, clearings that
    were never confirmed count as not made: edits of our own are sure.
    """
    told = {one.edit for one in applied if one.cleared}
    silent = [e for e in plan.delegated if e.edit == CLEAR_RESULTS and e.edit not in told]
    if not silent:
        return ()
    if prompt is None:
        return tuple(e for e in silent if not e.applied)
    between = (resident(plan) + resident(plan.without(*silent))) / 2
    return tuple(silent) if prompt > between else ()
