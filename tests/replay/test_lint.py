"""The checks of transcripts and requests, one by one, and on whatever JSON comes in."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Message, Origin
from tenure.cost.models import profile
from tenure.replay.lint import lint_trace
from tenure.replay.lint_requests import Request, lint_requests
from tenure.replay.lint_rules import RULES, Finding, Severity
from tenure.replay.trace import Step, Thread, Trace
from tenure.wire.prefix_diff import Cause
from tests.cases import case_input
from tests.replay.mutations import Talk, pairs
from tests.wire.test_prefix_diff import bodies

OPUS = "claude-opus-5-5"


def lint(*given: Any, model: str = "") -> list[Finding]:
    return lint_requests([Request(body, "f", at) for at, body in enumerate(given)], model=model)


def named(findings: list[Finding], rule: str) -> list[Finding]:
    return [one for one in findings if one.rule == rule]


def only(findings: list[Finding], rule: str) -> Finding:
    (one,) = named(findings, rule)
    return one


def talk(wire: str = "anthropic_messages") -> Talk:
    return Talk.new(wire, random.Random(7), 0)


def text(role: str, words: str) -> dict[str, Any]:
    return {"role": role, "content": words}


def test_every_cause_of_a_changed_prefix_is_described() -> None:
    undescribed = {cause.value for cause in Cause} - set(RULES)
    assert undescribed == set()


@given(st.lists(bodies, max_size=4))
def test_any_json_can_be_checked(given: list[dict[str, Any]]) -> None:
    for one in lint(*given):
        assert one.words
        assert one.source
        assert one.tokens >= 0


def test_a_broken_rule_is_an_error_and_is_told_once_for_a_conversation() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    said = [text("user", "go"), {"role": "assistant", "content": [call]}, text("user", "well?")]
    more = [*said, text("assistant", "hm"), text("user", "and now?")]
    found = lint(*({"model": OPUS, "messages": m} for m in (said, more)))
    one = only(found, "unanswered-call")
    assert (one.severity, one.request, one.message, one.times) == (Severity.ERROR, 0, 1, 2)
    assert one.path.startswith("messages[1]")


def test_a_message_that_is_no_object_is_an_error() -> None:
    one = only(lint({"model": OPUS, "messages": [text("user", "a"), 7]}), "not-a-message")
    assert (one.severity, one.message, one.path) == (Severity.ERROR, 1, "messages[1]")


def test_the_price_of_a_changed_prefix_is_that_of_writing_it_again() -> None:
    base = talk()
    earlier = base.body()
    base.system[0] = "Now " + base.system[0]
    later = base.body("noted", "and then?")
    one = only(lint(earlier, later), "system-changed")
    model = profile(OPUS)
    assert one.tokens > 3_000
    assert one.cost == pytest.approx(one.tokens * (model.write - model.read))
    assert one.usd == pytest.approx(one.cost * model.input_price)


def test_a_later_difference_costs_less_than_an_earlier_one() -> None:
    costs = []
    for at in (0, -1):
        base = talk()
        earlier = base.body()
        base.exchanges[at][0]["content"][0]["text"] += " indeed"
        costs.append(only(lint(earlier, base.body("a", "b")), "message-edited").cost)
    assert costs[0] > 2 * costs[1] > 0


def test_without_a_mark_a_changed_prefix_costs_nothing_that_was_not_paid_already() -> None:
    base = talk()
    earlier = base.body()
    base.system[0] = "Now " + base.system[0]
    later = base.body("noted", "and then?")
    for body in (earlier, later):
        del body["cache_control"]
        del body["system"][0]["cache_control"]
    found = lint(earlier, later)
    assert only(found, "system-changed").cost == 0
    assert only(found, "no-cache-mark").severity is Severity.WARNING


def test_what_lies_behind_the_first_difference_is_not_charged_twice() -> None:
    base = talk()
    earlier = base.body()
    base.system[0] = "Now " + base.system[0]
    base.exchanges[1][0]["content"][0]["text"] += " indeed"
    found = [one for one in lint(earlier, base.body("a", "b")) if one.offset is not None]
    assert [one.rule for one in found] == ["system-changed", "message-edited"]
    assert found[0].cost > 0
    assert found[1].cost == 0


def test_a_long_mark_makes_writing_again_dearer() -> None:
    prices = []
    for ttl in ("5m", "1h"):
        base = talk()
        mark = {"type": "ephemeral", "ttl": ttl}
        earlier = {**base.body(), "cache_control": mark}
        base.system[0] = "Now " + base.system[0]
        later = {**base.body("a", "b"), "cache_control": mark}
        prices.append(only(lint(earlier, later), "system-changed").cost)
    assert prices[1] > 1.5 * prices[0]


def test_a_clock_that_changes_with_every_request_is_one_finding_with_the_sum() -> None:
    base = talk()
    base.system[0] = "It is 10:00:00. " + base.system[0]
    requests, words = [base.body()], []
    for minute in range(1, 4):
        base.system[0] = f"It is 10:0{minute}:00. " + base.system[0][len("It is 10:00:00. ") :]
        words += [f"answer {minute}", f"question {minute}"]
        requests.append(base.body(*words))
    one = only(lint(*requests), "volatile-clock")
    assert one.times == 3
    assert one.tokens > 9_000
    assert one.path == "system[0].text"


def test_conversations_that_are_mixed_are_told_apart() -> None:
    talks = [talk(), talk()]
    talks[1].exchanges = [[text("user", "another"), text("assistant", "matter")]]
    requests = [
        *(one.body() for one in talks),
        *(one.body("a", "b") for one in talks),
        *(one.body("a", "b", "c", "d") for one in talks),
    ]
    assert [one for one in lint(*requests) if one.offset is not None] == []


def test_a_cut_history_is_still_the_same_conversation() -> None:
    base = talk()
    requests = [base.body()]
    requests.append(base.body("a", "b"))
    del base.exchanges[:2]
    requests.append(base.body("a", "b", "c", "d"))
    found = [one for one in lint(*requests) if one.offset is not None]
    assert [one.rule for one in found] == ["history-truncated"]
    assert found[0].request == 2


def test_two_requests_that_share_nothing_are_two_conversations() -> None:
    heads = ("You are a depot clerk.", "Write a title of five words.")
    requests = [
        {"model": OPUS, "system": head, "messages": [text("user", f"{head} Go.")]} for head in heads
    ]
    assert [one for one in lint(*requests) if one.offset is not None] == []


def test_the_same_tools_in_other_orders_are_found_across_conversations() -> None:
    tools: list[Any] = [{"name": name, "input_schema": {}} for name in ("a", "b", "c")]
    requests = [
        {"model": OPUS, "tools": order, "messages": [text("user", words)]}
        for order, words in ((tools, "one"), (tools[::-1], "two"), (tools, "three"))
    ]
    one = only(lint(*requests), "tool-order")
    assert one.severity is Severity.WARNING
    assert "2 orders of the same 3 tools" in one.words


def test_large_tools_are_named_with_their_share_of_the_window() -> None:
    tools = [
        {"name": f"t{n}", "description": "word " * 5_000, "input_schema": {}} for n in range(5)
    ]
    one = only(lint({"model": OPUS, "tools": tools, "messages": [text("user", "a")]}), OVERSIZED)
    assert one.severity is Severity.WARNING
    assert "5 tools" in one.words
    assert "%" in one.words
    one = only(
        lint({"model": OPUS, "tools": tools[:1], "messages": [text("user", "a")]}), OVERSIZED
    )
    assert (one.severity, one.path) == (Severity.INFO, "tools[0]")


OVERSIZED = "oversized-tools"


def test_a_mark_below_the_minimum_is_named() -> None:
    mark = {"type": "ephemeral"}
    short = {"model": OPUS, "cache_control": mark, "messages": [text("user", "a few words")]}
    one = only(lint(short), "mark-below-minimum")
    assert "512" in one.words
    enough = {**short, "system": "word " * 2_000}
    assert named(lint(enough), "mark-below-minimum") == []


@pytest.mark.parametrize(("added", "out_of_reach"), [(2, False), (30, True)])
def test_a_mark_that_does_not_reach_back_to_the_last_one_is_named(
    added: int, *, out_of_reach: bool
) -> None:
    def request(blocks: int) -> dict[str, Any]:
        first = {"type": "text", "text": "word " * 2_000}
        more = [{"type": "text", "text": f"part {number}"} for number in range(blocks)]
        return {
            "model": OPUS,
            "cache_control": {"type": "ephemeral"},
            "messages": [{"role": "user", "content": [first, *more]}],
        }

    found = lint(request(0), request(added))
    assert [one for one in found if one.offset is not None] == []
    assert bool(named(found, "mark-beyond-lookback")) is out_of_reach
    if out_of_reach:
        assert only(found, "mark-beyond-lookback").cost > 1_500


def test_a_message_whose_results_are_many_is_one_position() -> None:
    """Case 056: a run of calls, and of results, counts once in the lookback."""
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {"n": n}} for n in range(30)]
    results = [{"type": "tool_result", "tool_use_id": one["id"], "content": "ok"} for one in calls]
    first = {"role": "user", "content": [{"type": "text", "text": "word " * 2_000}]}
    base = {"model": OPUS, "cache_control": {"type": "ephemeral"}}
    more = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    found = lint({**base, "messages": [first]}, {**base, "messages": [first, *more]})
    assert named(found, "mark-beyond-lookback") == []


def test_volatile_text_in_front_is_suspected_before_it_has_changed() -> None:
    body = {
        "model": OPUS,
        "system": [{"type": "text", "text": "Rules.\nThe current time is 15:09:20."}],
        "messages": [text("user", "It is 15:10:00 now.")],
    }
    one = only(lint(body), "volatile-clock")
    assert (one.severity, one.path) == (Severity.INFO, "system[0].text")


def test_results_that_nothing_points_at_are_summed() -> None:
    messages = [text("user", "look around")]
    for number in range(6):
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": number}}
        words = f"nothing of note {number} " * 300
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": words}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
    one = only(lint({"model": OPUS, "messages": messages}), "unused-result")
    assert one.severity is Severity.INFO
    # The newest results have not had their chance yet.
    assert "3 of 6 results" in one.words
    assert one.tokens > 2_000


def test_a_body_for_another_model_is_priced_as_that_model() -> None:
    base = talk()
    earlier = base.body()
    base.system[0] = "Now " + base.system[0]
    later = base.body("a", "b")
    costs = [
        only(lint(earlier, later, model=m), "system-changed").usd for m in ("", "claude-opus-4-6")
    ]
    assert costs[0] != costs[1]


@pytest.mark.parametrize(
    ("case", "rules"), [("052", ["shape-changed", "mark-moved"]), ("057", ["volatile-date"])]
)
def test_two_turns_of_a_case_are_compared(case: str, rules: list[str]) -> None:
    given = case_input(case)
    found = lint(given["turn_1"], given["turn_2"])
    assert [one.rule for one in found if one.offset is not None] == rules


def test_each_switch_of_thinking_is_warned_of() -> None:
    turns = case_input("059")["turns"]
    found = named(lint(*turns), "setting-changed")
    assert [(one.severity, one.path, one.times) for one in found] == [
        (Severity.WARNING, "thinking", 2)
    ]


def test_every_generated_pair_is_legal() -> None:
    for pair in pairs(120):
        findings = lint(pair.earlier, pair.later)
        assert [one for one in findings if one.severity is Severity.ERROR] == []


def trace_of(*messages: dict[str, Any]) -> Trace:
    held = [
        Message(one, origin=Origin.ASSISTANT if one["role"] == "assistant" else Origin.USER)
        for one in messages
    ]
    step = Step(arrivals=(held[0],), reply=tuple(held[1:2]), model=OPUS)
    thread = Thread("main", "main", (step,), tail=tuple(held[2:]))
    return Trace("t", "t.jsonl", "anthropic-messages", "anthropic_messages", OPUS, (thread,))


def test_a_transcript_is_checked_as_it_would_be_sent() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    asked = [text("user", "go"), {"role": "assistant", "content": [call]}]
    # A call of the last answer may still be answered: nothing was sent with it.
    assert lint_trace(trace_of(*asked)) == []
    one = only(lint_trace(trace_of(*asked, text("user", "well?"))), "unanswered-call")
    assert (one.file, one.thread, one.message) == ("t.jsonl", "main", 1)


def test_a_transcript_nested_too_deep_is_named_and_not_followed() -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    found = lint_trace(trace_of({"role": "user", "content": deep}, text("assistant", "a")))
    assert [one.rule for one in found] == ["not-a-message"]
