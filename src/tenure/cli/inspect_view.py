"""An inspection on the terminal.

Invariant: nothing is computed here but shares of what the inspection holds; a section without rows
is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.text import Text

from tenure.cli.histogram import Bin, ages, positions
from tenure.cli.inspect_cache import cache_section
from tenure.cli.inspect_head import head, lost_beginnings
from tenure.cli.output import (
    bar,
    count,
    heading,
    model_name,
    part,
    percent,
    plain,
    start,
    step_number,
    table,
    tail,
    usd,
)
from tenure.cli.output import (
    many as counted,
)
from tenure.replay.bill import Bill
from tenure.replay.holdings import Share
from tenure.replay.inspection import Inspection
from tenure.replay.reuse import AT_ONCE, LATER, NEVER

_PATH, _WORDS, _NAME = 56, 44, 20
_SKIPPED_SHOWN = 8


def overview(inspections: Sequence[Inspection]) -> Iterator[RenderableType]:
    """One row per session."""
    yield heading(f"{len(inspections)} sessions")
    rows = [
        [
            tail(one.name, 40),
            one.formats[0],
            tail(model_name(one.models[0]), 28),
            str(one.steps),
            str(one.compactions or ""),
            count(one.peak),
            count(one.bill.usage.prompt),
            percent(_cached(one.bill)),
            str(sum(step.diagnosis.lost > 0 for step in one.cache) or ""),
            _usd(one.bill),
            str(len(one.damage) or ""),
        ]
        for one in inspections
    ]
    yield table(
        [
            ("session", "fold"),
            ("format", "left"),
            ("model", "left"),
            ("steps", "right"),
            ("compacted", "right"),
            ("peak", "right"),
            ("prompt tokens", "right"),
            ("cached", "right"),
            ("misses", "right"),
            ("USD", "right"),
            ("damaged", "right"),
        ],
        rows,
    )


def details(one: Inspection, top: int) -> Iterator[RenderableType]:
    """A session, or the total of many, in full."""
    many = one.sessions > 1
    yield from head(one)
    yield from _threads(one, top, many=many)
    if one.classes:
        note = "carried: once per request that sent it; the bar and USD are shares of that"
        yield heading("Where the tokens went", note=note)
        yield _shares("class", one.classes, one.classes)
    if one.tools:
        yield heading("By tool", note="calls and results")
        yield _shares("tool", one.tools[:top], one.classes)
    if one.files:
        yield heading("By file", note="what calls were about")
        yield _shares("file", one.files[:top], one.classes)
    yield from _results(one, top, many=many)
    yield from _repeats(one, top, many=many)
    yield from _uses(one)
    yield from cache_section(one.cache, top, many=many)
    yield from lost_beginnings(one)
    yield from _file(one)


def _threads(one: Inspection, top: int, *, many: bool) -> Iterator[RenderableType]:
    sides = [row for row in one.threads if row.kind != "main"]
    if sides:
        main, side = one.bill_of("main"), one.bill_of("sidechain")
        yield heading("Main conversation and sub-agents")
        yield table(
            [("", "left"), ("requests", "right"), ("prompt tokens", "right"), ("USD", "right")],
            [
                ["main", str(main.requests), count(main.usage.prompt), _usd(main)],
                [
                    counted(len(sides), "sub-agent"),
                    str(side.requests),
                    count(side.usage.prompt),
                    _usd(side),
                ],
            ],
        )
    if many or len(one.threads) < 2:
        return
    yield heading("Threads")
    yield table(
        [
            ("thread", "left"),
            ("steps", "right"),
            ("peak", "right"),
            ("hidden", "right"),
            ("USD", "right"),
            ("", "fold"),
        ],
        [
            [
                start(row.name, _WORDS),
                str(row.steps),
                count(row.peak),
                count(row.hidden),
                _usd(row.bill),
                _compaction(row.before_compaction) if row.after_compaction else "",
            ]
            for row in one.threads[: max(top, 10)]
        ],
    )


def _compaction(before: int | None) -> str:
    return "after a compaction" + (f" of {count(before)} tokens" if before else "")


def _shares(title: str, shares: Sequence[Share], classes: Sequence[Share]) -> RenderableType:
    whole = sum(share.carried for share in classes)
    return table(
        [
            (title, "left"),
            ("blocks", "right"),
            ("tokens", "right"),
            ("carried", "right"),
            ("", "right"),
            ("", "bar"),
            ("USD", "right"),
        ],
        [
            [
                tail(share.name, _PATH),
                count(share.blocks),
                count(share.tokens),
                count(share.carried),
                percent(part(share.carried, whole)),
                bar(part(share.carried, whole)),
                usd(share.usd) if share.usd else "-",
            ]
            for share in shares
        ],
    )


def _results(one: Inspection, top: int, *, many: bool) -> Iterator[RenderableType]:
    if not one.results:
        return
    yield heading("Biggest results", note="used: whether a later step points at what only it said")
    yield table(
        [
            *([("session", "left")] if many else []),
            ("thread", "left"),
            ("step", "right"),
            ("tool", "left"),
            ("about", "left"),
            ("tokens", "right"),
            ("sent", "right"),
            ("used", "left"),
        ],
        [
            [
                *([tail(row.session, _NAME)] if many else []),
                start(row.thread, 16),
                step_number(row.step),
                start(row.tool, _NAME),
                tail(row.subject, _WORDS) if row.subject else start(row.arguments, _WORDS),
                count(row.tokens),
                f"{row.carried}x",
                row.fate,
            ]
            for row in one.results[:top]
        ],
    )
    fates = one.fates()
    tokens = sum(size for _, size in fates.values())
    words = {
        LATER: "used again later",
        AT_ONCE: "used by the reply that first read them",
        NEVER: "never pointed at",
    }
    yield heading("What became of tool results")
    yield table(
        [("", "left"), ("results", "right"), ("tokens", "right"), ("", "right"), ("", "bar")],
        [
            [
                words[fate],
                count(number),
                count(size),
                percent(part(size, tokens)),
                bar(part(size, tokens)),
            ]
            for fate, (number, size) in fates.items()
        ],
    )


def _repeats(one: Inspection, top: int, *, many: bool) -> Iterator[RenderableType]:
    if one.repeats:
        older = sum(row.older for row in one.repeats)
        note = f"{len(one.repeats)} in all; {count(older)} tokens in results but the newest"
        yield heading("Repeated calls", note=note)
        yield table(
            [
                *([("session", "left")] if many else []),
                ("tool", "left"),
                ("about", "left"),
                ("times", "right"),
                ("older tokens", "right"),
            ],
            [
                [
                    *([tail(row.where.session, _NAME)] if many else []),
                    start(row.tool, _NAME),
                    tail(row.subject, _PATH) if row.subject else start(row.arguments, _PATH),
                    str(row.times),
                    count(row.older),
                ]
                for row in one.repeats[:top]
            ],
        )
    if one.versions:
        older = sum(row.older for row in one.versions)
        note = f"{len(one.versions)} in all; {count(older)} tokens that a newer one covers"
        yield heading("Superseded versions", note=note)
        yield table(
            [
                *([("session", "left")] if many else []),
                ("of", "left"),
                ("older versions", "right"),
                ("tokens", "right"),
            ],
            [
                [
                    *([tail(row.where.session, _NAME)] if many else []),
                    tail(row.subject, _PATH),
                    str(row.superseded),
                    count(row.older),
                ]
                for row in one.versions[:top]
            ],
        )


def _uses(one: Inspection) -> Iterator[RenderableType]:
    if not one.uses:
        return
    note = "0.0 is the beginning of the window, 1.0 its end"
    yield heading("Where the text that was used later lay", note=note)
    where = _histogram("position", positions(one.uses))
    yield Columns([Group(where), Group(_histogram("used after", ages(one.uses)))], padding=(0, 4))


def _histogram(title: str, bins: Sequence[Bin]) -> RenderableType:
    highest = max((one.uses for one in bins), default=0)
    return table(
        [(title, "left"), ("uses", "right"), ("", "bar")],
        [[one.label, str(one.uses), bar(part(one.uses, highest), 16)] for one in bins],
    )


def _file(one: Inspection) -> Iterator[RenderableType]:
    if one.damage:
        yield heading("Damage", note="what could not be read as it should; the rest was")
        for row in one.damage:
            where = f"  {row.source} line {row.damage.line}: {row.damage.words}"
            # On one line however long: it names a path to copy.
            yield Text(plain(where), style="yellow", no_wrap=True)
    if one.skipped:
        rows = sorted(one.skipped.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{number} {kind}" for kind, number in rows[:_SKIPPED_SHOWN])
        more = sum(number for _, number in rows[_SKIPPED_SHOWN:])
        rest = f", {more} others" if more else ""
        yield Text("\n" + plain(f"no part of the conversation: {shown}{rest}"), style="dim")


def _cached(bill: Bill) -> float | None:
    return bill.usage.cache_read / bill.usage.prompt if bill.usage.prompt else None


def _usd(bill: Bill) -> str:
    return usd(bill.usd) if bill.requests > bill.unreported else "-"
