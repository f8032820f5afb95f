"""The Chat Completions API of the scripted server, driven by the real SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import cast

import openai
import pytest
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessageParam,
    ChatCompletionToolParam,
)

from tenure.testing import Call, Failure, ModelServer, Reply
from tests.testing.raw import events, post

MODEL = "gpt-6.1-sol"
TOOLS: list[ChatCompletionToolParam] = [{"type": "function", "function": {"name": "read"}}]
ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "why did the build break?"}]
THOUGHTFUL = Reply(
    thinking="The log comes first.",
    text="I will read the build log and the file that it names.",
    calls=[Call("read", {"path": "build.log", "größe": 2.5}), Call("read", {})],
)


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai_url, api_key="any")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([THOUGHTFUL, Reply("The cache was cold.")]) as running:
        yield running


def test_a_reply_becomes_a_completion(server: ModelServer) -> None:
    with client(server) as sdk:
        completion = sdk.chat.completions.create(model=MODEL, messages=ASK, tools=TOOLS)
    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == THOUGHTFUL.text
    first, second = choice.message.tool_calls or []
    assert isinstance(first, ChatCompletionMessageFunctionToolCall)
    assert json.loads(first.function.arguments) == THOUGHTFUL.calls[0].input
    assert first.id != second.id
    assert completion.usage is not None
    assert completion.usage.completion_tokens_details is not None
    assert completion.usage.completion_tokens_details.reasoning_tokens


def test_a_stream_accumulates_to_the_plain_answer() -> None:
    with ModelServer(lambda _body, _step: THOUGHTFUL) as server, client(server) as sdk:
        plain = sdk.chat.completions.create(model=MODEL, messages=ASK)
        with sdk.chat.completions.stream(model=MODEL, messages=ASK) as stream:
            kinds = {event.type for event in stream}
            streamed = stream.get_final_completion()
    said, spoken = plain.choices[0].message, streamed.choices[0].message
    assert said.content == spoken.content
    assert [_call(call) for call in spoken.tool_calls or []] == [
        _call(call) for call in said.tool_calls or []
    ]
    assert streamed.choices[0].finish_reason == "tool_calls"
    assert "tool_calls.function.arguments.delta" in kinds


@pytest.mark.parametrize("asked", [True, False])
def test_usage_is_streamed_when_asked_for_and_only_then(
    server: ModelServer, *, asked: bool
) -> None:
    with client(server) as sdk:
        stream = sdk.chat.completions.create(
            model=MODEL, messages=ASK, stream=True, stream_options={"include_usage": asked}
        )
        chunks = list(stream)
    last = chunks[-1]
    assert (last.choices == []) is asked
    assert (last.usage is not None) is asked


def test_bodies_and_chunks_are_what_the_sdk_types_demand(server: ModelServer) -> None:
    body = {"model": MODEL, "messages": ASK, "stream_options": {"include_usage": True}}
    for chunk in events(server, "/v1/chat/completions", body):
        ChatCompletionChunk.model_validate(chunk, strict=True)
    status, answer = post(server, "/v1/chat/completions", {"model": MODEL, "messages": ASK})
    assert status == 200
    ChatCompletion.model_validate(answer, strict=True)


def test_the_async_client_works_plain_and_streaming() -> None:
    async def drive(server: ModelServer) -> tuple[str | None, str]:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="any") as sdk:
            plain = await sdk.chat.completions.create(model=MODEL, messages=ASK)
            stream = await sdk.chat.completions.create(model=MODEL, messages=ASK, stream=True)
            said = [chunk.choices[0].delta.content or "" async for chunk in stream]
            return plain.choices[0].message.content, "".join(said)

    with ModelServer([Reply("one"), Reply("two")]) as server:
        assert asyncio.run(drive(server)) == ("one", "two")


def test_a_whole_tool_loop_passes_the_rules(server: ModelServer) -> None:
    with client(server) as sdk:
        first = sdk.chat.completions.create(model=MODEL, messages=ASK).choices[0].message
        calls = first.tool_calls or []
        results: list[ChatCompletionMessageParam] = [
            {"role": "tool", "tool_call_id": call.id, "content": "cold cache"} for call in calls
        ]
        said = cast("ChatCompletionMessageParam", first.to_dict())
        second = sdk.chat.completions.create(model=MODEL, messages=[*ASK, said, *results])
    assert second.choices[0].finish_reason == "stop"
    assert server.prefix_breaks == []


def test_a_broken_rule_is_the_providers_400(server: ModelServer) -> None:
    with client(server) as sdk, pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(
            model=MODEL, messages=[*ASK, {"role": "tool", "tool_call_id": "x", "content": ""}]
        )
    assert caught.value.param == "messages[1].role"
    assert caught.value.type == "invalid_request_error"


def test_a_prompt_above_the_window_has_the_providers_code() -> None:
    small = ModelServer([], window=5)
    with small as server, client(server) as sdk, pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(model=MODEL, messages=ASK)
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("status", "error"), [(429, openai.RateLimitError), (500, openai.InternalServerError)]
)
def test_a_scripted_failure_raises_the_sdks_error(
    status: int, error: type[openai.APIStatusError]
) -> None:
    with ModelServer([Failure(status, "not now")]) as server, client(server) as sdk:
        with pytest.raises(error, match="not now"):
            sdk.chat.completions.create(model=MODEL, messages=ASK)
        assert len(server.requests) == 1


def test_a_stream_that_breaks_raises_in_the_middle() -> None:
    with ModelServer([Failure(503, "gone", midstream=True)]) as server, client(server) as sdk:
        stream = sdk.chat.completions.create(model=MODEL, messages=ASK, stream=True)
        assert next(iter(stream)).choices
        with pytest.raises(openai.APIError, match="gone"):
            list(stream)


def _call(call: object) -> tuple[str, str]:
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    return call.function.name, call.function.arguments
