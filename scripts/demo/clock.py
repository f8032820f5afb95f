"""The time of the recording, which passes only when it is told to.

Invariant: never goes backwards; the same moves give the same times.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 11, 24, 9, 12, 4, 118_000, tzinfo=UTC)


class Clock:
    """Seconds since 1970, and the same as Claude Code writes it."""

    def __init__(self) -> None:
        self._now = START

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self._now.timestamp()

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(milliseconds=max(1, round(seconds * 1_000)))

    @property
    def stamp(self) -> str:
        """ISO 8601 with milliseconds and Z."""
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
