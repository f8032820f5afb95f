"""An errand, done and recorded.

Invariant: the log holds what the server answered and the tools found, in the order it happened.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import anthropic

from scripts.demo.agent import Agent
from scripts.demo.claude_log import ClaudeLog
from scripts.demo.clock import Clock
from scripts.demo.moves import FailingCall, Turn
from scripts.demo.tools import Tools
from scripts.demo.workspace import Workspace
from tenure.testing import ModelServer, PrefixBreak, Reply

INDEX = re.compile(r"https?://[^\s\"']*(?:/simple|pypi)[^\s\"']*")
"""What looks like the address of a package index."""


class Recording(NamedTuple):
    """The session's log; its model calls, and the tokens of the last prompt."""

    log: ClaudeLog
    steps: int
    tokens: int
    prefix_breaks: Sequence[PrefixBreak]


def record(workspace: Workspace, turns: Sequence[Turn], counter: Callable[[str], int]) -> Recording:
    """Drives the agent through the turns; `counter` counts the tokens that usage reports."""
    clock = Clock()
    log = ClaudeLog(clock)
    moves: list[Reply] = [move for turn in turns for move in turn.moves]
    with (
        ModelServer(moves, clock=clock, counter=counter) as server,
        anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client,
    ):
        agent = Agent(client, Tools(workspace), log, clock, meant_to_fail(moves))
        for turn in turns:
            clock.pass_(turn.pause)
            agent.turn(turn.words)
    tokens = sum(block.tokens for block in server.requests[-1].prompt)
    return Recording(log, len(server.requests), tokens, server.prefix_breaks)


def meant_to_fail(moves: Sequence[Reply]) -> frozenset[str]:
    """The ids that the server will give to the calls meant to fail."""
    return frozenset(
        f"toolu_{step:06d}_{number}"
        for step, move in enumerate(moves)
        for number, call in enumerate(move.calls)
        if isinstance(call, FailingCall)
    )


def leaks(text: str, *places: Path) -> list[str]:
    """Names in a recording that say where it was made: `places`, this Python, package indexes."""
    here = {*map(str, places), sys.prefix, sys.base_prefix, str(Path.home())}
    return sorted({name for name in here if name in text} | set(INDEX.findall(text)))
