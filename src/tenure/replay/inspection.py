"""What one recorded session, or many together, did with its tokens.

Invariant: plain values that travel between processes; `total` of several inspections sums what can
be summed and keeps the rows of each, so that every figure of a total can be traced to a session.
Token sizes are estimates scaled to the session's reported usage; the bill is as reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tenure.core.message import BlockKind
from tenure.core.protocols import Counter as TokenCounter
from tenure.cost.models import profile
from tenure.policies.superseded import subject_of
from tenure.replay.bill import Bill, bill_of
from tenure.replay.cache_truth import CacheStep, cache_steps
from tenure.replay.holdings import HIDDEN_CLASS, Held, Holdings, Share, class_of, merged
from tenure.replay.recording import RecordedThread, Recording, Settings, prepare
from tenure.replay.repeats import OldVersions, Repeat, Row, old_versions, repeats
from tenure.replay.reuse import FATES, Use, reuse_of
from tenure.replay.trace import Damage, Trace
from tenure.tokens.counter import BlockCounter
from tenure.wire.detect import wire_for

_ARGUMENTS = 200
"""Characters of a call's arguments that a row keeps."""

_Older = TypeVar("_Older", Repeat, OldVersions)


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread: the main conversation between two compactions, or a sub-agent's.

    `peak` is its largest prompt, as reported where it was, else estimated; `hidden` the tokens of
    system prompt and tools that the file leaves out, and where `beginning_lost` of what its first
    request sent besides.
    """

    session: str
    name: str
    kind: str
    steps: int
    peak: int
    hidden: int
    after_compaction: bool
    before_compaction: int | None
    bill: Bill
    beginning_lost: bool = False


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One tool result: where it stands (thread, the step that first carried it, tool, subject and
    the beginning of the call's arguments), its tokens, the requests that carried it, and what became
    of it (`reuse.FATES`)."""

    session: str
    thread: str
    step: int
    tool: str
    subject: str
    arguments: str
    tokens: int
    carried: int
    fate: str


@dataclass(frozen=True, slots=True)
class DamageRow:
    """A place of a file that could not be read as it should."""

    session: str
    source: str
    damage: Damage


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything that `tenure inspect` shows.

    Shares are sorted by what was carried, results by size, repeats and old versions by the tokens
    that could go. `window` is the largest context window of the sessions.
    """

    name: str
    sources: tuple[str, ...]
    formats: tuple[str, ...]
    models: tuple[str, ...]
    window: int
    sessions: int
    threads: tuple[ThreadRow, ...]
    classes: tuple[Share, ...]
    tools: tuple[Share, ...]
    files: tuple[Share, ...]
    results: tuple[ResultRow, ...]
    repeats: tuple[Repeat, ...]
    versions: tuple[OldVersions, ...]
    uses: tuple[Use, ...]
    cache: tuple[CacheStep, ...]
    damage: tuple[DamageRow, ...]
    skipped: Mapping[str, int]

    @property
    def steps(self) -> int:
        """Model calls, sub-agents' included."""
        return sum(one.steps for one in self.threads)

    @property
    def peak(self) -> int:
        """The largest prompt."""
        return max((one.peak for one in self.threads), default=0)

    @property
    def compactions(self) -> int:
        """How often a conversation went on after a compaction."""
        return sum(one.after_compaction for one in self.threads)

    @property
    def bill(self) -> Bill:
        """All threads'."""
        return sum((one.bill for one in self.threads), Bill())

    def bill_of(self, kind: str) -> Bill:
        """That of the threads of a kind, main or sidechain."""
        return sum((one.bill for one in self.threads if one.kind == kind), Bill())

    def fates(self) -> dict[str, tuple[int, int]]:
        """What became of the results: count and tokens for each of `reuse.FATES`."""
        return {
            fate: (len(rows), sum(rows))
            for fate in FATES
            for rows in [[one.tokens for one in self.results if one.fate == fate]]
        }


def inspect_one(trace: Trace, settings: Settings | None = None) -> Inspection:
    """Reads one trace's figures; arguments and result can cross processes."""
    settings = settings or Settings()
    return inspect(prepare(trace, settings, wire_for(trace.wire), counter_for))


def inspect(recording: Recording) -> Inspection:
    """The figures of a recording that is ready to be replayed."""
    trace = recording.trace
    parts = [_Part.of(recording, thread) for thread in recording.threads]
    return Inspection(
        name=trace.name,
        sources=(trace.source,),
        formats=(trace.format,),
        models=(recording.profile.name,),
        window=recording.profile.context_window,
        sessions=1,
        threads=tuple(one.row for one in parts),
        classes=merged([share for one in parts for share in one.classes]),
        tools=merged([share for one in parts for share in one.tools]),
        files=merged([share for one in parts for share in one.files]),
        results=_largest([row for one in parts for row in one.results]),
        repeats=_heaviest([row for one in parts for row in one.repeats]),
        versions=_heaviest([row for one in parts for row in one.versions]),
        uses=tuple(use for one in parts for use in one.uses),
        cache=cache_steps(recording),
        damage=tuple(DamageRow(trace.name, trace.source, one) for one in trace.damage),
        skipped=dict(trace.skipped),
    )


def total(inspections: Sequence[Inspection], name: str = "total") -> Inspection:
    """All of them as one."""
    skipped: Counter[str] = Counter()
    for one in inspections:
        skipped.update(one.skipped)
    return Inspection(
        name=name,
        sources=_distinct(source for one in inspections for source in one.sources),
        formats=_distinct(word for one in inspections for word in one.formats),
        models=_distinct(model for one in inspections for model in one.models),
        window=max((one.window for one in inspections), default=0),
        sessions=sum(one.sessions for one in inspections),
        threads=tuple(row for one in inspections for row in one.threads),
        classes=merged([share for one in inspections for share in one.classes]),
        tools=merged([share for one in inspections for share in one.tools]),
        files=merged([share for one in inspections for share in one.files]),
        results=_largest([row for one in inspections for row in one.results]),
        repeats=_heaviest([row for one in inspections for row in one.repeats]),
        versions=_heaviest([row for one in inspections for row in one.versions]),
        uses=tuple(use for one in inspections for use in one.uses),
        cache=tuple(step for one in inspections for step in one.cache),
        damage=tuple(row for one in inspections for row in one.damage),
        skipped=dict(skipped.most_common()),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """One thread's figures."""

    row: ThreadRow
    classes: list[Share]
    tools: list[Share]
    files: list[Share]
    results: list[ResultRow]
    repeats: list[Repeat]
    versions: list[OldVersions]
    uses: tuple[Use, ...]

    @staticmethod
    def of(recording: Recording, thread: RecordedThread) -> _Part:
        holdings = Holdings.of(thread)
        reuse = reuse_of(holdings)
        bill = bill_of(recording, thread)
        session, name = recording.trace.name, thread.thread.name
        hidden, steps = thread.sizes.hidden, len(thread.replies)
        carried = sum(one.tokens * one.carried for one in holdings.held) + hidden * steps
        rate = bill.prompt_usd / carried if carried else 0.0
        subjects = {one.block.key: _subject(thread, one) for one in holdings.held}
        classes = [_share(class_of(one.block), one, rate) for one in holdings.held]
        if hidden:
            spent = hidden * steps * rate
            classes.append(Share(HIDDEN_CLASS, 1, hidden, hidden * steps, spent))
        return _Part(
            ThreadRow(
                session,
                name,
                thread.thread.kind,
                steps,
                _peak(thread, holdings),
                hidden,
                thread.thread.after_compaction,
                thread.thread.tokens_before_compaction,
                bill,
                thread.beginning_lost,
            ),
            classes,
            [_share(one.block.tool, one, rate) for one in holdings.held if one.block.tool],
            [
                _share(subject, one, rate)
                for one in holdings.held
                if (subject := subjects[one.block.key])
            ],
            [
                ResultRow(
                    session,
                    name,
                    one.since,
                    one.block.tool,
                    subjects[one.block.key],
                    _arguments(thread, one),
                    one.tokens,
                    one.carried,
                    reuse.fate(one),
                )
                for one in holdings.results()
            ],
            repeats(Row(session, name), holdings),
            old_versions(Row(session, name), holdings),
            reuse.uses,
        )


def _share(name: str, held: Held, rate: float) -> Share:
    carried = held.tokens * held.carried
    return Share(name, 1, held.tokens, carried, carried * rate)


def _subject(thread: RecordedThread, held: Held) -> str:
    """What a call or a result is about; "" for anything else."""
    block = held.block
    match block.kind:
        case BlockKind.TOOL_CALL:
            return subject_of(block) or ""
        case BlockKind.TOOL_RESULT:
            call = thread.transcript.partner(block)
            return (subject_of(call) or "") if call is not None else ""
        case _:
            return ""


def _arguments(thread: RecordedThread, result: Held) -> str:
    call = thread.transcript.partner(result.block)
    return call.text[:_ARGUMENTS] if call is not None else ""


def _peak(thread: RecordedThread, holdings: Holdings) -> int:
    reported = [step.usage.prompt for step in thread.thread.steps if step.usage is not None]
    return max(reported, default=0) or max(holdings.prompts, default=0)


def _largest(rows: Sequence[ResultRow]) -> tuple[ResultRow, ...]:
    return tuple(sorted(rows, key=lambda one: -one.tokens))


def _heaviest(rows: Sequence[_Older]) -> tuple[_Older, ...]:
    return tuple(sorted(rows, key=lambda one: -one.older))


def _distinct(values: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def counter_for(model: str) -> TokenCounter:
    """The counter of a model by any of its names."""
    return BlockCounter(model, profile(model).provider)
