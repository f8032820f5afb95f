"""What a driver knows of a session's last write.

Invariant: a write counts as begun from before the store is called until the machine has applied its
records. When that was cut short (a cancelled task, Ctrl-C, a store that failed after it had
written), the log tells: records of ours that stand in it are applied before anything else is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.core.command import SaveRecords
from tenure.core.record import Record
from tenure.core.session import SessionMachine
from tenure.core.store import AsyncRecordStore, RecordStore


class Writes:
    """The write that was begun last, while its end has not been seen."""

    def __init__(self, machine: SessionMachine, store: RecordStore | AsyncRecordStore) -> None:
        self._machine = machine
        self._store = store
        self._begun: SaveRecords | None = None

    @property
    def unsettled(self) -> bool:
        """True when the log must be read before the session can go on."""
        return self._begun is not None

    def begin(self, command: SaveRecords) -> Any:
        """The store's answer to a write, or an awaitable of it."""
        self._begun = command
        return self._store.append(
            command.scope, command.session, command.records, expected=command.expected
        )

    def end(self) -> None:
        """The write has been applied, or the store has refused it."""
        self._begun = None

    def read(self) -> Any:
        """The records behind those that are applied, or an awaitable of them, as the store
        answers; SessionNotFound when the session was never written."""
        return self._store.read(self._machine.scope, self._machine.name, after=self._machine.length)

    def settle(self, found: Sequence[Record]) -> None:
        """Applies what the log holds of the write. Records of someone else stay where they are:
        the next write then raises Conflict, as it should."""
        begun, self._begun = self._begun, None
        assert begun is not None, "only a write that was begun is settled"
        ours = begun.records[self._machine.length - begun.expected :]
        if tuple(found[: len(ours)]) == ours:
            self._machine.load(ours)
