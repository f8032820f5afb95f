"""Small Claude Code sessions on disk, for tests of the commands.

Invariant: usage is what a provider with a prompt cache would report: each request reads what the one
before had cached and writes the rest, so that the expected cache is the seen one unless a test says
otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MODEL = "claude-opus-4-5"
HIDDEN = 20_000
BEGIN = 1_800_000_000


@dataclass
class Session:
    """Writes a session row by row: `user`, `call`, `say`, `compact`, `side`. With `hour` all cache
    writes are those of the longer lifetime."""

    model: str = MODEL
    hour: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)
    clock: int = BEGIN
    _prompt: int = HIDDEN
    _cached: int = 0
    _lost: bool = False
    _last: str | None = None
    _side: bool = False

    def user(self, text: str) -> Session:
        self._row("user", {"role": "user", "content": text})
        return self

    def call(self, tool: str, arguments: dict[str, Any], result: str) -> Session:
        """A reply with one call, and its result."""
        number = f"toolu_{len(self.rows):04d}"
        self._reply({"type": "tool_use", "id": number, "name": tool, "input": arguments})
        answer = {"type": "tool_result", "tool_use_id": number, "content": result}
        self._row("user", {"role": "user", "content": [answer]})
        self._prompt += len(result) // 3
        return self

    def say(self, text: str) -> Session:
        self._reply({"type": "text", "text": text})
        return self

    def pause(self, seconds: int) -> Session:
        """Time passes; the cache expires after five minutes."""
        self.clock += seconds
        self._lost = self._lost or seconds > 300
        return self

    def forget(self) -> Session:
        """The cache loses the prefix for no reason that the file shows."""
        self._lost = True
        return self

    def compact(self, summary: str) -> Session:
        meta = {"trigger": "auto", "preTokens": self._prompt}
        self._row(None, None, type="system", subtype="compact_boundary", compactMetadata=meta)
        self._row("user", {"role": "user", "content": summary}, isCompactSummary=True)
        self._prompt, self._lost = HIDDEN + len(summary) // 3, True
        return self

    def side(self, question: str, answer: str) -> Session:
        """A sub-agent's whole conversation."""
        kept = self._prompt, self._cached, self._last
        self._side, self._last = True, None
        self.user(question).say(answer)
        self._side = False
        self._prompt, self._cached, self._last = kept
        return self

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")
        return path

    def _reply(self, block: dict[str, Any]) -> None:
        read = 0 if self._lost else self._cached
        usage: dict[str, Any] = {
            "input_tokens": 2,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": self._prompt - read,
            "output_tokens": 50,
        }
        if self.hour:
            usage["cache_creation"] = {"ephemeral_1h_input_tokens": self._prompt - read}
        self._cached, self._lost = self._prompt, False
        self._prompt += 50
        message = {
            "id": f"msg_{len(self.rows):04d}",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "usage": usage,
        }
        self._row("assistant", message)

    def _row(self, role: str | None, message: Any, **extra: Any) -> None:
        self.clock += 5
        uuid = f"u{len(self.rows)}"
        row = {
            "parentUuid": self._last,
            "uuid": uuid,
            "type": role,
            "sessionId": "s",
            "isSidechain": self._side,
            "timestamp": datetime.fromtimestamp(self.clock, UTC).isoformat(),
            "message": message,
        }
        self.rows.append({**row, **extra})
        self._last = uuid


def errand(*, hour: bool = False) -> Session:
    """Reads a file twice and changes it, searches, uses what an early result alone said."""
    listing = "\n".join(_lines("alpha", 120))
    session = Session(hour=hour).user("find out why the nightly build broke and fix it")
    session.call("Read", {"file_path": "src/alpha.py"}, listing)
    session.call("Grep", {"pattern": "nightly"}, "build/nightly_runner.cfg:12: target=omega_v7x\n")
    for number in range(6):
        noise = "\n".join(_lines(f"noise{number}", 40))
        session.call("Bash", {"command": f"make part{number}"}, noise)
    session.call("Read", {"file_path": "src/alpha.py"}, listing)
    session.call("Bash", {"command": "grep -n omega_v7x build/nightly_runner.cfg"}, "12\n")
    return session.say("fixed: the target was stale")


def _lines(word: str, count: int) -> Iterator[str]:
    return (f"{number:4d} {word}_{number} = compute_{word}({number})" for number in range(count))
