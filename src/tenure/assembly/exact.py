"""Exact token counts from the provider, asked through the caller's own SDK client.

Invariant: only what the counting endpoint takes is sent. What goes wrong between us and the provider
is an answer (`Uncounted`, with the reason), never an error: an estimate is at hand, so a request does
not fail for want of its count, and an estimate never passes for one. Mistakes in a function of the
caller's are raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard

from tenure.core.command import Uncounted
from tenure.core.message import JsonObject
from tenure.errors import ConfigError

CountTokens: TypeAlias = Callable[[JsonObject], int | Awaitable[int | None] | None]
"""From a request, the keyword arguments of the SDK's create call, to its input tokens; None when the
function does not know."""


class AnthropicClient(Protocol):
    """An `anthropic` client, sync or async: `messages.count_tokens` is asked."""

    @property
    def messages(self) -> Any:
        """What has the method."""


class OpenAIClient(Protocol):
    """An `openai` client, sync or async: `responses.input_tokens.count` is asked."""

    @property
    def responses(self) -> Any:
        """What has the method."""


_ENDPOINTS = {
    "anthropic_messages": ("messages", "count_tokens"),
    "openai_responses": ("responses", "input_tokens", "count"),
}
_BETA = ("beta", "messages", "count_tokens")
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
# A count is not waited for as long as a reply is, seconds.
_PATIENCE = 30.0
_LONGEST = 160


class ExactCounter:
    """Asks for exact counts; `asynchronous` when its answers are awaited, as far as can be told."""

    def __init__(
        self,
        count: Callable[[JsonObject], Any],
        read: Callable[[Any], int | Uncounted],
        *,
        asynchronous: bool,
    ) -> None:
        self._count = count
        self._read = read
        self._absent: Uncounted | None = None
        self.asynchronous = asynchronous

    def ask(self, request: JsonObject) -> int | Uncounted | Awaitable[int | Uncounted]:
        """The input tokens of a request, or why they are not known, or an awaitable of that.

        Raises ConfigError when the caller's function answers something else than a number.
        """
        if self._absent is not None:
            return self._absent
        try:
            answer = self._count(request)
        except Exception as error:
            if not _on_the_way(error):
                raise
            return self._failed(error)
        return _Later(self._awaited, answer) if inspect.isawaitable(answer) else self._read(answer)

    async def _awaited(self, answer: Awaitable[Any]) -> int | Uncounted:
        try:
            return self._read(await answer)
        except Exception as error:
            if not _on_the_way(error):
                raise
            return self._failed(error)

    def _failed(self, error: Exception) -> Uncounted:
        text = " ".join(str(error).split())[:_LONGEST]
        failed = Uncounted(f"{type(error).__name__}: {text}" if text else type(error).__name__)
        if getattr(error, "status_code", None) in _ABSENT:
            self._absent = failed
        return failed


class _Later:
    """An answer to be awaited, or thrown away unawaited with `close`."""

    def __init__(
        self, read: Callable[[Awaitable[Any]], Awaitable[int | Uncounted]], answer: Awaitable[Any]
    ) -> None:
        self._read = read
        self._answer = answer

    def __await__(self) -> Generator[Any, Any, int | Uncounted]:
        return self._read(self._answer).__await__()

    def close(self) -> None:
        """Throws it away; a coroutine that nobody awaits would complain."""
        if inspect.iscoroutine(self._answer):
            self._answer.close()


def counter_of(client: Any, wire: str) -> ExactCounter:
    """Counts a request of that wire format with the client's counting endpoint; a function is taken
    as it is.

    `client` is an `anthropic` client (`messages.count_tokens`) or an `openai` one
    (`responses.input_tokens.count`: for Responses; Chat Completions has no such endpoint), sync or
    async. Raises ConfigError for anything else.
    """
    method = _method(client, _ENDPOINTS.get(wire, ()))
    if method is None:
        if callable(client):
            return ExactCounter(client, _number, asynchronous=inspect.iscoroutinefunction(client))
        none = "; Chat Completions has no endpoint that counts" if wire == "openai_chat" else ""
        raise ConfigError(
            f"count takes a client that can count tokens of {wire} requests, or a function from a "
            f"request to a number; {type(client).__name__} is neither{none}",
            key="count",
        )
    beta = _method(client, _BETA) if wire == "anthropic_messages" else None
    patience = _patience(client)

    def count(request: JsonObject) -> Any:
        spoken = beta if beta is not None and "betas" in request else method
        return spoken(**_taken(request, spoken, beta or spoken, patience))

    return ExactCounter(count, _counted, asynchronous=inspect.iscoroutinefunction(method))


def _taken(
    request: JsonObject,
    spoken: Callable[..., Any],
    widest: Callable[..., Any],
    patience: Mapping[str, float],
) -> dict[str, Any]:
    """The arguments of the counting method; of an extra body what its beta form knows."""
    accepted = inspect.signature(spoken).parameters.keys()
    taken = {name: value for name, value in request.items() if name in accepted}
    extra = taken.pop("extra_body", None)
    if isinstance(extra, Mapping):
        known = accepted | inspect.signature(widest).parameters.keys()
        kept = {name: value for name, value in extra.items() if name in known}
        taken |= {"extra_body": kept} if kept else {}
    taken.pop("timeout", None)
    return {**taken, **({name: v for name, v in patience.items() if name in accepted})}


def _patience(client: Any) -> dict[str, float]:
    """The timeout to ask with: the client's own where it is the shorter one."""
    own = getattr(client, "timeout", None)
    seconds = getattr(own, "read", own)
    short = isinstance(seconds, int | float) and seconds <= _PATIENCE
    return {} if short else {"timeout": _PATIENCE}


def _on_the_way(error: Exception) -> bool:
    """Whether an error is the provider's, or of the way to it."""
    if isinstance(error, OSError):
        return True
    roots = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__}
    return not roots.isdisjoint(_ROOTS)


def _counted(answer: Any) -> int | Uncounted:
    """The number in what an SDK hands out, which checks no shapes: a gateway may have answered with
    a page of its own."""
    tokens = getattr(answer, "input_tokens", None)
    return tokens if _is_size(tokens) else Uncounted(f"the answer is no count: {_shown(answer)}")


def _number(answer: Any) -> int | Uncounted:
    """The answer of the caller's function; ConfigError when it is no number of tokens."""
    if answer is None:
        return Uncounted("the function that counts does not know")
    if not _is_size(answer):
        raise ConfigError(
            f"count must answer with a number of tokens, not {_shown(answer)}", key="count"
        )
    return answer


def _is_size(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(value: Any) -> str:
    return repr(value)[:_LONGEST]


def _method(client: Any, path: Sequence[str]) -> Callable[..., Any] | None:
    """The method at a path of attributes; None when there is none."""
    for name in path:
        client = getattr(client, name, None)
    return client if path and callable(client) else None
