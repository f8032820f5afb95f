"""Uses of tool results, sorted into bins.

Invariant: every use is in one bin of the ages; the positions leave out those at once, since what
has just arrived lies at the end by nature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenure.replay.reuse import Use

BINS = 10
_AGES = (0, 1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class Bin:
    """How many uses lie between two values, and the tokens of the results they used."""

    label: str
    uses: int
    tokens: int


def positions(uses: Sequence[Use]) -> list[Bin]:
    """By where in the window the result lay, 0 its beginning and 1 its end; ten equal bins."""
    sorted_in: list[list[Use]] = [[] for _ in range(BINS)]
    for use in uses:
        if use.age:
            sorted_in[min(BINS - 1, int(use.position * BINS))].append(use)
    return [
        _bin(f"{n / BINS:.1f} to {(n + 1) / BINS:.1f}", some) for n, some in enumerate(sorted_in)
    ]


def ages(uses: Sequence[Use]) -> list[Bin]:
    """By the steps since the request that first carried the result; bins that double."""
    found = []
    for low, high in zip(_AGES, (*_AGES[1:], None), strict=True):
        some = [use for use in uses if use.age >= low and (high is None or use.age < high)]
        if low == 0:
            label = "at once"
        elif high is None:
            label = f"{low} steps or more"
        elif high == low + 1:
            label = "1 step"
        else:
            label = f"{low} to {high - 1} steps"
        found.append(_bin(label, some))
    return found


def _bin(label: str, uses: Sequence[Use]) -> Bin:
    return Bin(label, len(uses), sum(use.tokens for use in uses))
