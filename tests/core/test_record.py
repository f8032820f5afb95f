"""Records survive their encoding, messages with their very bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.edit import Delegated, Drop, Edit, Insert, Reason, Replace, Span
from tenure.core.message import Message, Origin, message_id
from tenure.core.record import (
    Appended,
    Cancelled,
    Compacted,
    PlanChanged,
    Recalled,
    Record,
    Reported,
    Requested,
    Started,
    decode,
    encode,
)
from tenure.core.usage import Usage
from tenure.errors import StoreError

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(ANY_TEXT, JSON, max_size=3)
TIMES = st.floats(0, 2e9)
COUNTS = st.integers(0, 10**7)
RAWS = st.sampled_from(
    [b'{"role":"user","content":"x"}', b'{ "a" : 1e3 , "b":"\\ud800"}', '{"é":"日"}'.encode(),
     b'{"bad":"\xff\xfe"}']
)  # fmt: skip
MESSAGES = st.builds(
    lambda data, raw, origin, pinned: Message(
        None if raw else data, raw, origin=origin, pinned=pinned
    ),
    OBJECTS, st.none() | RAWS, st.sampled_from(list(Origin)), st.booleans(),
)  # fmt: skip
REASONS = st.builds(
    Reason, ANY_TEXT, ANY_TEXT, st.sampled_from(["forced", "pays", "cold", "arrival"]), COUNTS,
    COUNTS, TIMES, TIMES, COUNTS,
)  # fmt: skip
SPANS = st.tuples(COUNTS, COUNTS).map(lambda t: Span(message_id(min(t)), message_id(max(t))))
TARGETS = ANY_TEXT | SPANS
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(Drop, st.lists(TARGETS, max_size=3).map(tuple), REASONS, ANY_TEXT),
    st.builds(
        Replace, TARGETS, st.lists(st.binary(max_size=9), max_size=2).map(tuple), REASONS, ANY_TEXT
    ),
    st.builds(Insert, COUNTS.map(message_id), MESSAGES, REASONS, ANY_TEXT),
    st.builds(
        Delegated,
        ANY_TEXT,
        st.lists(ANY_TEXT, max_size=3).map(tuple),
        REASONS,
        ANY_TEXT,
        st.binary(max_size=9),
        st.booleans(),
    ),
    st.builds(
        Delegated,
        ANY_TEXT,
        st.lists(ANY_TEXT, max_size=3).map(tuple),
        REASONS,
        ANY_TEXT,
        st.binary(max_size=9),
        st.booleans(),
        span=SPANS,
        body=st.lists(st.binary(max_size=9), max_size=2).map(tuple),
    ),
)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(Started, ANY_TEXT, ANY_TEXT, OBJECTS, ANY_TEXT, TIMES),
    st.builds(Appended, MESSAGES, TIMES),
    st.builds(
        PlanChanged,
        st.lists(EDITS, max_size=2).map(tuple),
        st.lists(EDITS, max_size=2).map(tuple),
        TIMES,
        st.booleans(),
    ),
    st.builds(Requested, COUNTS, COUNTS, TIMES, COUNTS, st.booleans()),
    st.builds(Reported, st.none() | USAGES, TIMES),
    st.builds(Compacted, ANY_TEXT, st.none() | USAGES, TIMES, made=st.booleans()),
    st.builds(Cancelled, TIMES),
    st.builds(Recalled, ANY_TEXT, TIMES, TIMES),
)


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was_written(record: Record) -> None:
    line = encode(record)
    assert b"\n" not in line
    again = decode(line)
    assert again == record
    assert encode(again) == line


@given(message=MESSAGES)
def test_a_message_keeps_its_bytes(message: Message) -> None:
    again = decode(encode(Appended(message, 0.0)))
    assert isinstance(again, Appended)
    assert again.message.raw == message.raw
    assert again.message.held_raw == message.held_raw


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"null", b"{}", b'{"type":"Nothing","at":0}', b'{"type":"Cancelled"}',
     b'{"type":"Reported","at":0}', b'{"type":"Appended","at":0,"message":{"origin":"nobody"}}',
     b'{"type":"Appended","at":0,"message":7}', b'{"type":["Cancelled"],"at":0}', b"\xff"],
)  # fmt: skip
def test_a_line_that_is_no_record_raises_store_error(line: bytes) -> None:
    with pytest.raises(StoreError, match="no record"):
        decode(line)


@given(line=st.binary(max_size=60))
def test_garbage_raises_store_error_and_nothing_else(line: bytes) -> None:
    with pytest.raises(StoreError):
        decode(line)
