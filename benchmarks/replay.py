"""What the policies cost on the recorded Claude Code sessions of 20 or more steps.

Invariant: same recordings, sizes and cache for all; a re-fetch whenever a recorded reply used what
was evicted. Figures to reach: tenure at 0.88 of append-only or less at r = 0.1 and 0.90 or less at
r = 0.025, and below both clearing policies.

    python -m benchmarks.replay
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tenure.replay.compare import BASELINE, POLICIES, Comparison, SessionResult, compare_one
from tenure.replay.oracle import Foresight
from tenure.replay.recording import Settings
from tenure.replay.trace import Trace
from tenure.traces.reading import read
from tests.shared import absent, find_shared

FOLDER = ("data", "agent-sessions-dev", "claude-code")
FEWEST_STEPS = 20
READ_FACTORS = (0.1, 0.025)
WRITE_FACTOR = 1.25
WANTED = {0.1: 0.88, 0.025: 0.90}
PROCESSES = 2

COMPARED = (*POLICIES, Foresight.name)
PROTOTYPE = {
    "clear-100k-keep-3": "0.92 and 1.02",
    "clear-every-step": "1.11 and 1.36",
    "tenure": "0.88 and 0.87 (ski-rental)",
    Foresight.name: "0.74 and 0.76",
}
"""The throw-away prototype's ratios at r = 0.1 and 0.025, quoted for comparison, never computed."""


def run() -> dict[str, object]:
    """The table, printed; `skipped` alone when the recordings are absent."""
    folder = find_shared(*FOLDER)
    if folder is None:
        print(absent(*FOLDER))
        return {"skipped": absent(*FOLDER)}
    comparisons = {read_factor: _compare(folder, read_factor) for read_factor in READ_FACTORS}
    for read_factor, comparison in comparisons.items():
        _print_sessions(read_factor, comparison)
    _print_totals(comparisons)
    return {str(r): _figures(r, comparison) for r, comparison in comparisons.items()}


def _compare(folder: Path, read_factor: float) -> Comparison:
    settings = Settings(read=read_factor, write=WRITE_FACTOR)
    paths = sorted(folder.glob("*.jsonl.gz"))
    with ProcessPoolExecutor(PROCESSES) as pool:
        results = pool.map(partial(_replay_file, settings=settings), paths)
        return Comparison(settings, tuple(one for found in results for one in found))


def _replay_file(path: Path, settings: Settings) -> list[SessionResult]:
    long = [trace for trace in read(path) if _steps(trace) >= FEWEST_STEPS]
    return [compare_one(trace, COMPARED, settings) for trace in long]


def _steps(trace: Trace) -> int:
    return sum(len(thread.steps) for thread in trace.threads)


def _print_sessions(read_factor: float, comparison: Comparison) -> None:
    print(
        f"\nr = {read_factor}, w = {WRITE_FACTOR}: cost over append-only (re-fetches, peak tokens)"
    )
    print(f"{'session':20}{'steps':>6}" + "".join(f"{name:>24}" for name in COMPARED))
    for result in comparison.results:
        base = result.sessions[BASELINE].cost.total
        cells = [
            f"{one.cost.total / base:.3f} ({one.refetches:2}, {one.peak_tokens:7,})"
            for one in result.sessions.values()
        ]
        print(f"{result.name:20}{result.steps:>6}" + "".join(f"{cell:>24}" for cell in cells))


def _print_totals(comparisons: dict[float, Comparison]) -> None:
    print(f"\n{'all sessions':20}" + "".join(f"{f'r = {r}':>10}" for r in comparisons), end="")
    print(f"{'evicted':>10}{'re-fetched':>12}  the prototype had")
    for name in COMPARED:
        ratios = [comparison.ratio(name) or 0.0 for comparison in comparisons.values()]
        total = comparisons[READ_FACTORS[0]].as_json()["total"][name]
        print(
            f"{name:20}"
            + "".join(f"{ratio:>10.3f}" for ratio in ratios)
            + f"{total['evictions']:>10}{total['refetches']:>12}  {PROTOTYPE.get(name, '')}"
        )


def _figures(read_factor: float, comparison: Comparison) -> dict[str, object]:
    total = comparison.as_json()["total"]
    ratios = {name: total[name]["ratio"] for name in COMPARED}
    rivals = [ratio for name, ratio in ratios.items() if name.startswith("clear")]
    reached = ratios["tenure"] <= WANTED[read_factor] and ratios["tenure"] < min(rivals)
    return {"sessions": len(comparison.results), "total": total, "reached": reached}


if __name__ == "__main__":
    run()
