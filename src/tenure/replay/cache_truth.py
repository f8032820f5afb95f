"""What the provider's prompt cache did in a recorded session, beside what was expected of it.

Invariant: one chain for the main conversation, in the order of time, and one per sub-agent: each
request is compared with the one before it in its chain. Requests whose usage the file lacks take no
part; what they added is counted with the next.

Awkward: a trace does not hold everything that breaks a prefix. What it shows is told to the
diagnosis (a compaction, a tool search that loads tool definitions, the end of a process); the rest
comes out as the diagnosis' own guess or "unexplained".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenure.core.message import BlockKind, Origin
from tenure.cost.diagnose import Diagnosis, ObservedRequest, diagnose
from tenure.cost.models import profile
from tenure.cost.prefix_tree import Segment
from tenure.replay.recording import RecordedThread, Recording

COMPACTED = "compacted"
RESUMED = "resumed by a new process, which rebuilt the first messages"
TOOLS = "a tool search loaded tool definitions"

_TOOL_SEARCH = "ToolSearch"
_EXIT = "<command-name>/exit<"


@dataclass(frozen=True, slots=True)
class CacheStep:
    """One request after the first of its chain: where it stands, and prediction beside truth.

    `usd` is what the miss cost beyond a hit: the lost tokens at the write price instead of the read
    price.
    """

    session: str
    thread: str
    step: int
    diagnosis: Diagnosis
    usd: float


@dataclass(frozen=True, slots=True)
class _Place:
    thread: RecordedThread
    step: int
    at: float
    parent: int | None


def cache_steps(recording: Recording) -> tuple[CacheStep, ...]:
    """All chains of a recording, main first."""
    main = [one for one in recording.threads if one.thread.kind == "main"]
    chains = [main, *([one] for one in recording.threads if one.thread.kind != "main")]
    return tuple(step for chain in chains for step in _chain(recording, chain))


def _chain(recording: Recording, threads: Sequence[RecordedThread]) -> Iterator[CacheStep]:
    places: list[_Place] = []
    requests: list[ObservedRequest] = []
    last: dict[str, int] = {}
    for thread, step in _in_time(threads):
        known = thread.thread.steps[step]
        if known.usage is None or not known.usage.prompt:
            continue
        before = last.get(thread.thread.name)
        start = 0 if before is None else places[before].step
        broken = _broken(thread, step, first=before is None, earlier=bool(requests))
        request = ObservedRequest(
            start=thread.replies[step].at,
            model=known.model or recording.trace.model,
            added=tuple(_added(thread, step, None if broken or before is None else start)),
            reported=known.usage,
            parent=-1 if before is None else before,
            broken=broken,
        )
        last[thread.thread.name] = len(requests)
        places.append(_Place(thread, step, request.start, request.parent))
        requests.append(request)
    for one in diagnose(requests):
        place = places[one.index]
        model = profile(requests[one.index].model)
        usd = one.lost * max(0.0, model.write - model.read) * model.input_price
        yield CacheStep(recording.trace.name, place.thread.thread.name, place.step, one, usd)


def _in_time(threads: Sequence[RecordedThread]) -> list[tuple[RecordedThread, int]]:
    """The steps of all threads by their times; those of one thread stay in order."""
    every = [
        (reply.at, number, step, thread)
        for number, thread in enumerate(threads)
        for step, reply in enumerate(thread.replies)
    ]
    return [(thread, step) for _, _, step, thread in sorted(every, key=lambda one: one[:3])]


def _added(thread: RecordedThread, step: int, after: int | None) -> Iterator[Segment]:
    """What a request has beyond that of step `after`; the whole conversation when that is None."""
    for number in range(0 if after is None else after, step + 1):
        reply = thread.replies[number]
        if after is None or number > after:
            for message in reply.arrivals:
                yield from thread.sizes.segments(message)
        if number < step:
            for message in reply.messages:
                yield from thread.sizes.segments(message)


def _broken(thread: RecordedThread, step: int, *, first: bool, earlier: bool) -> str:
    """What the recording shows to have changed the messages before this request."""
    if first and earlier and thread.thread.after_compaction:
        return COMPACTED
    if not step:
        return ""
    before = thread.replies[step - 1]
    for index in range(before.first, before.last + 1):
        for block in thread.transcript.blocks[index]:
            if block.kind is BlockKind.TOOL_CALL and block.tool == _TOOL_SEARCH:
                return TOOLS
    for message in thread.replies[step].arrivals:
        if message.origin is not Origin.TOOL and _EXIT.encode() in message.raw:
            return RESUMED
    return ""
