"""Memory that is injected once and grows by late pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.wire.layout_frozen import Frozen
from tests.cases import case_input

memories = st.lists(st.sampled_from(["fact A", "fact B", "fact C", "fact D", ""]), max_size=5)


def test_case_040_memory_in_another_order_changes_nothing() -> None:
    first, second = case_input("040")["memory_each_turn"]
    memory, piece = Frozen().put(first)
    again, late = memory.put(second)
    assert piece == tuple(first)
    assert (again, late) == (memory, ())


@pytest.mark.fuzz
@given(st.lists(memories, max_size=8), st.randoms(use_true_random=False))
def test_pieces_only_grow_and_an_order_adds_none(turns: list[list[str]], chance: Any) -> None:
    memory = Frozen()
    for turn in turns:
        before = memory
        memory, piece = memory.put(turn)
        assert memory.pieces[: len(before.pieces)] == before.pieces
        assert memory.pieces[len(before.pieces) :] == ((piece,) if piece else ())
        assert bool(piece) == (set(before.held) != set(turn))
        chance.shuffle(turn)
        assert memory.put(turn) == (memory, ())


@pytest.mark.fuzz
@given(st.lists(memories, max_size=8))
def test_the_pieces_read_in_order_say_what_holds_now(turns: list[list[str]]) -> None:
    memory, read = Frozen(), set()
    for turn in turns:
        memory, piece = memory.put(turn)
        for text in piece:
            gone = text.removeprefix("[tenure] No longer held, disregard it: ")
            if gone != text:
                read.discard(gone)
            else:
                read.add(text)
        assert read == set(turn) == set(memory.held)
