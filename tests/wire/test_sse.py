"""Server-sent events in pieces, and the replies they add up to."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.usage import Usage
from tenure.errors import UpstreamError, WireError
from tenure.wire.assemble import Assembler
from tenure.wire.sse import SseEvent, SseParser
from tests.formats import chosen
from tests.wire.corpus import NAMES, stream

_LINES = st.lists(
    st.sampled_from(
        ["data: {}", "data", "data:x", "event: a", ": note", "id: 7", "data: é😀", "", "", "odd"]
    ),
    max_size=12,
)
_STREAMS = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    _LINES,
    st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=12, max_size=12),
).map(lambda t: t[0] + "".join(a + b for a, b in zip(t[1], t[2], strict=False)).encode())


def _events(pieces: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    return [e for piece in pieces for e in parser.feed(piece)] + parser.close()


def _cut(raw: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({p % (len(raw) + 1) for p in places} | {0, len(raw)})
    return [raw[a:b] for a, b in pairwise(ends)]


@pytest.mark.fuzz
@given(
    _STREAMS | st.binary(max_size=40) | st.sampled_from([stream(n) for n in NAMES]),
    st.lists(st.integers(0, 5000), max_size=8),
)
def test_any_chunking_of_a_stream_gives_the_same_events(raw: bytes, places: list[int]) -> None:
    whole = _events([raw])
    assert _events(_cut(raw, places)) == whole
    if len(raw) < 200:
        assert _events([raw[i : i + 1] for i in range(len(raw))]) == whole


def test_events_are_read_as_the_standard_says() -> None:
    raw = b'\xef\xbb\xbfevent: a\r\ndata: 1\rdata:2\n: hush\nid: 4\n\nevent: lost\n\ndata\n\ndata: {"x":"\xc3\xa9"}'
    assert _events([raw]) == [
        SseEvent("a", "1\n2"),
        SseEvent("", ""),
        SseEvent("", '{"x":"é"}'),
    ]


def test_a_line_of_megabytes_in_small_pieces_is_read_in_linear_time() -> None:
    raw = b"data: " + b"x" * 3_000_000 + b"\n\n"
    (event,) = _events([raw[i : i + 1000] for i in range(0, len(raw), 1000)])
    assert len(event.data) == 3_000_000


def _assembled(name: str, raw: bytes) -> Assembler:
    assembler = Assembler(name)
    for event in _events([raw]):
        assembler.feed(event)
    return assembler


def test_an_anthropic_stream_adds_up_to_its_message() -> None:
    made = _assembled("anthropic_messages", stream("anthropic_messages"))
    reply = made.reply()
    assert reply["content"] == [
        {"type": "thinking", "thinking": "The port is in the config.", "signature": "c2ln"},
        {"type": "text", "text": "Schauen wir – 日本 😀"},
        {"type": "tool_use", "id": "toolu_1", "name": "grep", "input": {"pattern": "PORT"}},
        {"type": "hologram", "depth": 3},
    ]
    assert (reply["stop_reason"], reply["role"], made.done) == ("tool_use", "assistant", True)
    assert made.usage == Usage(317, 0, 4425, 425, 90)


def test_usage_of_a_later_event_replaces_and_never_adds() -> None:
    made = Assembler("anthropic_messages")
    first = {"input_tokens": 317, "cache_creation_input_tokens": 4425, "output_tokens": 2}
    made.feed({"type": "message_start", "message": {"role": "assistant", "usage": first}})
    made.feed({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 50}})
    made.feed({"type": "message_delta", "delta": {}, "usage": {**first, "output_tokens": 90}})
    assert made.usage == Usage(fresh=317, cache_write=4425, output=90)


def test_a_chat_stream_adds_up_to_its_completion() -> None:
    made = _assembled("openai_chat", stream("openai_chat"))
    (choice,) = made.reply()["choices"]
    message = choice["message"]
    assert message["content"] == "Grüße, ann."
    assert message["reasoning_content"] == "look closer"
    assert [(c["id"], c["function"]) for c in message["tool_calls"]] == [
        ("call_1", {"name": "ls", "arguments": '{"d":"."}'}),
        ("call_2", {"name": "pwd", "arguments": "{}"}),
    ]
    assert choice["finish_reason"] == "tool_calls"
    assert made.usage == Usage(fresh=100, cache_read=600, cache_write=300, output=20)
    assert made.done


def test_chat_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    made = Assembler("openai_chat")
    for call in (
        {"id": "a", "function": {"name": "x", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "y", "arguments": "{}"}},
    ):
        made.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
    calls = made.reply()["choices"][0]["message"]["tool_calls"]
    assert [(c["id"], c["function"]["arguments"]) for c in calls] == [("a", "{}"), ("b", "{}")]


def test_a_responses_stream_ends_in_its_response() -> None:
    made = _assembled("openai_responses", stream("openai_responses"))
    assert [item["type"] for item in made.reply()["output"]] == ["reasoning", "function_call"]
    assert made.usage == Usage(fresh=372, cache_read=128, output=30)
    assert made.done


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_was_cut_gives_what_had_arrived(name: str) -> None:
    events = _events([stream(name)])
    for end in range(1, len(events)):
        made = Assembler(name)
        for event in events[:end]:
            made.feed(event)
        assert made.reply()
        assert not made.done or end > len(events) - 2


def test_finished_items_count_when_the_response_was_cut() -> None:
    events = _events([stream("openai_responses")])
    made = Assembler("openai_responses")
    for event in events[:4]:
        made.feed(event)
    (item,) = made.reply()["output"]
    assert item["encrypted_content"] == "b3BhcXVl"


def test_a_call_cut_off_by_max_tokens_shows_what_arrived() -> None:
    made = Assembler("anthropic_messages")
    made.feed({"type": "message_start", "message": {"role": "assistant"}})
    block = {"type": "tool_use", "id": "a", "name": "n", "input": {}}
    made.feed({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "input_json_delta", "partial_json": '{"path": "a'}
    made.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    assert made.reply()["content"][0]["input"] == {"unparsed_arguments": '{"path": "a'}


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("anthropic_messages", {"type": "error", "error": {"type": "overloaded_error"}}),
        ("openai_chat", {"error": {"message": "overloaded"}}),
        ("openai_responses", {"type": "error", "message": "overloaded"}),
        ("openai_responses", {"type": "response.failed", "response": {"error": {"message": "overloaded"}}}),
        ("openai_chat", SseEvent("", '{"torn')),
        ("openai_chat", SseEvent("", "[]")),
        ("openai_chat", 7),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_is_an_upstream_error(name: str, event: Any) -> None:
    with pytest.raises(UpstreamError):
        Assembler(name).feed(event)


def test_a_stream_without_a_reply_is_an_upstream_error() -> None:
    with pytest.raises(UpstreamError, match="before a reply began"):
        Assembler("anthropic_messages").reply()


_TYPES = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "message_delta", "x",
     "response.completed", "response.output_item.done", "text_delta", "citations_delta"]
)  # fmt: skip
_ODD = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | _TYPES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "message",
                    "delta",
                    "content_block",
                    "index",
                    "usage",
                    "choices",
                    "item",
                    "tool_calls",
                    "response",
                    "output",
                    "text",
                    "citation",
                    "id",
                    "chunk",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.fuzz
@given(st.sampled_from(chosen()), st.lists(_ODD, max_size=6))
def test_garbage_events_raise_wire_errors_and_nothing_else(name: str, events: list[Any]) -> None:
    made = Assembler(name)
    try:
        for event in events:
            made.feed(event)
        json.dumps(made.reply())
        assert made.usage is None or made.usage.prompt >= 0
    except WireError:
        pass
