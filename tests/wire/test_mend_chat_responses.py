"""The laws of mending, in Chat Completions and in Responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.testing import chat_rules, responses_rules
from tenure.testing.refusal import Asked, Ledger, Refusal, Rules
from tenure.wire.detect import WIRES, AnyWire
from tests.formats import any_wire
from tests.wire.broken import FOREIGN, TERMS, broken, mended_twice, outgoing, words_of
from tests.wire.finds import FINDS
from tests.wire.strategies import conversations

OPENAI = ("openai_chat", "openai_responses")
AnyOpenAI = any_wire(*OPENAI)
pytestmark = pytest.mark.wire(*OPENAI)
LEGAL = AnyOpenAI.flatmap(lambda w: st.tuples(st.just(w), conversations(w, open_end=True)))
SERVER = {
    "openai_chat": ("messages", chat_rules.RULES),
    "openai_responses": ("input", responses_rules.RULES),
}


def first_refusals(rules: Rules, asked: Asked) -> Iterator[Refusal]:
    """What the rules of the scripted server refuse, sizes aside."""
    for name, rule in rules.items():
        if name != "window":
            yield from rule(asked)


BROKEN = AnyOpenAI.flatmap(lambda w: st.tuples(st.just(w), broken(w)))


@pytest.mark.fuzz
@given(LEGAL)
def test_a_legal_history_comes_back_as_the_very_same_objects(
    made: tuple[AnyWire, list[JsonObject]],
) -> None:
    wire, messages = made
    terms = Terms(head={"model": "m"})
    mended = wire.mend(messages, terms)
    assert len(mended.messages) == len(messages)
    assert all(a is b for a, b in zip(mended.messages, messages, strict=True))
    assert mended.mends == []
    assert mended.head is terms.head


@pytest.mark.fuzz
@settings(max_examples=300)
@given(BROKEN, TERMS)
def test_a_mended_history_breaks_no_rule_that_has_a_mend(
    made: tuple[AnyWire, list[JsonObject]], terms: Terms
) -> None:
    wire, messages = made
    mended = wire.mend(messages, terms)
    again = Terms(head=mended.head, pending=terms.pending, id_pattern=terms.id_pattern)
    left = [v for v in wire.violations(mended.messages, again) if wire.rules[v.rule].mend]
    assert left == []
    assert len(mended.groups) == len(messages)


@pytest.mark.parametrize(("wire", "name"), [(w, n) for w in OPENAI for n in FINDS[w]])
def test_what_was_found_is_mended_once_and_for_all(wire: str, name: str) -> None:
    once, twice = mended_twice(WIRES[wire], FINDS[wire][name], Terms())
    left = WIRES[wire].violations(once.messages, Terms(head=once.head))
    assert [v for v in left if WIRES[wire].rules[v.rule].mend] == []
    assert twice.mends == []


@pytest.mark.fuzz
@settings(max_examples=300)
@given(BROKEN)
def test_the_scripted_server_accepts_what_breaks_no_rule_any_more(
    made: tuple[AnyWire, list[JsonObject]],
) -> None:
    wire, messages = made
    mended = wire.mend(messages, Terms())
    if not mended.messages or wire.violations(mended.messages):
        return  # Open calls: this can't be sent yet; or parts of a host's own.
    if any(item.get("type") == "item_reference" for item in mended.messages):
        return  # The server would have to know what it refers to.
    key, rules = SERVER[wire.name]
    body = {"model": "m", key: list(mended.messages)}
    asked = Asked(body, {}, 10**9, Ledger(), cut=lambda _: [])
    refused = [*first_refusals(rules, asked)]
    # Seals are opaque.
    assert [r for r in refused if r.code != "invalid_encrypted_content"] == []


@pytest.mark.fuzz
@settings(max_examples=300)
@given(BROKEN, TERMS)
def test_mending_twice_is_mending_once(
    made: tuple[AnyWire, list[JsonObject]], terms: Terms
) -> None:
    wire, messages = made
    once, twice = mended_twice(wire, messages, terms)
    assert twice.mends == []
    assert all(a is b for a, b in zip(twice.messages, once.messages, strict=True))
    assert twice.head is once.head


@pytest.mark.fuzz
@settings(max_examples=300)
@given(BROKEN, TERMS)
def test_mending_is_asked_for_exactly_where_a_rule_with_a_mend_is_broken(
    made: tuple[AnyWire, list[JsonObject]], terms: Terms
) -> None:
    wire, messages = made
    rules = {v.rule for v in wire.violations(messages, terms) if wire.rules[v.rule].mend}
    mends = wire.mend(messages, terms).mends
    assert bool(rules) == bool(mends)
    assert {mend.rule for mend in mends} <= wire.rules.keys()


@pytest.mark.fuzz
@settings(max_examples=300)
@given(BROKEN, TERMS)
def test_every_word_that_is_not_sent_is_kept(
    made: tuple[AnyWire, list[JsonObject]], terms: Terms
) -> None:
    wire, messages = made
    found = outgoing(wire.mend(messages, terms))
    for word in words_of(messages):
        assert (
            word in found
            or word.encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
            .replace("\0", "\ufffd")
            in found
        )


@pytest.mark.fuzz
@settings(max_examples=200)
@given(BROKEN, TERMS, st.data())
def test_a_check_that_remembers_equals_one_from_scratch(
    made: tuple[AnyWire, list[JsonObject]], terms: Terms, data: st.DataObject
) -> None:
    wire, messages = made
    checker = wire.checker(terms)
    grown: list[Any] = []
    for message in messages:
        grown.append(message)
        if data.draw(st.integers(0, 3)) == 0:
            at = data.draw(st.integers(0, len(grown) - 1))
            grown[at : at + data.draw(st.integers(0, 2))] = [data.draw(st.sampled_from(FOREIGN))]
        assert checker.check(grown) == wire.violations(grown, terms)


@pytest.mark.fuzz
@settings(max_examples=200)
@given(BROKEN)
def test_what_was_sent_stays_when_the_conversation_goes_on(
    made: tuple[AnyWire, list[JsonObject]],
) -> None:
    wire, messages = made
    terms = Terms()
    sent = wire.mend(messages, terms)
    if wire.violations(sent.messages, terms):
        return  # Open calls: this can't be sent yet.
    if any(item.get("type") == "compaction_trigger" for item in sent.messages[-1:]):
        return  # It goes when anything follows.
    more = wire.mend([*sent.messages, {"role": "user", "content": "and now?"}], terms)
    assert more.messages[: len(sent.messages)] == sent.messages
