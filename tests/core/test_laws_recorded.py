"""The laws of plans and views over recorded sessions of each format.

A sample; `python -m benchmarks.views` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.edit import Drop, Insert, Replace, Span
from tenure.core.transcript import Transcript
from tests.replay import plan_laws as laws
from tests.replay.sample import WIRES, Recorded, sample_of

PER_WIRE = pytest.mark.parametrize("wire", WIRES)
SEEDS = st.integers(0, 2**32)
FEW = settings(max_examples=15)
Shared = Callable[..., Path]


def drawn(sample: tuple[Recorded, ...], mix: Random) -> Transcript:
    """The beginning of one of the threads; most of the time all of it."""
    recorded = mix.choice(sample)
    whole = len(recorded.messages())
    return recorded.transcript(mix.choice([whole, whole, mix.randint(2, whole)]))


@PER_WIRE
def test_the_empty_plan_is_the_identity_on_recorded_sessions(
    shared_data: Shared, wire: str
) -> None:
    for recorded in sample_of(shared_data, wire):
        laws.the_empty_plan_is_the_identity(recorded.transcript())


@PER_WIRE
@FEW
@given(seed=SEEDS)
def test_under_one_plan_an_append_only_extends_recorded_sessions(
    shared_data: Shared, wire: str, seed: int
) -> None:
    mix = Random(seed)
    laws.append_extends(drawn(sample_of(shared_data, wire), mix), mix)


@PER_WIRE
@FEW
@given(seed=SEEDS)
def test_without_undoes_on_recorded_sessions(shared_data: Shared, wire: str, seed: int) -> None:
    mix = Random(seed)
    laws.without_undoes(drawn(sample_of(shared_data, wire), mix), mix)


@PER_WIRE
@FEW
@given(seed=SEEDS)
def test_edits_once_made_stay_on_recorded_sessions(
    shared_data: Shared, wire: str, seed: int
) -> None:
    mix = Random(seed)
    laws.edits_once_made_stay(drawn(sample_of(shared_data, wire), mix), mix)


@PER_WIRE
def test_the_plans_that_are_tried_hold_every_kind_of_edit(shared_data: Shared, wire: str) -> None:
    kinds: set[object] = set()
    looked = undone = began = 0
    for recorded in sample_of(shared_data, wire):
        for seed in range(4):
            transcript = recorded.transcript()
            for edit in laws.some_edits(transcript, Random(seed)):
                targets = [type(target) for target in edit.targets[:1]]
                kinds.add((type(edit), *targets))
            looked += laws.edits_once_made_stay(transcript, Random(seed))
            undone += laws.without_undoes(transcript, Random(seed))
            began += laws.append_extends(transcript, Random(seed))
    assert kinds == {(Drop, str), (Drop, Span), (Replace, str), (Replace, Span), (Insert,)}
    assert min(looked, undone, began) >= 40
