"""A task that is cancelled inside a store leaves a session that knows what its log holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, Literal

import pytest

from tenure import AsyncSession, Options, Session
from tenure.core.message import JsonObject
from tenure.core.protocols import ToolCall
from tenure.core.record import Appended, Record, Started
from tenure.errors import Conflict, StoreError
from tenure.storage.in_memory import InMemoryStore
from tenure.testing.strategies import Step, reply
from tests.assembly.apis import APIS
from tests.assembly.stores import NAME, SlowStore, When, log_of

WIRES = [api.wire for api in APIS]
TOOL: JsonObject = {"name": "read"}
CALLS = Step(
    calls=(ToolCall("c1", "read", {"path": "a"}), ToolCall("c2", "recall", {"handle": "t"}))
)
How = Literal["cancel", "twice", "timeout"]
EACH_WIRE = pytest.mark.parametrize("wire", WIRES)
EACH_WAY = pytest.mark.parametrize("how", ["cancel", "twice", "timeout"])
EACH_TIME = pytest.mark.parametrize("when", ["before", "after"])


def options(wire: str, store: Any) -> Options:
    return Options(wire=wire, store=store, name=NAME, clock=lambda: 0.0)


def new(wire: str, store: Any) -> AsyncSession:
    return AsyncSession(
        "claude-opus-4-5", max_tokens=900, tools=[TOOL], options=options(wire, store)
    )


def moves(wire: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Every kind of call that writes, in an order in which they are allowed."""
    called, said = reply(wire, CALLS, 100), reply(wire, Step(text="Done."), 200)
    return [
        ("user", ("go",)),
        ("request", ()),
        ("reply", (called,)),
        ("results", ({"c1": "text of a"},)),
        ("request", ()),
        ("cancel", ()),
        ("request", ()),
        ("reply", (called,)),
        ("cancel", ()),
        ("append", ({"role": "user", "content": "and then?"},)),
        ("request", ()),
        ("stream", (said,)),
        ("user", ("thanks",)),
        ("request", ()),
    ]


async def events(wire: str, body: dict[str, Any]) -> AsyncIterator[JsonObject]:
    """The events of a streamed reply that says one text."""
    if wire == "anthropic_messages":
        text = body["content"][0]
        yield {"type": "message_start", "message": {**body, "content": []}}
        yield {"type": "content_block_start", "index": 0, "content_block": text}
    elif wire == "openai_chat":
        choice = body["choices"][0]
        yield {**body, "choices": [{"index": 0, "delta": choice["message"]}]}
    else:
        yield {"type": "response.completed", "response": body}


async def make(session: AsyncSession, wire: str, move: tuple[str, tuple[Any, ...]]) -> None:
    name, given = move
    if name == "stream":
        async for _ in session.stream(events(wire, *given)):
            pass
    else:
        await getattr(session, name)(*given)


def undisturbed(wire: str) -> list[Record]:
    """The log of a session in which nobody broke in."""

    async def run() -> list[Record]:
        store = InMemoryStore()
        session = new(wire, store)
        for move in moves(wire):
            await make(session, wire, move)
        return log_of(store)

    return asyncio.run(run())


async def interrupt(store: SlowStore, move: Awaitable[None], how: How) -> BaseException:
    """Makes a move, cancels it inside the held write, lets the write go on; what the caller got."""

    async def limited() -> None:
        if how != "timeout":
            await move
            return
        async with asyncio.timeout(None) as limit:
            limits.append(limit)
            await move

    limits: list[asyncio.Timeout] = []
    task = asyncio.create_task(limited())
    await store.held.wait()
    if how == "timeout":
        limits[0].reschedule(0)
    else:
        task.cancel()
    for _ in range(4):
        await asyncio.sleep(0)
        if how == "twice":
            task.cancel()
    assert not task.done(), "the cancellation waits for the write"
    store.go.set()
    with pytest.raises((asyncio.CancelledError, TimeoutError)) as caught:
        await task
    return caught.value


@EACH_WIRE
@EACH_WAY
@EACH_TIME
def test_a_write_that_is_cancelled_is_finished_and_the_caller_hears_of_the_cancellation(
    wire: str, how: How, when: When
) -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        for at, move in enumerate(moves(wire)):
            store.hold(when)
            error = await interrupt(store, make(session, wire, move), how)
            assert isinstance(error, TimeoutError if how == "timeout" else asyncio.CancelledError)
            if at == 0:
                # The first call opens the log, and was cancelled at that: it goes no further.
                assert [type(r) for r in log_of(store.kept)] == [Started]
                await make(session, wire, move)
            assert session._machine.length == len(log_of(store.kept))
        assert log_of(store.kept) == expected

    expected = undisturbed(wire)
    asyncio.run(run())


@EACH_WIRE
@EACH_WAY
def test_a_cancelled_write_that_fails_changes_nothing_and_can_be_made_again(
    wire: str, how: How
) -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        for at, move in enumerate(moves(wire)):
            length = session._machine.length
            failure = StoreError("the disk is full")
            store.hold("before", fails=failure)
            error = await interrupt(store, make(session, wire, move), how)
            heard = error.__cause__ if how == "timeout" else error
            assert isinstance(heard, asyncio.CancelledError)
            assert heard.__cause__ is failure
            assert session._machine.length == length
            assert at or length == 0
            await make(session, wire, move)
        assert log_of(store.kept) == expected

    expected = undisturbed(wire)
    asyncio.run(run())


@EACH_WIRE
@EACH_TIME
@pytest.mark.parametrize("kind", [OSError, asyncio.CancelledError, TimeoutError])
def test_a_store_that_fails_before_or_after_it_wrote_is_believed_by_its_log(
    wire: str, when: When, kind: type[Exception]
) -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        for at, move in enumerate(moves(wire)):
            store.hold(when, fails=kind("no answer"))
            store.go.set()
            with pytest.raises(kind):
                await make(session, wire, move)
            if when == "before" or at == 0:
                await make(session, wire, move)
        # The last move is known once the session is used again.
        await session.request()
        assert log_of(store.kept) == expected
        assert session._machine.length == len(expected)

    expected = undisturbed(wire)
    asyncio.run(run())


class FailingStore(InMemoryStore):
    """Raises `fails` once, before or after it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: BaseException | None = None
        self.when: When = "before"

    def append(self, scope: Any, session: str, records: Sequence[Record], *, expected: int) -> int:
        fails, self.fails = self.fails, None
        if fails is not None and self.when == "before":
            raise fails
        length = super().append(scope, session, records, expected=expected)
        if fails is not None:
            raise fails
        return length


@EACH_WIRE
@EACH_TIME
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_a_sync_session_finds_in_the_log_what_was_written_before_it_was_broken_off(
    wire: str, when: When, kind: type[BaseException]
) -> None:
    store = FailingStore()
    session = Session("claude-opus-4-5", max_tokens=900, tools=[TOOL], options=options(wire, store))
    sync = [m for m in moves(wire) if m[0] != "stream"]
    for name, given in [*sync[:-2], ("reply", (reply(wire, Step(text="Done."), 200),)), *sync[-2:]]:
        store.fails, store.when = kind("broken off"), when
        with pytest.raises(kind):
            getattr(session, name)(*given)
        if when == "before":
            getattr(session, name)(*given)
    session.request()
    assert log_of(store) == undisturbed(wire)
    assert session._machine.length == len(log_of(store))


def test_what_someone_else_wrote_is_not_taken_for_the_sessions_own() -> None:
    store = FailingStore()
    session = Session("claude-opus-4-5", max_tokens=900, options=options(WIRES[0], store))
    session.user("one")
    other = Session.resume(NAME, options(WIRES[0], store))
    other.user("from elsewhere")
    for _ in range(2):
        with pytest.raises(Conflict):
            session.user("two")
    assert session._machine.length == 2
    said = [r.message.data["content"] for r in log_of(store) if isinstance(r, Appended)]
    assert said == ["one", "from elsewhere"]


@EACH_WIRE
@pytest.mark.parametrize("kind", [OSError, Conflict])
def test_a_first_call_that_the_store_refused_can_be_made_again(wire: str, kind: Any) -> None:
    failure = Conflict("x", expected=0, actual=1) if kind is Conflict else kind("no disk")

    async def run() -> None:
        store = SlowStore()
        session = new(wire, store)
        for _ in range(2):
            store.hold("before", fails=failure)
            store.go.set()
            with pytest.raises(kind):
                await session.user("go")
        await session.user("go")
        await session.request()
        assert [type(r).__name__ for r in log_of(store.kept)] == [
            "Started",
            "Appended",
            "Requested",
        ]

    asyncio.run(run())


def test_a_call_cancelled_while_it_waits_its_turn_changes_nothing() -> None:
    async def run() -> None:
        store = SlowStore()
        session = new(WIRES[0], store)
        await session.user("one")
        store.hold("before")
        first = asyncio.create_task(session.user("two"))
        await store.held.wait()
        second = asyncio.create_task(session.user("never"))
        third = asyncio.create_task(session.user("three"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        store.go.set()
        await first
        await third
        records = log_of(store.kept)
        said = [r.message.data["content"] for r in records if isinstance(r, Appended)]
        assert said == ["one", "two", "three"]

    asyncio.run(run())


def near_the_limit(count: Any) -> Options:
    return Options(window=8_000, count=count, policy="append-only", clock=lambda: 0.0)


def words_near_the_limit() -> str:
    """A text of which the session asks how large it is exactly."""
    asked: list[JsonObject] = []

    def count(request: JsonObject) -> int:
        asked.append(request)
        return 10

    for words in range(3_000, 12_000, 50):
        session = Session("claude-opus-4-5", max_tokens=900, options=near_the_limit(count))
        session.user("word " * words)
        session.request()
        if asked:
            return "word " * words
    raise AssertionError("no text was near the limit")


def test_a_count_that_is_cancelled_ends_at_once_and_the_request_can_be_made_again() -> None:
    async def run() -> None:
        async def count(_: JsonObject) -> int:
            counting.set()
            await answer.wait()
            return 10

        counting, answer = asyncio.Event(), asyncio.Event()
        session = AsyncSession("claude-opus-4-5", max_tokens=900, options=near_the_limit(count))
        await session.user(words_near_the_limit())
        length = session._machine.length
        task = asyncio.create_task(session.request())
        await counting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert session._machine.length == length
        answer.set()
        await session.request()

    asyncio.run(run())


def test_a_stream_cancelled_between_events_leaves_the_request_open() -> None:
    async def run() -> None:
        session = new(WIRES[0], SlowStore())
        await session.user("go")
        body = (await session.request()).body

        async def endless() -> AsyncIterator[JsonObject]:
            yield {"type": "message_start", "message": {"role": "assistant", "content": []}}
            await asyncio.Event().wait()

        async def consume() -> None:
            async for _ in session.stream(endless()):
                begun.set()

        begun = asyncio.Event()
        task = asyncio.create_task(consume())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await session.request()).body == body
        await session.reply(reply(WIRES[0], Step(text="Done."), 100))

    asyncio.run(run())
