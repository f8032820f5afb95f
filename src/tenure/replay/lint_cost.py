"""What a changed prefix costs: the tokens behind the change are written again instead of read.

Invariant: tokens of the request before that come after the first difference, and are still in the
later one, cost w - r each, in the prices of the later request's model.

A lower bound for providers that cache by marks: they read back to the last mark in front of the
change, not to its first byte. The lifetime of the cache is taken to be not over yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tenure.core.message import Message
from tenure.core.protocols import Counter, SessionWire
from tenure.cost.models import ModelProfile
from tenure.replay.sizes import Sizes
from tenure.wire.prefix_diff import Cause, Difference
from tenure.wire.prefix_parts import Part
from tenure.wire.values import is_object


class Rewrite(NamedTuple):
    """Tokens written again, and their price above that of reading them."""

    tokens: int
    cost: float = 0.0
    usd: float = 0.0


@dataclass(slots=True)
class PartSizes:
    """Tokens of prompt parts, counted once per text."""

    counter: Counter
    wire: SessionWire
    _known: dict[str, int] = field(default_factory=dict)
    _sizes: Sizes = field(init=False)

    def __post_init__(self) -> None:
        self._sizes = Sizes(self.counter, self.wire)

    def of(self, part: Part) -> int:
        """Estimated tokens of one part."""
        known = self._known.get(part.text)
        if known is None:
            known = self._known[part.text] = self._count(part)
        return known

    def upper(self, part: Part) -> int:
        """A bound on the tokens of a part, whatever they are."""
        return max(self.of(part), self.counter.count_text(part.text).upper)

    def _count(self, part: Part) -> int:
        if part.place != "messages" or not is_object(part.value):
            return self.counter.count_text(part.text).estimate
        message = Message(part.value, origin=self.wire.origin(part.value))
        return self._sizes.message(message)


def rewrite(
    difference: Difference,
    earlier: Sequence[int],
    later: int,
    profile: ModelProfile,
    *,
    long: bool,
) -> Rewrite:
    """What a difference costs. `earlier` are the sizes of the earlier request's parts, `later` is
    that of the whole later one, in tokens; `long` says that its marks ask for the long lifetime."""
    if difference.harmless:
        return Rewrite(0)
    whole = sum(earlier)
    kept = 0.0 if difference.cause in {Cause.MODEL, Cause.FORMAT} else _before(difference, earlier)
    tokens = max(0, round(min(whole, later) - kept))
    if whole < profile.cache_minimum or not profile.caches:
        return Rewrite(tokens)
    write = profile.write_long if long and profile.write_long is not None else profile.write
    cost = tokens * max(0.0, write - profile.read)
    return Rewrite(tokens, cost, cost * profile.input_price)


def _before(difference: Difference, earlier: Sequence[int]) -> float:
    """Tokens of the earlier prompt in front of the difference."""
    at = difference.part
    inside = earlier[at] * difference.share if at < len(earlier) else 0.0
    return sum(earlier[:at]) + inside
