"""From what a recorded session did to what it would do next: the inputs of a forecast.

Invariant: read off the last main thread, which is the conversation that would go on; what its
provider reported counts before what is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tenure.cost.forecast import Growth
from tenure.cost.models import ModelProfile
from tenure.policies.default import Tenure
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.superseded import Superseded
from tenure.replay.compare import replay
from tenure.replay.holdings import Holdings
from tenure.replay.inspection import counter_for
from tenure.replay.recording import RecordedThread, Recording, Settings, prepare
from tenure.replay.trace import Trace
from tenure.wire.detect import wire_for


@dataclass(frozen=True, slots=True)
class Outlook:
    """Where a session stands: `resident` tokens in the next prompt, how each step grows it, the
    tokens `freed` by taking out what the default policy would have evicted by now, older copies and
    older versions, and the `offset` of the first of them (None when there are none). `by_policy` is
    the policy's part of `freed`, `head` the system prompt and tools: 0 where `beginning_lost`, as
    the file lacks the beginning of the conversation, which would be among them."""

    name: str
    profile: ModelProfile
    steps: int
    resident: int
    growth: Growth
    head: int
    offset: int | None
    freed: int
    by_policy: int
    beginning_lost: bool = False


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
    evicted = _evicted(replace(recording, threads=tuple(main)))
    offset, freed = _first_and_sum(thread, {**_stale(thread), **evicted})
    return Outlook(
        trace.name,
        recording.profile,
        steps,
        prompts[-1] + outputs[-1],
        # What a step answers stays, so it grows by its output at least.
        Growth(max(grown, output), output),
        0 if thread.beginning_lost else thread.sizes.hidden,
        offset,
        freed,
        sum(evicted.values()),
        thread.beginning_lost,
    )


def _prompts(thread: RecordedThread) -> list[int]:
    """The prompt of each step, as reported where it was."""
    estimated = Holdings.of(thread).prompts
    return [
        step.usage.prompt if step.usage is not None and step.usage.prompt else size
        for step, size in zip(thread.thread.steps, estimated, strict=True)
    ]


def _stale(thread: RecordedThread) -> dict[str, int]:
    """The results that a newer one repeats or covers, by key, and their tokens."""
    versions, copies = Superseded(), DuplicateResults()
    holdings = Holdings.of(thread)
    for held in holdings.held:
        versions.see(thread.transcript, held.block)
        copies.see(thread.transcript, held.block)
    return {
        held.block.key: held.tokens
        for held in holdings.results()
        if held.block.key in versions.newer or held.block.key in copies.newer
    }


def _evicted(recording: Recording) -> dict[str, int]:
    """What the default policy had taken out of the last thread at its last step, by block, and the
    tokens that frees; what had to be fetched again is not among it."""
    name = recording.threads[-1].thread.name
    rows = [row for row in replay(recording, Tenure.name).rows if row.thread == name]
    again = {fetch.handle for row in rows for fetch in row.refetches}
    transcript = recording.threads[-1].transcript
    found: dict[str, int] = {}
    for one in (one for row in rows for one in row.evictions if one.handle not in again):
        # A re-fetch shifts the numbers of what follows it: a block counts if it is the same text.
        keys = [key for key in one.targets if key in transcript]
        if keys and "\n".join(transcript.block(key).text for key in keys) == one.original:
            found |= dict.fromkeys(keys, 0)
            found[keys[0]] = one.tokens_before - one.tokens_after
    return found


def _first_and_sum(thread: RecordedThread, freed: Mapping[str, int]) -> tuple[int | None, int]:
    """Where the first of these blocks begins, None when there is none, and all that they free."""
    starts = [held.start for held in Holdings.of(thread).held if held.block.key in freed]
    return min(starts, default=None), sum(freed.values())
