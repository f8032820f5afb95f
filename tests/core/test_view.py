"""The laws of `view = apply(transcript, plan)`, over generated transcripts in three formats."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.edit import Delegated, Drop, Insert, Replace, Span
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import View, apply
from tenure.errors import PlanError
from tenure.wire.detect import WIRES
from tests.core.edits import WHY, edits, planned, transcripts

A = WIRES["anthropic_messages"]


def _raws(view: View) -> list[bytes]:
    return [e.message.raw for e in view.entries]


def _filled(*messages: JsonObject) -> Transcript:
    transcript = Transcript(A)
    for data in messages:
        transcript.append(A.message(data))
    return transcript


def _prefix(transcript: Transcript, length: int) -> Transcript:
    shorter = Transcript(transcript.wire)
    for message in transcript.messages[:length]:
        shorter.append(message)
    return shorter


@given(transcripts())
def test_the_empty_plan_is_the_identity(transcript: Transcript) -> None:
    view = apply(transcript, Plan())
    assert len(view.entries) == len(transcript)
    for entry, message in zip(view.entries, transcript.messages, strict=True):
        assert entry.message is message
    assert [e.sources for e in view.entries] == [(f"m{i}",) for i in range(len(transcript))]


@pytest.mark.fuzz
@given(planned())
def test_nothing_of_the_transcript_is_changed(made: tuple[Transcript, Plan]) -> None:
    transcript, plan = made
    before = [json.dumps(m.data) for m in transcript.messages], [m.raw for m in transcript.messages]
    apply(transcript, plan)
    after = [json.dumps(m.data) for m in transcript.messages], [m.raw for m in transcript.messages]
    assert after == before


@pytest.mark.fuzz
@given(planned())
def test_a_message_that_no_edit_touches_is_the_very_object(made: tuple[Transcript, Plan]) -> None:
    transcript, plan = made
    by_key = {k: e for k, e in plan.by_key.items() if not isinstance(e, Delegated)}
    untouched = [
        message
        for index, message in enumerate(transcript.messages)
        if not plan.covered(index) and not any(b.key in by_key for b in transcript.blocks[index])
    ]
    mine = [e.message for e in apply(transcript, plan).entries if not e.edits]
    assert len(mine) == len(untouched)
    assert all(a is b for a, b in zip(mine, untouched, strict=True))


@pytest.mark.fuzz
@given(transcripts(), st.data())
def test_under_one_plan_an_append_only_extends(transcript: Transcript, data: st.DataObject) -> None:
    length = data.draw(st.integers(1, len(transcript)))
    shorter = _prefix(transcript, length)
    plan = Plan(data.draw(edits(shorter)))
    before = apply(shorter, plan)
    raws = _raws(before)
    whole = apply(transcript, plan)
    assert _raws(whole)[: len(raws)] == raws
    for message in transcript.messages[length:]:
        shorter.append(message)
    assert _raws(before.extend(shorter)) == _raws(whole)
    assert before.extend(shorter).first_change(whole) == len(whole.entries)


@pytest.mark.fuzz
@given(planned(), st.data())
def test_without_undoes(made: tuple[Transcript, Plan], data: st.DataObject) -> None:
    transcript, plan = made
    some = [e for e in plan if data.draw(st.booleans())]
    rest = plan.without(*some)
    assert _raws(apply(transcript, rest.add(*some).without(*some))) == _raws(
        apply(transcript, rest)
    )
    assert _raws(apply(transcript, plan.without(*plan.edits))) == [
        m.raw for m in transcript.messages
    ]


@pytest.mark.fuzz
@given(planned(), st.data())
def test_the_order_of_independent_edits_does_not_matter(
    made: tuple[Transcript, Plan], data: st.DataObject
) -> None:
    transcript, plan = made
    other = Plan(data.draw(st.permutations(plan.edits)))
    assert _raws(apply(transcript, other)) == _raws(apply(transcript, plan))


@pytest.mark.fuzz
@given(planned(), st.data())
def test_an_earlier_view_only_saves_work(
    made: tuple[Transcript, Plan], data: st.DataObject
) -> None:
    transcript, plan = made
    earlier = apply(transcript, plan.without(*[e for e in plan if data.draw(st.booleans())]))
    whole = apply(transcript, plan, earlier)
    assert _raws(whole) == _raws(apply(transcript, plan))
    again = apply(transcript, plan, whole)
    assert again.first_change(whole) == len(whole.entries)


@given(planned())
def test_a_span_wins_over_the_edits_inside_it_and_gives_them_back(
    made: tuple[Transcript, Plan],
) -> None:
    transcript, plan = made
    spans = [e for e in plan if not isinstance(e, Insert) and isinstance(e.targets[0], Span)]
    inside = [
        e
        for e in plan
        if not isinstance(e, Insert)
        and isinstance(e.targets[0], str)
        and plan.covered(transcript.block(e.targets[0]).index)
    ]
    assert _raws(apply(transcript, plan)) == _raws(apply(transcript, plan.without(*inside)))
    if not spans:
        assert not inside


@pytest.mark.fuzz
@given(planned())
def test_first_change_is_the_first_entry_that_reads_differently(
    made: tuple[Transcript, Plan],
) -> None:
    transcript, plan = made
    mine, theirs = apply(transcript, plan), apply(transcript, Plan())
    at = mine.first_change(theirs)
    assert _raws(mine)[:at] == _raws(theirs)[:at]
    assert at == min(len(mine.entries), len(theirs.entries)) or _raws(mine)[at] != _raws(theirs)[at]


def test_an_insert_stays_where_it_was_put() -> None:
    transcript = _filled({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    note = Message({"role": "user", "content": "note"}, origin=Origin.HARNESS)
    (block,) = transcript.blocks[0]
    plan = Plan([Insert("m0", note, WHY)])
    assert [m["content"] for m in apply(transcript, plan).messages] == ["a", "note", "b"]
    gone = plan.add(Drop((block.key,), WHY))
    assert [m["content"] for m in apply(transcript, gone).messages] == ["note", "b"]


def test_a_replaced_span_knows_its_sources_and_its_edit() -> None:
    transcript = _filled(*({"role": "user", "content": str(n)} for n in range(4)))
    edit = Replace(Span("m1", "m2"), (b'{"role":"user","content":"12"}',), WHY)
    view = apply(transcript, Plan([edit]))
    assert [m["content"] for m in view.messages] == ["0", "12", "3"]
    assert (view.entries[1].sources, view.entries[1].edits) == (("m1", "m2"), (edit,))


def test_an_edit_that_names_what_is_not_there_is_a_plan_error() -> None:
    transcript = _filled({"role": "user", "content": "a"})
    note = Message({"role": "user", "content": "note"}, origin=Origin.HARNESS)
    for edit in (Drop(("nope",), WHY), Drop((Span("m0", "m1"),), WHY), Insert("m1", note, WHY)):
        with pytest.raises(PlanError):
            apply(transcript, Plan([edit]))
