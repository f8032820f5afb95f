"""Originals by handle: whole, by lines, by pattern, inside their own session only."""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core import recall
from tenure.core.edit import Drop
from tenure.core.protocols import ToolCall
from tenure.core.recall import select
from tenure.core.record import PlanChanged, Recalled, Started
from tenure.core.session import SessionMachine
from tenure.errors import RecallError
from tenure.testing.strategies import Result, Step
from tests.policies.play import Table

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
TEXTS = st.text(st.characters(codec=None), max_size=200)


@given(text=TEXTS)
def test_without_a_part_asked_for_it_is_the_whole_text(text: str) -> None:
    assert select(text) == text


@given(lines=st.lists(st.text("abc é", max_size=8), min_size=1), data=st.data())
def test_a_range_of_lines_is_those_lines_with_their_numbers(
    lines: list[str], data: st.DataObject
) -> None:
    text = "\n".join([*lines, "end"])
    count = len(lines) + 1
    first = data.draw(st.integers(1, count))
    last = data.draw(st.integers(first, count + 3))
    found = select(text, lines=f"{first}-{last}").split("\n")
    wanted = [*lines, "end"][first - 1 : last]
    assert found == [f"{first + at}: {line}" for at, line in enumerate(wanted)]


@given(lines=st.lists(st.text("abz", max_size=5), min_size=1), what=st.text("abz", min_size=1))
def test_a_pattern_gives_the_lines_that_match(lines: list[str], what: str) -> None:
    wanted = [f"{n}: {line}" for n, line in enumerate(lines, 1) if re.search(what, line)]
    text = "\n".join([*lines, ""])
    if wanted:
        assert select(text, pattern=what) == "\n".join(wanted)
    else:
        with pytest.raises(RecallError, match="no line matches"):
            select(text, pattern=what)


@given(text=TEXTS, lines=st.text(max_size=9), pattern=st.text(max_size=9))
def test_whatever_is_asked_for_there_is_an_answer_or_words(
    text: str, lines: str, pattern: str
) -> None:
    with contextlib.suppress(RecallError):
        assert isinstance(select(text, lines=lines, pattern=pattern), str)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "((a*)*)*b", "(.*)*x", "["])
def test_a_hostile_pattern_ends(pattern: str) -> None:
    started = time.process_time()
    with pytest.raises(RecallError):
        select("a" * 4_000 + "!", pattern=pattern)
    assert time.process_time() - started < 5


def test_a_range_that_is_none_or_outside_is_explained() -> None:
    with pytest.raises(RecallError, match="is no range"):
        select("a\nb", lines="first")
    with pytest.raises(RecallError, match="which has 2 lines"):
        select("a\nb", lines="7-9")


# -- by the model --------------------------------------------------------------------------------


def evicted(wire: str, **how: object) -> tuple[Table, str, str]:
    """A table with an evicted result, its handle, and its original."""
    table = Table(wire, 5_000, **how)  # type: ignore[arg-type]
    table.user("go")
    for number in range(12):
        table.request()
        if table.machine.plan.edits:
            break
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(f"line {number} of it\n" * 250)])
    edit = table.machine.plan.edits[0]
    return table, edit.handle, table.machine.transcript.block(str(edit.targets[0])).text


def asks(table: Table, given: dict[str, object], *, beside: bool = False) -> list[tuple[str, bool]]:
    """Has the model call recall; the answers as (text, is_error)."""
    calls = [ToolCall("r", "recall", given)]
    if beside:
        calls.append(ToolCall("other", "read", {"n": 1}))
    table.reply(Step(calls=tuple(calls)))
    answers = {"other": ("fine", False)} if beside else {}
    assert [c.id for c in table.machine.calls] == list(answers)
    count = len(table.machine.transcript)
    table.run(table.machine.results(answers, table.now))
    new = [b for bs in table.machine.transcript.blocks[count:] for b in bs]
    return [(b.text, b.is_error) for b in new]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("beside", [False, True])
def test_the_model_gets_the_original_and_the_session_pays(wire: str, beside: bool) -> None:
    table, handle, original = evicted(wire)
    before = table.machine.ledger.refetched
    assert asks(table, {"handle": handle}, beside=beside)[0] == (original, False)
    assert table.machine.ledger.refetched > before
    records = table.store.read(table.machine.scope, "s")
    assert [r.handle for r in records if isinstance(r, Recalled)] == [handle]
    assert table.machine.pending == ()


@pytest.mark.parametrize("wire", WIRES)
def test_the_model_may_ask_for_a_part(wire: str) -> None:
    table, handle, original = evicted(wire)
    second = original.splitlines()[1]
    assert asks(table, {"handle": f"[{handle}]", "lines": "2"})[0][0] == f"2: {second}"


@pytest.mark.parametrize(
    "given_arguments",
    [{"handle": "t-00000000"}, {"handle": ""}, {}, {"handle": 7}, {"handle": ["t-1"]}],
    ids=str,
)
@pytest.mark.parametrize("wire", WIRES)
def test_what_cant_be_recalled_is_answered_with_words(
    wire: str, given_arguments: dict[str, object]
) -> None:
    table, _, _ = evicted(wire)
    before = table.machine.ledger.refetched
    ((text, is_error),) = asks(table, given_arguments)
    assert "handle" in text
    # Chat and Responses have no flag: the text says it.
    assert is_error or "error" in text.lower()
    assert table.machine.ledger.refetched == before
    assert not [r for r in table.store.read(table.machine.scope, "s") if isinstance(r, Recalled)]


@pytest.mark.parametrize("wire", WIRES)
def test_a_handle_outlives_its_edit(wire: str) -> None:
    """Undone, given way to another edit, or ignored by the provider: the model may have noted it."""
    table, handle, original = evicted(wire)
    machine = table.machine
    (edit,) = (e for e in machine.plan.edits if e.handle == handle)
    table.run(machine.cancel(table.now))
    table.run(machine.undo([edit], table.now))
    assert edit not in machine.plan.edits
    assert machine.fetch(handle) == original
    table.request()
    assert asks(table, {"handle": handle})[0] == (original, False)
    other = Drop(edit.targets, replace(edit.reason), "t-another")
    table.run(machine.commit(PlanChanged((other,), (), table.now)))
    table.run(machine.commit(PlanChanged((), (other,), table.now, ignored=True)))
    assert machine.fetch("t-another") == machine.fetch(handle) == original
    assert table.resumed().fetch("t-another") == original


def test_another_sessions_handle_does_not_resolve() -> None:
    table, handle, original = evicted("anthropic_messages")
    assert table.machine.fetch(handle) == original
    other = SessionMachine(table.parts(), "other")
    started, *rest = table.store.read(table.machine.scope, "s")
    assert isinstance(started, Started)
    table.run(other.start(Started(started.wire, "m", started.head, "another nonce", 0.0)))
    for record in rest:
        if type(record).__name__ == "Appended":
            other.apply(record)
    with pytest.raises(RecallError, match=handle):
        other.fetch(handle)
    edits = table.make().propose(other.situation(cold=False)) if other.transcript else ()
    assert handle not in {e.handle for e in edits}


def test_a_picture_comes_back_with_the_text() -> None:
    table = Table("anthropic_messages", 5_000)
    table.user("go")
    for number in range(12):
        table.request()
        if table.machine.plan.edits:
            break
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(f"line {number} of it\n" * 250, picture=True)])
    edit = table.machine.plan.edits[0]
    block = table.machine.transcript.block(str(edit.targets[0]))
    assert table.machine.fetch(edit.handle).startswith(block.text)
    assert str(block.media[0]["source"]["data"]) in table.machine.fetch(edit.handle)
    table.reply(Step(calls=(ToolCall("r", "recall", {"handle": edit.handle}),)))
    table.run(table.machine.results({}, table.now))
    again = table.machine.transcript.blocks[-1][0]
    assert (again.text, again.media) == (block.text, block.media)


def test_without_the_tool_a_call_of_that_name_is_the_users() -> None:
    table, _, _ = evicted("anthropic_messages", recall=False)
    table.reply(Step(calls=(ToolCall("r", recall.NAME, {"handle": "x"}),)))
    assert [c.name for c in table.machine.calls] == ["recall"]
