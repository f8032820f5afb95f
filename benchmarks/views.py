"""Every view of every recorded session, at every step, under every policy, in small windows; and the
laws of wire, plan, policy and meter over every recorded thread (`benchmarks/laws.py`).

Invariant: figures to reach are 0: rules broken that the unedited request keeps, user texts lost,
edits that did not stay, views over the limit that no BudgetError was raised for, and laws broken.
Claude Code, Codex and tau-bench.

    python -m benchmarks.views
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path

from benchmarks.laws import laws_over
from tenure.policies import names
from tenure.replay.compare import recording_of, replay
from tenure.replay.recording import Settings
from tenure.traces.reading import read
from tests.replay.views import ViewLaws
from tests.shared import absent, find_shared

FOLDERS = ("claude-code", "codex", "tau-bench")
WINDOWS = (64_000, 100_000, 200_000)
PROCESSES = 2


def run() -> dict[str, object]:
    """The counts per window, printed on the way; `skipped` when the recordings are absent."""
    root = find_shared("data", "agent-sessions-dev")
    if root is None:
        print(absent("data", "agent-sessions-dev"))
        return {"skipped": absent("data", "agent-sessions-dev")}
    files = [path for folder in FOLDERS for path in sorted((root / folder).glob("*.gz"))]
    found: dict[str, object] = {}
    print(
        f"{'window':>8} {'policy':18}{'views':>8}{'edited':>8}{'user texts':>12}{'shortened':>11}"
        f"{'lost':>6}{'unstable':>10}{'broken':>8}{'BudgetError':>13}{'too large':>11}"
    )
    with ProcessPoolExecutor(PROCESSES) as pool:
        for window in WINDOWS:
            totals = {name: ViewLaws() for name in names()}
            for laws in pool.map(partial(check_file, window=window), files):
                for name, one in laws.items():
                    totals[name].add(one)
            for name, one in totals.items():
                print(_line(window, name, one), flush=True)
            found[str(window)] = {name: one.figures() for name, one in totals.items()}
        found["laws"] = laws_over(files, pool)
    return found


def check_file(path: Path, window: int) -> dict[str, ViewLaws]:
    """The laws over all sessions of a file, by policy."""
    found = {name: ViewLaws() for name in names()}
    for trace in read(path):
        recording = recording_of(trace, Settings(window=window))
        for name, total in found.items():
            # Each session has a "main" of its own, whose edits are no other's.
            laws = ViewLaws()
            replay(recording, name, watch=laws.look)
            total.add(laws)
    return found


def _line(window: int, name: str, laws: ViewLaws) -> str:
    return (
        f"{window:>8} {name:18}{laws.views:>8}{laws.edited:>8}{laws.user_texts:>12}"
        f"{laws.shortened:>11}{len(laws.lost):>6}{len(laws.unstable):>10}{laws.broken.total():>8}{laws.refused:>13}"
        f"{laws.too_large:>11}" + "".join(_details(laws))
    )


def _details(laws: ViewLaws) -> Iterator[str]:
    if laws.too_large:
        yield f"  by up to {laws.overshoot} tokens"
    for rule, count in laws.broken.most_common(3):
        yield f"  {rule} x{count}"
    for name, _ in zip(laws.lost, repeat(None, 2), strict=False):
        yield f"  lost: {name}"
    for name, _ in zip(laws.unstable, repeat(None, 2), strict=False):
        yield f"  unstable: {name}"


if __name__ == "__main__":
    run()
