"""The reply that a stream of events adds up to.

Invariant: usage of a later event replaces that of an earlier one, never adds to it; a stream that
was cut gives what had arrived. Events may be dicts, SDK objects, JSON text or `SseEvent`s.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from tenure.core.usage import Usage
from tenure.errors import ConfigError, UpstreamError
from tenure.wire.assemble_anthropic import AnthropicAssembly
from tenure.wire.assemble_openai import ChatAssembly, ResponsesAssembly
from tenure.wire.replies import anthropic_usage, as_dict, openai_usage
from tenure.wire.sse import SseEvent


class Assembly(Protocol):
    """The state of one API's stream."""

    done: bool

    def feed(self, event: dict[str, Any]) -> None:
        """Takes in one event; types we do not know change nothing."""

    def reply(self) -> dict[str, Any]:
        """The reply so far, shaped like the body of a reply that was not streamed."""


_ASSEMBLIES: dict[str, type[Assembly]] = {
    "anthropic_messages": AnthropicAssembly,
    "openai_chat": ChatAssembly,
    "openai_responses": ResponsesAssembly,
}


class Assembler:
    """Collects the events of one streamed reply of the named wire format."""

    def __init__(self, wire: str) -> None:
        if wire not in _ASSEMBLIES:
            raise ConfigError(
                f"{wire!r} is not a wire format; accepted: {', '.join(_ASSEMBLIES)}",
                source="wire",
                key=wire,
            )
        self.wire = wire
        self._assembly = _ASSEMBLIES[wire]()
        self._ended = False

    def feed(self, event: Any) -> None:
        """Takes in one event; UpstreamError when it is an error or can't be read."""
        text = event.data if isinstance(event, SseEvent) else event
        if isinstance(text, str) and text.strip() == "[DONE]":
            self._ended = True
            return
        data = as_dict(text)
        if data.get("type") == "error" or ("type" not in data and data.get("error")):
            raise UpstreamError(
                f"the stream ended in an error: {json.dumps(data, default=str)[:500]}",
                format=self.wire,
            )
        self._assembly.feed(data)

    @property
    def done(self) -> bool:
        """True once the event has arrived that ends a whole reply."""
        return self._ended or self._assembly.done

    def reply(self) -> dict[str, Any]:
        """The reply as if it had not been streamed; UpstreamError when nothing has arrived."""
        reply = self._assembly.reply()
        if not reply:
            raise UpstreamError("the stream ended before a reply began", format=self.wire)
        return reply

    @property
    def usage(self) -> Usage | None:
        """The usage reported last, None when none was."""
        usage = self._assembly.reply().get("usage")
        anthropic = self.wire == "anthropic_messages"
        return anthropic_usage(usage) if anthropic else openai_usage(usage)
