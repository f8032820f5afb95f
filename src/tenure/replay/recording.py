"""A trace made ready to be replayed: complete, timed, sized, with its dependencies known.

Invariant: made once per trace and settings, and shared by all policies; replaying changes nothing
in it but remembered counts.

What the recording leaves open is filled in, the same way for every policy:

- *Missing results.* A call that was interrupted has no result in the file, and no provider takes a
  request without one: an error result that says so is put in before the next request.
- *Hidden text.* Files keep no system prompt and no tools; what the first request reported beyond
  its messages is taken as their length. Main threads share the first one's, as long as the same
  tokenizer counts them. Where the file has system or tools they are counted, and the larger of the
  two figures is used.
- *Times.* A request without a time comes 10 s after the one before; time never runs backwards.
- *A lost beginning.* The first request of a file that was cut at the front, or of a compaction whose
  summary was not kept, has no message, and no provider takes such a request: a message that says so
  is put in, and what the request reported beyond it counts as hidden text, of that thread alone.
- *A greeting.* A reply that comes first, and of which no usage, time or id says that a model was called,
  stood in the first request.
"""

from __future__ import annotations

import json
from collections import Counter as Counts
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias

from tenure.core.message import BlockKind, JsonObject, Message, Origin
from tenure.core.protocols import Counter, SessionWire
from tenure.core.transcript import Transcript
from tenure.cost.models import ModelProfile, profile
from tenure.replay.dependencies import Dependencies
from tenure.replay.sizes import Sizes, calibrate
from tenure.replay.trace import Step, Thread, Trace
from tenure.tokens.families import family_of

Lifetime: TypeAlias = Literal["recorded", "5m", "1h"]
"""Which of a model's two cache lifetimes is priced."""

LIFETIMES: tuple[Lifetime, ...] = ("recorded", "5m", "1h")

MISSING_RESULT = "no result was recorded: the call was interrupted"
LOST_BEGINNING = "what was said before this point is not in the recording"
SECONDS_BETWEEN = 10.0
"""Between two requests when the file has no times."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to replay; None means what the recorded model's profile says.

    `window` and `max_tokens` are in tokens; `read` and `write` are r and w, relative to the base
    input price. `ttl` is how long an unread cache entry lives: a number of seconds, at the price of
    the model's shorter lifetime; "5m" or "1h", the model's shorter or longer one at its own price;
    "recorded", for each thread the one that it wrote.
    """

    window: int | None = None
    max_tokens: int | None = None
    model: str = ""
    read: float | None = None
    write: float | None = None
    ttl: float | Lifetime = "5m"
    recall: bool = True

    def model_of(self, trace: Trace, thread: Thread | None = None) -> str:
        """The name of the model that a trace is counted and priced as, or one of its threads: the
        one that gave most of its replies."""
        used = Counts(step.model for step in thread.steps if step.model) if thread else Counts()
        return self.model or (used.most_common(1)[0][0] if used else trace.model)

    def profile_of(self, trace: Trace, thread: Thread | None = None) -> ModelProfile:
        """The model that a trace is priced as, or one of its threads. What these settings say
        applies to all."""
        found = profile(self.model_of(trace, thread))
        long = self.ttl == "1h" or (self.ttl == "recorded" and _wrote_long(trace, thread))
        if long and found.write_long is not None and found.ttl_long:
            found = found.with_(write=found.write_long, ttl_short=found.ttl_long)
        given = {
            "read": self.read,
            "write": self.write,
            "ttl_short": None if isinstance(self.ttl, str) else self.ttl,
            "context_window": self.window,
        }
        return found.with_(**{k: v for k, v in given.items() if v is not None})


def _wrote_long(trace: Trace, thread: Thread | None) -> bool:
    """Whether most of what was written to the cache was written for the long lifetime: by the
    thread, where it wrote nothing by the main ones, or by all."""
    main = [one for one in trace.threads if one.kind == "main"]
    for threads in ([thread] if thread else [], main, trace.threads):
        usages = [step.usage for one in threads for step in one.steps if step.usage is not None]
        written = sum(usage.cache_write for usage in usages)
        if written:
            return 2 * sum(usage.cache_write_1h for usage in usages) > written
    return False


@dataclass(frozen=True, slots=True)
class Reply:
    """One recorded model call, ready to be sent again.

    `first` is the number of its first reply message in the recorded transcript; `output` the
    tokens of the reply, reported or estimated.
    """

    at: float
    arrivals: tuple[Message, ...]
    messages: tuple[Message, ...]
    first: int
    output: int

    @property
    def last(self) -> int:
        """The number of its last message; `first - 1` when it has none."""
        return self.first + len(self.messages) - 1


@dataclass(frozen=True, slots=True)
class RecordedThread:
    """One thread, made ready. `profile` holds the limits and prices of its own model, whose
    tokenizer counts its `sizes`: sub-agents often run on a cheaper one. `beginning_lost` says that
    the file lacks what its first request sent, all or in part."""

    thread: Thread
    replies: tuple[Reply, ...]
    transcript: Transcript
    dependencies: Dependencies
    sizes: Sizes
    profile: ModelProfile
    beginning_lost: bool = False


@dataclass(frozen=True, slots=True)
class Recording:
    """One trace, made ready. `profile` is that of its main model, in whose base input tokens costs
    are given; `factor` is what estimates were multiplied by."""

    trace: Trace
    settings: Settings
    profile: ModelProfile
    wire: SessionWire
    factor: float
    threads: tuple[RecordedThread, ...]


class CounterFor(Protocol):
    """Makes the counter of a model; the composition root knows which."""

    def __call__(self, model: str, /) -> Counter:
        """The counter of a model by any of its names."""


def prepare(
    trace: Trace, settings: Settings, wire: SessionWire, counter_for: CounterFor
) -> Recording:
    """The recording of a trace. `wire` is the spelling that `trace.wire` names."""
    greeted = map(_without_greeting, trace.threads)
    answered = [thread for thread in greeted if thread.steps]
    repaired = [_complete(thread, wire) for thread in answered]
    plain = _plain_sizes([settings.model_of(trace, one) for one in repaired], wire, counter_for)
    pairs = zip(repaired, plain, strict=True)
    factor = calibrate([pair for thread, sizes in pairs for pair in _growth(thread, sizes)])
    head = _head_text(trace.head)
    threads: list[RecordedThread] = []
    main: RecordedThread | None = None
    after = 0.0
    for recorded, thread, own in zip(answered, repaired, plain, strict=True):
        counted = round(own.count_text(head).estimate * factor) if head else 0
        hidden = max(counted, _hidden(thread, own, factor))
        is_main, lost = thread.kind == "main", _beginning_lost(recorded, wire)
        if is_main and not lost and main is not None and main.sizes.counter is own.counter:
            hidden = main.sizes.hidden
        sizes = own.scaled(factor, hidden)
        priced = settings.profile_of(trace, thread)
        begin = after if is_main else 0.0
        made = _thread(thread, sizes, priced, _system_text(trace.head), begin)
        threads.append(replace(made, beginning_lost=lost))
        if is_main:
            after = made.replies[-1].at
            main = main if lost else made
    model = settings.profile_of(trace)
    return Recording(trace, settings, model, wire, factor, tuple(threads))


def _plain_sizes(models: Iterable[str], wire: SessionWire, counter_for: CounterFor) -> list[Sizes]:
    """The unscaled sizes of each model in turn; models that count alike share what they counted."""
    made: dict[tuple[str, str], Sizes] = {}
    found: list[Sizes] = []
    for model in models:
        alike = family_of(model).name, profile(model).provider
        if alike not in made:
            made[alike] = Sizes(counter_for(model), wire)
        found.append(made[alike])
    return found


def _complete(thread: Thread, wire: SessionWire) -> Thread:
    """The thread with a result for every call, and a message that its first request begins with."""
    transcript = Transcript(wire)
    steps: list[Step] = []
    for step in thread.steps:
        made = _missing(transcript, step.arrivals, wire)
        if not steps and _begins_with_a_reply(thread):
            made = [Message(data, origin=Origin.HARNESS) for data in wire.user(LOST_BEGINNING)]
        for message in (*made, *step.arrivals, *step.reply):
            transcript.append(message)
        steps.append(replace(step, arrivals=(*made, *step.arrivals)))
    return replace(thread, steps=tuple(steps))


def _without_greeting(thread: Thread) -> Thread:
    """The thread with a first reply that nobody asked a model for among the first arrivals."""
    if not thread.steps or thread.steps[0].arrivals or _is_call(thread.steps[0]):
        return thread
    greeting, *rest = thread.steps
    if rest:
        rest[0] = replace(rest[0], arrivals=(*greeting.reply, *rest[0].arrivals))
        return replace(thread, steps=tuple(rest))
    return replace(thread, steps=(), tail=(*greeting.reply, *thread.tail))


def _is_call(step: Step) -> bool:
    """Whether the file shows that a model was called, rather than that a conversation held this."""
    return step.usage is not None or step.at is not None or bool(step.request_id)


def _begins_with_a_reply(thread: Thread) -> bool:
    """Whether the first request has no message, or begins with what the model had said. A provider
    may keep a reply as the first message of what a compaction leaves."""
    if not _is_call(thread.steps[0]):
        return False
    arrivals = thread.steps[0].arrivals
    said = arrivals and arrivals[0].origin is Origin.ASSISTANT and not thread.after_compaction
    return not arrivals or bool(said)


def _beginning_lost(thread: Thread, wire: SessionWire) -> bool:
    """Whether the file has the thread from its middle on: a reply comes first, or a result."""
    if _begins_with_a_reply(thread):
        return True
    lenses = wire.lenses(thread.steps[0].arrivals[0].data)
    return any(lens.kind is BlockKind.TOOL_RESULT for lens in lenses)


def _missing(
    transcript: Transcript, arrivals: Iterable[Message], wire: SessionWire
) -> list[Message]:
    answered = {
        lens.call_id
        for message in arrivals
        for lens in wire.lenses(message.data)
        if lens.kind is BlockKind.TOOL_RESULT
    }
    calls = [
        wire.call(block, transcript.messages[block.index])
        for block in transcript.open_calls.values()
        if block.call_id not in answered
    ]
    made = wire.results([(call, MISSING_RESULT, True) for call in calls]) if calls else []
    return [Message(data, origin=wire.origin(data)) for data in made]


def _growth(thread: Thread, sizes: Sizes) -> Iterator[tuple[int, int]]:
    """Reported and estimated growth from each request to the next, tokens."""
    for earlier, later in pairwise(thread.steps):
        if earlier.usage is not None and later.usage is not None:
            added = (*earlier.reply, *later.arrivals)
            yield later.usage.prompt - earlier.usage.prompt, sum(map(sizes.message, added))


def _hidden(thread: Thread, sizes: Sizes, factor: float) -> int:
    """What the first request reported beyond its messages, tokens."""
    sent = 0
    for step in thread.steps:
        sent += sum(map(sizes.message, step.arrivals))
        if step.usage is not None and step.usage.prompt:
            return max(0, step.usage.prompt - round(sent * factor))
        sent += sum(map(sizes.message, step.reply))
    return 0


def _head_text(head: JsonObject) -> str:
    kept = {key: head[key] for key in ("system", "instructions", "tools") if head.get(key)}
    return json.dumps(kept, ensure_ascii=False) if kept else ""


def _system_text(head: JsonObject) -> str:
    """What the definition of a use may look through; tools are definitions, not facts."""
    kept = [head[key] for key in ("system", "instructions") if head.get(key)]
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in kept)


def _thread(
    thread: Thread, sizes: Sizes, own: ModelProfile, system: str, after: float
) -> RecordedThread:
    transcript = Transcript(sizes.wire)
    replies: list[Reply] = []
    at = after
    for step in thread.steps:
        at = max(at, step.at if step.at is not None else at + SECONDS_BETWEEN)
        for message in step.arrivals:
            transcript.append(message)
        first = len(transcript)
        for message in step.reply:
            transcript.append(message)
        output = step.usage.output if step.usage is not None else 0
        output = output or sum(map(sizes.message, step.reply))
        replies.append(Reply(at, step.arrivals, step.reply, first, output))
    dependencies = Dependencies.of(transcript, system)
    return RecordedThread(thread, tuple(replies), transcript, dependencies, sizes, own)
