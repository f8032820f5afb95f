"""What a request may hold: the cases of kind counting that are about budgets, each as its kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.core.budget import MARGIN, Budget
from tenure.core.drive import drive
from tenure.core.edit import Edit, Reason, Replace, Span
from tenure.core.fork import fork
from tenure.core.message import JsonObject, Message, Origin, json_bytes
from tenure.core.protocols import ToolCall
from tenure.core.record import PlanChanged
from tenure.core.usage import Usage
from tenure.errors import BudgetError, ConfigError
from tenure.testing.strategies import Result, Step
from tests.cases import case_input, expanded
from tests.policies.play import Table

SIZES = st.integers(1, 300_000)


@given(
    window=st.integers(2_000, 1_000_000),
    max_tokens=st.integers(1, 200_000),
    least=st.integers(1, 10_000),
    usable=st.none() | st.integers(1, 2_000),
    system=st.integers(0, 50_000),
    tools=st.integers(0, 50_000),
    seen=SIZES,
    declared=st.dictionaries(st.text(max_size=3), SIZES, max_size=3),
)
def test_the_shares_add_up_to_the_window(
    window: int,
    max_tokens: int,
    least: int,
    usable: int | None,
    system: int,
    tools: int,
    seen: int,
    declared: dict[str, int],
) -> None:
    b = Budget(
        window, max_tokens, system, tools, usable, declared, largest_seen=seen, min_output=least
    )
    assert 0 < b.least_output <= b.reserved_output <= max_tokens
    assert b.limit + b.reserved_output + MARGIN <= window
    assert b.limit > 0
    assert b.available + b.overhead == b.limit
    assert 0 <= b.headroom <= max(0, b.available // 4)
    wanted = max([seen, 4_000, *declared.values()])
    assert b.headroom in (wanted, max(0, b.available // 4))
    # Whatever a request within the limit needs, a reply worth having fits beside it.
    assert b.least_output <= b.output_for(b.limit) <= max_tokens
    # What may be sent at most leaves the smallest acceptable reply, and not a token more is let by.
    assert b.limit <= b.most
    assert b.least_output <= b.output_for(b.most) <= max_tokens


@given(window=st.integers(2_000, 400_000), max_tokens=SIZES, prompt=st.integers(0, 500_000))
def test_a_request_never_asks_for_more_than_the_window(
    window: int, max_tokens: int, prompt: int
) -> None:
    b = Budget(window, max_tokens)
    if prompt + b.least_output + MARGIN > window:
        with pytest.raises(BudgetError) as caught:
            b.output_for(prompt)
        assert caught.value.needed > caught.value.available - MARGIN
        return
    assert prompt + b.output_for(prompt) <= window - MARGIN or b.output_for(prompt) == max_tokens
    assert prompt + b.output_for(prompt) <= window


def test_case_070_max_tokens_makes_way_for_the_prompt() -> None:
    c = case_input("070")
    window, prompt, least = c["context_window"], c["input_tokens"], c["min_output_tokens"]
    options = Options(window=window, recall=False)
    session = Session("claude-sonnet-4-5", max_tokens=c["max_tokens"], options=options)
    session.user("keep all of this in mind: " + "one more word " * (prompt // 4), pinned=True)
    session.request()
    usage = {"input_tokens": prompt - 20, "output_tokens": 2}
    text = {"type": "text", "text": "I will."}
    session.reply({"role": "assistant", "content": [text], "usage": usage})
    session.user("go on")
    body = session.request()
    used = session.explain().occupancy.used
    assert prompt - 20 <= used <= prompt + 40
    assert not session.explain().edits
    assert least <= body["max_tokens"] <= window - prompt - MARGIN


def test_a_reply_shorter_than_the_smallest_is_not_asked_for() -> None:
    c = case_input("070")
    b = Budget(c["context_window"], c["max_tokens"], min_output=c["min_output_tokens"])
    with pytest.raises(BudgetError, match="evict or compact first"):
        b.output_for(c["context_window"] - c["min_output_tokens"])


@given(words=st.integers(1, 120_000), max_tokens=st.sampled_from([4_096, 20_000, 64_000]))
def test_every_request_leaves_room_for_the_max_tokens_it_asks_for(
    words: int, max_tokens: int
) -> None:
    table = Table("anthropic_messages", 100_000, max_tokens)
    table.user("word" * words)
    try:
        outgoing = table.request()
    except BudgetError:
        assert words > table.machine.budget.most - 100
        return
    true = table.count(outgoing.view.messages)
    assert true + outgoing.max_tokens + MARGIN <= 100_000
    untouched = not outgoing.view.plan.edits
    if untouched and true * 11 // 10 + max_tokens + 2 * MARGIN < 100_000:
        assert outgoing.max_tokens == max_tokens, "lowered without need"


# -- 069: system and tools ---------------------------------------------------------------------


def session_of(c: dict[str, Any], text: str) -> Session:
    options = Options(window=c["context_window"], recall=False, wire="openai_chat")
    session = Session(
        "gpt-5.1", system=c["system"], tools=c["tools"], max_tokens=500, options=options
    )
    session.user(text, pinned=True)
    return session


def test_case_069_system_and_tools_are_in_the_budget_and_told_apart() -> None:
    c = expanded(case_input("069"))
    session = session_of(c, c["messages"][0]["content"])
    part = session.explain().occupancy
    assert part.system > 1_000
    assert part.tools > 1_000
    assert part.used == part.system + part.tools + part.messages
    assert part.used > 0.5 * part.limit
    # A text that fits beside neither, though it would fit alone.
    text = "words " * (part.limit - part.used + 600)
    with pytest.raises(BudgetError, match="budget allows"):
        session_of(c, text).request()
    for without in ("system", "tools"):
        alone = session_of({**c, without: "" if without == "system" else []}, text)
        assert alone.request()["messages"][-1]["content"] == text
    split = session_of(c, text).explain().occupancy
    assert (split.system, split.tools) == (part.system, part.tools)
    assert split.messages > part.limit - part.used


@given(system=st.integers(0, 4_000), tools=st.integers(0, 4_000), said=st.integers(1, 4_000))
def test_what_is_used_is_the_sum_of_system_tools_and_messages(
    system: int, tools: int, said: int
) -> None:
    table = Table("openai_chat", 8_000, system="s" * system * 4, tools="t" * tools * 4)
    table.user("u" * said * 4)
    part = table.machine.explain().occupancy
    assert (part.system, part.tools) == (system, tools)
    assert part.messages == said + 5
    assume(abs(part.used - table.machine.budget.most) > 1)
    if part.used > table.machine.budget.most:
        with pytest.raises(BudgetError):
            table.request()
    else:
        table.request()


# -- 075: reports from before a change ------------------------------------------------------------


def reported(table: Table, prompt: int) -> None:
    """A reply to a new request, with the usage that the provider reports for it."""
    table.request()
    usage = {"input_tokens": prompt, "output_tokens": 1}
    data = {"content": [{"type": "text", "text": "ok"}], "usage": usage}
    table.run(table.machine.reply(data, table.now))


def compacted(table: Table, summary: JsonObject) -> Edit:
    """Puts the summary in the place of all that was said."""
    whole = Span("m0", f"m{len(table.machine.transcript) - 1}")
    before = table.machine.parts.meter.before(len(table.machine.transcript), table.machine.plan)
    reason = Reason("test", "a summary", tokens_before=before, tokens_after=table.count([summary]))
    edit = Replace(whole, (json_bytes(summary),), reason, handle="t-1")
    table.run(table.machine.commit(PlanChanged((edit,), (), table.now)))
    return edit


@pytest.mark.parametrize("ours", [5_000, 60_000, 150_000])
def test_case_075_a_report_from_before_a_compaction_is_not_used_again(ours: int) -> None:
    """However far our own count of what was compacted was from that report."""
    c = case_input("075")
    # The whole input may be the threshold; a reply of 1,000 tokens and the margin come on top.
    table = Table("anthropic_messages", c["threshold"] + 1_000 + MARGIN)
    assert table.machine.budget.limit == c["threshold"]
    table.user("x" * 4 * min(ours, 100_000), pinned=True)
    reported(table, c["last_reported_input_tokens"])
    table.user("x" * 4 * max(0, ours - 100_000) or "on", pinned=True)
    assert table.machine.explain().occupancy.used > c["threshold"]
    summary, after = c["messages_after"]
    edit = compacted(table, summary)
    table.run(table.machine.append([Message(after, origin=Origin.USER)], table.now))
    true = table.count(c["messages_after"])
    assert true <= table.machine.explain().occupancy.used <= 30 * true
    outgoing = table.request()
    assert outgoing.view.plan.edits == (edit,)
    assert outgoing.view.messages == c["messages_after"]
    # Nor is what that compaction freed taken off the next report.
    table.run(table.machine.cancel(table.now))
    table.user("y" * 4 * 60_000)
    reported(table, true + 60_000)
    said = table.count([table.machine.transcript.messages[-1].data])
    new = table.machine.explain().occupancy.used - (true + 60_000)
    assert 0 < new <= 3 * said
    table.user("and on")
    assert table.request().view.plan.edits == (edit,)


def test_a_small_report_after_a_compaction_is_believed() -> None:
    """Though it is a small part of the one before, as what a gateway leaves out would be."""
    c = case_input("075")
    table = Table("anthropic_messages", 200_000)
    table.user("x" * 4 * 100_000, pinned=True)
    reported(table, c["last_reported_input_tokens"])
    compacted(table, c["messages_after"][0])
    table.user(c["messages_after"][1]["content"])
    reported(table, table.count(c["messages_after"]))
    assert table.machine.parts.meter.bound(table.machine.transcript) < 100


def test_a_report_from_before_a_fork_is_not_used_in_it() -> None:
    c = case_input("075")
    table = Table("anthropic_messages", 200_000)
    table.user("x" * 4 * 5_000)
    reported(table, c["last_reported_input_tokens"])
    other, _ = drive(fork(table.machine, table.parts(), "f", length=0, at=2.0), table.perform)
    for data in c["messages_after"]:
        table.run(other.append([Message(data, origin=Origin.USER)], 2.0))
    assert other.explain().occupancy.used == table.count(c["messages_after"])
    assert table.run(other.request(2.0)).view.plan.edits == ()


@given(rows=st.integers(5, 30))
def test_after_an_edit_the_report_is_corrected_by_what_it_freed(rows: int) -> None:
    table = Table("anthropic_messages", 8_000)
    table.user("go")
    for _ in range(3):
        table.request()
        table.reply(_reads())
        table.results([Result("row of text\n" * rows * 10)])
    meter, plan = table.machine.parts.meter, table.machine.plan
    table.machine.explain()
    before = meter.resident(plan)
    meter.report(Usage(fresh=before), len(table.machine.transcript), plan)
    assert meter.resident(plan) == before
    policy = table.make()
    edits = policy.propose(table.machine.situation(cold=True))
    freed = sum(e.reason.tokens_before - e.reason.tokens_after for e in edits)
    after = meter.resident(plan.put(*edits))
    assert abs(before - after - freed) <= 0.3 * freed + 1


def _reads() -> Step:
    return Step(calls=(ToolCall("c", "read", {"path": "a"}),))


@pytest.mark.parametrize(
    ("how", "key"),
    [({"window": 0}, "window"), ({"max_tokens": 0}, "window"),
     ({"usable_window": 0}, "usable_window"), ({"usable_window": 10**9}, "usable_window")],
)  # fmt: skip
def test_an_impossible_budget_is_refused_by_name(how: dict[str, int], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Budget(
            how.get("window", 10_000),
            how.get("max_tokens", 100),
            usable_window=how.get("usable_window"),
        )
    assert caught.value.key == key
