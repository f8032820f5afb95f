"""Stores that are slow or fail at a chosen moment, in front of one that keeps records in memory.

Invariant: what is written is in `kept`, whole; nothing else is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tenure.core.protocols import DEFAULT_SCOPE, Scope
from tenure.core.record import Record, Started
from tenure.storage.in_memory import InMemoryStore

When = Literal["before", "after"]
NAME = "s"


class SlowStore:
    """An asynchronous store whose next append waits for `go`, before or after it writes, once
    `hold` was called; then it raises `fails`, if that is set."""

    def __init__(self) -> None:
        self.kept = InMemoryStore()
        self.held = asyncio.Event()
        self.go = asyncio.Event()
        self.most = 0
        self._writing = 0
        self._when: When | None = None
        self._fails: Exception | None = None

    def hold(self, when: When, *, fails: Exception | None = None) -> None:
        """The next append is held up."""
        self._when, self._fails = when, fails
        self.held.clear()
        self.go.clear()

    async def append(
        self, scope: Scope, session: str, records: Sequence[Record], *, expected: int
    ) -> int:
        self._writing += 1
        self.most = max(self.most, self._writing)
        when, self._when = self._when, None
        fails, self._fails = self._fails, None
        try:
            await asyncio.sleep(0)
            if when == "before":
                await self._wait(fails)
            length = self.kept.append(scope, session, records, expected=expected)
            if when == "after":
                await self._wait(fails)
            await asyncio.sleep(0)
            return length
        finally:
            self._writing -= 1

    async def _wait(self, fails: Exception | None) -> None:
        self.held.set()
        await self.go.wait()
        if fails is not None:
            raise fails

    async def read(self, scope: Scope, session: str, *, after: int = 0) -> Sequence[Record]:
        await asyncio.sleep(0)
        return self.kept.read(scope, session, after=after)

    async def sessions(self, scope: Scope) -> Sequence[str]:
        return self.kept.sessions(scope)

    async def delete(self, scope: Scope, session: str) -> None:
        self.kept.delete(scope, session)

    async def close(self) -> None:
        self.kept.close()


def log_of(store: InMemoryStore) -> list[Record]:
    """The log of the session `NAME`, without what is drawn at its start."""
    records = store.read(DEFAULT_SCOPE, NAME)
    return [replace(r, nonce="") if isinstance(r, Started) else r for r in records]
