"""Sentences about a comparison that the terminal and the web page both say.

Invariant: they state figures of the comparison; nothing is computed here.
"""

from __future__ import annotations

from tenure.replay.compare import Comparison, SessionResult

_HOUR = 3600
_NAMED = 3


def recorded_words(comparison: Comparison) -> str:
    """What the provider billed; empty when no usage was recorded."""
    if not comparison.recorded_any:
        return ""
    spent, missing = comparison.recorded()
    which = "this session" if len(comparison.results) == 1 else "these sessions"
    lacking = f" ({missing} of the requests have no usage and are not in it)" if missing else ""
    return f"the provider billed ${spent:,.{4 if 0 < spent < 0.1 else 2}f} for {which} as recorded{lacking}"


def lifetime_words(comparison: Comparison) -> str:
    """Which lifetime of the prompt cache is priced, and how many sessions wrote another one."""
    priced = dict.fromkeys(_lifetime(one) for one in comparison.results)
    words = f"the prompt cache is priced as kept for {' or '.join(priced)}"
    if comparison.settings.ttl == "recorded":
        return f"{words}, as each was recorded"
    long = sum(one.wrote_long for one in comparison.results)
    if not long or comparison.settings.ttl == "1h":
        return words
    which = "this session" if len(comparison.results) == 1 else f"{long} of these sessions"
    return f"{words}; {which} wrote the cache that is kept for an hour: --ttl recorded prices that"


def beginning_words(comparison: Comparison) -> str:
    """The threads whose first request is not in the file; empty when there are none."""
    lost = [f"{one.name} {thread}" for one in comparison.results for thread in one.beginning_lost]
    if not lost:
        return ""
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return (
        f"the file lacks the beginning of {', '.join(lost[:_NAMED])}{more}: what was sent there is "
        "counted by the usage reported, and no policy can edit it"
    )


def _lifetime(one: SessionResult) -> str:
    seconds, write = one.profile.cache_ttl, one.profile.write
    time = f"{seconds / 3600:g} h" if seconds >= _HOUR else f"{seconds / 60:g} min"
    return f"{time} (write {write:g})"
