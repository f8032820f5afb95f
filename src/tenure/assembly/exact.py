"""Exact token counts from the provider, asked through the caller's own SDK client.

Invariant: only what the counting endpoint takes is sent, and what fails raises as the SDK raises it:
an estimate never passes for a count.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tenure.core.message import JsonObject
from tenure.errors import ConfigError

CountTokens: TypeAlias = Callable[[JsonObject], "int | Awaitable[int]"]


def counter_of(client: Any) -> CountTokens:
    """Counts a request with the client's counting endpoint; a function is taken as it is.

    `client` is an `anthropic` client (`messages.count_tokens`) or an `openai` one
    (`responses.input_tokens.count`: for Responses; Chat Completions has no such endpoint), sync or
    async. Raises ConfigError for anything else.
    """
    method = _method(client)
    if method is None:
        if callable(client):
            made: CountTokens = client
            return made
        raise ConfigError(
            f"count is an SDK client that can count tokens, or a function from a request to a "
            f"number; {type(client).__name__} is neither",
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


def _method(client: Any) -> Callable[..., Any] | None:
    """The counting method of an SDK client; None when it has none."""
    for path in (("messages", "count_tokens"), ("responses", "input_tokens", "count")):
        found = client
        for name in path:
            found = getattr(found, name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None
