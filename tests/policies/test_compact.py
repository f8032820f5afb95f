"""Summaries by the provider: the laws of the view that begins with one, over generated sessions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.command import Command, Summarize, Summarized
from tenure.core.fold import Outgoing, Parts
from tenure.core.message import BlockKind, Origin
from tenure.core.policy import Policy
from tenure.core.protocols import ToolCall
from tenure.core.record import PlanChanged
from tenure.core.server_edit import CLEAR_RESULTS, COMPACT
from tenure.core.usage import Usage
from tenure.core.view import apply
from tenure.errors import BudgetError, SessionError
from tenure.policies import compact
from tenure.testing.strategies import Result, Step, log_text
from tests.policies.play import BOUND_THINKING, PROFILE, Table, raws

WIRE = "anthropic_messages"
WINDOW = 26_000


@dataclass
class Summarizing(Table):
    """A table whose provider summarises what it is asked to."""

    asked: list[Summarize] = field(default_factory=list)
    fails: bool = False

    def parts(self, policy: Policy | None = None) -> Parts:
        bound = self.profile.preserved_thinking
        return replace(super().parts(policy), compacts=True, delegates=bound)

    def perform(self, command: Command) -> Any:
        if not isinstance(command, Summarize):
            return super().perform(command)
        self.asked.append(command)
        used = Usage(cache_read=9_000, output=500)
        if self.fails:
            return Summarized(why="it stopped with 'refusal'", usage=used)
        text = f"summary {len(self.asked)} of {len(command.messages)} messages. " * 40
        block = {"type": "compaction", "content": text, "signature": "c2ln"}
        message = json.dumps({"role": "assistant", "content": [block]}).encode()
        return Summarized(message, text, usage=used)


def wordy() -> st.SearchStrategy[list[Any]]:
    """Steps of a model that says much itself; None: the user speaks."""
    step = st.tuples(st.integers(100, 6_000), st.integers(0, 900), st.integers(50, 5_000))
    return st.lists(st.one_of(step, step, step, st.none()), min_size=20, max_size=45)


def play(table: Summarizing, steps: list[Any], look: Any) -> bool:
    table.user("go, and keep rule zero")
    for number, step in enumerate(steps):
        if step is None:
            table.user(f"wish {number}: " + log_text(number, 300))
            continue
        said, thought, result = step
        try:
            outgoing = table.request()
        except BudgetError:
            return False
        look(outgoing)
        calls = (ToolCall(f"c{number}", "read", {"n": number}),)
        text, thinking = log_text(number, said), log_text(number + 1, thought) if thought else ""
        table.reply(Step(text=text, thinking=thinking, calls=calls))
        table.results([Result(log_text(number + 2, result))])
    return True


def laws(table: Summarizing, outgoing: Outgoing) -> None:
    machine = table.machine
    transcript, plan = machine.transcript, machine.plan
    messages = outgoing.view.messages
    assert table.wire.violations(messages) == []
    text = json.dumps(messages)
    for blocks in transcript.blocks:
        for block in blocks:
            if block.origin is Origin.USER and block.kind is BlockKind.TEXT:
                assert json.dumps(block.text)[1:-1] in text, "a word of the user is gone"
    # What the provider was not asked for, or did not make, stands for nothing.
    assert all(edit.body for edit in plan.delegated if edit.span)
    whole = plan.compaction
    if whole is None:
        return
    assert whole.span is not None
    assert messages[0]["content"][0]["type"] == "compaction"
    assert text.count('"type": "compaction"') == 1
    assert [w.edit for w in outgoing.wanted].count(COMPACT) == 1
    # The first message that stays directly follows what was summarised.
    assert outgoing.view.entries[1].sources[0] == f"m{whole.span.bounds[1] + 1}"
    assert messages[0]["role"] != messages[1]["role"] or messages[1]["role"] == "assistant"
    lost = machine.fetch(whole.handle)
    for blocks in transcript.blocks[: whole.span.bounds[1] + 1]:
        assert all(block.text in lost for block in blocks)
    if any(one.edit == CLEAR_RESULTS for one in outgoing.wanted):
        return  # What the provider clears is in the messages, and not in the figures.
    machine.explain()
    true, counted = table.count(messages), machine.parts.meter.before(len(transcript), plan)
    # Our tables count the block as JSON, the session its words.
    assert abs(true - counted) <= 60


@settings(max_examples=25)
@given(steps=wordy(), bound=st.booleans(), more=st.sampled_from([0, 0, 2_000]))
def test_the_view_that_begins_with_a_summary_is_legal_and_loses_no_word(
    steps: list[Any], more: int, *, bound: bool
) -> None:
    table = Summarizing(WIRE, WINDOW, profile=BOUND_THINKING if bound else PROFILE)
    if more:
        # The provider counts more than we do, so what was decided is decided again.
        table.exact = lambda request: table.count(request["messages"]) + more
    play(table, steps, lambda outgoing: laws(table, outgoing))
    again = table.resumed()
    assert again.plan == table.machine.plan
    assert again.ledger == table.machine.ledger
    assert [e.message.raw for e in apply(again.transcript, again.plan).entries] == [
        e.message.raw for e in apply(table.machine.transcript, table.machine.plan).entries
    ]
    for asked in table.asked:
        assert table.wire.violations(list(asked.messages)) == []


LONG = [(4_000, 400, 200)] * 40


def test_a_model_that_says_much_needs_one_summary_after_the_other() -> None:
    table = Summarizing(WIRE, WINDOW, profile=BOUND_THINKING)
    seen: list[list[bytes]] = []
    assert play(table, LONG, lambda outgoing: seen.append(raws(outgoing)))
    assert 2 <= len(table.asked) <= 8
    # Each takes the one before along, and between two of them the view only grows.
    for asked in table.asked[1:]:
        assert asked.messages[0]["content"][0]["type"] == "compaction"
    breaks = sum(new[: len(old)] != old for old, new in pairwise(seen))
    assert breaks == len(table.asked)


def test_what_fails_is_asked_for_less_and_less_often() -> None:
    table = Summarizing(WIRE, WINDOW, profile=BOUND_THINKING, fails=True)
    play(table, LONG, lambda _: None)
    assert 1 <= len(table.asked) <= 5
    # What it used is on the bill all the same.
    spent = table.machine.ledger.spent
    assert table.resumed().ledger.spent == spent > 0
    assert table.machine.plan.compaction is None


def test_a_summary_that_is_taken_back_is_not_made_again() -> None:
    table = Summarizing(WIRE, WINDOW, profile=BOUND_THINKING)
    play(table, LONG[:30], lambda _: None)
    machine = table.machine
    edit = machine.plan.compaction
    assert edit is not None
    table.run(machine.cancel(table.now))
    with pytest.raises(SessionError, match="invalidate the thinking"):
        table.run(machine.undo([edit], table.now))
    table.run(machine.commit(PlanChanged((), (edit,), table.now)))
    first = apply(machine.transcript, machine.plan).messages[0]
    assert first == machine.transcript.messages[0].data
    assert isinstance(compact.possible(machine.situation(cold=False)), str)


def test_what_is_decided_again_near_the_limit_asks_for_no_summary() -> None:
    table = Summarizing(WIRE, WINDOW, profile=BOUND_THINKING)
    counted: list[int] = []

    def exact(request: Any) -> int:
        counted.append(table.count(request["messages"]) + 500)
        return counted[-1]

    table.exact = exact
    steps = [(5_000 - 37 * (number % 50), 400, 900) for number in range(60)]
    assert play(table, steps, lambda outgoing: laws(table, outgoing))
    assert counted
    assert table.asked
