"""The three APIs as a user's loop meets them: the real SDKs against the scripted model server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

from tenure import Options
from tenure.core.message import JsonObject
from tenure.testing import Call, Reply

SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}


@dataclass(frozen=True)
class Api:
    """One API: its wire format, a model that speaks it, and the tool of the tests."""

    wire: str
    model: str
    tool: JsonObject

    def options(self, **changes: Any) -> Options:
        return Options(wire=self.wire, **changes)

    def client(self, url: str) -> Any:
        if self.wire == "anthropic_messages":
            return anthropic.Anthropic(base_url=url, api_key="key")
        return openai.OpenAI(base_url=f"{url}/v1", api_key="key")

    def async_client(self, url: str) -> Any:
        if self.wire == "anthropic_messages":
            return anthropic.AsyncAnthropic(base_url=url, api_key="key")
        return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="key")

    def resource(self, client: Any) -> Any:
        if self.wire == "anthropic_messages":
            return client.messages
        return client.chat.completions if self.wire == "openai_chat" else client.responses

    def create(self, client: Any, request: JsonObject) -> Any:
        """The reply, or an awaitable of it for an async client."""
        return self.resource(client).create(**request)

    def events(self, client: Any, request: JsonObject) -> Iterator[Any]:
        with self.resource(client).create(**request, **self._streaming) as stream:
            yield from stream

    async def async_events(self, client: Any, request: JsonObject) -> AsyncIterator[Any]:
        async with await self.resource(client).create(**request, **self._streaming) as stream:
            async for event in stream:
                yield event

    @property
    def _streaming(self) -> dict[str, Any]:
        # Chat tells the usage of a stream only when asked.
        usage = {"stream_options": {"include_usage": True}} if self.wire == "openai_chat" else {}
        return {"stream": True, **usage}


ANTHROPIC = Api(
    "anthropic_messages",
    "claude-opus-5-5",
    {"name": "read", "description": "reads a file", "input_schema": SCHEMA},
)
CHAT = Api(
    "openai_chat",
    "gpt-6.1-sol",
    {"type": "function", "function": {"name": "read", "parameters": SCHEMA}},
)
RESPONSES = Api(
    "openai_responses",
    "gpt-6.1-sol",
    {"type": "function", "name": "read", "parameters": SCHEMA, "strict": False},
)
APIS = (ANTHROPIC, CHAT, RESPONSES)


def errand(steps: int, *, thinking: str = "") -> list[Reply]:
    """A model that reads `steps` files, one a step, and then is done."""
    read = [
        Reply(text="next", thinking=thinking, calls=[Call("read", {"path": f"src/file_{n}.py"})])
        for n in range(steps)
    ]
    return [*read, Reply(text="All is well.")]


def content_of(path: str, words: int = 800) -> str:
    """What the tool gives for a path: text with strings of its own."""
    return f"content of {path} by writer_of_{path}\n" + "the quick brown fox 123\n" * (words // 5)


def answers(calls: Sequence[Any]) -> dict[str, str]:
    return {c.id: content_of(c.input["path"], 2_000) for c in calls}
