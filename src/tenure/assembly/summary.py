"""Summaries by the provider, asked for through the caller's own SDK client.

Invariant: the conversation is sent as it was, so that it is read from the prompt cache; the block that
comes back is kept as it came, since the provider has signed it.
"""

from __future__ import annotations

import inspect
from typing import Any

from tenure.assembly.asking import Asker, method_at
from tenure.core.command import Summarized
from tenure.core.message import JsonObject
from tenure.errors import ConfigError, UpstreamError
from tenure.wire.replies import as_dict, refuse_error
from tenure.wire.server_edits import summary_of

_WIRE = "anthropic_messages"
_METHOD = ("beta", "messages", "create")
# What only the call of its own takes, and this one does without.
_DROPPED = frozenset({"extra_query"})
# An SDK asks for a stream where a reply may take long, unless it is told how long to wait, seconds.
_PATIENCE = 600.0


def summarizer_of(client: Any, wire: str) -> Asker[Summarized]:
    """Asks an `anthropic` client, sync or async, for summaries (`beta.messages.create`).

    Raises ConfigError for anything else, and for other wire formats.
    """
    method = method_at(client, _METHOD)
    if method is None or wire != _WIRE:
        other = (
            f"the API of {wire} is asked for none" if method else f"{type(client).__name__} is none"
        )
        raise ConfigError(
            f"compact takes an anthropic client that asks for summaries; {other}", key="compact"
        )

    def ask(request: JsonObject) -> Any:
        kept = {name: value for name, value in request.items() if name not in _DROPPED}
        return method(**{"timeout": _PATIENCE, **kept})

    def read(answer: Any) -> Summarized:
        try:
            reply = as_dict(answer)
            refuse_error(reply, wire)
        except UpstreamError as error:
            return Summarized(why=str(error))
        return summary_of(reply)

    return Asker(
        ask,
        read,
        lambda why: Summarized(why=why),
        asynchronous=inspect.iscoroutinefunction(inspect.unwrap(method)),
    )
