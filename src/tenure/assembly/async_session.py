"""The session of an asynchronous agent loop.

Invariant: the same machine and the same methods as `Session`; only the waiting differs. A store or
an exact counter may answer at once or be awaited. Calls run one at a time, in the order in which
they were made. A write that has begun is waited for and applied, also when the task is cancelled
meanwhile: the cancellation goes on from there.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from tenure.assembly.build import Built, Options, begin, head_of, perform, resumed, stored
from tenure.assembly.request import Calls, Request, as_results, checked, checked_message
from tenure.core.command import Command, Flow, SaveRecords
from tenure.core.drive import drive_async
from tenure.core.edit import Edit
from tenure.core.explain import Explanation
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.record import Started
from tenure.core.session import SessionMachine
from tenure.errors import SessionNotFound
from tenure.wire.assemble import Assembler
from tenure.wire.replies import as_dict

T = TypeVar("T")


class AsyncSession:
    """`Session` for async loops; see there. Its log is opened by the first awaited call. Tasks of one
    event loop may share it."""

    def __init__(
        self,
        model: str,
        *,
        system: str | Sequence[JsonObject] | None = None,
        tools: Sequence[JsonObject] = (),
        options: Options | None = None,
        **params: Any,
    ) -> None:
        options = options or Options()
        head = head_of(model, options, system=system, tools=tools, params=params)
        self._take(*begin(head, options))

    @classmethod
    async def resume(cls, name: str, options: Options) -> AsyncSession:
        """The session of that name from `options.store`; raises SessionNotFound."""
        session = cls.__new__(cls)
        records = stored(name, options)
        if isawaitable(records):
            records = await records
        session._take(resumed(name, options, records), None)  # noqa: SLF001
        return session

    def _take(self, built: Built, start: Started | None) -> None:
        from tenure.assembly.turns import Turns

        self._built = built
        self._start = start
        self._turns = Turns()

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return self._machine.name

    @property
    def calls(self) -> Calls:
        """The calls of the last reply that wait for your results."""
        return Calls(self._machine.calls, waiting=bool(self._machine.transcript.open_calls))

    async def user(self, content: str | Sequence[JsonObject], *, pinned: bool = False) -> None:
        """Adds what the user said; it is never evicted."""
        made = self._built.wire.user(checked(content))
        await self._append([Message(m, origin=Origin.USER, pinned=pinned) for m in made])

    async def append(
        self, *messages: JsonObject, origin: Origin | None = None, pinned: bool = False
    ) -> None:
        """Adds wire messages of any role; see `Session.append`."""
        said = [checked_message(message) for message in messages]
        origin_of = self._built.wire.origin
        await self._append([Message(m, origin=origin or origin_of(m), pinned=pinned) for m in said])

    async def request(self) -> Request:
        """The next request; see `Session.request`."""
        outgoing = await self._run(self._machine.request(self._now()))
        return self._built.request(outgoing)

    async def reply(self, reply: Any) -> None:
        """Takes in the reply."""
        await self._run(self._machine.reply(as_dict(reply), self._now()))

    async def stream(self, events: AsyncIterable[T]) -> AsyncIterator[T]:
        """Hands the events of a streamed reply on and takes the reply in at the end."""
        assembler = Assembler(self._built.wire.name)
        async for event in events:
            assembler.feed(event)
            yield event
        await self.reply(assembler.reply())

    async def results(self, results: Mapping[str, Any]) -> None:
        """Answers the calls by id."""
        await self._run(self._machine.results(as_results(results), self._now()))

    def recall(self, handle: str, *, lines: str = "", pattern: str = "") -> str:
        """The original behind a handle."""
        return self._machine.fetch(handle, lines=lines, pattern=pattern)

    async def undo(self, *edits: Edit) -> None:
        """Takes edits back."""
        await self._run(self._machine.undo(edits, self._now()))

    async def cancel(self, *, delegate: bool = True) -> None:
        """Gives up the open request, and the calls that wait; `delegate=False` also the clearing on
        the provider's side."""
        await self._run(self._machine.cancel(self._now(), delegate=delegate))

    def explain(self) -> Explanation:
        """What was left out, why, what it saved, and how to get it back."""
        return self._machine.explain()

    @property
    def _machine(self) -> SessionMachine:
        return self._built.machine

    def _now(self) -> float:
        return self._built.options.clock()

    async def _append(self, messages: Sequence[Message]) -> None:
        await self._run(self._machine.append(messages, self._now()))

    async def _run(self, flow: Flow[T]) -> T:
        async with self._turns.turn():
            if self._built.writes.unsettled:
                await self._settle()
            if self._start is not None and self._machine.length == 0:
                await self._drive(self._machine.start(self._start))
            return await self._drive(flow)

    async def _drive(self, flow: Flow[T]) -> T:
        try:
            result = await drive_async(flow, self._perform)
            self._built.writes.end()
        finally:
            self._turns.deliver()
        return result

    async def _settle(self) -> None:
        writes = self._built.writes
        try:
            found = writes.read()
            if isawaitable(found):
                found = await found
        except SessionNotFound:
            found = ()
        writes.settle(found)

    async def _perform(self, command: Command) -> Any:
        answer = perform(self._built, command)
        if not isawaitable(answer):
            return answer
        return await (self._turns.finish(answer) if isinstance(command, SaveRecords) else answer)
