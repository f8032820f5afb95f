"""Tasks and threads that share a session take turns, and a session does not call itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tenure import AsyncSession, Options, Session
from tenure.core.message import JsonObject
from tenure.core.record import Appended, Cancelled, Record, Requested, Started
from tenure.errors import SessionError
from tenure.storage.in_memory import InMemoryStore
from tests.assembly.apis import APIS
from tests.assembly.stores import NAME, SlowStore, log_of

WIRES = [api.wire for api in APIS]
EACH_WIRE = pytest.mark.parametrize("wire", WIRES)


def options(wire: str, store: Any, count: Any = None) -> Options:
    return Options(wire=wire, store=store, name=NAME, clock=lambda: 0.0, count=count)


def new(wire: str, store: Any) -> AsyncSession:
    return AsyncSession("claude-opus-4-5", max_tokens=900, options=options(wire, store))


def said(records: Sequence[Record]) -> list[str]:
    return [r.message.data["content"] for r in records if isinstance(r, Appended)]


# -- tasks -------------------------------------------------------------------------------------


@EACH_WIRE
@pytest.mark.parametrize("make", [SlowStore, InMemoryStore])
def test_first_calls_made_at_once_are_taken_in_the_order_in_which_they_were_made(
    wire: str, make: Callable[[], Any]
) -> None:
    async def run() -> None:
        store = make()
        session = new(wire, store)
        done = await asyncio.gather(
            session.user("one"), session.user("two"), session.request(), session.request()
        )
        assert done[2].body == done[3].body
        records = log_of(store.kept if isinstance(store, SlowStore) else store)
        assert [type(r) for r in records] == [Started, Appended, Appended, Requested]
        assert said(records) == ["one", "two"]
        if isinstance(store, SlowStore):
            assert store.most == 1

    asyncio.run(run())


@EACH_WIRE
def test_calls_made_at_once_by_many_tasks_all_arrive_in_order(wire: str) -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        words = [f"word {n}" for n in range(30)]
        async with asyncio.TaskGroup() as tasks:
            for each in words:
                tasks.create_task(session.user(each))
        assert said(log_of(store.kept)) == words

    asyncio.run(run())


@EACH_WIRE
def test_a_call_that_is_refused_lets_the_next_one_have_its_turn(wire: str) -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        done = await asyncio.gather(
            session.request(),
            session.user("one"),
            session.request(),
            session.user("two"),
            session.cancel(),
            session.user("three"),
            return_exceptions=True,
        )
        assert [isinstance(each, SessionError) for each in done] == [1, 0, 0, 1, 0, 0]
        records = log_of(store.kept)
        assert [type(r) for r in records] == [Started, Appended, Requested, Cancelled, Appended]

    asyncio.run(run())


def test_a_resumed_session_is_shared_as_well() -> None:
    async def run() -> None:
        store = SlowStore()
        await new(WIRES[0], store).user("one")
        session = await AsyncSession.resume(NAME, options(WIRES[0], store))
        await asyncio.gather(session.user("two"), session.user("three"))
        assert said(log_of(store.kept)) == ["one", "two", "three"]

    asyncio.run(run())


# -- threads -----------------------------------------------------------------------------------


class Gate(InMemoryStore):
    """A store whose next append waits for `go` before it writes, once `hold` was called."""

    def __init__(self) -> None:
        super().__init__()
        self.held, self.go = threading.Event(), threading.Event()
        self.inside = self.most = 0
        self._holds = False

    def hold(self) -> None:
        self._holds = True

    def append(self, scope: Any, session: str, records: Sequence[Record], *, expected: int) -> int:
        self.inside += 1
        self.most = max(self.most, self.inside)
        holds, self._holds = self._holds, False
        if holds:
            self.held.set()
            assert self.go.wait(60)
        try:
            return super().append(scope, session, records, expected=expected)
        finally:
            self.inside -= 1


@EACH_WIRE
def test_a_thread_waits_until_the_call_of_another_has_ended(wire: str) -> None:
    store = Gate()
    session = Session("claude-opus-4-5", max_tokens=900, options=options(wire, store))
    store.hold()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(session.user, "one")
        assert store.held.wait(60)
        second = pool.submit(session.user, "two")
        shown = pool.submit(session.explain)
        # Long enough for a call that does not wait to run into the first one.
        threading.Event().wait(0.05)
        assert not second.done()
        assert not shown.done()
        store.go.set()
        assert (first.result(60), second.result(60)) == (None, None)
        assert shown.result(60).steps == 0
    assert store.most == 1
    assert said(log_of(store)) == ["one", "two"]


@EACH_WIRE
def test_nothing_that_threads_say_at_once_is_lost(wire: str) -> None:
    store = InMemoryStore()
    session = Session("claude-opus-4-5", max_tokens=900, options=options(wire, store))
    ready = threading.Barrier(4)

    def speak(thread: int) -> None:
        ready.wait(60)
        for number in range(25):
            session.append({"role": "assistant", "content": f"{thread}.{number}"})
            if thread == 0:
                session.explain()

    with ThreadPoolExecutor(4) as pool:
        for each in [pool.submit(speak, thread) for thread in range(4)]:
            each.result(60)
    found = said(log_of(store))
    for thread in range(4):
        own = [text for text in found if text.startswith(f"{thread}.")]
        assert own == [f"{thread}.{number}" for number in range(25)]
    request = session.request()
    with ThreadPoolExecutor(4) as pool:
        bodies = [each.result(60) for each in [pool.submit(lambda: request.body)] * 4]
    assert set(bodies) == {Session.resume(NAME, options(wire, store)).request().body}


# -- calls from inside -------------------------------------------------------------------------


def test_a_session_called_by_its_own_store_says_so_and_goes_on() -> None:
    class Calling(InMemoryStore):
        session: Session | None = None

        def append(self, *given: Any, **named: Any) -> int:
            if self.session is not None:
                with pytest.raises(SessionError, match="from inside") as caught:
                    self.session.user("never")
                refused.append(caught.value)
            return super().append(*given, **named)

    refused: list[SessionError] = []
    store = Calling()
    session = Session("claude-opus-4-5", max_tokens=900, options=options(WIRES[0], store))
    store.session = session
    session.user("one")
    session.user("two")
    assert [error.state for error in refused] == ["busy", "busy"]
    assert said(log_of(store)) == ["one", "two"]


def test_an_async_session_called_by_its_own_store_says_so_and_goes_on() -> None:
    class Calling(SlowStore):
        session: AsyncSession | None = None

        async def append(self, *given: Any, **named: Any) -> int:
            if self.session is not None:
                with pytest.raises(SessionError, match="from inside") as caught:
                    await self.session.user("never")
                refused.append(caught.value)
            return await super().append(*given, **named)

    async def run() -> None:
        store = Calling()
        session = store.session = new(WIRES[0], store)
        await asyncio.gather(session.user("one"), session.user("two"))
        assert said(log_of(store.kept)) == ["one", "two"]

    refused: list[SessionError] = []
    asyncio.run(run())
    # Three writes: the start of the log is one of its own.
    assert [error.state for error in refused] == ["busy"] * 3


@EACH_WIRE
def test_a_session_serves_one_event_loop_after_another(wire: str) -> None:
    session = new(wire, SlowStore())
    asyncio.run(session.user("one"))
    request: JsonObject = asyncio.run(session.request())
    assert request
