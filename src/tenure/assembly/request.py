"""What a session hands out: the next request and the calls to answer.

Invariant: plain values of the caller's own types; nothing here changes the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, overload

from tenure.core.message import JsonObject, json_bytes
from tenure.core.nesting import nests_too_deep
from tenure.core.protocols import ToolCall
from tenure.core.session import Outgoing, SessionMachine
from tenure.errors import RequestError
from tenure.wire import marks
from tenure.wire.detect import AnyWire


class Request(dict[str, Any]):
    """The keyword arguments of the SDK's create call: a plain dict that shares unchanged messages.

    `.body` is the same request as JSON bytes, the text of each message made once in its life.
    """

    def __init__(
        self,
        machine: SessionMachine,
        wire: AnyWire,
        outgoing: Outgoing,
        *,
        mark: bool,
        lock: AbstractContextManager[Any],
    ) -> None:
        self._head = {**machine.head, "max_tokens": outgoing.max_tokens}
        self._wire = wire
        self._lock = lock
        self._view = outgoing.view
        self._length = len(outgoing.view.entries)
        self._marked = _marked(self._head, outgoing) if mark else {}
        request = wire.request(self._head, outgoing.view.messages)
        for index, message in self._marked.items():
            request[wire.key][index] = message
        super().__init__(request)

    @property
    def body(self) -> bytes:
        """The request as JSON."""
        # The view grows in place when messages follow, so its length was noted.
        with self._lock:
            raws = self._view.raws[: self._length]
        for index, message in self._marked.items():
            raws[index] = json_bytes(message)
        return self._wire.body(self._head, raws)


def _marked(head: JsonObject, outgoing: Outgoing) -> dict[int, JsonObject]:
    """The messages that carry a cache mark, by their index: those in front of the end, where the
    automatic mark of the head stands, as many as the API allows, the last ones first."""
    automatic = head.get(marks.KEY)
    if not automatic:
        return {}
    free = marks.MOST - marks.count_marks(head)
    inner = [n - 1 for n in outgoing.marks if 0 < n < len(outgoing.view.entries)]
    found: dict[int, JsonObject] = {}
    for index in inner[max(0, len(inner) - free) :]:
        message = marks.marked(outgoing.view.entries[index].message.data, automatic)
        if message is not None:
            found[index] = message
    return found


class Calls(Sequence[ToolCall]):
    """The calls that your tools must answer, in the order the model made them.

    True as long as the model waits for results: also when it called only tenure's own `recall`,
    which the session answers itself and `results({})` sends on.
    """

    __slots__ = ("_calls", "waiting")

    def __init__(self, calls: Iterable[ToolCall], *, waiting: bool) -> None:
        self._calls = tuple(calls)
        self.waiting = waiting

    @overload
    def __getitem__(self, at: int) -> ToolCall: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[ToolCall]: ...
    def __getitem__(self, at: int | slice) -> ToolCall | Sequence[ToolCall]:
        return self._calls[at]

    def __len__(self) -> int:
        return len(self._calls)

    def __bool__(self) -> bool:
        return self.waiting

    def __repr__(self) -> str:
        return f"Calls({list(self._calls)!r}, waiting={self.waiting})"


def as_results(given: Mapping[str, Any]) -> dict[str, tuple[Any, bool]]:
    """Results by call id as (content, is_error): an exception is an error and says its text."""
    return {
        call_id: (sayable(str(value) or repr(value)), True)
        if isinstance(value, BaseException)
        else (sayable(value), False)
        for call_id, value in given.items()
    }


def checked(content: Any) -> str | Sequence[JsonObject]:
    """The content of a user's message; RequestError when it is neither text nor content blocks."""
    if isinstance(content, str):
        return str(sayable(content))
    if isinstance(content, list | tuple) and all(isinstance(b, Mapping) for b in content):
        return [sayable(block) for block in content]
    raise RequestError(
        f"a user's content is a text or a list of content blocks, not {type(content).__name__}",
        path="content",
    )


def checked_message(message: Any) -> JsonObject:
    """A wire message; RequestError when it is no dict with a role or a type."""
    if isinstance(message, Mapping) and ("role" in message or "type" in message):
        said: JsonObject = sayable(message)
        return said
    raise RequestError(
        f"a message is a dict with a role (or a type, for items of Responses), not {message!r:.80}",
        path="messages",
    )


def sayable(value: Any) -> Any:
    """The value itself, or a copy in which U+FFFD stands for lone surrogates, which the SDKs can't
    encode: they come from file names and cut emoji, and would fail every later request.

    A value that is nested too deep stays as it is: the session refuses its message by number.
    """
    return value if nests_too_deep(value) else _sayable(value)


def _sayable(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    if isinstance(value, Mapping):
        made = {key: _sayable(inner) for key, inner in value.items()}
        return value if all(made[key] is inner for key, inner in value.items()) else made
    if isinstance(value, list | tuple):
        items = [_sayable(inner) for inner in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value
