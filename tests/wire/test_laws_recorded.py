"""The laws of the wire over recorded sessions of each format, and over generated replies streamed.

A sample; `python -m benchmarks.views` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.message import BlockKind, JsonObject, Origin
from tenure.wire.detect import WIRES
from tests.replay.sample import WIRES as NAMES
from tests.replay.sample import Recorded, sample_of
from tests.wire import laws
from tests.wire.strategies import conversations

PER_WIRE = pytest.mark.parametrize("wire", NAMES)
SEEDS = st.integers(0, 2**32)
Shared = Callable[..., Path]


def body_of(recorded: Recorded, mix: Random) -> laws.Written:
    """The request of one of its steps, as a client might have spelled it."""
    at = mix.randrange(len(recorded.replies))
    sent: list[JsonObject] = []
    for each in recorded.replies[:at]:
        sent += [m.data for m in (*each.arrivals, *each.messages)]
    sent += [m.data for m in recorded.replies[at].arrivals]
    return laws.written(recorded.wire_name, sent, mix)


@PER_WIRE
@settings(max_examples=25)
@given(seed=SEEDS)
def test_an_untouched_recorded_body_is_byte_identical(
    shared_data: Shared, wire: str, seed: int
) -> None:
    mix = Random(seed)
    recorded = mix.choice(sample_of(shared_data, wire))
    laws.an_untouched_body_is_byte_identical(body_of(recorded, mix))


@PER_WIRE
def test_touching_one_recorded_message_changes_only_its_slice(
    shared_data: Shared, wire: str
) -> None:
    mix, touched, neighbours = Random(7), set[BlockKind](), 0
    for recorded in sample_of(shared_data, wire):
        messages = [m.data for m in recorded.messages()]
        body = laws.written(wire, messages, mix)
        for at, data in enumerate(messages):
            kinds = [lens.kind for lens in WIRES[wire].lenses(data)]
            if not kinds or mix.random() < 0.4:
                continue
            which = mix.randrange(len(kinds))
            touched.add(kinds[which])
            neighbours += laws.touching_one_message_changes_only_its_slice(body, at, which)
    assert touched >= {BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT}
    assert neighbours > 0, "no block stood beside one that was touched"


@PER_WIRE
@settings(max_examples=40)
@given(seed=SEEDS)
def test_a_damaged_recorded_body_raises_request_error_and_nothing_else(
    shared_data: Shared, wire: str, seed: int
) -> None:
    mix = Random(seed)
    body = body_of(mix.choice(sample_of(shared_data, wire)), mix)
    laws.damage_raises_request_error_and_nothing_else(body, mix)


@PER_WIRE
def test_damage_is_at_times_refused_and_at_times_passes(shared_data: Shared, wire: str) -> None:
    mix = Random(3)
    body = body_of(sample_of(shared_data, wire)[0], mix)
    refused = [laws.damage_raises_request_error_and_nothing_else(body, mix) for _ in range(60)]
    assert {True, False} == set(refused)


@PER_WIRE
def test_a_recorded_reply_that_is_streamed_in_any_pieces_is_the_reply(
    shared_data: Shared, wire: str
) -> None:
    mix, streams, seen = Random(11), 0, set[BlockKind]()
    for recorded in sample_of(shared_data, wire):
        for each in recorded.replies:
            said = [m.data for m in each.messages]
            body = laws.reply_body(wire, said)
            if body is None:
                continue
            assert laws.a_stream_is_the_reply_that_came_whole(wire, body, mix) > 2
            streams += 1
            seen |= {lens.kind for data in said for lens in WIRES[wire].lenses(data)}
    assert streams >= 25
    assert seen >= {BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.THINKING}


@pytest.mark.fuzz
@PER_WIRE
@given(data=st.data(), seed=SEEDS)
def test_a_generated_reply_that_is_streamed_in_any_pieces_is_the_reply(
    wire: str, data: st.DataObject, seed: int
) -> None:
    mix = Random(seed)
    said: list[JsonObject] = []
    for message in [*data.draw(conversations(WIRES[wire])), None]:
        if message is not None and WIRES[wire].origin(message) is Origin.ASSISTANT:
            said.append(message)
        elif said:
            # A reply of Responses is all its items.
            body = laws.reply_body(wire, said)
            assert body is not None
            assert laws.a_stream_is_the_reply_that_came_whole(wire, body, mix) > 2
            said = []
