"""The Responses API of the scripted server, driven by the real SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import openai
import pytest
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseInputItemParam,
    ResponseOutputMessage,
    ResponseReasoningItem,
    ResponseStreamEvent,
)
from pydantic import TypeAdapter

from tenure.testing import Call, Failure, ModelServer, Reply
from tests.testing.raw import events, post

MODEL = "gpt-6.1-sol"
ASK: list[ResponseInputItemParam] = [{"role": "user", "content": "why did the build break?"}]
THOUGHTFUL = Reply(
    thinking="The log comes first, as ever.",
    text="I will read the build log and the file that it names.",
    calls=[Call("read", {"path": "build.log", "größe": 2.5}), Call("read", {})],
)


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai_url, api_key="any")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([THOUGHTFUL, Reply("The cache was cold.")]) as running:
        yield running


def test_a_reply_becomes_output_items(server: ModelServer) -> None:
    with client(server) as sdk:
        response = sdk.responses.create(model=MODEL, input=ASK)
    reasoning, message, first, second = response.output
    assert isinstance(reasoning, ResponseReasoningItem)
    assert reasoning.summary[0].text == THOUGHTFUL.thinking
    assert reasoning.encrypted_content
    assert isinstance(message, ResponseOutputMessage)
    assert response.output_text == THOUGHTFUL.text
    assert isinstance(first, ResponseFunctionToolCall)
    assert isinstance(second, ResponseFunctionToolCall)
    assert json.loads(first.arguments) == THOUGHTFUL.calls[0].input
    assert first.call_id != second.call_id
    assert response.usage is not None
    assert response.usage.output_tokens > response.usage.output_tokens_details.reasoning_tokens > 0


def test_a_stream_completes_with_the_plain_answer() -> None:
    with ModelServer(lambda _body, _step: THOUGHTFUL) as server, client(server) as sdk:
        plain = sdk.responses.create(model=MODEL, input=ASK)
        with sdk.responses.stream(model=MODEL, input=ASK) as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_response()
    assert streamed.output_text == plain.output_text
    assert [item.type for item in streamed.output] == [item.type for item in plain.output]
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert {
        "response.reasoning_summary_text.delta",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
    } <= set(kinds)


def test_bodies_and_events_are_what_the_sdk_types_demand(server: ModelServer) -> None:
    body = {"model": MODEL, "input": ASK}
    adapter: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
    streamed = list(events(server, "/v1/responses", body))
    for event in streamed:
        adapter.validate_python(event, strict=True)
    assert [event["sequence_number"] for event in streamed] == list(range(len(streamed)))
    status, answer = post(server, "/v1/responses", body)
    assert status == 200
    Response.model_validate(answer, strict=True)


def test_the_async_client_works_plain_and_streaming() -> None:
    async def drive(server: ModelServer) -> tuple[str, str]:
        async with openai.AsyncOpenAI(base_url=server.openai_url, api_key="any") as sdk:
            plain = await sdk.responses.create(model=MODEL, input="hello")
            async with sdk.responses.stream(model=MODEL, input="hello") as stream:
                streamed = await stream.get_final_response()
            return plain.output_text, streamed.output_text

    with ModelServer([Reply("one"), Reply("two")]) as server:
        assert asyncio.run(drive(server)) == ("one", "two")


def _results(response: Response) -> list[ResponseInputItemParam]:
    return [
        {"type": "function_call_output", "call_id": item.call_id, "output": "cold cache"}
        for item in response.output
        if isinstance(item, ResponseFunctionToolCall)
    ]


def test_a_whole_tool_loop_passes_the_rules(server: ModelServer) -> None:
    with client(server) as sdk:
        first = sdk.responses.create(model=MODEL, input=ASK)
        said: list[ResponseInputItemParam] = [item.to_dict() for item in first.output]  # type: ignore[misc]
        second = sdk.responses.create(model=MODEL, input=[*ASK, *said, *_results(first)])
    assert second.output_text == "The cache was cold."
    assert server.prefix_breaks == []


def test_a_stored_response_stands_for_its_history(server: ModelServer) -> None:
    with client(server) as sdk:
        first = sdk.responses.create(model=MODEL, input=ASK)
        second = sdk.responses.create(
            model=MODEL, previous_response_id=first.id, input=_results(first)
        )
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens
    assert server.prefix_breaks == []


def test_counting_equals_the_usage_of_the_request(server: ModelServer) -> None:
    with client(server) as sdk:
        counted = sdk.responses.input_tokens.count(model=MODEL, input=ASK)
        response = sdk.responses.create(model=MODEL, input=ASK)
    assert response.usage is not None
    assert counted.input_tokens == response.usage.input_tokens > 0


def test_reasoning_left_out_is_missed_by_what_it_belongs_to(server: ModelServer) -> None:
    with client(server) as sdk:
        first = sdk.responses.create(model=MODEL, input=ASK)
        said: list[ResponseInputItemParam] = [item.to_dict() for item in first.output[1:]]  # type: ignore[misc]
        with pytest.raises(openai.BadRequestError) as caught:
            sdk.responses.create(model=MODEL, input=[*ASK, *said, *_results(first)])
    assert "without its required 'reasoning' item: 'rs_000000'" in caught.value.message


def test_a_length_stop_is_an_incomplete_response() -> None:
    with ModelServer([Reply("cut", stop="length")] * 2) as server, client(server) as sdk:
        response = sdk.responses.create(model=MODEL, input=ASK)
        kinds = [
            event["type"]
            for event in events(server, "/v1/responses", {"model": MODEL, "input": ASK})
        ]
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert kinds[-1] == "response.incomplete"


def test_a_stream_that_breaks_says_so_in_an_error_event() -> None:
    with ModelServer([Failure(500, "gone", midstream=True)]) as server, client(server) as sdk:
        seen = list(sdk.responses.create(model=MODEL, input=ASK, stream=True))
    last = seen[-1]
    assert last.type == "error"
    assert (last.message, last.sequence_number) == ("gone", len(seen) - 1)
    assert "response.completed" not in [event.type for event in seen]
