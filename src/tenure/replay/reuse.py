"""How a thread used what it had read: which results, how far back in the window, how old.

Invariant: a use is what `replay.dependencies` defines, so these figures and the re-fetches of a
replay speak of the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tenure.replay.holdings import Held, Holdings

NEVER, AT_ONCE, LATER = "never", "at once only", "later"
FATES = (LATER, AT_ONCE, NEVER)
"""What became of a result: used again after the reply that first read it, by that reply alone, or
by none."""


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a tool result.

    `position` is where the middle of the result lay in the window, 0 the beginning and 1 the end of
    the prompt; `age` is the steps since the request that first carried it (0: used at once);
    `tokens` the size of the result.
    """

    position: float
    age: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reuse:
    """The uses of one thread, and for each used result the steps that used it."""

    uses: tuple[Use, ...]
    steps: dict[str, tuple[int, ...]]

    def fate(self, held: Held) -> str:
        """One of `FATES`."""
        steps = self.steps.get(held.block.key)
        if not steps:
            return NEVER
        return LATER if steps[-1] > held.since else AT_ONCE


def reuse_of(holdings: Holdings) -> Reuse:
    """Who used what, in order."""
    held = {one.block.key: one for one in holdings.results()}
    uses: list[Use] = []
    steps: dict[str, list[int]] = {}
    for step, key in _used(holdings):
        result = held[key]
        steps.setdefault(key, []).append(step)
        prompt = holdings.prompts[step]
        middle = (result.start + result.tokens / 2) / prompt if prompt else 0.0
        uses.append(Use(min(1.0, middle), max(0, step - result.since), result.tokens))
    return Reuse(tuple(uses), {key: tuple(found) for key, found in steps.items()})


def _used(holdings: Holdings) -> Iterator[tuple[int, str]]:
    for step, reply in enumerate(holdings.thread.replies):
        for use in holdings.thread.dependencies.at(reply.first, reply.last):
            yield step, use.result
