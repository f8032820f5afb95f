"""The session of a synchronous agent loop.

Invariant: every method drives one flow of the machine to its end, one at a time; a method that
raises has changed nothing. Only if the store wrote before it failed (or Ctrl-C came in between) has
it happened all the same: the next call finds it in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from tenure.assembly.build import Options, begin, head_of, perform, resumed, stored
from tenure.assembly.request import Calls, Request, as_results, checked, checked_message
from tenure.core.command import Command, CountExactly, Flow, Summarize
from tenure.core.drive import drive
from tenure.core.edit import Edit
from tenure.core.explain import Explanation
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.session import SessionMachine
from tenure.errors import ConfigError, SessionError, SessionNotFound
from tenure.wire.assemble import Assembler
from tenure.wire.replies import as_dict

T = TypeVar("T")


class Session:
    """One conversation whose requests stay legal, within budget and worth their price.

    `params` are passed on with every request (max_tokens, thinking, temperature, ...); `tools` are
    the provider's own definitions. What else can be set is in `Options`. Threads may share a session:
    their calls run one after the other.
    """

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
        self._built, first = begin(head, options)
        self._refuse_async_clients()
        self._run(self._machine.start(first))

    @classmethod
    def resume(cls, name: str, options: Options) -> Session:
        """The session of that name from `options.store`; raises SessionNotFound."""
        session = cls.__new__(cls)
        records = _at_once(stored(name, options), "store")
        session._built = resumed(name, options, records)  # noqa: SLF001
        session._refuse_async_clients()  # noqa: SLF001
        return session

    # True while a flow is driven; the lock lets its own thread in again.
    _busy = False

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return self._machine.name

    @property
    def calls(self) -> Calls:
        """The calls of the last reply that wait for your results."""
        with self._built.lock:
            return Calls(self._machine.calls, waiting=bool(self._machine.transcript.open_calls))

    def user(self, content: str | Sequence[JsonObject], *, pinned: bool = False) -> None:
        """Adds what the user said: a text or content blocks. It is never evicted."""
        made = self._built.wire.user(checked(content))
        self._append([Message(m, origin=Origin.USER, pinned=pinned) for m in made])

    def append(
        self, *messages: JsonObject, origin: Origin | None = None, pinned: bool = False
    ) -> None:
        """Adds wire messages of any role: a stored history, whatever is wrong with it, or what the
        harness says. Pinned ones stay in the view as they are."""
        said = [checked_message(message) for message in messages]
        origin_of = self._built.wire.origin
        self._append([Message(m, origin=origin or origin_of(m), pinned=pinned) for m in said])

    def request(self) -> Request:
        """The next request: the same until something is appended.

        Raises BudgetError when what must stay does not fit, SessionError while calls wait.
        """
        with self._built.lock:
            outgoing = self._run(self._machine.request(self._now()))
            return self._built.request(outgoing)

    def reply(self, reply: Any) -> None:
        """Takes in the reply: the SDK's object, a dict or the body's bytes."""
        self._run(self._machine.reply(as_dict(reply), self._now()))

    def stream(self, events: Iterable[T]) -> Iterator[T]:
        """Hands the events of a streamed reply on as they come and takes the reply in at the end.

        A stream that breaks off leaves the request open: `request()` gives the same one again.
        """
        assembler = Assembler(self._built.wire.name)
        for event in events:
            assembler.feed(event)
            yield event
        self.reply(assembler.reply())

    def results(self, results: Mapping[str, Any]) -> None:
        """Answers the calls by id: a text, content blocks, JSON values, or an exception."""
        self._run(self._machine.results(as_results(results), self._now()))

    def recall(self, handle: str, *, lines: str = "", pattern: str = "") -> str:
        """The original behind a handle, whole, by line range ("40-80") or by pattern."""
        with self._built.lock:
            return self._machine.fetch(handle, lines=lines, pattern=pattern)

    def undo(self, *edits: Edit) -> None:
        """Takes edits back: their originals return to the view and stay."""
        self._run(self._machine.undo(edits, self._now()))

    def cancel(self, *, delegate: bool = True) -> None:
        """Gives up the open request, and the calls that wait, e.g. when the user broke in.

        `delegate=False` also ends the clearing on the provider's side, for good: for a host that
        refuses a request because of it.
        """
        self._run(self._machine.cancel(self._now(), delegate=delegate))

    def explain(self) -> Explanation:
        """What was left out, why, what it saved, and how to get it back."""
        with self._built.lock:
            return self._machine.explain()

    @property
    def _machine(self) -> SessionMachine:
        return self._built.machine

    def _now(self) -> float:
        return self._built.options.clock()

    def _append(self, messages: Sequence[Message]) -> None:
        self._run(self._machine.append(messages, self._now()))

    def _run(self, flow: Flow[T]) -> T:
        with self._built.lock:
            if self._busy:
                raise SessionError(
                    "the session is called from inside a call of its own, by its store or its "
                    "counter; let that return first",
                    state="busy",
                )
            self._busy = True
            try:
                if self._built.writes.unsettled:
                    self._settle()
                result = drive(flow, self._perform)
                self._built.writes.end()
                return result
            finally:
                self._busy = False

    def _perform(self, command: Command) -> Any:
        key = _ASKED.get(type(command), "store")
        return _at_once(perform(self._built, command), key)

    def _refuse_async_clients(self) -> None:
        """An asynchronous client is refused when the session is made, not when it is first asked."""
        for key, asker in (("count", self._built.count), ("compact", self._built.summarizer)):
            if asker is not None and asker.asynchronous:
                raise _asynchronous(key)

    def _settle(self) -> None:
        writes = self._built.writes
        try:
            found = _at_once(writes.read(), "store")
        except SessionNotFound:
            found = ()
        writes.settle(found)


# The option that answers a command, where it is not the store.
_ASKED: dict[type[Command], str] = {CountExactly: "count", Summarize: "compact"}


def _at_once(answer: Any, key: str) -> Any:
    """The answer of a store or a counter; ConfigError when it has to be awaited."""
    if not isawaitable(answer):
        return answer
    # A coroutine that nobody awaits would say so when it is thrown away.
    close = getattr(answer, "close", None)
    if close is not None:
        close()
    raise _asynchronous(key)


def _asynchronous(key: str) -> ConfigError:
    return ConfigError(
        f"{key} is asynchronous, and a Session waits for nothing: use AsyncSession, or a synchronous "
        f"{key}",
        key=key,
    )
