"""Records in a dict: for tests, and for sessions that need not outlive the process.

Invariant: one lock around each call, so concurrent writers interleave whole batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from tenure.core.protocols import Scope
from tenure.core.record import Record
from tenure.errors import Conflict, SessionNotFound


class InMemoryStore:
    """A `RecordStore` in memory."""

    def __init__(self) -> None:
        self._logs: dict[tuple[Scope, str], list[Record]] = {}
        self._lock = Lock()

    def append(
        self, scope: Scope, session: str, records: Sequence[Record], *, expected: int
    ) -> int:
        """See `RecordStore.append`."""
        with self._lock:
            log = self._logs.get((scope, session), [])
            if len(log) != expected:
                raise Conflict(
                    f"session {session!r} has {len(log)} records, not {expected}: someone appended "
                    "first; resume it and try again",
                    expected=expected,
                    actual=len(log),
                )
            log.extend(records)
            self._logs[scope, session] = log
            return len(log)

    def read(self, scope: Scope, session: str, *, after: int = 0) -> Sequence[Record]:
        """See `RecordStore.read`."""
        with self._lock:
            return tuple(self._log(scope, session)[after:])

    def sessions(self, scope: Scope) -> Sequence[str]:
        """See `RecordStore.sessions`."""
        with self._lock:
            return tuple(sorted(name for owner, name in self._logs if owner == scope))

    def delete(self, scope: Scope, session: str) -> None:
        """See `RecordStore.delete`."""
        with self._lock:
            self._log(scope, session)
            del self._logs[scope, session]

    def close(self) -> None:
        """Nothing is held open."""

    def _log(self, scope: Scope, session: str) -> list[Record]:
        try:
            return self._logs[scope, session]
        except KeyError:
            raise SessionNotFound(
                f"no session {session!r} in scope {tuple(scope)}", session=session
            ) from None
