"""Exact token counts from the provider, asked through the caller's own SDK client.

Invariant: only what the counting endpoint takes is sent, and what fails raises as the SDK raises it:
an estimate never passes for a count.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from tenure.core.message import JsonObject
from tenure.errors import ConfigError

CountTokens: TypeAlias = Callable[[JsonObject], "int | Awaitable[int]"]


_ENDPOINTS = {
    "anthropic_messages": ("messages", "count_tokens"),
    "openai_responses": ("responses", "input_tokens", "count"),
}


def counter_of(client: Any, wire: str) -> CountTokens:
    """Counts a request of that wire format with the client's counting endpoint; a function is taken
    as it is.

    `client` is an `anthropic` client (`messages.count_tokens`) or an `openai` one
    (`responses.input_tokens.count`: for Responses; Chat Completions has no such endpoint), sync or
    async. Raises ConfigError for anything else.
    """
    method = _method(client, _ENDPOINTS.get(wire, ()))
    if method is None:
        if callable(client):
            return client  # type: ignore[no-any-return]
        raise ConfigError(
            f"count takes a client that can count tokens of {wire} requests, or a function from a "
            f"request to a number; {type(client).__name__} is neither",
            key="count",
        )
    accepted = inspect.signature(method).parameters.keys()

    def count(request: JsonObject) -> int | Awaitable[int]:
        answer = method(**{name: value for name, value in request.items() if name in accepted})
        return _awaited(answer) if inspect.isawaitable(answer) else _tokens(answer)

    return count


async def _awaited(answer: Awaitable[Any]) -> int:
    return _tokens(await answer)


def _tokens(answer: Any) -> int:
    tokens: int = answer.input_tokens
    return tokens


def _method(client: Any, path: Sequence[str]) -> Callable[..., Any] | None:
    """The method at a path of attributes; None when there is none."""
    for name in path:
        client = getattr(client, name, None)
    return client if path and callable(client) else None
