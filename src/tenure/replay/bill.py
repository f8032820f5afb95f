"""What the provider reported of a recorded session, and what that costs.

Invariant: nothing is simulated here: tokens are the recorded ones, at the price of the model that the
recording names (or of the one that the settings name for all).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.replay.outcome import Cost, cost_of
from tenure.replay.recording import RecordedThread, Recording

_FEWEST_HELD = 20
"""A reply estimated at fewer tokens may have been reported in full with half of them."""


@dataclass(frozen=True, slots=True)
class Bill:
    """What was reported: requests with and without usage, their tokens, and what they cost in USD.

    `partial` counts the requests whose output was reported at less than half of what the reply
    holds, by estimate: versions of Claude Code up to 2.1.38 at least keep the figure of a reply
    that has just begun. `held_back` is the output that those leave out, in tokens and in USD; it is
    in no other figure.
    """

    requests: int = 0
    unreported: int = 0
    usage: Usage = field(default_factory=Usage)
    spent: Cost = field(default_factory=Cost)
    partial: int = 0
    held_back: int = 0
    held_back_usd: float = 0.0

    @property
    def usd(self) -> float:
        """Input and output."""
        return self.spent.total

    @property
    def prompt_usd(self) -> float:
        """Input alone."""
        return self.spent.prompt

    @property
    def output_usd(self) -> float:
        """Output alone, as it was reported."""
        return self.spent.output

    def __add__(self, other: Bill) -> Bill:
        names = [one.name for one in fields(Bill)]
        return Bill(**{name: getattr(self, name) + getattr(other, name) for name in names})


def bill_of(recording: Recording, thread: RecordedThread) -> Bill:
    """A thread's bill, each step at the price of its own model."""
    bill = Bill()
    for step in thread.thread.steps:
        usage = step.usage
        if usage is None:
            bill += Bill(1, 1)
            continue
        model = _priced_as(recording, step.model)
        held = sum(map(thread.sizes.message, step.reply))
        partial = held >= _FEWEST_HELD and 2 * usage.output < held
        whole = replace(usage, output=held if partial else usage.output)
        spent = cost_of(usage, model).times(model.input_price)
        missing = cost_of(whole, model).times(model.input_price).output - spent.output
        bill += Bill(1, 0, usage, spent, int(partial), whole.output - usage.output, missing)
    return bill


def _priced_as(recording: Recording, model: str) -> ModelProfile:
    """The model of one step, unless the settings name one for all; at its own prices for either
    lifetime, whichever is simulated."""
    if recording.settings.model or not model:
        return replace(recording.settings, ttl="5m").profile_of(recording.trace)
    return profile(model)
