"""The laws of the meter over recorded sessions of each format, and over broken texts in each.

A sample; `python -m benchmarks.views` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.plan import Plan
from tenure.core.protocols import ToolCall
from tenure.core.transcript import Transcript
from tenure.tokens.counter import BlockCounter
from tenure.tokens.meter import SessionMeter
from tenure.wire.detect import WIRES, AnyWire
from tests.replay.sample import WIRES as NAMES
from tests.replay.sample import sample_of
from tests.tokens import meter_laws as laws
from tests.tokens.reference import tiktoken_encoding
from tests.tokens.texts import ANY_TEXT, HOSTILE
from tests.wire.strategies import reply_body

PER_WIRE = pytest.mark.parametrize("wire", NAMES)
Shared = Callable[..., Path]
MODELS = {
    "anthropic_messages": ("claude-opus-4-5", "claude-opus-5-5"),
    "openai_chat": ("gpt-4", "gpt-4o", "some-other-model"),
    "openai_responses": ("gpt-5.1", "some-other-model"),
}
PROVIDERS = {"claude": "anthropic", "gpt": "openai"}
VOCABULARIES = {"gpt-4": "cl100k_base", "gpt-4o": "o200k_base", "gpt-5.1": "o200k_base"}
PAIRS = pytest.mark.parametrize(
    ("wire", "model"), [(wire, model) for wire in NAMES for model in MODELS[wire]]
)
# The vocabulary of claude-4.7 is that of 4.8.
FAMILIES = {"claude-3": "claude-3-5-haiku", "claude-4.8": "claude-opus-5-5"}


def counter_of(model: str) -> BlockCounter:
    return BlockCounter(model, PROVIDERS.get(model.split("-", maxsplit=1)[0], "unknown"))


@PER_WIRE
def test_incremental_counts_equal_those_made_from_scratch_on_recorded_sessions(
    shared_data: Shared, wire: str
) -> None:
    sample = sample_of(shared_data, wire)
    meter = laws.Incremental(counter_of(MODELS[wire][0]))
    for number, recorded in enumerate(sample):
        meter.play(recorded, Random(number))
    assert meter.steps == sum(len(recorded.replies) for recorded in sample)
    assert min(meter.edited, meter.undone, meter.anchored) >= 5


@PAIRS
def test_recorded_texts_however_broken_are_counted(
    shared_data: Shared, wire: str, model: str
) -> None:
    mix, counter = Random(5), counter_of(model)
    found = [laws.nothing_raises(one, counter, mix) for one in sample_of(shared_data, wire)]
    assert sum(found) >= 100


@PAIRS
@settings(max_examples=20)
@given(said=st.lists(ANY_TEXT | st.sampled_from(list(HOSTILE.values())), min_size=5, max_size=5))
def test_any_text_in_any_place_of_a_message_is_counted(
    wire: str, model: str, said: list[str]
) -> None:
    counter, transcript = counter_of(model), spoken(WIRES[wire], said)
    meter = SessionMeter(counter, system=said[0], tools=said[1])
    bound = meter.bound(transcript)
    meter.sync(transcript)
    assert 0 < meter.resident(Plan()) <= meter.upper(Plan()) <= bound
    blocks = list(transcript.all_blocks())
    assert len(blocks) >= 4
    for block in blocks:
        laws.in_order(counter, block)


def spoken(wire: AnyWire, said: list[str]) -> Transcript:
    """A user's words, a thought, words, a call and its result that say these."""
    user, thought, words, argument, result = said
    call = ToolCall("c", "write", {"text": argument})
    messages = wire.user(user or "x")
    messages += wire.reply(reply_body(wire.name, thought, words or "x", [call]))[0]
    messages += wire.results([(call, result, False)])
    transcript = Transcript(wire)
    for data in messages:
        transcript.append(wire.message(data))
    return transcript


@pytest.mark.parametrize("model", VOCABULARIES)
@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses"])
def test_openai_counts_of_recorded_pieces_are_exact_and_within_the_byte_bound(
    shared_data: Shared, wire: str, model: str
) -> None:
    pytest.importorskip("quicktok", reason="no quicktok wheel for this machine")
    mix, counter, counted = Random(2), counter_of(model), 0
    reference = tiktoken_encoding(VOCABULARIES[model])
    for recorded in sample_of(shared_data, wire):
        for piece in laws.pieces(recorded, mix):
            true = len(reference.encode_ordinary(piece))
            assert counter.count_text(piece) == (true, true)
            assert true <= counter.bound_text(piece)
            counted += 1
    assert counted >= 300


@PER_WIRE
@pytest.mark.parametrize("family", FAMILIES)
def test_at_most_one_recorded_piece_in_a_thousand_is_above_its_upper_bound(
    shared_data: Shared, wire: str, family: str
) -> None:
    """And none above the byte bound. In every format: gateways serve Claude behind OpenAI's APIs."""
    pytest.importorskip("ctok", reason="the reference tokenizer ctok needs Python 3.12 or newer")
    from scripts.claude_reference import count

    counter, mix, counted, above = counter_of(FAMILIES[family]), Random(4), 0, 0
    for recorded in sample_of(shared_data, wire):
        for piece in laws.pieces(recorded, mix):
            true = count(piece, family)
            above += true > counter.count_text(piece).upper
            assert true <= counter.bound_text(piece)
            counted += 1
    assert counted >= 500
    assert above <= max(1, counted // 1_000)
