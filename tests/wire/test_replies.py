"""Replies as they come from the wire and from the real SDKs, and what of them is sent back."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tenure.core.protocols import ToolCall
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.errors import UpstreamError
from tenure.wire.assemble import Assembler
from tenure.wire.detect import WIRES
from tenure.wire.meaning import FreeForm
from tenure.wire.replies import anthropic_usage, as_dict, openai_usage
from tests.wire.corpus import stream
from tests.wire.sdk import Canned, anthropic_client, openai_client

A = WIRES["anthropic_messages"]
CHAT = WIRES["openai_chat"]
RESPONSES = WIRES["openai_responses"]
GO: Any = {"role": "user", "content": "go"}

ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "text", "text": "Looking.", "future": {"k": [1.5, None]}},
        {"type": "hologram", "depth": 3, "hint": None},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a", "to": None}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 4000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 7,
    },
}
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.6",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "reasoning_content": "hm",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": null}'},
                    }
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 20,
        "total_tokens": 1020,
        "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300},
    },
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.6",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [],
            "encrypted_content": "b3",
            "status": None,
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "Looking.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": "{}",
            "status": "completed",
        },
        {"type": "telepathy", "to": "bob", "status": "sent"},
    ],
    "usage": {
        "input_tokens": 500,
        "input_tokens_details": {"cached_tokens": 128, "cache_write_tokens": 72},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 10},
        "total_tokens": 530,
    },
}


def _anthropic(reply: dict[str, Any] = ANTHROPIC) -> Any:
    with anthropic_client(Canned(reply)) as client:
        return client.messages.create(model="m", max_tokens=9, messages=[GO])


def _completion(reply: dict[str, Any] = COMPLETION) -> Any:
    with openai_client(Canned(reply)) as client:
        return client.chat.completions.create(model="m", messages=[GO])


def _response(reply: dict[str, Any] = RESPONSE) -> Any:
    with openai_client(Canned(reply)) as client:
        return client.responses.create(model="m", input="go")


def test_an_anthropic_reply_goes_back_as_it_came() -> None:
    messages, usage = A.reply(_anthropic())
    assert messages == [{"role": "assistant", "content": ANTHROPIC["content"]}]
    assert usage == Usage(10, 4000, 300, 200, 7)
    assert A.reply(ANTHROPIC) == (messages, usage)
    assert A.reply(json.dumps(ANTHROPIC)) == (messages, usage)


def test_nulls_of_a_full_dump_do_not_go_back_to_anthropic() -> None:
    reply = deepcopy(ANTHROPIC)
    reply["content"] = [b for b in reply["content"] if b["type"] != "hologram"]
    messages, _ = A.reply(_anthropic(reply).model_dump())
    assert messages == [{"role": "assistant", "content": reply["content"]}]


def test_an_empty_anthropic_reply_is_no_message_but_has_usage() -> None:
    empty = {**ANTHROPIC, "content": [{"type": "text", "text": ""}]}
    assert A.reply(empty) == ([], Usage(10, 4000, 300, 200, 7))
    assert A.reply({**ANTHROPIC, "content": []})[0] == []


def test_a_failed_compaction_keeps_its_null() -> None:
    block = {"type": "compaction", "content": None, "encrypted_content": None}
    assert A.reply({**ANTHROPIC, "content": [block]})[0][0]["content"] == [block]


def test_a_chat_reply_goes_back_without_what_only_the_server_says() -> None:
    messages, usage = CHAT.reply(_completion())
    made = COMPLETION["choices"][0]["message"]
    wanted = {k: made[k] for k in ("role", "content", "reasoning_content", "tool_calls")}
    assert messages == [wanted]
    assert usage == Usage(fresh=100, cache_read=600, cache_write=300, output=20)
    assert CHAT.reply(_completion().model_dump())[0] == [wanted]


def test_spoken_audio_goes_back_by_its_id() -> None:
    message = {"role": "assistant", "audio": {"id": "a1", "data": "xx", "transcript": "hi"}}
    (echo,), _ = CHAT.reply({"choices": [{"message": {**message, "content": "hi"}}]})
    assert echo["audio"] == {"id": "a1"}


def test_responses_items_go_back_without_status_where_it_is_refused() -> None:
    messages, usage = RESPONSES.reply(_response())
    reasoning, message, call, odd = RESPONSE["output"]
    assert messages == [
        {k: v for k, v in reasoning.items() if k != "status"},
        {k: v for k, v in message.items() if k != "status"},
        {k: v for k, v in call.items() if k != "status"},
        odd,
    ]
    assert usage == Usage(fresh=300, cache_read=128, cache_write=72, output=30)


def test_nulls_of_a_full_dump_do_not_go_back_to_responses() -> None:
    reply = {**RESPONSE, "output": RESPONSE["output"][:3]}
    full, _ = RESPONSES.reply(_response(reply).model_dump())
    for item in full:
        nulls = {key for key, value in item.items() if value is None}
        assert nulls <= {"encrypted_content"}
        assert "status" not in item


def test_reasoning_keeps_its_empty_summary() -> None:
    item: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_2",
        "summary": [],
        "encrypted_content": None,
    }
    assert RESPONSES.reply({"output": [item]})[0] == [item]


# What agents send back by hand means the same as what we keep.


def _sent_to_anthropic(message: Any) -> dict[str, Any]:
    canned = Canned(ANTHROPIC)
    with anthropic_client(canned) as client:
        client.messages.create(model="m", max_tokens=9, messages=[GO, message])
    sent: dict[str, Any] = canned.asked[0]["messages"][1]
    return sent


def test_an_anthropic_echo_means_what_was_received() -> None:
    reply = _anthropic()
    kept = A.meaning(A.reply(reply)[0][0])
    assert A.meaning(_sent_to_anthropic(reply.to_param())) == kept
    assert A.meaning(_sent_to_anthropic({"role": "assistant", "content": reply.content})) == kept


def test_a_full_dump_as_anthropic_echo_means_what_was_received() -> None:
    reply = deepcopy(ANTHROPIC)
    reply["content"] = [b for b in reply["content"] if b["type"] != "hologram"]
    made = _anthropic(reply)
    dump = {"role": "assistant", "content": [b.model_dump() for b in made.content]}
    assert A.meaning(_sent_to_anthropic(dump)) == A.meaning(A.reply(made)[0][0])


def test_a_chat_echo_means_what_was_received() -> None:
    reply = _completion()
    kept = CHAT.meaning(CHAT.reply(reply)[0][0])
    message = reply.choices[0].message
    for echo in (message, message.model_dump(), message.to_dict()):
        canned = Canned(COMPLETION)
        with openai_client(canned) as client:
            client.chat.completions.create(model="m", messages=[GO, echo])
        assert CHAT.meaning(canned.asked[0]["messages"][1]) == kept


def test_a_responses_echo_means_what_was_received() -> None:
    reply = _response()
    kept = [RESPONSES.meaning(item) for item in RESPONSES.reply(reply)[0]]
    dumps: list[Any] = [reply.output, [item.to_dict() for item in reply.output]]
    for echo in dumps:
        canned = Canned(RESPONSE)
        with openai_client(canned) as client:
            client.responses.create(model="m", input=[GO, *echo])
        assert [RESPONSES.meaning(item) for item in canned.asked[0]["input"][1:]] == kept


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("anthropic_messages", {"content": "a"}, {"content": [{"type": "text", "text": "a"}]}),
        (
            "anthropic_messages",
            {"content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
            {"content": "a"},
        ),
        (
            "anthropic_messages",
            {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": False}]},
            {"content": [{"type": "tool_result", "tool_use_id": "t",
                          "content": [{"type": "text", "text": "x", "cache_control": {}}]}]},
        ),
        (
            "anthropic_messages",
            {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"x": 1.0}}]},
            {"content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"x": 1}}]},
        ),
        ("openai_chat", {"content": "a"}, {"content": [{"type": "text", "text": "a"}]}),
        ("openai_chat", {"content": None, "tool_calls": []}, {"content": ""}),
        ("openai_responses", {"content": "a"},
         {"type": "message", "content": [{"type": "input_text", "text": "a"}]}),
        ("openai_responses", {"type": "function_call", "call_id": "c", "arguments": '{"a":1}', "id": "fc"},
         {"type": "function_call", "call_id": "c", "arguments": '{ "a": 1 }'}),
    ],
)  # fmt: skip
def test_spellings_that_mean_the_same(name: str, one: Any, other: Any) -> None:
    wire = WIRES[name]
    roles = {"role": "user"} if "type" not in one else {}
    assert wire.meaning({**roles, **one}) == wire.meaning({**roles, **other})


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("anthropic_messages", {"role": "user", "content": "a"}, {"role": "user", "content": "b"}),
        ("anthropic_messages", {"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}),
        ("anthropic_messages",
         {"role": "assistant", "content": [{"type": "tool_use", "input": {"a": None}}]},
         {"role": "assistant", "content": [{"type": "tool_use", "input": {}}]}),
        ("anthropic_messages",
         {"role": "user", "content": [{"type": "tool_result", "content": "x", "is_error": True}]},
         {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}),
        ("openai_chat", {"role": "tool", "tool_call_id": "a", "content": "x"},
         {"role": "tool", "tool_call_id": "b", "content": "x"}),
        ("openai_responses", {"type": "reasoning", "id": "rs_1", "summary": []},
         {"type": "reasoning", "id": "rs_2", "summary": []}),
    ],
)  # fmt: skip
def test_messages_that_mean_something_else(name: str, one: Any, other: Any) -> None:
    assert WIRES[name].meaning(one) != WIRES[name].meaning(other)


# Streams through the SDKs.


def test_events_of_the_anthropic_sdk_add_up() -> None:
    for helper in (False, True):
        canned = Canned(stream("anthropic_messages"))
        made = Assembler("anthropic_messages")
        with anthropic_client(canned) as client:
            if helper:
                with client.messages.stream(model="m", max_tokens=9, messages=[GO]) as events:
                    for event in events:
                        made.feed(event)
            else:
                raw = client.messages.create(model="m", max_tokens=9, messages=[GO], stream=True)
                for piece in raw:
                    made.feed(piece)
        assert made.reply()["content"][1:3] == [
            {"type": "text", "text": "Schauen wir – 日本 😀"},
            {"type": "tool_use", "id": "toolu_1", "name": "grep", "input": {"pattern": "PORT"}},
        ]
        assert made.usage == Usage(317, 0, 4425, 425, 90)


def test_chunks_of_the_openai_sdk_add_up() -> None:
    made = Assembler("openai_chat")
    with openai_client(Canned(stream("openai_chat"))) as client:
        for chunk in client.chat.completions.create(model="m", messages=[GO], stream=True):
            made.feed(chunk)
    (message,), usage = CHAT.reply(made.reply())
    assert message["content"] == "Grüße, ann."
    assert [c["id"] for c in message["tool_calls"]] == ["call_1", "call_2"]
    assert usage == Usage(fresh=100, cache_read=600, cache_write=300, output=20)


def test_events_of_the_responses_sdk_add_up() -> None:
    made = Assembler("openai_responses")
    with openai_client(Canned(stream("openai_responses"))) as client:
        for event in client.responses.create(model="m", input="go", stream=True):
            made.feed(event)
    items, usage = RESPONSES.reply(made.reply())
    assert [item["type"] for item in items] == ["reasoning", "function_call"]
    assert usage == Usage(fresh=372, cache_read=128, output=30)


# What is not a reply, and odd usage.


@pytest.mark.parametrize("wire", WIRES.values(), ids=lambda w: w.name)
@pytest.mark.parametrize(
    "reply",
    [{}, {"type": "error", "error": {"message": "overloaded"}}, {"error": {"message": "no"}},
     "not json", b"\xff", "{\"a\":" + "[" * 300 + "]" * 300 + "}", 7, None, [], {"content": 1, "choices": [], "output": [1]}],
)  # fmt: skip
def test_what_is_no_reply_is_an_upstream_error(wire: Any, reply: Any) -> None:
    with pytest.raises(UpstreamError):
        wire.reply(reply)


def test_a_response_whose_error_is_null_is_no_error() -> None:
    assert RESPONSES.reply({"output": [], "error": None}) == ([], None)


def test_usage_is_never_negative_and_never_missing_a_part() -> None:
    assert anthropic_usage(None) is None
    assert anthropic_usage({"input_tokens": None, "output_tokens": "x"}) == Usage()
    by_ttl = {"cache_creation": {"ephemeral_1h_input_tokens": 5, "ephemeral_5m_input_tokens": 2}}
    assert anthropic_usage(by_ttl) == Usage(cache_write=7, cache_write_1h=5)
    over = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 90}}
    assert openai_usage(over) == Usage(cache_read=10)


def test_as_dict_shares_a_plain_dict() -> None:
    assert as_dict(ANTHROPIC) is ANTHROPIC


# Results.


def test_parallel_results_are_one_anthropic_message() -> None:
    a, b = ToolCall("a", "n", {}), ToolCall("b", "n", {})
    made = A.results([(a, "x", False), (b, {"k": "é"}, True)])
    assert made == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "x"},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": '{"k":"é"}',
                    "is_error": True,
                },
            ],
        }
    ]
    assert A.results([]) == []


def test_a_result_may_be_parts_of_the_provider_or_nothing() -> None:
    part = {"type": "image", "source": {"type": "url", "url": "http://example.test/a.png"}}
    (made,) = A.results(
        [(ToolCall("a", "n", {}), [part], False), (ToolCall("b", "n", {}), None, False)]
    )
    assert [b["content"] for b in made["content"]] == [[part], ""]


def test_an_error_is_said_in_words_where_the_api_has_no_flag() -> None:
    call = ToolCall("a", "n", {})
    for wire, field in ((CHAT, "content"), (RESPONSES, "output")):
        said = [wire.results([(call, text, True)])[0][field] for text in ("no file", "error: x")]
        assert said == ["Error: no file", "error: x"]


def test_free_form_calls_get_free_form_outputs() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "py", "input": "{}"}
    message = RESPONSES.message(item)
    (block,) = Transcript(RESPONSES).append(message)
    call = RESPONSES.call(block, message)
    assert call == ToolCall("c", "py", "{}")
    assert isinstance(call.input, FreeForm)
    assert RESPONSES.results([(call, "2", False)])[0]["type"] == "custom_tool_call_output"
    bad = {**item, "type": "function_call", "arguments": "{"}
    (block,) = Transcript(RESPONSES).append(RESPONSES.message(bad))
    made = RESPONSES.call(block, RESPONSES.message(bad))
    assert RESPONSES.results([(made, "2", False)])[0]["type"] == "function_call_output"


def test_a_tool_is_defined_as_each_api_wants_it() -> None:
    made = [w.tool("recall", "brings back", {"type": "object"}) for w in WIRES.values()]
    assert made[0] == {
        "name": "recall",
        "description": "brings back",
        "input_schema": {"type": "object"},
    }
    assert made[1]["function"]["parameters"] == {"type": "object"}
    assert made[2]["type"] == "function"
