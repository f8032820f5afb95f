"""From what a recorded session did to what it would do next: the inputs of a forecast.

Invariant: read off the last main thread, which is the conversation that would go on; what its
provider reported counts before what is estimated.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenure.cost.forecast import Growth
from tenure.cost.models import ModelProfile
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.superseded import Superseded
from tenure.replay.holdings import Holdings
from tenure.replay.inspection import counter_for
from tenure.replay.recording import RecordedThread, Settings, prepare
from tenure.replay.trace import Trace
from tenure.wire.detect import wire_for


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where a session stands: `resident` tokens in the next prompt, how each step grows it, the
    tokens `freed` by taking out older copies and versions, and the `offset` of the first of them
    (None when there are none). `head` is the system prompt and tools."""

    name: str
    profile: ModelProfile
    steps: int
    resident: int
    growth: Growth
    head: int
    offset: int | None
    freed: int


def outlook(trace: Trace, settings: Settings | None = None) -> Outlook | None:
    """The outlook of a trace; None for one without a main thread that has steps."""
    recording = prepare(trace, settings or Settings(), wire_for(trace.wire), counter_for)
    main = [one for one in recording.threads if one.thread.kind == "main" and one.replies]
    if not main:
        return None
    thread = main[-1]
    prompts = _prompts(thread)
    outputs = [reply.output for reply in thread.replies]
    steps = len(prompts)
    grown = (prompts[-1] - prompts[0]) / (steps - 1) if steps > 1 else outputs[0]
    output = sum(outputs) / steps
    offset, freed = _stale(thread)
    return Outlook(
        trace.name,
        recording.profile,
        steps,
        prompts[-1] + outputs[-1],
        # What a step answers stays, so it grows by its output at least.
        Growth(max(grown, output), output),
        thread.sizes.hidden,
        offset,
        freed,
    )


def _prompts(thread: RecordedThread) -> list[int]:
    """The prompt of each step, as reported where it was."""
    estimated = Holdings.of(thread).prompts
    return [
        step.usage.prompt if step.usage is not None and step.usage.prompt else size
        for step, size in zip(thread.thread.steps, estimated, strict=True)
    ]


def _stale(thread: RecordedThread) -> tuple[int | None, int]:
    """Where the first result stands that a newer one repeats or covers, and the tokens of all."""
    versions, copies = Superseded(), DuplicateResults()
    holdings = Holdings.of(thread)
    for held in holdings.held:
        versions.see(thread.transcript, held.block)
        copies.see(thread.transcript, held.block)
    stale = [
        held
        for held in holdings.results()
        if held.block.key in versions.newer or held.block.key in copies.newer
    ]
    return (stale[0].start if stale else None), sum(held.tokens for held in stale)
