"""Exact token counts from the provider, asked through the caller's own SDK client.

Invariant: only what the counting endpoint takes is sent. What goes wrong between us and the provider
is an answer (`Uncounted`, with the reason), never an error: an estimate is at hand, so a request does
not fail for want of its count, and an estimate never passes for one. Mistakes in a function of the
caller's are raised.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeGuard

from tenure.assembly.asking import LONGEST, Asker, method_at
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
# A count is not waited for as long as a reply is, seconds.
_PATIENCE = 30.0


def counter_of(client: Any, wire: str) -> Asker[int | Uncounted]:
    """Counts a request of that wire format with the client's counting endpoint; a function is taken
    as it is.

    `client` is an `anthropic` client (`messages.count_tokens`) or an `openai` one
    (`responses.input_tokens.count`: for Responses; Chat Completions has no such endpoint), sync or
    async. Raises ConfigError for anything else.
    """
    method = method_at(client, _ENDPOINTS.get(wire, ()))
    if method is None:
        if callable(client):
            later = inspect.iscoroutinefunction(client)
            return Asker(client, _number, Uncounted, asynchronous=later)
        none = "; Chat Completions has no endpoint that counts" if wire == "openai_chat" else ""
        raise ConfigError(
            f"count takes a client that can count tokens of {wire} requests, or a function from a "
            f"request to a number; {type(client).__name__} is neither{none}",
            key="count",
        )
    beta = method_at(client, _BETA) if wire == "anthropic_messages" else None
    patience = _patience(client)

    def count(request: JsonObject) -> Any:
        spoken = beta if beta is not None and "betas" in request else method
        return spoken(**_taken(request, spoken, beta or spoken, patience))

    return Asker(count, _counted, Uncounted, asynchronous=inspect.iscoroutinefunction(method))


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
    return repr(value)[:LONGEST]
