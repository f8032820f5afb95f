"""The transcript: append-only, every block with a key of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import BlockKind, JsonObject, Message, Origin
from tenure.core.transcript import Transcript
from tenure.errors import PlanError
from tenure.wire.detect import WIRES, AnyWire
from tests.wire.strategies import conversations

MADE = st.sampled_from(list(WIRES.values())).flatmap(
    lambda wire: st.tuples(st.just(wire), conversations(wire, open_end=True))
)
A = WIRES["anthropic_messages"]


def _filled(wire: AnyWire, messages: list[JsonObject]) -> Transcript:
    transcript = Transcript(wire)
    for data in messages:
        transcript.append(wire.message(data))
    return transcript


@given(MADE)
def test_every_block_is_found_by_its_own_key(made: tuple[AnyWire, list[JsonObject]]) -> None:
    transcript = _filled(*made)
    blocks = list(transcript.all_blocks())
    assert len({b.key for b in blocks}) == len(blocks)
    assert all(transcript.block(b.key) is b and b.key in transcript for b in blocks)


@given(MADE, st.data())
def test_an_append_changes_nothing_that_was_there(
    made: tuple[AnyWire, list[JsonObject]], data: st.DataObject
) -> None:
    wire, messages = made
    cut = data.draw(st.integers(0, len(messages)))
    shorter, longer = _filled(wire, messages[:cut]), _filled(wire, messages)
    assert longer.blocks[:cut] == shorter.blocks
    assert longer.user_turns[: len(shorter.user_turns)] == shorter.user_turns


@given(MADE)
def test_the_open_calls_are_the_calls_without_a_result(
    made: tuple[AnyWire, list[JsonObject]],
) -> None:
    transcript = _filled(*made)
    calls = [b for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_CALL]
    without = [b for b in calls if transcript.partner(b) is None]
    assert list(transcript.open_calls.values()) == without


def test_an_id_that_is_used_again_pairs_with_the_newest_call() -> None:
    call = {"id": "call_0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    results = [{"role": "tool", "tool_call_id": "call_0", "content": c} for c in ("a.py", "b.py")]
    transcript = _filled(WIRES["openai_chat"], [asks, results[0], asks, results[1]])
    for at in (0, 2):
        assert transcript.partner(transcript.blocks[at][0]) is transcript.blocks[at + 1][0]
    assert [b.key for b in transcript.all_blocks()] == [
        "call:call_0", "result:call_0", "call:call_0#1", "result:call_0#1",
    ]  # fmt: skip


def test_keys_survive_a_rewritten_first_message() -> None:
    said = [{"role": "assistant", "content": "same"}, {"role": "assistant", "content": "same"}]
    one = _filled(A, [{"role": "user", "content": "old"}, *said])
    other = _filled(A, [{"role": "user", "content": "new"}, *said])
    assert [b.key for b in one.all_blocks()][1:] == [b.key for b in other.all_blocks()][1:]
    assert one.blocks[1][0].key != one.blocks[2][0].key


def test_pictures_have_keys_by_their_own_content() -> None:
    def picture(data: str) -> JsonObject:
        source = {"type": "base64", "media_type": "image/png", "data": data}
        return {"role": "user", "content": [{"type": "image", "source": source}]}

    one = _filled(A, [picture("AAAA"), picture("BBBB")])
    other = _filled(A, [picture("BBBB")])
    assert one.blocks[1][0].key == other.blocks[0][0].key


def test_a_turn_begins_where_the_user_speaks_not_where_tools_or_the_harness_do() -> None:
    reminder = {"role": "user", "content": "<system-reminder>x</system-reminder>"}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    transcript = _filled(
        A,
        [
            {"role": "user", "content": "go"},
            reminder,
            {"role": "user", "content": [result]},
            {"role": "user", "content": [result, {"type": "text", "text": "and then?"}]},
        ],
    )
    assert transcript.user_turns == [0, 3]


@pytest.mark.parametrize("wanted", ["m1", "m-1", "m01", "0", "", "m\u00b2", "M0"])
def test_a_message_id_that_is_not_there_is_a_plan_error(wanted: str) -> None:
    transcript = _filled(A, [{"role": "user", "content": "go"}])
    with pytest.raises(PlanError, match="not in the transcript"):
        transcript.index_of(wanted)
    with pytest.raises(PlanError, match="not in the transcript"):
        transcript.block("nope")
    assert transcript.index_of("m0") == 0


def test_equal_messages_have_equal_hashes_however_they_are_spelled() -> None:
    one = Message(None, b'{"role":"user","n":1}', origin=Origin.USER)
    other = Message(None, b'{ "n" : 1.0, "role":"user" }', origin=Origin.USER)
    assert one == other
    assert hash(one) == hash(other)


def test_blocks_with_media_can_be_kept_in_sets() -> None:
    source = {"type": "url", "url": "http://example.test/a.png"}
    data = {"role": "user", "content": [{"type": "image", "source": source}]}
    transcript = _filled(A, [data])
    assert set(transcript.blocks[0]) == {transcript.blocks[0][0]}
