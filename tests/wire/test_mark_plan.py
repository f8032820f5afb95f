"""The mark planner: legal, few, stable, and reaching what was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenure.core.message import JsonObject, json_bytes
from tenure.cost.models import ModelProfile, profile
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment
from tenure.wire.mark_plan import MarkRules, plan_marks, positions
from tests.wire.marked import bare, body_of, heads, marks, messages, refusals

pytestmark = pytest.mark.wire("anthropic_messages")
U: dict[str, Any] = {"role": "user", "content": "go"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


rules = st.builds(
    MarkRules,
    most=st.integers(0, 4),
    lookback=st.sampled_from([None, 2, 20]),
    long=st.booleans(),
    lift=st.booleans(),
    automatic=st.booleans(),
)


@pytest.mark.fuzz
@given(heads, messages, st.sets(st.integers(0, 7)), rules)
def test_planned_marks_are_legal_few_and_change_no_prompt(
    head: JsonObject, turns: list[JsonObject], places: set[int], rules: MarkRules
) -> None:
    given_body = {**head, "messages": turns}
    before = json_bytes(given_body)
    plan = plan_marks(head, turns, places, rules)
    body = body_of(plan, turns)
    assert json_bytes(given_body) == before
    own = len(marks(given_body))
    assert own <= len(marks(body)) <= max(own, rules.most)
    assert len(plan.marks) == len(marks(body))
    broken = set(refusals(body)) - {"mark_count" if own > 4 else ""}
    assert not broken
    assert bare(body) == bare(given_body)


@pytest.mark.fuzz
@given(heads, messages, st.sets(st.integers(0, 7)), rules)
def test_planning_again_changes_nothing(
    head: JsonObject, turns: list[JsonObject], places: set[int], rules: MarkRules
) -> None:
    body = body_of(plan_marks(head, turns, places, rules), turns)
    again = body.pop("messages")
    plan = plan_marks(body, again, (), rules)
    assert plan.head is body
    assert plan.messages == {}


@pytest.mark.fuzz
@given(heads, messages)
@example(
    {"system": "rules", "cache_control": {"type": "ephemeral", "ttl": "5m"}},
    [
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": LONG}]},
        {"role": "user", "content": "  "},
    ],
)
def test_without_places_a_legal_request_is_the_very_one(
    head: JsonObject, turns: list[JsonObject]
) -> None:
    plan = plan_marks(head, turns, ())
    if not refusals({**head, "messages": turns}):
        assert plan.head is head
        assert not plan.messages


def test_a_mark_below_the_minimum_is_not_set() -> None:
    plan = plan_marks({"system": "s"}, [U], (0, 1), MarkRules(minimum=1024),
                      tokens=lambda place: (300, 2000)[place])  # fmt: skip
    assert [spot.path for spot in plan.marks] == [("messages", 0, "content", 0)]
    assert plan.notes == ("no mark at 0: 300 tokens, cached from 1024",)


def test_an_automatic_mark_stands_for_the_one_at_the_end() -> None:
    head = {"system": "s", "cache_control": {"type": "ephemeral"}}
    plan = plan_marks(head, [U, U], (0, 1, 2))
    assert [spot.path for spot in plan.marks] == [("system", 0), ("messages", 0, "content", 0), ()]


def test_the_mark_at_the_end_can_be_the_automatic_one() -> None:
    plan = plan_marks({"system": "s"}, [U, U], (0, 2), MarkRules(automatic=True, long=True))
    assert plan.head["cache_control"] == LONG
    assert plan.messages == {}
    assert [spot.path for spot in plan.marks] == [("system", 0), ()]


def test_a_long_mark_of_the_client_behind_ours_makes_ours_long() -> None:
    turns = [U, {"role": "user", "content": [_text("x", cache_control=LONG)]}]
    plan = plan_marks({"system": "s"}, turns, (0, 1))
    assert [spot.long for spot in plan.marks] == [True, True, True]


def test_ours_are_short_behind_a_short_mark_of_the_client() -> None:
    head = {"system": [_text("s", cache_control={"type": "ephemeral"})]}
    plan = plan_marks(head, [U], (1,), MarkRules(long=True))
    assert [spot.long for spot in plan.marks] == [False, False]


def test_a_deferred_tool_and_a_message_to_be_cleared_carry_no_mark() -> None:
    head = {"tools": [{"name": "a"}, {"name": "b", "defer_loading": True}]}
    cleared = {"role": "system", "content": "psst", "clear_at": "next_user_message"}
    plan = plan_marks(head, [U, cleared], (0, 2))
    assert [spot.path for spot in plan.marks] == [("tools", 0), ("messages", 0, "content", 0)]


def _run(kind: str, count: int) -> list[dict[str, Any]]:
    return [{"type": kind, "id": f"{n}"} for n in range(count)]


def test_a_run_of_calls_or_of_results_is_one_position() -> None:
    turns: list[JsonObject] = [
        {"role": "assistant", "content": [_text("hm"), *_run("tool_use", 30)]},
        {"role": "user", "content": [*_run("tool_result", 30), _text("go")]},
    ]
    assert positions(turns, 0, 2, most=1000) == 4
    assert positions(turns, 0, 2, most=1000, runs_as_one=False) == 62
    assert positions(turns, 0, 2, most=20, runs_as_one=False) == 20


def test_with_few_marks_left_the_place_out_of_reach_comes_first() -> None:
    fan = {"role": "user", "content": [{"type": "image"}] * 30}
    turns: list[JsonObject] = [U, fan, U, U]
    plan = plan_marks({"system": "s"}, turns, (0, 1, 3, 4), MarkRules(most=2))
    assert [spot.path[1] for spot in plan.marks] == [0, 3]
    assert len(plan.notes) == 2


class Priced:
    """The simulated cache, fed with the bodies that a plan makes. A block is 100 tokens."""

    def __init__(self, model: ModelProfile) -> None:
        self.cache = PrefixCache(model)
        self.at = 0.0

    def send(self, turns: list[JsonObject], places: list[int], rules: MarkRules) -> tuple[int, int]:
        """(read, written) tokens of a request with these messages."""
        plan = plan_marks({}, turns, places, rules)
        paths = {spot.path for spot in plan.marks}
        node: PrefixNode = self.cache.root
        nodes = []
        for number, message in enumerate(turns):
            for at, block in enumerate(message["content"]):
                node = self.cache.extend(
                    node, [Segment(str(block) + str(number), 100, block["type"])]
                )
                if ("messages", number, "content", at) in paths:
                    nodes.append(Mark(node))
        self.at += 10
        usage = self.cache.request(node, nodes, at=self.at).usage
        return usage.cache_read, usage.cache_write


@pytest.mark.fuzz
@given(st.lists(st.lists(st.integers(1, 45), min_size=1, max_size=3), min_size=2, max_size=5),
       st.booleans(), st.integers(2, 4))  # fmt: skip
def test_whatever_a_step_adds_the_next_request_reads_all_that_was_written(
    steps: list[list[int]], runs: bool, most: int
) -> None:
    model = profile("claude-opus-4-5").with_(cache_minimum=1, lookback=20)
    rules = MarkRules(most=most, runs_as_one=runs)
    priced, turns, last, held = Priced(model), list[JsonObject](), 0, 0
    for step in steps:
        for count in step:
            # To the simulator a run of pictures is as many positions as a run of calls elsewhere.
            kind = "tool_use" if runs else "image"
            turns.append({"role": "user", "content": [_text("x"), *_run(kind, count)]})
        read, written = priced.send(turns, [0, last, len(turns)], rules)
        assert read == held
        held, last = read + written, len(turns)
        assert held == 100 * sum(len(t["content"]) for t in turns)
