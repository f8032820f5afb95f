"""How long a step takes in short and long sessions: medians in milliseconds.

The session of 10,000 messages holds 1,000,000 tokens. Each line says what to reach there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

from benchmarks.sessions import TOKENS_PER_MESSAGE, GrowingSession, lengths

ROUNDS = 300
# What is measured, and what to reach at 10,000 messages, ms.
FIGURES = {
    "decide: nothing to do": 0.1,
    "append + plan": 1.0,
    "append 100 KB, and count it": 8.0,
    "a step that evicts": 25.0,
    "request() as dict": 4.0,
    "request() as bytes": 4.0,
}


def run() -> dict[str, object]:
    """Prints the table and returns medians in ms by length and figure."""
    found: dict[int, dict[str, float]] = {}
    for length in lengths():
        session = GrowingSession(length)
        print(f"{session.length:6} messages, {session.tokens:9,} tokens, {session.edits} edits")
        found[length] = _measure(session)
    heads = "".join(f"{n:>10,}" for n in found)
    print(f"\n{'median, ms':30}{heads}   to reach   growth")
    for name, wanted in FIGURES.items():
        row = [found[n].get(name, float("nan")) for n in found]
        cells = "".join(f"{ms:10.3f}" for ms in row)
        print(f"{name:30}{cells}   {wanted:8.1f}   {row[-1] / row[0]:5.1f}x")
    return {str(n): figures for n, figures in found.items()}


def steps() -> dict[str, float]:
    """Median ms of append + plan by length, for comparison with others."""
    return {str(n): _measure(GrowingSession(n))["append + plan"] for n in lengths()}


def _measure(grown: GrowingSession) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in FIGURES}
    session, machine = grown.session, grown.session._built.machine
    session.request()
    for _ in range(ROUNDS):
        grown.reply()
        said = grown.text(2 * TOKENS_PER_MESSAGE - 40)
        appended = _ms(partial(grown.answer, said))
        before = grown.edits
        planned = _ms(session.request)
        evicted = grown.edits > before
        times["a step that evicts" if evicted else "append + plan"].append(appended + planned)
        times["request() as dict"].append(_ms(session.request))
        times["request() as bytes"].append(_ms(partial(getattr, session.request(), "body")))
    for _ in range(5):
        grown.reply()
        big = grown.hundred_kilobytes()
        appended = _ms(partial(grown.answer, big))
        counted = _ms(partial(machine.parts.meter.sync, machine.transcript))
        times["append 100 KB, and count it"].append(appended + counted)
        session.request()
    times["decide: nothing to do"] = _decisions(grown)
    return {name: median(ms) for name, ms in times.items() if ms}


def _decisions(grown: GrowingSession) -> list[float]:
    """The policy's decision alone, counting apart, at the steps at which nothing is to be done."""
    machine = grown.session._built.machine
    times: list[float] = []
    for _ in range(ROUNDS):
        grown.reply()
        grown.result(20)
        machine.parts.meter.sync(machine.transcript)
        situation = machine.situation(cold=False)
        edits: list[object] = []
        spent = _ms(lambda: edits.extend(machine.parts.policy.propose(situation)))  # noqa: B023
        if not edits:
            times.append(spent)
        grown.session.request()
    return times


def _ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    run()
