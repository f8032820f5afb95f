"""A forecast on the terminal: the numbers, and each formula in words.

Invariant: nothing is computed here but products with the price of a token.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from rich.console import RenderableType
from rich.text import Text

from tenure.cli.forecast_plan import Forecast
from tenure.cli.forecast_verdict import verdict
from tenure.cli.output import bar, count, heading, part, percent, plain, table, usd
from tenure.cost.forecast import EditPrice


def view(one: Forecast) -> Iterator[RenderableType]:
    """All of a forecast."""
    yield from _head(one)
    yield from _carrying(one)
    yield from _evict(one)
    yield from _compact(one)
    yield from _verdict(one)


def _head(one: Forecast) -> Iterator[RenderableType]:
    inputs, model = one.inputs, one.inputs.profile
    title = Text("\n").append(plain(inputs.name), style="bold")
    yield title.append(
        plain(
            f"  {model.name} · {usd(model.input_price * 1e6)} per million input tokens · "
            f"read {model.read:g}, write {model.write:g}, output {model.output:g} times that"
        )
    )
    yield Text(
        f"{count(inputs.resident)} tokens resident; a step adds {count(inputs.growth.added)}, "
        f"{count(inputs.growth.output)} of them output; the prompt cache is "
        f"{'cold' if inputs.cold else 'warm'}"
    )
    if inputs.beginning_lost:
        yield Text(
            "the file lacks the beginning of the conversation: its length is as reported, what stands "
            "there is not known",
            style="yellow",
        )
    if one.fills_after is not None:
        yield Text(
            f"after {one.fills_after} steps no room is left beside the longest reply: window "
            f"{count(model.context_window)}, reply {count(model.max_output)}",
            style="yellow",
        )
    if one.assumed:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in one.assumed)
        yield Text(f"assumed, for want of {names}", style="dim")


def _carrying(one: Forecast) -> Iterator[RenderableType]:
    unit = one.inputs.profile.input_price
    highest = max(max(row.uncached, row.cached) for row in one.carrying)
    yield heading("What the next steps cost if nothing is edited")
    yield table(
        [
            ("steps", "right"),
            ("with cache", "right"),
            ("", "bar"),
            ("without", "right"),
            ("", "bar"),
            ("cache saves", "right"),
        ],
        [
            [
                str(row.steps),
                usd(row.cached * unit),
                bar(part(row.cached, highest), 16),
                usd(row.uncached * unit),
                bar(part(row.uncached, highest), 16),
                percent(1 - row.cached / row.uncached if row.uncached else None),
            ]
            for row in one.carrying
        ],
    )
    yield _words(
        "each step reads what was resident at the read price, writes what was added at the write "
        "price and pays its output; without a cache it sends everything at full price"
    )


def _evict(one: Forecast) -> Iterator[RenderableType]:
    inputs = one.inputs
    offset, freed = inputs.offset or 0, inputs.freed or 0
    if not freed and inputs.by_policy is not None:
        yield heading("Evicting")
        yield Text("  nothing to evict: no result is stale, repeated or superseded yet")
        return
    yield heading(f"Evicting {count(freed)} tokens, the first at {count(offset)}")
    yield from _price(one, one.evict)
    if inputs.by_policy is not None:
        yield _words(
            f"{count(inputs.by_policy)} of them the policy tenure would have evicted by now and not "
            "fetched again; the rest are older copies and superseded versions"
        )
    after = count(inputs.resident - offset - freed)
    written = f"the {after} tokens behind the edit are written again instead of read"
    if inputs.cold:
        written = "the cache is cold, so everything is written whether edited or not"
    yield _words(
        f"at once: {written}, the {count(freed)} are not sent; later: each step reads "
        f"{count(freed)} tokens less"
    )


def _compact(one: Forecast) -> Iterator[RenderableType]:
    inputs = one.inputs
    head, tail, summary = inputs.head or 0, inputs.tail or 0, inputs.summary or 0
    middle = count(inputs.resident - head - tail)
    yield heading(f"Compacting {middle} tokens into a summary of {count(summary)}")
    yield from _price(one, one.compact)
    takes = "sends, as plain input," if inputs.cold else "reads"
    yield _words(
        f"at once: the summarising call {takes} {count(inputs.resident)} tokens and writes "
        f"{count(summary)} at output price, then summary and the last {count(tail)} tokens are "
        f"written to the cache behind the first {count(head)}; later: each step reads the "
        "difference less"
    )


def _price(one: Forecast, price: EditPrice) -> Iterator[RenderableType]:
    unit = one.inputs.profile.input_price
    later = max(0, one.inputs.steps - 1)
    if price.once <= 0:
        yield Text(f"  gains {usd(-price.once * unit)} at once", style="green")
    else:
        yield Text(f"  costs {usd(price.once * unit)} once")
    pays = "never" if isinf(price.break_even) else f"after {count(price.break_even)} steps"
    pays = "at once" if price.break_even == 0 else pays
    net = price.net(later) * unit
    text = Text(f"  saves {usd(price.per_step * unit)} per later step; pays {pays}; in ")
    text.append(f"{one.inputs.steps} steps ")
    words = f"{'saves' if net >= 0 else 'loses'} {usd(abs(net))}"
    yield text.append(words, style="green" if net >= 0 else "red")


def _verdict(one: Forecast) -> Iterator[RenderableType]:
    found = verdict(one)
    yield heading("Verdict")
    style = {"evict": "green", "compact": "green"}.get(found.advice, "yellow")
    yield Text(f"  {found.words}", style=style)


def _words(text: str) -> Text:
    return Text(f"  {text}", style="dim", overflow="fold")
