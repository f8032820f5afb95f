"""Record the bundled demo session: src/tenure/demo/session.jsonl.gz.

A scripted agent, driven through the real anthropic SDK against the scripted model server, does a
long errand on a temporary copy of this source tree: its moves are in `scripts/demo`, what its
tools answer is real. Tokens are counted by `ctok`, the reference for Claude, hence Python 3.12.

    python -m scripts.record_demo            record from HEAD
    python -m scripts.record_demo COMMIT     record from another commit

Invariant: the recording holds no path of this machine and no address of a package index.
"""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import anthropic

from scripts.demo import turn_one, turn_three, turn_two
from scripts.demo.agent import Agent
from scripts.demo.claude_log import ClaudeLog
from scripts.demo.clock import Clock
from scripts.demo.moves import FailingCall
from scripts.demo.tools import Tools
from scripts.demo.workspace import Workspace
from tenure.testing import ModelServer, Reply

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "src" / "tenure" / "demo" / "session.jsonl.gz"
TURNS = (turn_one.TURN, turn_two.TURN, turn_three.TURN)
TOKENIZER = "4.8"
FRAME = 3
"""Tokens that the framing of a block costs, about."""

LEAST_STEPS, LEAST_TOKENS = 60, 150_000
INDEX = re.compile(r"https?://[^\s\"']*(?:/simple|pypi)[^\s\"']*")
"""What looks like the address of a package index."""


def main(argv: Sequence[str]) -> int:
    commit = argv[0] if argv else "HEAD"
    with tempfile.TemporaryDirectory() as sandbox:
        log, server = record(Path(sandbox), commit)
    packed = log.packed()
    complaints = [*leaks(packed, sandbox), *shortcomings(server)]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if complaints:
        return 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(packed)
    prompt = server.requests[-1].prompt
    tokens = sum(block.tokens for block in prompt)
    size = TARGET.stat().st_size
    print(f"{len(server.requests)} steps, {tokens:,} tokens at the end, {size:,} bytes")
    return 0


def record(sandbox: Path, commit: str) -> tuple[ClaudeLog, ModelServer]:
    """Does the errand in a copy of `commit`; the log, and the server that saw every request."""
    clock = Clock()
    log = ClaudeLog(clock)
    tools = Tools(Workspace(REPOSITORY, sandbox, commit))
    moves: list[Reply] = [move for turn in TURNS for move in turn.moves]
    with (
        ModelServer(moves, clock=clock, counter=counted) as server,
        anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client,
    ):
        agent = Agent(client, tools, log, clock, meant_to_fail(moves))
        for turn in TURNS:
            clock.pass_(turn.pause)
            agent.turn(turn.words)
    return log, server


def meant_to_fail(moves: Sequence[Reply]) -> frozenset[str]:
    """The ids that the server will give to the calls meant to fail."""
    return frozenset(
        f"toolu_{step:06d}_{number}"
        for step, move in enumerate(moves)
        for number, call in enumerate(move.calls)
        if isinstance(call, FailingCall)
    )


def leaks(packed: bytes, sandbox: str) -> list[str]:
    """Names in the recording that say where it was made."""
    text = gzip.decompress(packed).decode()
    here = (str(REPOSITORY), sandbox, sys.prefix, sys.base_prefix, str(Path.home()))
    found = [name for name in here if name in text] + sorted(set(INDEX.findall(text)))
    return [f"the recording holds {name!r}: clean it in Workspace.clean" for name in found]


def shortcomings(server: ModelServer) -> list[str]:
    """What keeps a recording from being worth a replay."""
    tokens = sum(block.tokens for block in server.requests[-1].prompt)
    steps = len(server.requests)
    found = []
    if steps < LEAST_STEPS or tokens < LEAST_TOKENS:
        found.append(f"{steps} steps and {tokens:,} tokens: too short a session")
    if server.prefix_breaks:
        found.append(f"the agent broke its own prefix: {server.prefix_breaks}")
    return found


@cache
def counted(text: str) -> int:
    """Claude tokens of a block's text."""
    from ctok import token_count

    return int(token_count(text, TOKENIZER)) + FRAME


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
