"""What an inspection says first, and what it says of the file as a whole.

Invariant: the bill is what was reported; what it is known to leave out is said beside it, once.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from tenure.cli.output import count, model_name, plain, usd
from tenure.cli.output import many as counted
from tenure.replay.inspection import Inspection

_LOST_SHOWN = 3


def head(one: Inspection) -> Iterator[RenderableType]:
    """The session, its bill, and what that leaves out."""
    title = Text("\n").append(plain(one.name), style="bold")
    facts = [", ".join(one.formats), ", ".join(map(model_name, one.models))]
    facts.append(f"{counted(one.steps, 'step')} in {counted(len(one.threads), 'thread')}")
    if one.compactions:
        facts.append(counted(one.compactions, "compaction"))
    facts.append(f"largest prompt {count(one.peak)} of {count(one.window)}")
    yield title.append(plain("  " + " · ".join(facts)))
    bill, usage = one.bill, one.bill.usage
    for name in one.models:
        if model_name(name) != name:
            yield Text(
                plain(f"priced and counted as {name}; --model names another"), style="yellow"
            )
    if bill.requests == bill.unreported:
        yield Text("no usage was recorded: no bill, and sizes are estimates", style="dim")
        return
    yield Text(
        f"{usd(bill.usd)}: prompts {usd(bill.prompt_usd)} for {count(usage.prompt)} tokens "
        f"({count(usage.cache_read)} read from the cache, {count(usage.cache_write)} written, "
        f"{count(usage.fresh)} plain), output {usd(bill.output_usd)} for {count(usage.output)}"
    )
    if bill.unreported:
        yield Text(f"{bill.unreported} requests have no usage and are not in the bill")
    if bill.partial:
        yield Text(
            f"{bill.partial} of {counted(bill.requests, 'request')} report less than half of the output "
            "that their replies hold: the file has the figure of a reply that had just begun; by "
            f"estimate {count(bill.held_back)} tokens, {usd(bill.held_back_usd)}, are missing above",
            style="yellow",
        )


def lost_beginnings(one: Inspection) -> Iterator[RenderableType]:
    """The threads of which the file lacks what their first request sent."""
    lost = [row for row in one.threads if row.beginning_lost]
    if lost:
        names = ", ".join(f"{row.session} {row.name}" for row in lost[:_LOST_SHOWN])
        more = f" and {len(lost) - _LOST_SHOWN} more" if len(lost) > _LOST_SHOWN else ""
        yield Text(
            plain(
                f"\nthe file lacks the beginning of {names}{more}: the requests count as reported, "
                "what they sent from there is among the hidden overhead"
            ),
            style="yellow",
        )
