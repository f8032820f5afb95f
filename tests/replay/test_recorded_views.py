"""The views of recorded sessions are legal, keep the user's words, stay as they were sent and fit.

A sample; `python -m benchmarks.views` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.policies import names
from tenure.replay.compare import recording_of, replay
from tenure.replay.recording import Settings
from tenure.traces.reading import read
from tests.replay.views import ViewLaws

# Windows of models that are; tau-bench's sessions are short, and fill small ones alone.
LARGE = (64_000, 200_000)
SAMPLE = {
    "claude-code/cli-877772cc43.jsonl.gz": LARGE,
    "claude-code/cli-c82caf81a9.jsonl.gz": LARGE,
    "codex/gitsync-014888b6a0.jsonl.gz": LARGE,
    "tau-bench/gpt-4o-airline-even-tasks.jsonl.gz": (4_500, 6_000),
}
SESSIONS = 12
"""So many of a file's sessions are looked at."""
CASES = [(file, window) for file, windows in SAMPLE.items() for window in windows]


@pytest.mark.parametrize(("file", "window"), CASES)
def test_every_view_is_legal_stays_and_keeps_the_users_words_and_fits_or_is_refused(
    shared_data: Callable[..., Path], file: str, window: int
) -> None:
    total = {name: ViewLaws() for name in names()}
    settings = Settings(window=window, max_tokens=500 if window < min(LARGE) else None)
    for trace in read(shared_data("data", "agent-sessions-dev", file))[:SESSIONS]:
        recording = recording_of(trace, settings)
        for name in names():
            laws = ViewLaws()
            replay(recording, name, watch=laws.look)
            assert laws.views > 0
            assert (laws.broken, laws.lost, laws.unstable) == ({}, [], [])
            # The budget keeps a margin for counts that differ; its limit is what we aim at.
            assert laws.overshoot <= 0, name
            total[name].add(laws)
    assert total["clear-every-step"].edited >= 5
    assert total["append-only"].edited == 0
    assert total["tenure"].user_texts > 0
    if window in (min(LARGE), min(SAMPLE["tau-bench/gpt-4o-airline-even-tasks.jsonl.gz"])):
        assert total["tenure"].edited >= 5
