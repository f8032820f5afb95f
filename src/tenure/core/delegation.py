"""The provider's own edits: what to ask for so that the same blocks stay cleared, and what it did.

Invariant: the provider clears a run of tool results from the oldest on and counts from the newest
back, so the number to keep is worked out anew for each request; what it reports is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.core.edit import Delegated
from tenure.core.message import BlockKind
from tenure.core.plan import Plan
from tenure.core.server_edit import Applied, Wanted
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage


def wanted(plan: Plan, transcript: Transcript) -> tuple[Wanted, ...]:
    """The server edits that the request under this plan asks for."""
    if not plan.delegated:
        return ()
    place = {key: at for at, key in enumerate(_results(plan, transcript))}
    found: list[Wanted] = []
    for edit in plan.delegated:
        last = max((place.get(t, -1) for t in edit.targets), default=-1)
        found.append(Wanted(edit.edit, edit.options, len(place), len(place) - last - 1))
    return tuple(found)


def confirmed(
    plan: Plan, transcript: Transcript, applied: Sequence[Applied]
) -> list[tuple[Delegated, Delegated]]:
    """The edits of the plan that the provider's report changes, each with what becomes of it.

    The blocks are inferred: as many results as it says, oldest first.
    """
    if not applied or not plan.delegated:
        return []
    order = _results(plan, transcript)
    changed: list[tuple[Delegated, Delegated]] = []
    for edit in plan.delegated:
        report = next((one for one in applied if one.edit == edit.edit), None)
        if report is None or not report.cleared:
            continue
        targets = tuple(order[: report.cleared])
        after = max(0, edit.reason.tokens_before - report.tokens)
        if edit.applied and targets == edit.targets:
            continue
        # Its price was counted when it was asked for.
        reason = replace(edit.reason, tokens_after=after, price=0.0)
        changed.append((edit, replace(edit, targets=targets, reason=reason, applied=True)))
    return changed


def ignored(plan: Plan, estimate: int, usage: Usage | None, applied: Sequence[Applied]) -> bool:
    """Whether the provider did not do what it was asked for: it reports nothing, and the prompt is
    larger than the estimate by half or more of what should have gone."""
    if applied or usage is None or not plan.delegated:
        return False
    gone = sum(e.reason.tokens_before - e.reason.tokens_after for e in plan.delegated)
    return usage.prompt >= estimate + gone / 2


def _results(plan: Plan, transcript: Transcript) -> list[str]:
    """The keys of the tool results in the view, oldest first."""
    return [
        block.key
        for block in transcript.all_blocks()
        if block.kind is BlockKind.TOOL_RESULT
        and not plan.covered(block.index)
        and block.key not in plan.dropped
    ]
