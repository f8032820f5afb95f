"""Record the bundled demo session: src/tenure/demo/session.jsonl.gz.

A scripted agent, driven through the real anthropic SDK against the scripted model server, does a
long errand on a temporary copy of this source tree: its moves are in `scripts/demo`, what its
tools answer is real. Tokens are counted by `ctok`, the reference for Claude, hence Python 3.12.

    python -m scripts.record_demo            record from HEAD
    python -m scripts.record_demo COMMIT     record from another commit

Invariant: a recording that says where it was made, or that is too short to be worth a replay, is
not written.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from scripts.demo import turn_one, turn_three, turn_two
from scripts.demo.recording import Recording, leaks, record
from scripts.demo.workspace import Workspace

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "src" / "tenure" / "demo" / "session.jsonl.gz"
TURNS = (turn_one.TURN, turn_two.TURN, turn_three.TURN)
TOKENIZER = "4.8"
FRAME = 3
"""Tokens that the framing of a block costs, about."""

LEAST_STEPS, LEAST_TOKENS = 60, 150_000


def main(argv: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Path(folder)
        workspace = Workspace(REPOSITORY, sandbox, argv[0] if argv else "HEAD")
        recording = record(workspace, TURNS, counted)
    packed = recording.log.packed()
    part = Path(str(sandbox)[:-4])  # its name may come shortened
    found = leaks(gzip.decompress(packed).decode(), REPOSITORY, part)
    complaints = [f"the recording holds {name!r}: clean it in Workspace.clean" for name in found]
    complaints += shortcomings(recording)
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(packed)
    print(f"{recording.steps} steps, {recording.tokens:,} tokens at the end, {len(packed):,} bytes")
    return 0


def shortcomings(recording: Recording) -> list[str]:
    """What keeps a recording from being worth a replay."""
    found = []
    if recording.steps < LEAST_STEPS or recording.tokens < LEAST_TOKENS:
        found.append(
            f"{recording.steps} steps and {recording.tokens:,} tokens: too short a session"
        )
    if recording.prefix_breaks:
        found.append(f"the agent broke its own prefix: {recording.prefix_breaks}")
    return found


@cache
def counted(text: str) -> int:
    """Claude tokens of a block's text."""
    from ctok import token_count

    return int(token_count(text, TOKENIZER)) + FRAME


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
