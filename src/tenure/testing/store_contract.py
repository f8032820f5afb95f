"""What every record store must do: subclass it in a test module and make the store.

Invariant: an ordinary pytest class; each test has a new store and looks only through the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest

from tenure.core.message import Message, Origin
from tenure.core.protocols import Scope
from tenure.core.record import Appended, Cancelled, Record, Started, encode
from tenure.core.store import RecordStore
from tenure.errors import Conflict, SessionNotFound

_MINE, _THEIRS = Scope("acme", "ann"), Scope("acme", "bob")
_OTHER_TENANT = Scope("umbrella", "ann")
_ODD = b'{ "role":"user" , "content":"\\ud800 1e3", "x": 1e3 }'


def records(count: int, start: int = 0) -> list[Record]:
    """Records that can be told apart."""
    return [Cancelled(float(start + n)) for n in range(count)]


class StoreContract:
    """Subclass it and override `make`."""

    def make(self) -> RecordStore:
        """A new, empty store."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Iterator[RecordStore]:
        """The store of one test, closed after it."""
        store = self.make()
        yield store
        store.close()

    def test_what_was_appended_is_read_in_order(self, store: RecordStore) -> None:
        """Across several appends; the answer is the new length."""
        assert store.append(_MINE, "s", records(2), expected=0) == 2
        assert store.append(_MINE, "s", records(3, 2), expected=2) == 5
        assert list(store.read(_MINE, "s")) == records(5)

    def test_reading_after_a_number_gives_the_rest(self, store: RecordStore) -> None:
        """For a follower that knows the first ones."""
        store.append(_MINE, "s", records(4), expected=0)
        assert list(store.read(_MINE, "s", after=3)) == records(1, 3)
        assert list(store.read(_MINE, "s", after=4)) == []

    def test_records_come_back_byte_for_byte(self, store: RecordStore) -> None:
        """Messages keep the very text that came in."""
        message = Message(None, _ODD, origin=Origin.USER, pinned=True)
        written: list[Record] = [Started("w", "m", {"a": [1.5, None]}, "n", 1.0)]
        written.append(Appended(message, 2.0))
        store.append(_MINE, "s", written, expected=0)
        assert [encode(r) for r in store.read(_MINE, "s")] == [encode(r) for r in written]

    @pytest.mark.parametrize("expected", [0, 1, 3, 9])
    def test_a_wrong_expectation_conflicts_and_writes_nothing(
        self, store: RecordStore, expected: int
    ) -> None:
        """The error says what was expected and what there is."""
        store.append(_MINE, "s", records(2), expected=0)
        with pytest.raises(Conflict) as caught:
            store.append(_MINE, "s", records(2, 50), expected=expected)
        assert (caught.value.expected, caught.value.actual) == (expected, 2)
        assert list(store.read(_MINE, "s")) == records(2)

    def test_a_new_session_expects_nothing(self, store: RecordStore) -> None:
        """A refused first append does not make the session known."""
        with pytest.raises(Conflict):
            store.append(_MINE, "s", records(1), expected=1)
        assert list(store.sessions(_MINE)) == []

    def test_no_reader_crosses_a_scope(self, store: RecordStore) -> None:
        """Neither another user nor another tenant sees, finds or deletes a session."""
        store.append(_MINE, "s", records(1), expected=0)
        for scope in (_THEIRS, _OTHER_TENANT):
            assert list(store.sessions(scope)) == []
            with pytest.raises(SessionNotFound):
                store.read(scope, "s")
            with pytest.raises(SessionNotFound):
                store.delete(scope, "s")
            store.append(scope, "s", records(2, 7), expected=0)
        assert list(store.read(_MINE, "s")) == records(1)

    def test_sessions_are_listed_sorted(self, store: RecordStore) -> None:
        """By name, each once."""
        for name in ("b", "a", "c"):
            store.append(_MINE, name, records(1), expected=0)
        assert list(store.sessions(_MINE)) == ["a", "b", "c"]

    def test_a_deleted_session_is_gone_and_its_name_is_free(self, store: RecordStore) -> None:
        """Erasure is the one exception to "nothing lost"."""
        store.append(_MINE, "s", records(2), expected=0)
        store.delete(_MINE, "s")
        with pytest.raises(SessionNotFound) as caught:
            store.read(_MINE, "s")
        assert caught.value.session == "s"
        assert store.append(_MINE, "s", records(1), expected=0) == 1

    def test_what_was_read_does_not_change_later(self, store: RecordStore) -> None:
        """A reader holds what there was."""
        store.append(_MINE, "s", records(1), expected=0)
        read = store.read(_MINE, "s")
        store.append(_MINE, "s", records(1, 1), expected=1)
        assert len(read) == 1

    def test_an_append_does_not_keep_the_callers_list(self, store: RecordStore) -> None:
        """The caller may go on using it."""
        given = records(1)
        store.append(_MINE, "s", given, expected=0)
        given.append(Cancelled(9.0))
        assert len(store.read(_MINE, "s")) == 1

    def test_of_many_writers_one_wins_each_round(self, store: RecordStore) -> None:
        """Concurrent writers interleave whole batches; none is lost and none is torn."""
        won: list[int] = []

        def write(number: int) -> None:
            for _ in range(20):
                length = len(store.read(_MINE, "s"))
                try:
                    store.append(_MINE, "s", records(2, 100 * number), expected=length)
                except Conflict:
                    continue
                won.append(number)

        store.append(_MINE, "s", records(2), expected=0)
        writers = [Thread(target=write, args=(n,)) for n in range(1, 5)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        found = list(store.read(_MINE, "s"))
        assert len(found) == 2 + 2 * len(won)
        pairs = [(a.at, b.at) for a, b in zip(found[::2], found[1::2], strict=True)]
        assert all(b == a + 1 for a, b in pairs)
