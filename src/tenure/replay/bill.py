"""What the provider reported of a recorded session, and what that costs.

Invariant: nothing is simulated here: tokens are the recorded ones, at the price of the model that the
recording names (or of the one that the settings name for all).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.cost.price import price_usd
from tenure.replay.recording import RecordedThread, Recording


@dataclass(frozen=True, slots=True)
class Bill:
    """What was reported: requests with and without usage, their tokens, the price in USD."""

    requests: int = 0
    unreported: int = 0
    usage: Usage = field(default_factory=Usage)
    prompt_usd: float = 0.0
    output_usd: float = 0.0

    @property
    def usd(self) -> float:
        """Input and output."""
        return self.prompt_usd + self.output_usd

    def __add__(self, other: Bill) -> Bill:
        return Bill(
            self.requests + other.requests,
            self.unreported + other.unreported,
            self.usage + other.usage,
            self.prompt_usd + other.prompt_usd,
            self.output_usd + other.output_usd,
        )


def bill_of(recording: Recording, thread: RecordedThread) -> Bill:
    """A thread's bill, each step at the price of its own model."""
    bill = Bill()
    for step in thread.thread.steps:
        if step.usage is None:
            bill += Bill(1, 1)
            continue
        model = _priced_as(recording, step.model)
        prompt = price_usd(replace(step.usage, output=0), model)
        # Beyond a cliff output is dearer too, by the length of the prompt: hence the difference.
        bill += Bill(1, 0, step.usage, prompt, price_usd(step.usage, model) - prompt)
    return bill


def _priced_as(recording: Recording, model: str) -> ModelProfile:
    """The model of one step, unless the settings name one for all."""
    if recording.settings.model or not model:
        return recording.profile
    return profile(model)
