"""Compaction, sealed items, references and breakpoints of the Responses API, by the real SDK."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from tenure.testing import ModelServer, Reply
from tenure.testing.script import Body
from tests.testing.raw import events, post

MODEL = "gpt-6.1-sol"
ASK: dict[str, Any] = {"role": "user", "content": "why did the build break?"}
TRIGGER: dict[str, Any] = {"type": "compaction_trigger"}
LONG = "the build log says nothing of note here. " * 200


def fine(_body: Body, step: int) -> Reply:
    return Reply("fine", thinking=f"thought {step}")


def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.openai_url, api_key="any", max_retries=0)


def ask(server: ModelServer, items: list[Any], **more: Any) -> Response:
    with client(server) as sdk:
        created: Response = sdk.responses.create(model=MODEL, input=items, **more)
    return created


def items_of(response: Any) -> list[Any]:
    return [item.to_dict() for item in response.output]


def test_a_trigger_is_answered_by_a_compaction_item_and_takes_no_step() -> None:
    with ModelServer([Reply("fine")]) as server:
        compacted = ask(server, [ASK, TRIGGER])
        [item] = items_of(compacted)
        assert item["type"] == "compaction"
        assert ask(server, [item, ASK]).output_text == "fine"
        assert [request.step for request in server.requests] == [None, 0]


def test_a_compaction_streams_as_the_sdk_types_demand() -> None:
    adapter: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)
    with ModelServer(fine) as server:
        body = {"model": MODEL, "input": [ASK, TRIGGER]}
        seen = list(events(server, "/v1/responses", body))
    for event in seen:
        adapter.validate_python(event, strict=True)
    assert "response.compaction.compacting" in [event["type"] for event in seen]


def test_the_compact_endpoint_returns_the_users_messages_and_one_item() -> None:
    with ModelServer(fine) as server, client(server) as sdk:
        first = ask(server, [ASK])
        history: list[Any] = [ASK, *items_of(first), ASK]
        compacted = sdk.responses.compact(model=MODEL, input=history)
        kinds = [item.type for item in compacted.output]
        assert (compacted.object, kinds) == (
            "response.compaction",
            ["message", "message", "compaction"],
        )
        assert compacted.usage.input_tokens > 0
        body = {"model": MODEL, "input": history}
        whole = post(server, "/v1/responses/compact", body)[1]["output"]
        assert whole[0]["content"] == [{"type": "input_text", "text": ASK["content"]}]
        assert ask(server, [*whole, ASK]).output_text == "fine"


def test_a_threshold_puts_the_item_in_front_of_the_answer() -> None:
    managed = [{"type": "compaction", "compact_threshold": 1_000}]
    with ModelServer(fine) as server:
        small = ask(server, [ASK], context_management=managed)
        large = ask(server, [ASK | {"content": LONG}], context_management=managed)
    assert [item.type for item in small.output] == ["reasoning", "message"]
    assert [item.type for item in large.output] == ["compaction", "reasoning", "message"]


def test_a_changed_sealed_item_is_refused_by_a_code() -> None:
    with ModelServer(fine) as server:
        reasoning, message = items_of(ask(server, [ASK]))
        [compaction] = items_of(ask(server, [ASK, TRIGGER]))
        for item, rest in ((reasoning, [message, ASK]), (compaction, [ASK])):
            changed = item | {"encrypted_content": "A" + item["encrypted_content"][1:]}
            with pytest.raises(openai.BadRequestError) as caught:
                ask(server, [changed, *rest])
            assert caught.value.code == "invalid_encrypted_content"


def test_foreign_sealed_items_pass_where_the_rule_sleeps() -> None:
    foreign = {"type": "compaction", "encrypted_content": "gAAAA"}
    with ModelServer(fine, without_rules=["sealed_content"]) as server:
        assert ask(server, [foreign, ASK]).output_text == "fine"


def test_reasoning_without_its_summary_is_refused() -> None:
    with ModelServer(fine) as server:
        reasoning, message = items_of(ask(server, [ASK]))
        del reasoning["summary"]
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, [reasoning, message, ASK])
    assert "Missing required parameter: 'input[0].summary'" in caught.value.message
    assert (caught.value.param, caught.value.code) == (
        "input[0].summary",
        "missing_required_parameter",
    )


def test_reasoning_alone_misses_the_item_it_belongs_to() -> None:
    with ModelServer(fine) as server:
        reasoning, _ = items_of(ask(server, [ASK]))
        with pytest.raises(openai.BadRequestError, match="without its required following item"):
            ask(server, [reasoning, ASK])


def test_items_of_an_earlier_server_can_be_told_to_it() -> None:
    answered = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "so", "annotations": []}],
    }
    with ModelServer(fine, reasoning_of={"msg_1": "rs_1"}) as server:
        with pytest.raises(openai.BadRequestError, match="required 'reasoning' item: 'rs_1'"):
            ask(server, [ASK, answered, ASK])
        thought = {"type": "reasoning", "id": "rs_1", "summary": []}
        assert ask(server, [ASK, thought, answered, ASK]).output_text == "fine"
        del answered["id"]
        assert ask(server, [ASK, answered, ASK]).output_text == "fine"


def test_a_reference_stands_for_what_was_stored_and_for_nothing_else() -> None:
    with ModelServer(fine) as server:
        kept, lost = ask(server, [ASK]), ask(server, [ASK], store=False)
        whole = ask(server, [*items_of(kept), ASK]).usage
        named = [{"type": "item_reference", "id": item.id} for item in kept.output]
        assert ask(server, [*named, ASK]).usage == whole
        with pytest.raises(openai.NotFoundError, match="not persisted"):
            ask(server, [{"type": "item_reference", "id": lost.output[0].id}, ASK])


def test_counting_reads_the_same_rules() -> None:
    with ModelServer(fine) as server:
        body = {"model": MODEL, "input": [ASK, {"type": "reasoning", "id": "rs_1"}]}
        assert post(server, "/v1/responses/input_tokens", body)[0] == 400


def test_explicit_mode_caches_up_to_the_last_breakpoint_and_nothing_without_one() -> None:
    explicit = {"mode": "explicit"}
    mark = {"prompt_cache_breakpoint": explicit}

    def told(**more: Any) -> dict[str, Any]:
        part = {"type": "input_text", "text": LONG, **more}
        return {"role": "user", "content": [part]}

    with ModelServer(fine) as server:
        options: Any = {"prompt_cache_options": explicit}
        bare = [ask(server, [told(), ASK], **options).usage for _ in range(2)]
        marked = [ask(server, [told(**mark), ASK], **options).usage for _ in range(2)]
    assert [_cached(usage) for usage in bare] == [(0, 0), (0, 0)]
    written = _cached(marked[0])[1]
    assert written > 2_000
    assert _cached(marked[1]) == (written, 0)


def test_any_number_of_breakpoints_is_sound() -> None:
    part = {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
    with ModelServer(fine) as server:
        assert ask(server, [{"role": "user", "content": [part] * 9}]).output_text == "fine"


def _cached(usage: Any) -> tuple[int, int]:
    details = usage.input_tokens_details
    return details.cached_tokens, details.cache_write_tokens
