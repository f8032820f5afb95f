"""Checks transcripts and requests: the provider's rules, the prefix, and what is carried for nothing.

Invariant: pure and deterministic; findings come in the order of what was given, and the same thing
is said once for a conversation however many of its requests show it (`Finding.times`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tenure.core.legal import Terms
from tenure.core.message import BlockKind, JsonObject
from tenure.core.protocols import SessionWire
from tenure.core.transcript import Transcript
from tenure.cost.diagnose import Outcome
from tenure.cost.models import profile
from tenure.cost.terms import terms_of as by_profile
from tenure.replay.cache_truth import COMPACTED, cache_steps
from tenure.replay.dependencies import Dependencies
from tenure.replay.inspection import counter_for
from tenure.replay.lint_rules import Finding, Severity, own_finding
from tenure.replay.recording import RecordedThread, Settings, prepare
from tenure.replay.sizes import Sizes
from tenure.replay.trace import Thread, Trace
from tenure.wire.detect import wire_for
from tenure.wire.prefix_parts import message_key, path_text
from tenure.wire.values import is_array, is_object

DEEPEST = 200
"""Levels of nesting that are read."""

UNUSED_TOKENS = 2_000
"""Unused results of one conversation below this are not worth a word."""

UNUSED_AFTER = 3
"""Replies that must have come since a result before it counts as never used."""

SMALL_MISS = 1_000
"""Tokens below which a miss is not worth a warning: reminders come and go."""

_LARGEST = 3


def lint_trace(
    trace: Trace, settings: Settings | None = None, *, api_version: str = ""
) -> list[Finding]:
    """What is wrong with a transcript; `file` of the findings is its source. `api_version` is that
    of `terms_of`."""
    settings = settings or Settings()
    wire = wire_for(trace.wire)
    found = [
        own_finding("damaged-record", Severity.WARNING, f"line {one.line}: {one.words}")
        for one in trace.damage
    ]
    terms = terms_of(settings.model or trace.model, trace.head, api_version)
    broken = False
    for thread in trace.threads:
        messages = [message.data for message in thread.messages()]
        broken = broken or any(nested_too_deep(message) for message in messages)
        broken_rules = legal_findings(wire, sent_messages(thread), terms)
        found += [replace(one, thread=thread.name) for one in broken_rules]
    if not broken:
        found += _replayed(trace, settings)
    return [replace(one, file=trace.source) for one in found]


def legal_findings(
    wire: SessionWire,
    messages: Sequence[object],
    terms: Terms,
) -> Iterator[Finding]:
    """The provider's rules that these messages break, and what is no message at all."""
    key = message_key(wire.name)
    good: list[JsonObject] = []
    for number, message in enumerate(messages):
        if is_object(message) and not nested_too_deep(message):
            good.append(message)
            continue
        kind = "is nested too deep" if is_object(message) else f"is {type(message).__name__}"
        words = f"message {number} {kind}, not a message"
        found = own_finding("not-a-message", Severity.ERROR, words)
        yield replace(found, message=number, path=path_text((key, number)))
    if len(good) < len(messages):
        return
    for one in wire.violations(good, terms):
        rule = wire.rules[one.rule]
        inside = one.message >= 0
        yield Finding(
            Severity.ERROR if rule.fatal else Severity.WARNING,
            one.rule,
            one.words,
            rule.source,
            rule.mend,
            message=one.message if inside else None,
            path=path_text((key, one.message, *one.path) if inside else one.path),
        )


def terms_of(model: str, head: JsonObject, api_version: str = "") -> Terms:
    """What decides which rules hold; `head` is a request without its messages.

    `api_version` is what the `anthropic-version` header says, which no body and no transcript holds:
    "" means the newest, whose rules are the strictest.
    """
    terms = by_profile(profile(model), model, head)
    return replace(terms, api_version=api_version) if api_version else terms


def sent_messages(thread: Thread) -> list[JsonObject]:
    """The messages of the last request that the thread shows or leads to: the last answer was not
    sent to anyone yet."""
    messages = list(thread.messages())
    if not thread.tail and thread.steps:
        messages = messages[: len(messages) - len(thread.steps[-1].reply)]
    return [message.data for message in messages]


def nested_too_deep(value: object) -> bool:
    """Whether a JSON value is nested deeper than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if is_object(outer) else outer if is_array(outer) else ())
            if is_object(inner) or is_array(inner)
        ]
        if not level:
            return False
    return True


def unused_results(
    transcript: Transcript, dependencies: Dependencies, sizes: Sizes
) -> Finding | None:
    """The results that no later reply points at, as one finding; None when they are few."""
    used = dependencies.last_uses()
    replies = [n for n, m in enumerate(transcript.messages) if m.origin.value == "assistant"]
    last = replies[-UNUSED_AFTER] if len(replies) >= UNUSED_AFTER else -1
    results = [block for block in transcript.all_blocks() if block.kind is BlockKind.TOOL_RESULT]
    idle = [
        (sizes.count(block).estimate, block)
        for block in results
        if block.index < last and block.key not in used
    ]
    tokens = sum(size for size, _ in idle)
    if tokens < UNUSED_TOKENS:
        return None
    idle.sort(key=lambda one: -one[0])
    largest = ", ".join(
        f"{block.tool or 'a result'} in message {block.index} ({size:,} tokens)"
        for size, block in idle[:_LARGEST]
    )
    words = (
        f"{len(idle)} of {len(results)} results, {tokens:,} tokens, are never pointed at by a later "
        f"reply; the largest: {largest}"
    )
    found = own_finding("unused-result", Severity.INFO, words)
    return replace(found, tokens=tokens, message=idle[0][1].index)


def _replayed(trace: Trace, settings: Settings) -> Iterator[Finding]:
    recording = prepare(trace, settings, wire_for(trace.wire), counter_for)
    for thread in recording.threads:
        found = _unused_of(thread)
        if found is not None:
            yield replace(found, thread=thread.thread.name)
    for step in cache_steps(recording):
        one = step.diagnosis
        if one.lost:
            meant = (
                one.observed is Outcome.EXPIRY or one.cause == COMPACTED or one.lost < SMALL_MISS
            )
            severity = Severity.INFO if meant else Severity.WARNING
            words = (
                f"step {step.step + 1}: {one.observed.value} of {one.lost:,} cached tokens "
                f"after {one.gap:.0f} s: {one.cause}"
            )
            yield replace(
                own_finding("cache-miss", severity, words),
                thread=step.thread,
                tokens=one.lost,
                usd=step.usd,
            )


def _unused_of(thread: RecordedThread) -> Finding | None:
    return unused_results(thread.transcript, thread.dependencies, thread.sizes)
