"""What a forecast comes to: one verdict for each session, and one line for all of them.

Invariant: a verdict never contradicts the figures above it: an edit is advised only when it saves
something within the steps asked for, or when the window fills within them; and never for a view that
is too small to be managed, which is what the policy `tenure` does with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tenure.cli.forecast_plan import Forecast, share_needed
from tenure.cli.output import count, many, part, percent, usd

Advice = Literal["leave", "wait", "evict", "compact"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do, why, and what that saves in USD over the steps (negative: it costs)."""

    advice: Advice
    words: str
    saves_usd: float = 0.0


def verdict(one: Forecast) -> Verdict:
    """The verdict on one session."""
    inputs = one.inputs
    share = part(inputs.resident, inputs.task_budget or 0)
    filled = f"{percent(share)} of {_budget(one)} of {count(inputs.task_budget or 0)} is resident"
    needed = f"worth it from {share_needed():.0%} on"
    if not one.manage:
        room = "" if one.fills_after is None else _fills(one)
        return Verdict("leave", f"leave the view alone: only {filled} ({needed}){room}")
    unit, later = inputs.profile.input_price, max(0, inputs.steps - 1)
    nets = {"evict": one.evict.net(later) * unit, "compact": one.compact.net(later) * unit}
    told = f"evicting {_comes_to(nets['evict'])}" if inputs.freed else "there is nothing to evict"
    told = f"{told}, compacting {_comes_to(nets['compact'])}"
    within = f"in {many(inputs.steps, 'step')}"
    best = _best(nets, evictable=bool(inputs.freed))
    if nets[best] > 0:
        why = f"{told} {within}{_DOES[best]}; {filled} ({needed})"
    elif one.fills_after is not None:
        why = f"{_fills(one).removeprefix('; ')}; {told} {within}"
    else:
        return Verdict("wait", f"wait: nothing pays yet: {told} {within}; {filled} ({needed})")
    return Verdict(best, f"{best}: {why}{_assumed(one)}", nets[best])


_DOES = {
    "evict": ", and what is evicted can be fetched again",
    "compact": ", which loses what the summary leaves out",
}


def _best(nets: Mapping[str, float], *, evictable: bool) -> Literal["evict", "compact"]:
    """Evicting where it saves at all, since it loses nothing; else what saves more."""
    if evictable and (nets["evict"] > 0 or nets["evict"] >= nets["compact"]):
        return "evict"
    return "compact"


def summary(found: Sequence[Forecast]) -> dict[str, Any]:
    """All verdicts together, as JSON values. Costs are in USD and over the steps asked for."""
    verdicts = [verdict(one) for one in found]
    told = Counter(one.advice for one in verdicts)
    return {
        "sessions": len(found),
        "verdicts": {name: told[name] for name in ("evict", "compact", "wait", "leave")},
        "cached_usd": sum(
            one.carrying[-1].cached * one.inputs.profile.input_price for one in found
        ),
        "saves_usd": sum(one.saves_usd for one in verdicts),
    }


def summary_words(found: Sequence[Forecast]) -> str:
    """The same as a line for people."""
    whole = summary(found)
    kinds = {
        "evict": "to evict",
        "compact": "to compact",
        "wait": "to wait",
        "leave": "to leave alone",
    }
    told = ", ".join(
        f"{whole['verdicts'][name]} {words}"
        for name, words in kinds.items()
        if whole["verdicts"][name]
    )
    steps = many(found[0].inputs.steps, "step") if found else "0 steps"
    return (
        f"{many(whole['sessions'], 'session')}: {told}; the next {steps} of each cost "
        f"{usd(whole['cached_usd'])} in all if nothing is edited; what is advised saves "
        f"{usd(whole['saves_usd'])} of that"
    )


def _budget(one: Forecast) -> str:
    if "task_budget" not in one.assumed:
        return "the task budget given"
    smaller = one.inputs.task_budget == one.inputs.profile.context_window
    return "the window" if smaller else "the policy's task budget"


def _fills(one: Forecast) -> str:
    return f"; after {many(one.fills_after or 0, 'step')} no room is left beside the longest reply"


def _comes_to(net: float) -> str:
    return f"saves {usd(net)}" if net > 0 else f"loses {usd(-net)}"


def _assumed(one: Forecast) -> str:
    """Which of the amounts are no facts of the session."""
    guessed = [f"--{name.replace('_', '-')}" for name in one.assumed if name != "task_budget"]
    return f"; with {', '.join(guessed)} assumed" if guessed else ""
