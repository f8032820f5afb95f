"""How fast this machine is just now: a plain Python loop, so that figures of different days compare."""

from __future__ import annotations

import time

ROUNDS = 1_000_000
TRIES = 5


def run() -> dict[str, float]:
    """Prints and returns the ms of the loop, the best and the middle of a few tries."""
    times = sorted(_loop() for _ in range(TRIES))
    best, middle = times[0] * 1e3, times[TRIES // 2] * 1e3
    print(f"a loop of {ROUNDS:,} additions: {best:.0f} ms at best, median {middle:.0f} ms")
    return {"best": best, "median": middle}


def _loop() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(ROUNDS):
        total += number * number % 7
    return time.perf_counter() - began
