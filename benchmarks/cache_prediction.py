"""Cache truth against prediction on the recorded Claude Code sessions.

Invariant: what predictions are made from holds no usage but the first request's of each chain; the
truth is what the provider reported. Figure to reach: recall 0.9 on expiries.

    python -m benchmarks.cache_prediction
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tenure.core.message import Block
from tenure.core.protocols import Count
from tenure.core.usage import Usage
from tenure.cost.diagnose import UNEXPLAINED, Diagnosis, Outcome, Score, score
from tenure.replay.cache_truth import CacheStep, cache_steps
from tenure.replay.recording import Recording, Settings, prepare
from tenure.replay.trace import Thread, Trace
from tenure.traces import read
from tenure.wire.detect import wire_for
from tests.shared import absent, find_shared

FOLDER = ("data", "agent-sessions-dev", "claude-code")
WANTED_RECALL = 0.9  # on expiries


def run() -> dict[str, object]:
    """All figures, printed on the way; `skipped` alone when the recordings are absent."""
    folder = find_shared(*FOLDER)
    if folder is None:
        print(absent(*FOLDER))
        return {"skipped": absent(*FOLDER)}
    steps = [step for path in sorted(folder.glob("*.jsonl.gz")) for step in steps_of(path)]
    every = [step.diagnosis for step in steps]
    scores = {kind: score(every, kind) for kind in (Outcome.EXPIRY, Outcome.DROP)}
    causes = Tally(_kind_of(one) for one in every if one.lost)
    print(f"{len(every)} requests after the first of their chain, {sum(causes.values())} misses")
    for one_score in scores.values():
        _print_score(one_score)
    for (outcome, cause), count in sorted(causes.items()):
        print(f"  {count:3d} {outcome}: {cause}")
    _print_errors(steps)
    return {
        "requests": len(every),
        "main_requests": sum(step.thread.startswith("main") for step in steps),
        **{kind.value: _as_dict(one) for kind, one in scores.items()},
        "causes": {f"{kind}: {cause}": count for (kind, cause), count in sorted(causes.items())},
        "unexplained": sum(one.cause == UNEXPLAINED for one in every),
        "reached": (scores[Outcome.EXPIRY].recall or 0) >= WANTED_RECALL,
    }


def steps_of(path: Path) -> tuple[CacheStep, ...]:
    """Prediction and truth of the requests of one file."""
    return tuple(step for trace in read(path) for step in cache_steps(unblinded(trace)))


def unblinded(trace: Trace) -> Recording:
    """The recording made without any later usage, with the usages put back for the truth.

    Preparing a trace fits its sizes to the reported usages, so what is prepared here has none: only
    the very first request's stays. The diagnosis itself takes the first of each chain.
    """
    reported = {step.request_id: step.usage for thread in trace.threads for step in thread.steps}
    recording = prepare(blinded(trace), Settings(), wire_for(trace.wire), _rough_counter)
    threads = [replace(one, thread=_with_usages(one.thread, reported)) for one in recording.threads]
    return replace(recording, threads=tuple(threads))


def blinded(trace: Trace) -> Trace:
    """The trace without the usages after its first request."""
    first = next(step.request_id for thread in trace.threads for step in thread.steps)
    kept = {
        step.request_id: step.usage if step.request_id == first else None
        for thread in trace.threads
        for step in thread.steps
    }
    return replace(trace, threads=tuple(_with_usages(one, kept) for one in trace.threads))


def _with_usages(thread: Thread, usages: Mapping[str, Usage | None]) -> Thread:
    steps = tuple(replace(step, usage=usages[step.request_id]) for step in thread.steps)
    return replace(thread, steps=steps)


class _RoughCounter:
    """Three characters a token: sizes only have to tell whether a prompt is above the minimum."""

    def bound(self, block: Block) -> int:
        return self.bound_text(block.text)

    def count(self, block: Block) -> Count:
        return self.count_text(block.text)

    def bound_text(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def count_text(self, text: str) -> Count:
        return Count(max(1, len(text) // 3), self.bound_text(text))


def _rough_counter(_model: str) -> _RoughCounter:
    return _RoughCounter()


def _kind_of(one: Diagnosis) -> tuple[str, str]:
    return one.observed.value, re.sub(r"\d+", "N", one.cause)


def _print_score(one: Score) -> None:
    values = _as_dict(one)
    print(
        f"{one.kind.value}: {values['happened']} happened, {values['predicted']} predicted, "
        f"precision {_shown(one.precision)}, recall {_shown(one.recall)}"
    )


def _as_dict(one: Score) -> dict[str, object]:
    return {
        "happened": one.hits + one.overlooked,
        "predicted": one.hits + one.false_alarms,
        "precision": one.precision,
        "recall": one.recall,
    }


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _print_errors(steps: Sequence[CacheStep]) -> None:
    for step in steps:
        one = step.diagnosis
        if one.predicted.outcome is not one.observed:
            print(
                f"  {step.session} {step.thread} step {step.step}: {one.predicted.outcome} "
                f"predicted ({one.predicted.cause or 'nothing against it'}), {one.observed} after "
                f"{one.gap:.0f} s, {one.lost} tokens lost{': ' if one.cause else ''}{one.cause}"
            )


if __name__ == "__main__":
    run()
