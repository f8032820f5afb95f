"""What a session hands out: the next request and the calls to answer.

Invariant: plain values of the caller's own types; nothing here changes the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, overload

from tenure.core.fold import Outgoing
from tenure.core.message import JsonObject, json_bytes
from tenure.core.protocols import ToolCall
from tenure.errors import RequestError
from tenure.wire.detect import AnyWire

# Parameters of the SDK's call that are no part of the body.
_CLIENT_ONLY = frozenset({"extra_body", "extra_headers", "extra_query", "timeout", "betas"})


class Request(dict[str, Any]):
    """The keyword arguments of the SDK's create call: a plain dict that shares unchanged messages.

    `.body` is the same request as JSON bytes, the text of each message made once in its life;
    `.headers` are those that it needs beside the client's own (beta headers).
    """

    def __init__(
        self,
        wire: AnyWire,
        head: JsonObject,
        outgoing: Outgoing,
        *,
        changed: Mapping[int, JsonObject],
        lock: AbstractContextManager[Any],
    ) -> None:
        self._head = wire.delegating({**head, "max_tokens": outgoing.max_tokens}, outgoing.wanted)
        self._wire = wire
        self._lock = lock
        self._copy = outgoing.copy
        self._count = outgoing.count
        self._changed = changed
        # The copy grows in place when messages follow, so its length was noted.
        sent = outgoing.copy.sent(outgoing.count)
        super().__init__(wire.request(self._head, sent))
        # The wire has made a list of its own, which may begin with the system text.
        made = self[wire.key]
        for index, message in changed.items():
            made[len(made) - len(sent) + index] = message

    @property
    def body(self) -> bytes:
        """The request as JSON."""
        with self._lock:
            raws = self._copy.raws[: self._count]
        for index, message in self._changed.items():
            raws[index] = json_bytes(message)
        head = {k: v for k, v in self._head.items() if k not in _CLIENT_ONLY}
        return self._wire.body({**head, **(self._head.get("extra_body") or {})}, raws)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that go with `.body`, e.g. those that switch betas on."""
        return dict(self._head.get("extra_headers") or {})


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
        call_id: (str(value) or repr(value), True)
        if isinstance(value, BaseException)
        else (value, False)
        for call_id, value in given.items()
    }


def checked(content: Any) -> str | Sequence[JsonObject]:
    """The content of a user's message; RequestError when it is neither text nor content blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(isinstance(b, Mapping) for b in content):
        return list(content)
    raise RequestError(
        f"a user's content is a text or a list of content blocks, not {type(content).__name__}",
        path="content",
    )


def checked_message(message: Any) -> JsonObject:
    """A wire message; RequestError when it is no dict with a role or a type."""
    if isinstance(message, Mapping) and ("role" in message or "type" in message):
        return message
    raise RequestError(
        f"a message is a dict with a role (or a type, for items of Responses), not {message!r:.80}",
        path="messages",
    )
