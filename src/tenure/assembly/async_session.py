"""The session of an asynchronous agent loop.

Invariant: the same machine and the same methods as `Session`; only the waiting differs. A store or
an exact counter may answer at once or be awaited.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from tenure.assembly.build import Options, build, head_of, perform, resumed, started, stored
from tenure.assembly.request import Calls, Request, as_results, checked, checked_message
from tenure.core.command import Command, Flow
from tenure.core.drive import drive_async
from tenure.core.edit import Edit
from tenure.core.explain import Explanation
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.record import Started
from tenure.core.session import SessionMachine
from tenure.wire.assemble import Assembler
from tenure.wire.replies import as_dict

T = TypeVar("T")


class AsyncSession:
    """`Session` for async loops; see there. Its log is opened by the first awaited call."""

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
        self._built = build(head, options)
        self._started: Started | None = started(self._built, head)

    @classmethod
    async def resume(cls, name: str, options: Options) -> AsyncSession:
        """The session of that name from `options.store`; raises SessionNotFound."""
        session = cls.__new__(cls)
        records = stored(name, options)
        if isawaitable(records):
            records = await records
        session._built = resumed(name, options, records)  # noqa: SLF001
        session._started = None  # noqa: SLF001
        return session

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

    async def append(self, message: JsonObject, *, origin: Origin | None = None) -> None:
        """Adds a wire message of any role."""
        message = checked_message(message)
        origin = origin or self._built.wire.origin(message)
        await self._append([Message(message, origin=origin)])

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

    async def cancel(self) -> None:
        """Gives up the open request, and the calls that wait."""
        await self._run(self._machine.cancel(self._now()))

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
        if self._started is not None:
            await drive_async(self._machine.start(self._started), self._perform)
            self._started = None
        return await drive_async(flow, self._perform)

    async def _perform(self, command: Command) -> Any:
        answer = perform(self._built, command)
        return await answer if isawaitable(answer) else answer
