"""What is seen in the messages of the corpus, per wire format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import BlockKind, JsonObject, Lens, Message, Origin
from tenure.core.transcript import Transcript
from tenure.errors import PlanError, RequestError
from tenure.wire.detect import WIRES, AnyWire
from tenure.wire.values import is_harness
from tests.formats import any_wire
from tests.wire.corpus import NAMES, body
from tests.wire.strategies import JSON, conversations

A = WIRES["anthropic_messages"]
CHAT = WIRES["openai_chat"]
RESPONSES = WIRES["openai_responses"]
K = BlockKind


def _seen(name: str) -> list[tuple[int, Any, str, str]]:
    """(message, path, kind, origin) of every block of a body of the corpus."""
    transcript = _transcript(name)
    return [
        (b.index, b.path, b.kind.value, b.origin.value)
        for blocks in transcript.blocks
        for b in blocks
    ]


def _transcript(name: str) -> Transcript:
    transcript = Transcript(WIRES[name])
    for message in WIRES[name].cut(body(name)).messages:
        transcript.append(message)
    return transcript


def test_anthropic_blocks_are_told_by_kind_and_origin() -> None:
    c = "content"
    assert _seen("anthropic_messages") == [
        (0, (c,), "text", "user"),
        (1, (c, 0), "thinking", "assistant"),
        (1, (c, 1), "other", "assistant"),
        (1, (c, 2), "text", "assistant"),
        (1, (c, 3), "other", "assistant"),
        (1, (c, 4), "other", "assistant"),
        (1, (c, 5), "tool_call", "assistant"),
        (1, (c, 6), "tool_call", "assistant"),
        (2, (c, 0), "tool_result", "tool"),
        (2, (c, 1), "tool_result", "tool"),
        (2, (c, 2), "text", "harness"),
        (3, (c,), "text", "system"),
    ]


def test_chat_blocks_are_told_by_kind_and_origin() -> None:
    assert _seen("openai_chat") == [
        (0, ("content", 0), "text", "system"),
        (1, ("content", 0), "text", "user"),
        (1, ("content", 1), "media", "user"),
        (1, ("content", 2), "other", "user"),
        (2, ("reasoning_content",), "thinking", "assistant"),
        (2, ("tool_calls", 0), "tool_call", "assistant"),
        (2, ("tool_calls", 1), "tool_call", "assistant"),
        (3, ("content",), "tool_result", "tool"),
        (4, ("content",), "tool_result", "tool"),
        (5, ("content",), "text", "assistant"),
    ]


def test_responses_items_are_told_by_kind_and_origin() -> None:
    assert _seen("openai_responses") == [
        (0, ("content",), "text", "user"),
        (1, (), "thinking", "assistant"),
        (2, ("content", 0), "text", "assistant"),
        (3, ("arguments",), "tool_call", "assistant"),
        (4, ("input",), "tool_call", "assistant"),
        (5, ("output",), "tool_result", "tool"),
        (6, ("output",), "tool_result", "tool"),
        (7, (), "other", "assistant"),
        (8, (), "other", "assistant"),
        (9, ("content", 0), "text", "user"),
    ]


def test_a_result_shows_its_text_and_lists_its_media() -> None:
    blocks = _transcript("anthropic_messages").blocks[2]
    assert blocks[0].text == '1: x = 1\n{"depth":3,"type":"hologram"}'
    assert [m["type"] for m in blocks[0].media] == ["image"]
    assert (blocks[0].tool, blocks[0].call_id, blocks[0].is_error) == ("read", "toolu_1", False)
    assert (blocks[1].tool, blocks[1].text, blocks[1].is_error) == ("grep", "no such file", True)
    output = _transcript("openai_responses").blocks[6][0]
    assert (output.text, output.tool) == ("2", "py")
    assert [m["type"] for m in output.media] == ["input_image"]


def test_the_arguments_of_a_call_are_canonical_json_or_free_text() -> None:
    calls = [b.text for b in _transcript("openai_chat").blocks[2][1:]]
    assert calls == ['{"n":1.0}', "ls -l"]
    bad = {"id": "c", "type": "function", "function": {"name": "n", "arguments": '{"a": '}}
    assert [b.text for b in CHAT.lenses({"role": "assistant", "tool_calls": [bad]})] == ['{"a": ']


def test_a_document_inside_an_unknown_block_is_media_and_not_text() -> None:
    block = _transcript("anthropic_messages").blocks[1][4]
    assert "JVBERi0=" not in block.text
    assert [m["type"] for m in block.media] == ["document"]


def test_ids_are_paired_in_spite_of_stray_spaces() -> None:
    call = {"id": "call_w1", "type": "function", "function": {"name": "w", "arguments": "{}"}}
    transcript = Transcript(CHAT)
    (made,) = transcript.append(CHAT.message({"role": "assistant", "tool_calls": [call]}))
    (result,) = transcript.append(
        CHAT.message({"role": "tool", "tool_call_id": " call_w1 ", "content": "4C rain"})
    )
    assert transcript.partner(made) is result


@pytest.mark.parametrize(
    ("text", "harness"),
    [
        ("<system-reminder>x</system-reminder>", True),
        (" <system-reminder>x</system-reminder>\n<system-reminder>y</system-reminder> ", True),
        ("<environment_context>x</environment_context>", True),
        ("<system-reminder>x</system-reminder> and now fix it", False),
        ("<system-reminder>never closed, so who knows", False),
        ("fix <system-reminder>x</system-reminder>", False),
        ("", False),
        (" ", False),
    ],
)
def test_only_text_that_is_all_harness_is_the_harness_speaking(text: str, harness: bool) -> None:
    assert is_harness(text) is harness


def test_harness_text_of_many_tags_is_told_in_linear_time() -> None:
    text = "<system-reminder>x</system-reminder>" * 30_000
    assert is_harness(text)
    assert not is_harness(text + "me")


def test_the_origin_of_a_message_goes_by_its_role_and_its_blocks() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    text = {"type": "text", "text": "go on"}
    reminder = "<system-reminder>x</system-reminder>"
    assert A.origin({"role": "user", "content": [result]}) is Origin.TOOL
    assert A.origin({"role": "user", "content": [result, text]}) is Origin.USER
    assert A.origin({"role": "user", "content": reminder}) is Origin.HARNESS
    assert CHAT.origin({"role": "user", "content": reminder}) is Origin.HARNESS
    assert RESPONSES.origin({"role": "user", "content": reminder}) is Origin.HARNESS
    assert CHAT.origin({"role": "developer", "content": "x"}) is Origin.SYSTEM
    assert RESPONSES.origin({"type": "additional_tools", "role": "developer"}) is Origin.SYSTEM
    assert RESPONSES.origin({"type": "shell_call_output", "call_id": "c"}) is Origin.TOOL


@pytest.mark.fuzz
@given(any_wire(), st.dictionaries(
    st.sampled_from(["role", "content", "tool_calls", "type", "output", "call_id", "summary", "arguments"]),
    JSON | st.sampled_from(["user", "assistant", "tool", "message", "reasoning", "function_call", "text"])
    | st.lists(st.dictionaries(st.sampled_from(["type", "text", "id", "content", "tool_use_id", "function"]),
               JSON | st.sampled_from(["text", "tool_use", "tool_result", "image"]), max_size=4), max_size=3),
    max_size=5,
))  # fmt: skip
def test_no_message_whatever_it_holds_makes_reading_it_fail(
    wire: AnyWire, data: JsonObject
) -> None:
    message = wire.message(data)
    blocks = Transcript(wire).append(message)
    wire.violations([data, data])
    wire.meaning(data)
    for block in blocks:
        if block.kind is K.TOOL_CALL:
            wire.call(block, message)
        try:
            json.loads(wire.stand_in(block, message, "gone"))
        except PlanError:
            assert block.kind is K.OTHER


@pytest.mark.parametrize("name", NAMES)
def test_a_stand_in_keeps_place_ids_and_flag_and_says_the_text(name: str) -> None:
    transcript, wire = _transcript(name), WIRES[name]
    for block in [b for blocks in transcript.blocks for b in blocks]:
        message = transcript.messages[block.index]
        if block.kind is K.OTHER:
            with pytest.raises(PlanError):
                wire.stand_in(block, message, "gone")
            continue
        new = wire.splice(message, {block.path: wire.stand_in(block, message, "gone")})
        assert new is not None
        path = block.path or ("content",)
        (lens,) = [x for x in wire.lenses(new.data) if x.path == path]
        assert (lens.call_id, lens.is_error) == (block.call_id, block.is_error)
        assert lens.text in {"gone", '{"tombstone":"gone"}'}
        assert lens.media == ()
        if block.kind not in {K.MEDIA, K.THINKING}:
            assert lens.kind is block.kind


def test_a_stand_in_keeps_marks_and_fields_we_do_not_know() -> None:
    transcript = _transcript("anthropic_messages")
    first, second, _ = transcript.blocks[2]
    message = transcript.messages[2]
    assert json.loads(A.stand_in(first, message, "gone")) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "gone",
        "cache_control": {"type": "ephemeral", "ttl": "1h"},
    }
    assert json.loads(A.stand_in(second, message, "gone"))["x-trace"] == "t1"


def test_a_call_may_stand_in_with_an_object_of_its_own() -> None:
    transcript = _transcript("anthropic_messages")
    block = transcript.blocks[1][5]
    body = A.stand_in(block, transcript.messages[1], '{"path":"a.py"}')
    assert json.loads(body) == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "read",
        "input": {"path": "a.py"},
        "toolset_name": "fs",
    }


def test_changed_reasoning_speaks_as_text() -> None:
    transcript = _transcript("anthropic_messages")
    body = A.stand_in(transcript.blocks[1][0], transcript.messages[1], "so it is 5173")
    assert json.loads(body) == {"type": "text", "text": "so it is 5173"}


@given(any_wire().flatmap(lambda w: st.tuples(st.just(w), conversations(w))))
def test_every_result_finds_the_call_that_it_answers(
    made: tuple[AnyWire, list[JsonObject]],
) -> None:
    wire, messages = made
    transcript = Transcript(wire)
    for data in messages:
        transcript.append(wire.message(data))
    results = [b for b in transcript.all_blocks() if b.kind is K.TOOL_RESULT]
    for result in results:
        call = transcript.partner(result)
        assert call is not None
        assert transcript.partner(call) is result
        assert result.tool == call.tool
        made_call = wire.call(call, transcript.messages[call.index])
        assert (made_call.id, made_call.name) == (call.call_id, call.tool)
    assert not transcript.open_calls


@pytest.mark.parametrize("wire", WIRES.values(), ids=lambda w: w.name)
def test_an_empty_user_message_is_refused(wire: AnyWire) -> None:
    with pytest.raises(RequestError):
        wire.user("")


def test_lens_paths_of_a_message_are_all_different() -> None:
    for name in NAMES:
        for blocks in _transcript(name).blocks:
            paths = [b.path for b in blocks]
            assert len(set(paths)) == len(paths)


def test_a_lens_needs_no_more_than_path_and_kind() -> None:
    assert Lens(("content",), K.TEXT) == Lens(("content",), K.TEXT, "")
    assert Message({"role": "user"}, origin=Origin.USER).held_raw is False
