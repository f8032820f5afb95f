"""A comparison on the terminal.

Invariant: costs are shown in units of the base input price of one token, as the policies reckon,
and in USD beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from tenure.cli.output import (
    bar,
    count,
    heading,
    many,
    model_name,
    part,
    plain,
    start,
    step_number,
    table,
    tail,
    usd,
)
from tenure.cli.replay_words import beginning_words, lifetime_words, recorded_words
from tenure.replay.compare import BASELINE, Comparison, SessionResult
from tenure.replay.outcome import Cost, Eviction, SimulatedSession, StepRow

_NAME, _WORDS, _ABOUT = 16, 100, 30


def tables(comparison: Comparison, *, top: int | None, each: bool) -> Iterator[RenderableType]:
    """The sessions and their total; then the evictions, the `top` largest or all in order."""
    results = comparison.results
    if len(results) > 1:
        yield from _sessions(comparison)
        for one in results if each else ():
            yield _title(one)
            yield from _policies([one], comparison.policies)
        yield heading(f"All {len(results)} sessions")
    else:
        yield _title(results[0])
    yield from _policies(results, comparison.policies)
    yield Text(
        "\n  costs are in input tokens; those of re-fetches are within the others", style="dim"
    )
    yield from _mixed(comparison)
    yield Text(f"  {lifetime_words(comparison)}", style="dim")
    yield from _recorded(comparison)
    if beginning_words(comparison):
        yield Text(plain(f"  {beginning_words(comparison)}"), style="yellow")
    yield from _violations(comparison)
    for policy in _shown(comparison.policies):
        yield from _evictions(comparison, policy, top)


def _title(one: SessionResult) -> Text:
    window = next(iter(one.sessions.values())).window
    price = usd(one.profile.input_price * 1e6)
    facts = (
        f"  {one.format} · {model_name(one.model)} at {price} per million input tokens "
        f"(read {one.profile.read:g}, write {one.profile.write:g}, output {one.profile.output:g}) · "
        f"{many(one.steps, 'step')} · window {count(window)}"
    )
    title = Text("\n").append(plain(one.name), style="bold").append(plain(facts))
    if not one.profile.known:
        words = f"priced and counted as {one.profile.name}; --model names another"
        title.append("\n" + plain(words), style="yellow")
    return title


def _mixed(comparison: Comparison) -> Iterator[RenderableType]:
    """That input tokens of different prices were added, and the ratios of the sums in USD."""
    if len({one.profile.input_price for one in comparison.results}) < 2:
        return
    money = {
        name: sum(
            one.sessions[name].cost.total * one.profile.input_price for one in comparison.results
        )
        for name in comparison.policies
    }
    ratios = ", ".join(
        f"{name} {part(spent, money[BASELINE]):.3f}" for name, spent in money.items()
    )
    yield Text(
        "  the models differ in price, so the sums add input tokens of different prices; ratios of the "
        f"sums in USD: {ratios}",
        style="yellow",
    )


def _recorded(comparison: Comparison) -> Iterator[RenderableType]:
    """The provider's own bill, so that nobody takes the simulated one for it."""
    words = recorded_words(comparison)
    if words:
        yield Text(f"  {words}; the table simulates a prompt cache, {BASELINE} too", style="yellow")


def _sessions(comparison: Comparison) -> Iterator[RenderableType]:
    """One row per session: what each policy costs, as a ratio to append-only."""
    others = [name for name in comparison.policies if name != BASELINE]
    yield heading(f"{len(comparison.results)} sessions", note=f"cost as a ratio to {BASELINE}")
    yield table(
        [
            ("session", "left"),
            ("model", "left"),
            ("steps", "right"),
            ("peak", "right"),
            ("billed", "right"),
            (BASELINE, "right"),
            *((name, "right") for name in others),
        ],
        [
            [
                tail(one.name, 40),
                tail(model_name(one.model), 28),
                str(one.steps),
                count(one.sessions[BASELINE].peak_tokens),
                "-" if one.recorded_usd is None else usd(one.recorded_usd),
                usd(one.sessions[BASELINE].cost.total * one.profile.input_price),
                *(_coloured(_ratio(one, name)) for name in others),
            ]
            for one in comparison.results
        ],
    )


def _policies(
    results: Sequence[SessionResult], policies: Sequence[str]
) -> Iterator[RenderableType]:
    """What each policy costs, and what it did for that."""
    costs = {name: sum((one.sessions[name].cost for one in results), Cost()) for name in policies}
    baseline = costs[BASELINE].total
    highest = max(cost.total for cost in costs.values())
    money = {
        name: sum(one.sessions[name].cost.total * one.profile.input_price for one in results)
        for name in policies
    }
    rows: list[list[str | Text]] = [
        [
            name,
            count(cost.total),
            usd(money[name]),
            _coloured(cost.total / baseline if baseline else None),
            bar(part(cost.total, highest), 16),
            *(count(one) for one in (cost.read, cost.written, cost.fresh, cost.output)),
        ]
        for name, cost in costs.items()
    ]
    yield table(
        [
            ("policy", "left"),
            *((title, "right") for title in ("cost", "USD", "ratio")),
            ("", "bar"),
        ]
        + [(title, "right") for title in ("read", "written", "plain", "output")],
        [*rows, *_billed(results, baseline, highest)],
    )
    yield Text("")
    yield table(
        [
            ("policy", "left"),
            ("evictions", "right"),
            ("re-fetches", "right"),
            ("their cost", "right"),
            ("peak tokens", "right"),
            ("steps over budget", "right"),
            ("violations", "right"),
        ],
        [_effects(name, [one.sessions[name] for one in results]) for name in policies],
    )


def _billed(
    results: Sequence[SessionResult], baseline: float, highest: float
) -> Iterator[list[str | Text]]:
    """The row of what the provider billed, if it did; no ratio where that leaves requests out."""
    known = [found for one in results if (found := one.billed) is not None]
    cost = sum(known, Cost())
    if not known:
        return
    whole = not any(one.bill.unreported for one in results)
    yield [
        "billed",
        count(cost.total),
        usd(sum(one.bill.usd for one in results)),
        Text(f"{cost.total / baseline:.3f}" if whole and baseline else "-"),
        bar(part(cost.total, highest), 16),
        *(count(one) for one in (cost.read, cost.written, cost.fresh, cost.output)),
    ]


def _effects(policy: str, sessions: Sequence[SimulatedSession]) -> list[str]:
    return [
        policy,
        count(sum(one.evictions for one in sessions)),
        count(sum(one.refetches for one in sessions)),
        count(sum(one.cost.refetch for one in sessions)),
        count(max(one.peak_tokens for one in sessions)),
        str(sum(one.over_budget for one in sessions)),
        str(sum(one.violations.total() for one in sessions)),
    ]


def _ratio(one: SessionResult, policy: str) -> float | None:
    baseline = one.sessions[BASELINE].cost.total
    return one.sessions[policy].cost.total / baseline if baseline else None


def _coloured(ratio: float | None) -> Text:
    if ratio is None:
        return Text("-")
    style = "green" if ratio < 0.995 else "red" if ratio > 1.005 else ""
    return Text(f"{ratio:.3f}", style=style)


def _violations(comparison: Comparison) -> Iterator[RenderableType]:
    for one in comparison.results:
        for policy, session in one.sessions.items():
            for rule, times in session.violations.items():
                words = f"  {one.name} under {policy}: rule {rule} broken {times} times by edits"
                yield Text(plain(words), style="red")


def _shown(policies: Sequence[str]) -> Sequence[str]:
    """Whose evictions are listed: tenure's, else the last policy's."""
    if "tenure" in policies:
        return ["tenure"]
    return [name for name in policies if name != BASELINE][-1:]


@dataclass(frozen=True, slots=True)
class _Row:
    """One eviction, and what its re-fetches cost, in USD."""

    session: str
    step: StepRow
    eviction: Eviction
    again: int
    refetch: float
    unit: float

    @property
    def freed(self) -> int:
        return self.eviction.tokens_before - self.eviction.tokens_after


def _evictions(comparison: Comparison, policy: str, top: int | None) -> Iterator[RenderableType]:
    rows = [row for one in comparison.results for row in _rows(one, one.sessions[policy])]
    if not rows:
        yield heading(f"{policy} evicted nothing")
        return
    shown = rows if top is None else sorted(rows, key=lambda row: -row.freed)[:top]
    freed, again = sum(row.freed for row in rows), sum(row.again > 0 for row in rows)
    which = "in order" if top is None else f"the {len(shown)} largest"
    yield heading(
        f"What {policy} evicted",
        note=f"{which} of {len(rows)}; {count(freed)} tokens in all, {again} needed again; step: when; price and saving in USD",
    )
    several = len(comparison.results) > 1
    yield table(
        [
            *([("session", "left")] if several else []),
            ("thread", "left"),
            ("step", "right"),
            ("tool", "left"),
            ("about", "left"),
            ("why", "fold"),
            ("when", "left"),
            ("freed", "right"),
            ("price", "right"),
            ("saves/step", "right"),
            ("again", "right"),
        ],
        [_cells(row, many=several) for row in shown],
    )


def _rows(one: SessionResult, session: SimulatedSession) -> Iterator[_Row]:
    unit = one.profile.input_price
    refetched: dict[str, list[float]] = {}
    for step in session.rows:
        for refetch in step.refetches:
            refetched.setdefault(refetch.handle, []).append(refetch.cost * unit)
    for step in session.rows:
        for eviction in step.evictions:
            costs = refetched.get(eviction.handle, []) if eviction.handle else []
            yield _Row(one.name, step, eviction, len(costs), sum(costs), unit)


def _cells(row: _Row, *, many: bool) -> list[str | Text]:
    one = row.eviction
    return [
        *([tail(row.session, _NAME)] if many else []),
        start(row.step.thread, 10),
        step_number(row.step.number),
        start(one.tool or one.edit, 12),
        start(one.about, _ABOUT) if one.about.startswith("{") else tail(one.about, _ABOUT),
        start(one.words, _WORDS),
        one.when,
        count(row.freed),
        usd(one.price * row.unit),
        usd(one.saves * row.unit),
        f"{row.again}x, {usd(row.refetch)}" if row.again else "",
    ]
