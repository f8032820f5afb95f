"""Whose turn it is among the tasks that share a session, and writes that a cancellation must not cut.

Invariant: one call at a time, in the order in which they were made; a write that has begun is waited
for to its end, and a cancellation that came meanwhile is kept until `deliver`. Imported only when a
session is made: asyncio is large, and most users never need it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tenure.errors import SessionError

T = TypeVar("T")


class Turns:
    """The turns of one session's calls."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        # The tasks of the call whose turn it is: its own, and that of its write.
        self._inside: set[asyncio.Future[Any] | None] = set()
        self._cancelled: asyncio.CancelledError | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for its turn; SessionError when the call comes from inside the one whose turn it
        is, which would wait for ever."""
        task = asyncio.current_task()
        if task in self._inside:
            raise SessionError(
                "the session is called from inside a call of its own, by its store or its counter; "
                "let that return first",
                state="busy",
            )
        async with self._lock:
            self._inside.add(task)
            try:
                yield
            finally:
                self._inside.clear()

    async def finish(self, write: Awaitable[T]) -> T:
        """Waits for a write to its end, whoever is cancelled: given up half-way, the log would
        hold what the session does not know. When it fails, a kept cancellation is raised from it.
        """
        task = asyncio.ensure_future(write)
        self._inside.add(task)
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as cancelled:
                self._cancelled = cancelled
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self.deliver(failure)
        return task.result()

    def deliver(self, cause: BaseException | None = None) -> None:
        """Raises the cancellation that was kept, if one was."""
        cancelled, self._cancelled = self._cancelled, None
        if cancelled is not None:
            raise cancelled from cause
