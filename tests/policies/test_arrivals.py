"""Results that come all at once: a history taken over from elsewhere, or many parallel calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.policies.arrivals import LEAST_KEPT, fair_share

WINDOW = 40_000
WORDS = "alpha beta gamma delta\n"


def history(rounds: list[list[int]]) -> list[dict[str, Any]]:
    """A chat of one round per list: parallel calls whose results are that many lines long."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "read all of it"}]
    for r, sizes in enumerate(rounds):
        calls = [
            {
                "id": f"c{r}-{n}",
                "type": "function",
                "function": {"name": "read", "arguments": json.dumps({"path": f"f{r}-{n}"})},
            }
            for n in range(len(sizes))
        ]
        said.append({"role": "assistant", "content": None, "tool_calls": calls})
        for n, lines in enumerate(sizes):
            text = f"file {r}-{n}\n" + WORDS * lines
            said.append({"role": "tool", "tool_call_id": f"c{r}-{n}", "content": text})
    return said


def kept(rounds: list[list[int]]) -> list[list[float]]:
    """The share of each result that the first request of the history holds."""
    session = Session(
        "gpt-5.1",
        options=Options(wire="openai_chat", window=WINDOW, recall=False),
        max_completion_tokens=2_000,
    )
    given_messages = history(rounds)
    session.append(*given_messages)
    sent = session.request()["messages"]
    assert len(sent) == len(given_messages)
    shares: dict[str, float] = {}
    for before, after in zip(given_messages, sent, strict=True):
        if before["role"] == "tool":
            shares[before["tool_call_id"]] = len(after["content"]) / len(before["content"])
    return [[shares[f"c{r}-{n}"] for n in range(len(sizes))] for r, sizes in enumerate(rounds)]


@pytest.mark.parametrize("older", [1, 5, 30])
def test_the_newest_result_of_a_history_stays_whole_and_older_ones_make_way(older: int) -> None:
    *before, (last,) = kept([[10_000 // older + 3_000]] * older + [[1_000]])
    assert last == 1
    assert min(share for (share,) in before) < 0.9


@settings(max_examples=25, deadline=None)
@given(
    rounds=st.lists(st.lists(st.integers(1, 6_000), min_size=1, max_size=3), min_size=2, max_size=8)
)
def test_no_older_result_is_kept_at_the_price_of_a_newer_one(rounds: list[list[int]]) -> None:
    shares = kept(rounds)
    sizes = [[len(WORDS) * lines for lines in each] for each in rounds]
    for r in range(1, len(rounds)):
        for share, size in zip(shares[r], sizes[r], strict=True):
            if share == 1:
                continue
            # A newer one was cut: no older one keeps more text than it does, but for the least.
            left = share * size
            for old_share, old_size in zip(shares[r - 1], sizes[r - 1], strict=True):
                assert min(old_share, 1) * old_size <= left + LEAST_KEPT * 8


@given(
    sizes=st.lists(st.integers(1, 50_000), min_size=1, max_size=9),
    room=st.integers(0, 100_000),
)
def test_what_came_together_shares_fairly(sizes: list[int], room: int) -> None:
    shares = fair_share(sizes, room)
    assert all(min(size, LEAST_KEPT) <= s <= size for s, size in zip(shares, sizes, strict=True))
    cut = [s for s, size in zip(shares, sizes, strict=True) if s < size]
    if cut:
        assert max(cut) - min(cut) <= 1 or min(cut) >= max(shares) - len(sizes)
        assert sum(shares) <= max(room, sum(min(size, LEAST_KEPT) for size in sizes))
    else:
        assert shares == sizes
