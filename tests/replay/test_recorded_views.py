"""The views of recorded sessions are legal, keep the user's words and fit.

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

SAMPLE = (
    "claude-code/cli-877772cc43.jsonl.gz",
    "claude-code/cli-c82caf81a9.jsonl.gz",
    "codex/gitsync-014888b6a0.jsonl.gz",
)


@pytest.mark.parametrize("window", [64_000, 200_000])
@pytest.mark.parametrize("file", SAMPLE)
def test_every_view_is_legal_and_keeps_the_users_words_and_fits_or_is_refused(
    shared_data: Callable[..., Path], file: str, window: int
) -> None:
    for trace in read(shared_data("data", "agent-sessions-dev", file)):
        recording = recording_of(trace, Settings(window=window))
        for name in names():
            laws = ViewLaws()
            replay(recording, name, watch=laws.look)
            assert laws.views > 0
            assert (laws.broken, laws.lost) == ({}, [])
            # The budget keeps a margin for counts that differ; its limit is what we aim at.
            assert laws.overshoot <= 0, name
