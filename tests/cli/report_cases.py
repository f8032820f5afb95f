"""Comparisons made by hand, row by row, for the tests of the HTML report.

Invariant: figures are small round numbers, so that a test can state what the page must show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tenure.core.usage import Usage
from tenure.cost.models import profile
from tenure.replay.compare import Comparison, SessionResult
from tenure.replay.outcome import Cost, Eviction, Refetch, SimulatedSession, StepRow
from tenure.replay.recording import Settings

MODEL = "claude-opus-4-5"

HOSTILE = (
    "</script><script>window.ran = 1</script>\n<!-- <script> -->\n"
    '<img src="x" onerror="window.ran = 2"><svg onload="window.ran = 3"></svg>\n'
    "'\"&lt;&amp; ${window.ran = 4} ]]> \u2028\u2029 \x00\x07\x1b[31m \ud800 \udfff \ufeff \ufffe "
    "\u202eright to left\u202c \U0001f600 e\u0301"
)


def eviction(number: int, **changes: object) -> Eviction:
    """The eviction number so-and-so: freed tokens, price and words follow from the number."""
    values: dict[str, object] = {
        "edit": "replace",
        "handle": f"t-{number:08x}",
        "targets": (f"result:toolu_{number}",),
        "tool": ("Read", "Grep", "Bash")[number % 3],
        "original": f"original {number}",
        "policy": "stale_results",
        "words": f"no message of {number + 2} steps refers to it",
        "when": ("pays", "forced", "cold", "arrival")[number % 4],
        "tokens_before": 1000 + number,
        "tokens_after": 100,
        "price": 500.0,
        "saves": 90.0,
        "stand_in": f"[tenure t-{number:08x}: left out]",
    }
    return Eviction(**{**values, **changes})  # type: ignore[arg-type]


def refetch(number: int, cost: float = 2_000.0, **changes: object) -> Refetch:
    """The re-fetch of the eviction of that number."""
    values: dict[str, object] = {
        "result": f"result:toolu_{number}",
        "tool": "Read",
        "tokens": 1000 + number,
        "missing": (f"config_{number}.toml",),
        "repeat": False,
        "cost": cost,
        "handle": f"t-{number:08x}",
    }
    return Refetch(**{**values, **changes})  # type: ignore[arg-type]


def row(number: int, resident: int, **changes: object) -> StepRow:
    """A step 10 s after the one before, which cost 1,000 in reads, 250 in writes, 500 in output."""
    values: dict[str, object] = {
        "thread": "main",
        "number": number,
        "at": 1_000.0 + 10 * number,
        "resident": resident,
        "usage": Usage(cache_read=10_000, cache_write=200, output=100),
        "cost": Cost(1_000.0, 250.0, 0.0, 500.0),
    }
    return StepRow(**{**values, **changes})  # type: ignore[arg-type]


def result(
    rows: Mapping[str, Sequence[StepRow]], name: str = "a run", model: str = MODEL
) -> SessionResult:
    """A session with these rows under each policy."""
    found = profile(MODEL)
    sessions = {
        policy: SimulatedSession(name, policy, model, found.context_window, 1.0, tuple(some))
        for policy, some in rows.items()
    }
    steps = max(map(len, rows.values()))
    return SessionResult(name, "run.jsonl", "claude-code", model, steps, sessions, found)


def comparison(*results: SessionResult) -> Comparison:
    """These sessions, replayed without any setting."""
    return Comparison(Settings(), results)


def usual(steps: int = 40, evictions: int = 60) -> SessionResult:
    """Append-only, and tenure with evictions at step 21 and re-fetches of two of them at step 31."""
    plain = [row(n, 20_000 + 4_000 * n) for n in range(steps)]
    managed = [row(n, 20_000 + 2_000 * n) for n in range(steps)]
    managed[20] = row(20, 30_000, evictions=tuple(eviction(n) for n in range(evictions)))
    if steps > 30:
        spent = Cost(5_000.0, 1_500.0, 0.0, 1_000.0, refetch=4_000.0)
        managed[30] = row(30, 44_000, cost=spent, refetches=(refetch(0), refetch(7)))
    return result({"append-only": plain, "tenure": managed})


def hostile() -> SessionResult:
    """Every string that a transcript can reach is hostile."""
    bad = eviction(
        0, tool=HOSTILE, original=HOSTILE, words=HOSTILE, stand_in=HOSTILE, handle="t-1", policy="x"
    )
    again = refetch(0, tool=HOSTILE, missing=(HOSTILE,), handle="t-1")
    rows = [
        row(0, 10_000, thread=HOSTILE),
        row(1, 9_000, thread=HOSTILE, evictions=(bad,)),
        row(2, 9_500, refetches=(again,), violations=(HOSTILE,)),
    ]
    return result({"append-only": rows[:1] * 3, "tenure": rows}, HOSTILE, HOSTILE)
