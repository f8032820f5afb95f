"""The provider's own edits: what to ask for so that the same blocks stay cleared, and what it did.

Invariant: the provider clears the results of a run of calls from the oldest on and counts from the
newest back, so the number to keep is worked out anew for each request; what it reports is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tenure.core.edit import Delegated, Drop
from tenure.core.message import Block
from tenure.core.plan import Plan
from tenure.core.server_edit import CLEAR_RESULTS, COMPACT, DROP_THINKING, Applied, Wanted
from tenure.core.transcript import Transcript


class ToolUses:
    """The result of each tool call in the view, in the order of the calls; None where it has none
    there (the copy that leaves may say so in a result of its own, which is counted as well).

    Under one plan it grows with the transcript and costs only what is new.
    """

    def __init__(self) -> None:
        self.results: list[Block | None] = []
        # The number of each result in that list, by its key.
        self.place: dict[str, int] = {}
        self._plan: Plan | None = None
        self._seen = 0
        # Calls in the view that have no result yet, by their number in the list.
        self._open: dict[int, Block] = {}

    def update(self, plan: Plan, transcript: Transcript) -> ToolUses:
        """These of the view now."""
        if plan is not self._plan:
            self.results, self.place, self._open = [], {}, {}
            self._plan, self._seen = plan, 0
        for call in transcript.tool_calls[self._seen :]:
            if _shows(plan, call):
                self._open[len(self.results)] = call
                self.results.append(None)
        self._seen = len(transcript.tool_calls)
        for number, call in [*self._open.items()]:
            result = transcript.partner(call)
            if result is not None:
                del self._open[number]
                if _shows(plan, result):
                    self.results[number] = result
                    self.place[result.key] = number
        return self


def tool_uses(plan: Plan, transcript: Transcript) -> list[Block | None]:
    """`ToolUses` of a view, from scratch."""
    return ToolUses().update(plan, transcript).results


def _shows(plan: Plan, block: Block) -> bool:
    return not plan.covered(block.index) and not isinstance(plan.by_key.get(block.key), Drop)


def wanted(plan: Plan, transcript: Transcript, known: ToolUses | None = None) -> tuple[Wanted, ...]:
    """The server edits that the request under this plan asks for; `known` saves work."""
    found: list[Wanted] = []
    for edit in plan.delegated:
        if edit.edit in (DROP_THINKING, COMPACT):
            found.append(Wanted(edit.edit, edit.options))
            continue
        uses = (known or ToolUses()).update(plan, transcript)
        ends = (edit.upto,) if edit.upto in uses.place else edit.cleared
        last = max((uses.place.get(key, -1) for key in ends), default=-1)
        count = len(uses.results)
        if last < 0:
            continue  # A span stands for all that was cleared.
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
    asked: Collection[str],
    applied: Sequence[Applied],
    prompt: int | None,
    resident: Callable[[Plan], int],
) -> tuple[Delegated, ...]:
    """The clearings that the provider was asked for and did not make: it is silent about them, and
    the prompt (its reported tokens, None when unknown) is nearer to what it is without them.

    `asked` are the types of edit that the request asked for, `resident` is the estimate of a plan's view. Of a reply that tells nothing at all, clearings that
    were never confirmed count as not made: edits of our own are sure.
    """
    told = {one.edit for one in applied if one.cleared}
    hoped = {CLEAR_RESULTS}.intersection(asked) - told
    silent = [e for e in plan.delegated if e.edit in hoped]
    if not silent:
        return ()
    if prompt is None:
        return tuple(e for e in silent if not e.applied)
    between = (resident(plan) + resident(plan.without(*silent))) / 2
    return tuple(silent) if prompt > between else ()
