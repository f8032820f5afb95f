"""Where records are kept, as the core sees it.

Invariant: every call takes a scope; `append` is atomic and raises Conflict when the log has another
length than expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenure.core.protocols import Scope
from tenure.core.record import Record


class RecordStore(Protocol):
    """A log of records per session and scope."""

    def append(
        self, scope: Scope, session: str, records: Sequence[Record], *, expected: int
    ) -> int:
        """Appends all or nothing; the new length. Raises Conflict."""

    def read(self, scope: Scope, session: str, *, after: int = 0) -> Sequence[Record]:
        """The records from number `after` on. Raises SessionNotFound."""

    def sessions(self, scope: Scope) -> Sequence[str]:
        """The names of the scope's sessions, sorted."""

    def delete(self, scope: Scope, session: str) -> None:
        """Erases a session: the one exception to "nothing lost". Raises SessionNotFound."""

    def close(self) -> None:
        """Gives back what the store holds open."""


class AsyncRecordStore(Protocol):
    """The same for `AsyncSession`: what answers is awaited."""

    async def append(
        self, scope: Scope, session: str, records: Sequence[Record], *, expected: int
    ) -> int:
        """See `RecordStore.append`."""

    async def read(self, scope: Scope, session: str, *, after: int = 0) -> Sequence[Record]:
        """See `RecordStore.read`."""

    async def sessions(self, scope: Scope) -> Sequence[str]:
        """See `RecordStore.sessions`."""

    async def delete(self, scope: Scope, session: str) -> None:
        """See `RecordStore.delete`."""

    async def close(self) -> None:
        """See `RecordStore.close`."""
