"""What the provider's reports say about our counting: a factor, and how well it is known.

Invariant: a factor comes from evidence weighed by its tokens, so a few tokens never move it far;
what a request holds beside our text (framing, a preamble of the provider's) is an addition to it and
no factor of it. Reports are taken in their order, so the same ones always say the same.

Between two reports of a view that only grew, everything hidden cancels out: what the prompt grew by,
over what we counted for it, is evidence of the factor alone. The first report has nothing to be
compared with: it says little where a hidden addition could explain it, and less with each later one.
"""

from __future__ import annotations

from typing import NamedTuple

# A ratio of a report to an estimate beyond this says nothing of our counting: below, the report is
# not of the whole request; above, the client or the provider adds text that we do not see.
SANE = 3.0
# The trust in our own counting, as tokens of evidence that the factor is 1.
_PRIOR = 4_000
# What a provider may add to a first request beside what we know of it: the preamble of its tools.
_HIDDEN = 4_000
# The evidence of a first report is halved at this size: what is hidden may be larger than that.
_HALVED = 20_000


class _Seen(NamedTuple):
    prompt: int
    estimate: int
    freed: int


class _Evidence(NamedTuple):
    """Tokens that were reported, and counted by us."""

    reported: float = 0
    counted: float = 0

    def plus(self, reported: float, counted: float) -> _Evidence:
        """With what else was seen, unless it says nothing of our counting."""
        if counted <= 0 or not counted / SANE < reported < counted * SANE:
            return self
        return _Evidence(self.reported + reported, self.counted + counted)


class Calibration:
    """Folds the reports of one session into a factor of our estimates."""

    def __init__(self) -> None:
        self._last: _Seen | None = None
        self._first = _Evidence()
        self._growth = _Evidence()

    def add(self, prompt: int, estimate: int, freed: int) -> None:
        """A reported prompt, our estimate of it (not 0), and what edits had freed of it by then."""
        if prompt * SANE <= estimate:
            return
        last, self._last = self._last, _Seen(prompt, estimate, freed)
        if last is None:
            told = min(prompt, max(estimate, prompt - _HIDDEN))
            weight = estimate / (estimate + _HALVED)
            self._first = _Evidence().plus(told * weight, estimate * weight)
        elif last.freed == freed:
            self._growth = self._growth.plus(prompt - last.prompt, estimate - last.estimate)

    @property
    def factor(self) -> float:
        """How many of the provider's tokens one of ours is, for text that no report has held yet."""
        first = 1 - self.certainty
        reported = _PRIOR + self._growth.reported + first * self._first.reported
        return reported / (_PRIOR + self._growth.counted + first * self._first.counted)

    @property
    def certainty(self) -> float:
        """From 0 to 1: how sure it is that what a report has beyond the factor is an addition,
        which edits do not free."""
        return self._growth.counted / (self._growth.counted + _PRIOR)
