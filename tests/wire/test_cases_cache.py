"""The cases of kind cache that concern layout, each with its neighbours.

040, 048 and 049 are in `test_layout_frozen` and `test_layout_tools`; 052, 055 and 059 as differences of
two requests in `test_prefix_diff`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tenure.core.marks import Marks
from tenure.core.message import JsonObject, Message, json_bytes
from tenure.core.plan import Plan
from tenure.core.protocols import ToolCall
from tenure.core.transcript import Transcript
from tenure.core.view import View
from tenure.core.volatile import Kind, find_volatile
from tenure.cost.models import profile
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import Segment
from tenure.cost.price import price
from tenure.testing.strategies import Result, Step
from tenure.wire.detect import WIRES
from tenure.wire.layout import Layout, lay_out
from tenure.wire.layout_late import replay_stored, with_late
from tenure.wire.mark_plan import MarkRules, plan_marks
from tests.cases import case_input, expanded
from tests.policies.play import Table
from tests.wire.marked import body_of, marks, refusals

ANTHROPIC = WIRES["anthropic_messages"]
HOURS, MINUTES = st.integers(0, 23), st.integers(0, 59)
DAYS = st.dates(date(2001, 1, 1), date(2099, 12, 31))
SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


# -- 039, 057, 062: volatile text in front ---------------------------------------------------------


def _sent(turns: Sequence[JsonObject]) -> list[bytes]:
    """The bodies of a conversation as they leave: late text stays where it was said."""
    layout, said, sent = Layout(), list[JsonObject](), []
    told = 0
    for turn in turns:
        head = {k: v for k, v in turn.items() if k != "messages"}
        layout, settled = layout.settle(head, turn["messages"])
        said += list(settled.messages)[told:]
        told = len(settled.messages)
        said = list(with_late("anthropic_messages", said, settled.late))
        plan = plan_marks(settled.head, said, (0, len(said)))
        sent.append(json_bytes({**settled.head, "messages": list(said)}))
        assert refusals(body_of(plan, said)) == []
        assert plan.marks[0].path[0] == "system"
        assert "Time is" not in json.dumps(plan.head)
    return sent


def test_case_039_a_clock_at_the_top_leaves_the_house_rules_cached() -> None:
    turns = expanded(case_input("039"))["turns"]
    for turn in turns:
        (clock,) = find_volatile("".join(block["text"] for block in turn["system"]))
        assert (clock.kind, clock.at) == (Kind.CLOCK, 8)
    first, second = _sent(turns)
    assert second.startswith(first[:-2])
    system = [lay_out(turn).head["system"] for turn in turns]
    assert system[0] == system[1] == [turns[0]["system"][1]]


@given(st.lists(st.tuples(HOURS, MINUTES), min_size=2, max_size=5), st.booleans())
def test_a_clock_of_any_hour_leaves_every_request_a_beginning_of_the_next(
    times: list[tuple[int, int]], one_text: bool
) -> None:
    turns: list[JsonObject] = []
    messages: list[JsonObject] = []
    for hour, minute in times:
        clock, rule = f"Time is {hour:02}:{minute:02}:00. ", "House rule. " * 600
        system: Any = clock + rule if one_text else [
            {"type": "text", "text": clock}, {"type": "text", "text": rule}
        ]  # fmt: skip
        messages = [*messages, {"role": "user", "content": "Lights on."}]
        turns.append({"system": system, "messages": messages})
    sent = _sent(turns)
    assert all(b.startswith(a[:-2]) for a, b in pairwise(sent))


def _replayed(first: JsonObject, second: JsonObject) -> tuple[list[bytes], str]:
    found = replay_stored(first["messages"], second["messages"])
    sent = with_late("anthropic_messages", found.messages, found.late)
    assert len(found.notes) == len(found.late) == 1
    return [json_bytes(m) for m in sent], json.dumps(sent[-1])


def test_case_057_the_next_day_replays_the_first_message_and_says_the_date_late() -> None:
    given = case_input("057")
    sent, last = _replayed(given["turn_1"], given["turn_2"])
    stored = [json_bytes(m) for m in given["turn_1"]["messages"]]
    assert sent[: len(stored)] == stored
    assert "Today is 2026-08-15." in last


@given(DAYS, DAYS)
def test_any_new_date_is_said_late(one: date, other: date) -> None:
    assume(one != other)

    def turn(day: date, more: Sequence[JsonObject]) -> dict[str, Any]:
        first = {
            "role": "user",
            "content": [{"type": "text", "text": f"Today is {day}.\nHelp me."}],
        }
        return {"messages": [first, {"role": "assistant", "content": "Sure."}, *more]}

    before, after = turn(one, ()), turn(other, [{"role": "user", "content": "Next."}])
    sent, last = _replayed(before, after)
    assert sent[:2] == [json_bytes(m) for m in before["messages"]]
    assert f"Today is {other}." in last


def _common(texts: Sequence[bytes]) -> int:
    shortest = min(texts, key=len)
    return next((n for n, c in enumerate(shortest) if any(t[n] != c for t in texts)), len(shortest))


@pytest.mark.parametrize("format", ["openai_chat", "openai_responses"])
def test_case_062_per_turn_text_follows_what_is_stable_where_no_marks_are(format: str) -> None:
    given = case_input("062")
    wire = WIRES[format]
    head = {"model": "m", "system": "\n".join(given["parts"]["stable"])}
    sent = []
    for found, count in zip(given["parts"]["volatile_each_turn"], (1, 3), strict=True):
        turns = with_late(format, given["messages"][:count], [found])
        assert wire.violations(turns) == []
        assert given["messages"][count - 1]["content"] not in str(head)
        sent.append(json_bytes(wire.request(head, turns)))
    shared = sent[0][: _common(sent)]
    assert all(part.encode() in shared for part in given["parts"]["stable"])
    assert given["messages"][0]["content"].encode() in shared


@given(st.sampled_from(["openai_chat", "openai_responses"]), MINUTES, MINUTES)
def test_a_clock_in_a_developer_message_follows_what_is_stable(
    format: str, one: int, other: int
) -> None:
    sent = []
    for minute in (one, other):
        system = {"role": "developer", "content": f"Time is 10:{minute:02}.\nBe brief."}
        laid = lay_out({}, [system, {"role": "user", "content": "q1"}])
        late = [text.text for text in laid.late]
        sent.append([json_bytes(m) for m in with_late(format, laid.messages, late)])
    assert sent[0][:2] == sent[1][:2]
    assert f"10:{other:02}".encode() in sent[1][2]


# -- 042, 043, 045, 046, 056: marks ----------------------------------------------------------------


def test_case_042_four_marks_of_the_client_leave_none_to_us() -> None:
    body = case_input("042")["body"]
    head = {k: v for k, v in body.items() if k != "messages"}
    plan = plan_marks(head, body["messages"], (0, 1, 2, 3))
    assert plan.head is head
    assert plan.messages == {}
    assert len(plan.marks) == 4


@given(st.integers(0, 4), st.integers(0, 4))
def test_the_clients_marks_are_counted_whatever_the_most_is(own: int, most: int) -> None:
    turns = [
        {"role": "user", "content": [
            {"type": "text", "text": str(n), **({"cache_control": SHORT} if n < own else {})}]}
        for n in range(8)
    ]  # fmt: skip
    plan = plan_marks({}, turns, range(9), MarkRules(most=most))
    assert len(marks(body_of(plan, turns))) == max(own, most)
    assert sum(spot.own for spot in plan.marks) == own


def test_case_043_an_hour_behind_five_minutes_is_taken_down_or_the_first_lifted() -> None:
    body = case_input("043")["body"]
    head = {k: v for k, v in body.items() if k != "messages"}
    for lift, ttls in ((False, ["5m", "5m"]), (True, ["1h", "1h"])):
        plan = plan_marks(head, body["messages"], (), MarkRules(lift=lift))
        sent = body_of(plan, body["messages"])
        assert refusals(body) == ["mark_order"]
        assert refusals(sent) == []
        assert [mark.get("ttl", "5m") for mark in marks(sent)] == ttls
        assert len(plan.notes) == 1


@pytest.mark.fuzz
@pytest.mark.wire("anthropic_messages")
@given(st.lists(st.sampled_from([None, SHORT, LONG]), max_size=4), st.booleans())
def test_lifetimes_never_rise_and_no_mark_is_lost(given_marks: list[Any], lift: bool) -> None:
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "x", **({"cache_control": m} if m else {})}]}
        for m in given_marks
    ]  # fmt: skip
    plan = plan_marks({}, turns, (), MarkRules(lift=lift))
    ttls = [mark.get("ttl", "5m") for mark in marks(body_of(plan, turns))]
    before = [mark.get("ttl", "5m") for mark in given_marks if mark]
    assert ttls == sorted(ttls)
    assert len(ttls) == len(before)
    assert len(plan.notes) == sum(a != b for a, b in zip(before, ttls, strict=True))


def test_case_045_the_mark_stands_on_the_picture_and_not_on_empty_text() -> None:
    turns = expanded(case_input("045"))["messages"]
    plan = plan_marks({}, turns, (len(turns),))
    assert [spot.path for spot in plan.marks] == [("messages", 0, "content", 0)]
    assert turns[0]["content"][0]["type"] == "image"


def test_case_046_a_mark_walks_back_from_thinking() -> None:
    turns = case_input("046")["messages"]
    thinking = {"role": "assistant", "content": turns[1]["content"][:1]}
    plan = plan_marks({}, [turns[0], thinking], (2,))
    assert [spot.path for spot in plan.marks] == [("messages", 0, "content", 0)]
    assert plan_marks({}, [thinking], (1,)).marks == ()
    whole = plan_marks({}, turns, (1, 2, 3))
    assert refusals(body_of(whole, turns)) == []
    assert len(whole.marks) == 3


def _fan(calls: int, step: int) -> list[JsonObject]:
    ids = [f"c{step}_{n}" for n in range(calls)]
    return [
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": i, "name": "ping", "input": {"host": i}} for i in ids]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": i, "content": f"up {i}"} for i in ids]},
    ]  # fmt: skip


def _places(turns: Sequence[JsonObject], cuts: Sequence[int]) -> list[tuple[int, ...]]:
    """What `core.marks` says for requests that end at these numbers of messages."""
    transcript, view, found = Transcript(ANTHROPIC), View(Plan(), [], 0), Marks()
    places = []
    for before, end in zip((0, *cuts), cuts, strict=False):
        for data in turns[before:end]:
            transcript.append(Message(data, origin=ANTHROPIC.origin(data)))
        places.append(found.places(view.extend(transcript)))
    return places


def _reads_all(turns: Sequence[JsonObject], cuts: Sequence[int], *, runs: bool) -> None:
    """Sends the requests through the simulated cache: each reads what the one before wrote."""
    model = profile("claude-opus-4-5").with_(cache_minimum=1)
    cache, held = PrefixCache(model), 0
    rules = MarkRules(lookback=model.lookback, runs_as_one=runs)
    for number, (end, places) in enumerate(zip(cuts, _places(turns, cuts), strict=True)):
        plan = plan_marks({}, turns[:end], places, rules)
        assert len(plan.marks) <= 4
        paths = {spot.path for spot in plan.marks}
        node, marked = cache.root, []
        for at, message in enumerate(turns[:end]):
            content = message["content"]
            for inner, block in enumerate([content] if isinstance(content, str) else content):
                kind = block["type"] if runs and isinstance(block, dict) else "text"
                node = cache.extend(node, [Segment((at, inner), 50, kind)])
                if ("messages", at, "content", inner) in paths:
                    marked.append(Mark(node))
        usage = cache.request(node, marked, at=60.0 * number).usage
        assert usage.cache_read == held
        held = node.tokens


@pytest.mark.parametrize("runs", [True, False])
def test_case_056_a_fan_out_of_thirty_is_read_from_the_mark_before(runs: bool) -> None:
    given = case_input("056")
    turns = [*given["messages"], *_fan(given["append"]["parallel_calls"], 0)]
    _reads_all(turns, (1, 3), runs=runs)


@pytest.mark.fuzz
@pytest.mark.wire("anthropic_messages")
@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.booleans())
def test_whatever_fans_out_nothing_is_written_twice(fans: list[int], runs: bool) -> None:
    turns: list[JsonObject] = [{"role": "user", "content": "Check hosts."}]
    for step, calls in enumerate(fans):
        turns += _fan(calls, step)
    _reads_all(turns, range(1, len(turns) + 1, 2), runs=runs)


def test_case_055_nothing_to_do_is_the_very_bytes() -> None:
    raw = case_input("055")["body_text"].encode()
    body = ANTHROPIC.cut(raw)
    messages = [message.data for message in body.messages]
    plan = plan_marks(body.head, messages, ())
    laid = lay_out(body.head, messages)
    _, settled = Layout().settle(body.head, messages)
    assert plan.head is laid.head is settled.head is body.head
    assert plan.messages == {}
    assert laid.messages is settled.messages is messages
    assert body.render(body.messages) == raw


# -- 050, 060: when to edit ------------------------------------------------------------------------


def _billed(turns: int, size: int, keep: int | None) -> float:
    """The price of a session of equal results; with `keep` all but the last ones are cleared at
    every request. A cleared result leaves 20 tokens."""
    model = profile("claude-opus-4-5").with_(read=0.1, write=1.25, cache_minimum=1)
    cache, total = PrefixCache(model), 0.0
    for turn in range(1, turns + 1):
        node = cache.extend(cache.root, [Segment("head", 3_000)])
        for n in range(turn):
            cleared = keep is not None and n < turn - keep
            node = cache.extend(node, [Segment((n, cleared), 20 if cleared else size)])
        total += price(cache.request(node, [Mark(node)], at=30.0 * turn).usage, model)
    return total


def test_case_050_clearing_at_every_request_is_dearer_than_not_clearing() -> None:
    given = case_input("050")
    keep = given["policy"]["keep_recent_results"]
    eager = _billed(given["turns"], given["result_tokens"], keep)
    assert eager > _billed(given["turns"], given["result_tokens"], None)
    table = _worked(given["turns"], given["result_tokens"])
    assert len(table.machine.plan.edits) == 0


@given(st.integers(2, 30), st.integers(20, 6_000), st.integers(1, 4))
@example(20, 3_699, 1)  # The last size at which clearing is dearer,
@example(20, 3_700, 1)  # the same price to the token,
@example(20, 3_701, 1)  # and the first at which it pays.
def test_clearing_at_every_request_pays_only_when_the_reads_saved_outweigh_the_rewriting(
    turns: int, size: int, keep: int
) -> None:
    """All that stands is written anew at each request that clears one more result: the head, the
    tombstones, what is kept. What is saved is reading the cleared results and the rest once."""
    extra = 0.0
    for turn in range(keep + 1, turns + 1):
        rewritten = 3_000 + 20 * (turn - keep) + (keep - 1) * size
        extra += 1.25 * rewritten - 0.1 * (3_000 + (turn - 1) * size)
    assert _billed(turns, size, keep) - _billed(turns, size, None) == pytest.approx(extra, abs=1e-6)


# From 19 turns of 3,900 tokens on it begins to pay: the session is no longer short.
@given(st.integers(5, 18), st.integers(500, 4_000), st.integers(1, 3))
@example(18, 4_000, 1)
def test_clearing_at_every_request_never_pays_in_a_short_session(
    turns: int, size: int, keep: int
) -> None:
    assume(turns > keep + 1)
    assert _billed(turns, size, keep) > _billed(turns, size, None)


def _worked(turns: int, size: int, window: int = 400_000) -> Table:
    """A session of the default policy with a result of `size` tokens in each turn."""
    table = Table("anthropic_messages", window)
    table.user("go")
    for n in range(turns):
        table.now += 30
        table.request()
        table.reply(Step(calls=(ToolCall(f"c{n}", "read", {"path": f"f{n}.py"}),)))
        table.results([Result(f"{n} " + "word " * (size * 4 // 5))])
    return table


@pytest.mark.parametrize(("age", "edited"), [(4_000, True), (20, False)])
def test_case_060_stale_results_go_while_the_cache_is_cold(age: int, edited: bool) -> None:
    given = case_input("060")
    assert given["last_request_age_s"] == 4_000
    table = _worked(8, given["stale_result_tokens"] // 8, 140_000)
    table.request()
    table.reply(Step(text="done"))
    table.user("and now?")
    table.now += age
    outgoing = table.request()
    assert bool(table.machine.plan.edits) == edited
    assert {edit.reason.when for edit in table.machine.plan.edits} <= {"cold"}
    assert outgoing.tokens < 0.6 * 140_000


@given(st.integers(301, 100_000))
def test_any_age_above_the_lifetime_makes_clearing_free(age: int) -> None:
    table = _worked(8, 7_500, 140_000)
    table.now += age
    table.request()
    assert table.machine.plan.edits
    assert all(edit.reason.price <= 0 for edit in table.machine.plan.edits)
