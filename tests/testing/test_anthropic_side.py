"""The Messages API of the scripted server, driven by the real SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import anthropic
import pytest
from anthropic.types import (
    Message,
    MessageParam,
    RawMessageStreamEvent,
    TextBlock,
    ThinkingBlock,
    ToolParam,
    ToolUseBlock,
)
from pydantic import TypeAdapter

from tenure.testing import Call, Failure, ModelServer, Reply, Script
from tests.testing.raw import events, post

MODEL = "claude-opus-5-5"
TOOLS: list[ToolParam] = [{"name": "read", "input_schema": {"type": "object"}}]
ASK: list[MessageParam] = [{"role": "user", "content": "why did the nightly build break?"}]
THOUGHTFUL = Reply(
    thinking="The log comes first, as ever: it says what the build saw.",
    text="I will read the build log and the file that it names.",
    calls=[Call("read", {"path": "build.log", "größe": [1, 2.5, None]}), Call("read", {})],
)


def client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="any")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([THOUGHTFUL, Reply("The cache was cold.")]) as running:
        yield running


def test_a_reply_becomes_a_message(server: ModelServer) -> None:
    with client(server) as sdk:
        message = sdk.messages.create(model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS)
    thinking, text, first, second = message.content
    assert isinstance(thinking, ThinkingBlock)
    assert thinking.thinking == THOUGHTFUL.thinking
    assert isinstance(text, TextBlock)
    assert text.text == THOUGHTFUL.text
    assert isinstance(first, ToolUseBlock)
    assert isinstance(second, ToolUseBlock)
    assert (first.name, first.input) == ("read", THOUGHTFUL.calls[0].input)
    assert first.id != second.id
    assert message.stop_reason == "tool_use"
    assert message.usage.output_tokens > 0


def test_a_stream_accumulates_to_the_plain_answer() -> None:
    with ModelServer(lambda _body, _step: THOUGHTFUL) as server, client(server) as sdk:
        plain = sdk.messages.create(model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS)
        with sdk.messages.stream(
            model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS
        ) as stream:
            seen = {event.type for event in stream}
            streamed = stream.get_final_message()
    assert [_said(block) for block in streamed.content] == [_said(b) for b in plain.content]
    assert streamed.stop_reason == plain.stop_reason
    assert streamed.usage.output_tokens == plain.usage.output_tokens
    assert {"thinking", "signature", "text", "input_json", "message_stop"} <= seen


def test_a_raw_stream_holds_every_kind_of_event(server: ModelServer) -> None:
    with client(server) as sdk:
        stream = sdk.messages.create(
            model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS, stream=True
        )
        kinds = [
            event.delta.type if event.type == "content_block_delta" else event.type
            for event in stream
        ]
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert {"thinking_delta", "signature_delta", "text_delta", "input_json_delta"} <= set(kinds)


def test_bodies_and_events_are_what_the_sdk_types_demand(server: ModelServer) -> None:
    body = {"model": MODEL, "max_tokens": 1_000, "messages": ASK, "tools": TOOLS}
    streamed = list(events(server, "/v1/messages", body))
    assert "ping" in [event["type"] for event in streamed]
    adapter: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)
    for event in streamed:
        if event["type"] != "ping":
            adapter.validate_python(event, strict=True)
    status, answer = post(server, "/v1/messages", body)
    assert status == 200
    Message.model_validate(answer, strict=True)


def test_the_async_client_works_plain_and_streaming() -> None:
    async def drive(server: ModelServer) -> tuple[Message, Message]:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="any") as sdk:
            plain = await sdk.messages.create(model=MODEL, max_tokens=9, messages=ASK)
            async with sdk.messages.stream(model=MODEL, max_tokens=9, messages=ASK) as stream:
                return plain, await stream.get_final_message()

    with ModelServer([Reply("one"), Reply("two")]) as server:
        plain, streamed = asyncio.run(drive(server))
    assert [plain.content[0].text, streamed.content[0].text] == ["one", "two"]  # type: ignore[union-attr]


def test_a_whole_tool_loop_passes_the_rules(server: ModelServer) -> None:
    with client(server) as sdk:
        first = sdk.messages.create(model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS)
        second = sdk.messages.create(
            model=MODEL,
            max_tokens=1_000,
            tools=TOOLS,
            messages=[
                *ASK,
                first.to_param(),
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": block.id, "content": "cold cache"}
                        for block in first.content
                        if isinstance(block, ToolUseBlock)
                    ],
                },
            ],
        )
    assert second.stop_reason == "end_turn"
    assert server.prefix_breaks == []


def test_counting_equals_the_usage_of_the_request_and_takes_no_step(server: ModelServer) -> None:
    with client(server) as sdk:
        counted = sdk.messages.count_tokens(model=MODEL, messages=ASK, tools=TOOLS)
        message = sdk.messages.create(model=MODEL, max_tokens=1_000, messages=ASK, tools=TOOLS)
    assert counted.input_tokens == message.usage.input_tokens > 0
    assert [request.step for request in server.requests] == [None, 0]


def test_a_broken_rule_is_the_providers_400(server: ModelServer) -> None:
    with client(server) as sdk, pytest.raises(anthropic.BadRequestError) as caught:
        sdk.messages.create(
            model=MODEL, max_tokens=9, messages=[{"role": "assistant", "content": "hello"}]
        )
    assert 'first message must use the "user" role' in caught.value.message
    assert caught.value.body["error"]["type"] == "invalid_request_error"  # type: ignore[index]
    assert server.requests[0].refusal is not None
    assert server.requests[0].refusal.rule == "first_message"


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
    ],
)
def test_a_scripted_failure_raises_the_sdks_error(
    status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with ModelServer([Failure(status, "not now")]) as server, client(server) as sdk:
        with pytest.raises(error) as caught:
            sdk.messages.create(model=MODEL, max_tokens=9, messages=ASK)
        assert caught.value.body["error"]["type"] == kind  # type: ignore[index]
        assert len(server.requests) == 1


def test_a_failure_with_retry_after_is_retried_by_the_sdk() -> None:
    script: Script = [Failure(429, retry_after=0.01), Reply("now")]
    with ModelServer(script) as server, client(server) as sdk:
        message = sdk.messages.create(model=MODEL, max_tokens=9, messages=ASK)
    assert message.content[0].text == "now"  # type: ignore[union-attr]
    assert [request.status for request in server.requests] == [429, 200]


def test_a_stream_that_breaks_raises_in_the_middle() -> None:
    with ModelServer([Failure(529, midstream=True)]) as server, client(server) as sdk:
        stream = sdk.messages.create(model=MODEL, max_tokens=9, messages=ASK, stream=True)
        assert next(iter(stream)).type == "message_start"
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            list(stream)


def test_max_tokens_zero_warms_the_cache_and_says_nothing(server: ModelServer) -> None:
    with client(server) as sdk:
        message = sdk.messages.create(model=MODEL, max_tokens=0, messages=ASK)
    assert (message.content, message.stop_reason) == ([], "max_tokens")


def _said(block: object) -> object:
    match block:
        case ThinkingBlock():
            return block.thinking, block.signature
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return block.name, block.input
    return block
