"""Changes of one message, on bytes and on dicts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import JsonObject, Message, Origin, Path
from tenure.errors import PlanError
from tenure.wire.detect import WIRES, AnyWire
from tests.formats import any_wire
from tests.wire.corpus import NAMES, body
from tests.wire.strategies import conversations, spelled

A = WIRES["anthropic_messages"]
CHAT = WIRES["openai_chat"]

_MADE = any_wire().flatmap(
    lambda wire: st.tuples(st.just(wire), conversations(wire).flatmap(st.sampled_from))
)
_BODIES = st.sampled_from([None, b'"new"', b'{"n":[1e3, "\xc3\xa9"]}', b'{"s":"\xed\xa0\x80"}'])


@st.composite
def _changes(draw: st.DrawFn, wire: AnyWire, data: JsonObject) -> dict[Path, bytes | None]:
    paths = [lens.path for lens in wire.lenses(data)]
    return {path: draw(_BODIES) for path in paths if draw(st.booleans())}


@pytest.mark.fuzz
@given(_MADE, st.data())
def test_splicing_bytes_and_splicing_the_dict_give_the_same_json(
    made: tuple[AnyWire, JsonObject], data: st.DataObject
) -> None:
    wire, message = made
    raw = data.draw(spelled(message)).encode()
    changes = data.draw(_changes(wire, message))
    of_dict = wire.splice(wire.message(message), changes)
    of_bytes = wire.splice(Message(None, raw, origin=wire.origin(message)), changes)
    assert (of_dict is None) == (of_bytes is None)
    if of_dict is not None and of_bytes is not None:
        assert of_dict.data == of_bytes.data
        assert of_bytes.held_raw
        assert not of_dict.held_raw


@pytest.mark.fuzz
@given(_MADE, st.data())
def test_nothing_but_the_replaced_value_changes_in_the_bytes(
    made: tuple[AnyWire, JsonObject], data: st.DataObject
) -> None:
    wire, message = made
    raw = data.draw(spelled(message)).encode()
    path = data.draw(st.sampled_from([lens.path for lens in wire.lenses(message)]))
    marked = wire.splice(Message(None, raw, origin=Origin.USER), {path: b'"@@MARK@@"'})
    assert marked is not None
    before, after = marked.raw.split(b'"@@MARK@@"')
    assert raw.startswith(before)
    assert raw.endswith(after)
    value = json.loads(raw[len(before) : len(raw) - len(after)])
    for step in path:
        message = message[step]  # type: ignore[index]
    assert value == message


@given(_MADE, st.data())
def test_a_dict_shares_what_no_change_touches(
    made: tuple[AnyWire, JsonObject], data: st.DataObject
) -> None:
    wire, message = made
    kept = json.dumps(message)
    changes = data.draw(_changes(wire, message))
    new = wire.splice(wire.message(message), changes)
    assert json.dumps(message) == kept
    touched = {path[0] for path in changes if path}
    if new is not None and () not in changes:
        for key, value in message.items():
            assert key in touched or new.data[key] is value


@pytest.mark.parametrize("name", NAMES)
def test_taking_everything_out_leaves_nothing(name: str) -> None:
    wire = WIRES[name]
    for message in wire.cut(body(name)).messages:
        assert wire.splice(message, {x.path: None for x in wire.lenses(message.data)}) is None


def test_an_element_goes_with_its_comma() -> None:
    raw = b'{"role":"user","content":[ {"type":"text","text":"a"} , {"type":"text","text":"b"},{"type":"text","text":"c"} ]}'
    message = Message(None, raw, origin=Origin.USER)
    assert _raw(A, message, 0) == raw.replace(b'{"type":"text","text":"a"} , ', b"")
    assert _raw(A, message, 1) == raw.replace(b'{"type":"text","text":"b"},', b"")
    assert _raw(A, message, 2) == raw.replace(b',{"type":"text","text":"c"}', b"")
    assert _raw(A, message, 1, 2) == raw.replace(
        b' , {"type":"text","text":"b"},{"type":"text","text":"c"}', b""
    )


def _raw(wire: AnyWire, message: Message, *numbers: int) -> bytes:
    new = wire.splice(message, {("content", n): None for n in numbers})
    assert new is not None
    return new.raw


def test_the_last_call_takes_its_key_along() -> None:
    raw = b'{"role":"assistant","content":"hi" , "tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}}]}'
    new = CHAT.splice(Message(None, raw, origin=Origin.ASSISTANT), {("tool_calls", 0): None})
    assert new is not None
    assert new.raw == b'{"role":"assistant","content":"hi"}'


def test_all_of_the_duplicate_keys_go_and_the_last_is_replaced() -> None:
    raw = b'{"refusal":"no","content":"a","role":"assistant","content":"b"}'
    message = Message(None, raw, origin=Origin.ASSISTANT)
    gone = CHAT.splice(message, {("content",): None})
    new = CHAT.splice(message, {("content",): b'"c"'})
    assert gone is not None
    assert new is not None
    assert gone.raw == b'{"refusal":"no","role":"assistant"}'
    assert new.raw == b'{"refusal":"no","content":"a","role":"assistant","content":"c"}'


def test_a_dict_stays_a_dict_after_its_bytes_were_made() -> None:
    message = A.message({"role": "user", "content": [{"type": "text", "text": "a"}], "x": {}})
    assert message.raw
    new = A.splice(message, {("content", 0): b'{"type":"text","text":"b"}'})
    assert new is not None
    assert new.data["x"] is message.data["x"]


def test_reasoning_alone_does_not_keep_a_message() -> None:
    data = {"role": "assistant", "content": "hi", "reasoning_content": "hm"}
    assert CHAT.splice(CHAT.message(data), {("content",): None}) is None


def test_a_path_that_leads_nowhere_is_a_plan_error() -> None:
    message = A.message({"role": "user", "content": [{"type": "text", "text": "a"}]})
    with pytest.raises(PlanError, match="leads nowhere"):
        A.splice(message, {("content", 7): b"1"})
