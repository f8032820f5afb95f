"""Asking the provider through the caller's own SDK client, at once or awaited.

Invariant: what goes wrong between us and the provider is an answer with the reason, never an error:
the session can go on without it. Mistakes of the caller's are raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# The roots of what SDKs and HTTP libraries raise when a provider fails or can't be reached; that of
# requests and of the standard library is OSError.
_ROOTS = {
    ("anthropic", "AnthropicError"),
    ("openai", "OpenAIError"),
    ("httpx", "HTTPError"),
    ("httpx2", "HTTPError"),
    ("aiohttp", "ClientError"),
}
# Statuses of a provider or gateway that has no such endpoint: it is not asked again.
_ABSENT = frozenset({404, 405, 501})
# The longest reason, characters.
LONGEST = 160


class Asker(Generic[T]):
    """Asks and reads the answer; `asynchronous` when its answers are awaited, as far as can be told.

    `ask` is called with what is asked and answers at once or with an awaitable; `read` reads that,
    `failed` makes an answer of a reason.
    """

    def __init__(
        self,
        ask: Callable[..., Any],
        read: Callable[[Any], T],
        failed: Callable[[str], T],
        *,
        asynchronous: bool,
    ) -> None:
        self._ask = ask
        self._read = read
        self._reason = failed
        self._absent: T | None = None
        self.asynchronous = asynchronous

    def ask(self, what: Any) -> T | Awaitable[T]:
        """The answer, or an awaitable of it."""
        if self._absent is not None:
            return self._absent
        try:
            answer = self._ask(what)
        except Exception as error:
            if not _on_the_way(error):
                raise
            return self._failed(error)
        return _Later(self._awaited, answer) if inspect.isawaitable(answer) else self._read(answer)

    async def _awaited(self, answer: Awaitable[Any]) -> T:
        try:
            return self._read(await answer)
        except Exception as error:
            if not _on_the_way(error):
                raise
            return self._failed(error)

    def _failed(self, error: Exception) -> T:
        text = " ".join(str(error).split())[:LONGEST]
        name = type(error).__name__
        failed = self._reason(f"{name}: {text}" if text else name)
        if getattr(error, "status_code", None) in _ABSENT:
            self._absent = failed
        return failed


class _Later(Generic[T]):
    """An answer to be awaited, or thrown away unawaited with `close`."""

    def __init__(
        self, read: Callable[[Awaitable[Any]], Awaitable[T]], answer: Awaitable[Any]
    ) -> None:
        self._read = read
        self._answer = answer

    def __await__(self) -> Generator[Any, Any, T]:
        return self._read(self._answer).__await__()

    def close(self) -> None:
        """Throws it away; a coroutine that nobody awaits would complain."""
        if inspect.iscoroutine(self._answer):
            self._answer.close()


def _on_the_way(error: Exception) -> bool:
    """Whether an error is the provider's, or of the way to it."""
    if isinstance(error, OSError):
        return True
    roots = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__}
    return not roots.isdisjoint(_ROOTS)


def method_at(client: Any, path: Sequence[str]) -> Callable[..., Any] | None:
    """The method at a path of attributes; None when there is none."""
    for name in path:
        client = getattr(client, name, None)
    return client if path and callable(client) else None
