"""Sentences about a comparison that the terminal and the web page both say.

Invariant: they state figures of the comparison; nothing is computed here.
"""

from __future__ import annotations

from tenure.replay.compare import Comparison


def recorded_words(comparison: Comparison) -> str:
    """What the provider billed; empty when no usage was recorded."""
    if not comparison.recorded_any:
        return ""
    spent, missing = comparison.recorded()
    which = "this session" if len(comparison.results) == 1 else "these sessions"
    lacking = f" ({missing} of the requests have no usage and are not in it)" if missing else ""
    return f"the provider billed ${spent:,.{4 if 0 < spent < 0.1 else 2}f} for {which} as recorded{lacking}"
