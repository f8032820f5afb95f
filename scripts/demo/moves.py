"""Short names for the agent's moves, so that an errand reads as a list of them.

Invariant: paths are given from the project's root and become the absolute ones that tools take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.demo.workspace import SHOWN
from tenure.testing import Call, Reply

PIECES = Path(__file__).parent / "pieces"


@dataclass(frozen=True)
class Turn:
    """What the user says, after `pause` seconds, and what the agent does about it."""

    words: str
    moves: Sequence[Reply]
    pause: float = 0.0


class FailingCall(Call):
    """A call whose tool answers with an error, and is meant to."""


def fails(call: Call) -> FailingCall:
    """The call, marked as one that is meant to fail."""
    return FailingCall(call.name, call.input)


def step(text: str, *calls: Call, thinking: str = "") -> Reply:
    """One answer of the model; without calls it ends the turn."""
    return Reply(text, thinking, calls)


def read(path: str, offset: int = 0, limit: int = 0) -> Call:
    """Reads a file, or `limit` lines of it from `offset` on."""
    part = {"offset": offset, "limit": limit} if limit else {}
    return Call("Read", {"file_path": f"{SHOWN}/{path}", **part})


def write(path: str, piece: str) -> Call:
    """Writes a file whose text lies in `pieces`."""
    text = (PIECES / f"{piece}.txt").read_text("utf-8")
    return Call("Write", {"file_path": f"{SHOWN}/{path}", "content": text})


def edit(path: str, old: str, new: str) -> Call:
    """Replaces one string in a file."""
    return Call("Edit", {"file_path": f"{SHOWN}/{path}", "old_string": old, "new_string": new})


def grep(pattern: str, path: str = "", *, files: str = "") -> Call:
    """Searches and lists the matching lines; `files` is a glob for file names."""
    given: dict[str, Any] = {"pattern": pattern}
    if path:
        given["path"] = f"{SHOWN}/{path}"
    if files:
        given["glob"] = files
    return Call("Grep", {**given, "output_mode": "content"})


def glob(pattern: str) -> Call:
    """Lists files by pattern."""
    return Call("Glob", {"pattern": pattern})


def bash(command: str, words: str) -> Call:
    """Runs a command; `words` say what for."""
    return Call("Bash", {"command": command, "description": words})


def plan(*items: str, done: int = 0) -> Call:
    """Writes the plan: the first `done` items completed, the next in progress."""
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(items)
    todos = [
        {"content": item, "status": state, "activeForm": item}
        for item, state in zip(items, states, strict=False)
    ]
    return Call("TodoWrite", {"todos": todos})
