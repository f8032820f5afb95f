"""The inputs of a forecast, what is assumed where nothing is said, and its numbers.

Invariant: an assumption is a default of this file and is listed in `Forecast.assumed`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tenure.cost.forecast import (
    NOT_WORTH_IT,
    EditPrice,
    Growth,
    carrying_cost,
    compaction_price,
    edit_price,
    steps_below,
    worth_managing,
)
from tenure.cost.models import ModelProfile
from tenure.errors import ConfigError
from tenure.policies.schedule import Settings as PolicySettings
from tenure.replay.outlook import Outlook

SUMMARY = 2_000
"""Tokens of a summary when nothing is said."""

HEAD, TAIL, OFFSET, FREED = 0.1, 0.2, 0.5, 0.2
"""Shares of the resident tokens when nothing is said: kept by a compaction at both ends; in front of
an edit, and freed by it."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a forecast starts from; None means that it is to be assumed. All in tokens.

    `by_policy` is the part of `freed` that the default policy would have evicted by now, None when
    `freed` is not read off a session; `beginning_lost` says that its file lacks the beginning.
    """

    name: str
    profile: ModelProfile
    resident: float
    growth: Growth
    steps: int = 50
    cold: bool = False
    offset: float | None = None
    freed: float | None = None
    head: float | None = None
    tail: float | None = None
    summary: float | None = None
    task_budget: float | None = None
    by_policy: float | None = None
    beginning_lost: bool = False

    def with_(self, **changes: Any) -> Inputs:
        """These inputs with some replaced."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Carrying:
    """C(k) after `steps` steps, with the cache and without, in input tokens."""

    steps: int
    cached: float
    uncached: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """The numbers. `inputs` has no None left; `assumed` names what was assumed. `fills_after` is
    the steps whose prompt still fits the window, None when all of those asked for do."""

    inputs: Inputs
    assumed: tuple[str, ...]
    carrying: tuple[Carrying, ...]
    evict: EditPrice
    compact: EditPrice
    manage: bool
    fills_after: int | None

    def as_json(self) -> dict[str, Any]:
        """The same for programs: costs in input tokens, and in USD where the name says so."""
        one = self.inputs
        unit = one.profile.input_price
        return {
            "name": one.name,
            "model": one.profile.name,
            "read": one.profile.read,
            "write": one.profile.write,
            "resident": one.resident,
            "growth": one.growth.added,
            "output": one.growth.output,
            "cold": one.cold,
            "beginning_lost": one.beginning_lost,
            "assumed": list(self.assumed),
            "carrying": [
                {
                    "steps": row.steps,
                    "cached": row.cached,
                    "uncached": row.uncached,
                    "cached_usd": row.cached * unit,
                    "uncached_usd": row.uncached * unit,
                }
                for row in self.carrying
            ],
            "evict": {
                "offset": one.offset,
                "freed": one.freed,
                "by_policy": one.by_policy,
                **_price(self.evict, one),
            },
            "compact": {
                "head": one.head,
                "tail": one.tail,
                "summary": one.summary,
                **_price(self.compact, one),
            },
            "task_budget": one.task_budget,
            "worth_managing": self.manage,
            "fills_window_after": self.fills_after,
        }


def of_outlook(one: Outlook) -> Inputs:
    """What a recorded session gives; estimates may add up to more than was reported."""
    resident = one.resident
    # Where there is nothing to evict that is a fact too, and nothing is assumed in its place.
    offset = resident if one.offset is None else min(one.offset, resident)
    freed = min(one.freed, resident - offset)
    head = min(one.head, resident) or None
    return Inputs(
        one.name,
        one.profile,
        resident,
        one.growth,
        offset=offset,
        freed=freed,
        head=head,
        by_policy=min(one.by_policy, freed),
        beginning_lost=one.beginning_lost,
    )


def forecast_of(inputs: Inputs) -> Forecast:
    """The numbers; ConfigError for inputs that contradict each other."""
    whole, assumed = _complete(inputs)
    model, resident = whole.profile, whole.resident
    room = model.context_window - model.max_output
    fits = steps_below(room, resident, whole.growth, whole.steps)
    offset, freed, head = whole.offset or 0, whole.freed or 0, whole.head or 0
    try:
        return Forecast(
            whole,
            assumed,
            tuple(_carrying(whole, steps) for steps in _milestones(whole.steps)),
            edit_price(model, resident, offset, freed, cold=whole.cold),
            compaction_price(
                model,
                resident,
                head=head,
                tail=whole.tail or 0,
                summary=whole.summary or 0,
                cold=whole.cold,
            ),
            worth_managing(resident, whole.task_budget or 0),
            fits if fits < whole.steps else None,
        )
    except ValueError as error:
        raise ConfigError(f"these amounts do not fit together: {error}") from error


def share_needed() -> float:
    """The share of the task budget from which on managing the view is worth it."""
    return NOT_WORTH_IT


def _complete(inputs: Inputs) -> tuple[Inputs, tuple[str, ...]]:
    """The inputs with assumptions in the place of None, and their names."""
    resident = inputs.resident
    offset = OFFSET * resident if inputs.offset is None else inputs.offset
    head = HEAD * resident if inputs.head is None else inputs.head
    guesses = {
        "offset": offset,
        "freed": min(FREED * resident, max(0.0, resident - offset)),
        "head": head,
        "tail": min(TAIL * resident, max(0.0, resident - head)),
        "summary": SUMMARY,
        "task_budget": min(PolicySettings().task_budget, inputs.profile.context_window),
    }
    missing = {name: value for name, value in guesses.items() if getattr(inputs, name) is None}
    return inputs.with_(**missing), tuple(missing)


def _carrying(inputs: Inputs, steps: int) -> Carrying:
    model, resident, growth = inputs.profile, inputs.resident, inputs.growth
    return Carrying(
        steps,
        carrying_cost(model, resident, steps, growth, cold=inputs.cold),
        carrying_cost(model, resident, steps, growth, cached=False),
    )


def _milestones(steps: int) -> list[int]:
    """1, a few round numbers on the way, and the last."""
    round_ones = [one for one in (1, 5, 10, 20, 50, 100, 200, 500, 1000) if one < steps]
    return [*round_ones[-5:], steps] if round_ones[:1] == [1] else [steps]


def _price(price: EditPrice, inputs: Inputs) -> dict[str, float]:
    later = max(0, inputs.steps - 1)
    unit = inputs.profile.input_price
    return {
        "once": price.once,
        "per_step": price.per_step,
        "break_even_steps": price.break_even,
        "net": price.net(later),
        "once_usd": price.once * unit,
        "per_step_usd": price.per_step * unit,
        "net_usd": price.net(later) * unit,
    }
