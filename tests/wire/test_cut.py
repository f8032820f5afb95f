"""Request bodies as raw slices."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Message, Origin
from tenure.errors import RequestError
from tenure.wire.detect import WIRES, AnyWire
from tests.formats import any_wire
from tests.wire.corpus import NAMES, body
from tests.wire.strategies import JSON, conversations, spelled

WIRE = any_wire()


@st.composite
def _bodies(draw: st.DrawFn) -> tuple[AnyWire, bytes]:
    wire = draw(WIRE)
    messages = draw(conversations(wire, open_end=True))
    head = draw(st.dictionaries(st.sampled_from(["model", "x", "é", "tools"]), JSON, max_size=3))
    members = list(head.items())
    members.insert(draw(st.integers(0, len(members))), (wire.key, messages))
    return wire, draw(spelled(dict(members))).encode()


@pytest.mark.parametrize("name", NAMES)
def test_an_odd_body_of_the_corpus_comes_out_byte_for_byte(name: str) -> None:
    cut = WIRES[name].cut(body(name))
    assert cut.render(cut.messages) == body(name)
    assert cut.render(list(cut.messages)) == body(name)


@pytest.mark.fuzz
@given(_bodies())
def test_an_untouched_body_is_byte_identical(made: tuple[AnyWire, bytes]) -> None:
    wire, raw = made
    cut = wire.cut(raw)
    assert cut.render(cut.messages) == raw
    assert {**cut.head, wire.key: [m.data for m in cut.messages]} == json.loads(raw)


@pytest.mark.fuzz
@given(_bodies(), st.data())
def test_touching_one_message_changes_only_its_slice(
    made: tuple[AnyWire, bytes], data: st.DataObject
) -> None:
    wire, raw = made
    cut = wire.cut(raw)
    at = data.draw(st.integers(0, len(cut.messages) - 1))
    other = Message(None, b'{"other":1}', origin=Origin.USER)
    new = cut.render([*cut.messages[:at], other, *cut.messages[at + 1 :]])
    start = len(cut.before) + sum(
        len(m.raw) + len(gap) for m, gap in zip(cut.messages[:at], cut.between, strict=False)
    )
    end = start + len(cut.messages[at].raw)
    assert new == raw[:start] + other.raw + raw[end:]


@pytest.mark.fuzz
@given(_bodies(), st.data())
def test_a_body_without_some_messages_says_the_rest(
    made: tuple[AnyWire, bytes], data: st.DataObject
) -> None:
    wire, raw = made
    cut = wire.cut(raw)
    kept = [m for m in cut.messages if data.draw(st.booleans())]
    assert json.loads(cut.render(kept)) == {**cut.head, wire.key: [m.data for m in kept]}


@pytest.mark.fuzz
@given(WIRE, st.binary(max_size=60) | JSON.map(lambda v: json.dumps(v).encode()))
def test_garbage_raises_request_error_and_nothing_else(wire: AnyWire, raw: bytes) -> None:
    try:
        cut = wire.cut(raw)
    except RequestError:
        return
    assert cut.render(cut.messages) == raw


@pytest.mark.fuzz
@given(_bodies(), st.data())
def test_a_damaged_body_raises_request_error_or_comes_out_as_it_is(
    made: tuple[AnyWire, bytes], data: st.DataObject
) -> None:
    wire, raw = made
    at = data.draw(st.integers(0, len(raw)))
    damaged = raw[:at] + data.draw(st.binary(max_size=3)) + raw[at + data.draw(st.integers(0, 2)) :]
    try:
        cut = wire.cut(damaged)
    except RequestError:
        return
    assert cut.render(cut.messages) == damaged
    wire.violations([m.data for m in cut.messages])
    for message in cut.messages:
        wire.lenses(message.data)
        wire.meaning(message.data)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b'{"messages":{}}',
        b'{"messages":[1]}',
        b'{"messages":[]} x',
        b'{"messages":[]}{}',
        b'{"messages":[NaN]}',
        b'{"messages":[{}],}',
        b'{"messages":' + b"[" * 100_000,
        b'{"messages":[{"a":' + b"[" * 201 + b"]" * 201 + b"}]}",
        b'{"n":' + b"9" * 5000 + b',"messages":[]}',
        b'{"messages":[{"a":' + b'{"a":' * 100_000 + b"1",
        "\ufeff{}".encode(),
        '{"messages":[]}'.encode("utf-16"),
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_such_a_body_is_refused_by_name(raw: bytes) -> None:
    with pytest.raises(RequestError):
        WIRES["openai_chat"].cut(raw)


def test_a_message_as_deep_as_is_allowed_can_be_read() -> None:
    wire = WIRES["anthropic_messages"]
    raw = b'{"messages":[{"role":"user","content":[' + b"[" * 198 + b"1" + b"]" * 198 + b"]}]}"
    (message,) = wire.cut(raw).messages
    assert wire.lenses(message.data)
    assert wire.meaning(message.data)
    assert wire.splice(message, {("content", 0): b"1"}) is not None
    assert message == Message(message.data, origin=Origin.USER)


def test_bytes_that_are_no_utf8_pass_through() -> None:
    raw = b'{"messages":[{"role":"user","content":"a\xff\xfeb"},{"role":"user","content":"\xe9"}]}'
    cut = WIRES["anthropic_messages"].cut(raw)
    assert cut.render(cut.messages) == raw
    assert cut.messages[0].raw == b'{"role":"user","content":"a\xff\xfeb"}'


def test_the_last_of_two_messages_keys_is_the_one_that_counts() -> None:
    raw = b'{"messages":[{"role":"user","content":"old"}],"messages":[{"role":"user","content":"new"}]}'
    cut = WIRES["openai_chat"].cut(raw)
    assert [m.data["content"] for m in cut.messages] == ["new"]
    assert cut.render(cut.messages) == raw


def test_a_bare_string_input_is_one_user_message() -> None:
    wire = WIRES["openai_responses"]
    raw = b'{"model":"m", "input" : "h\\u00e9" }'
    cut = wire.cut(raw)
    assert [m.data for m in cut.messages] == [{"role": "user", "content": "hé"}]
    assert cut.render(cut.messages) == raw
    more = [*cut.messages, wire.message({"role": "assistant", "content": "hi"})]
    assert json.loads(cut.render(more)) == {"model": "m", "input": [m.data for m in more]}


@given(WIRE.flatmap(lambda w: st.tuples(st.just(w), conversations(w))), st.booleans())
def test_the_bytes_of_a_request_say_the_same_as_its_arguments(
    made: tuple[AnyWire, list[Any]], system: bool
) -> None:
    wire, messages = made
    head = {"model": "m", "max_tokens": 5, **({"system": "Be brief."} if system else {})}
    text = wire.body(head, [wire.message(m).raw for m in messages])
    assert json.loads(text) == wire.request(head, messages)
