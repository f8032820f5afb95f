"""Laws of mending an Anthropic conversation, over legal and broken ones."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.mend_common import cleaned, lost_json
from tests.wire.anthropic_broken import JUNK, WIRE, broken, legal, mendable, words_of
from tests.wire.finds import FINDS

pytestmark = pytest.mark.wire("anthropic_messages")
TERMS: list[dict[str, Any]] = [
    {},
    {"strict_alternation": True},
    {"model": "claude-opus-5-5"},
    {"model": "claude-sonnet-4-5", "api_version": "2023-06-01"},
    {"id_pattern": "[a-zA-Z0-9]{9}"},
    {"head": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "system": [{"type": "text", "text": ""}]}},
    {"pictures": 2, "wide_pictures": 1, "most_marks": 1},
    {"pending": frozenset({"call_0", "call_1"})},
    {"made_by": {1: "gpt-6"}, "model": "claude-opus-5-5"},
]  # fmt: skip


@pytest.mark.fuzz
@given(legal())
def test_a_legal_conversation_comes_back_as_the_very_objects(messages: list[JsonObject]) -> None:
    mended = WIRE.mend(messages, Terms())
    assert WIRE.violations(messages) == []
    assert mended.mends == ()
    assert all(a is b for a, b in zip(mended.messages, messages, strict=True))


@pytest.mark.fuzz
@given(broken(), st.sampled_from(TERMS))
def test_a_mended_conversation_breaks_no_rule_that_has_a_mend(
    messages: list[Any], terms: dict[str, Any]
) -> None:
    _breaks_none(messages, terms)


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: "-".join(terms) or "no terms")
@pytest.mark.parametrize("name", FINDS["anthropic_messages"])
def test_neither_does_what_was_found(name: str, terms: dict[str, Any]) -> None:
    _breaks_none(FINDS["anthropic_messages"][name], terms)


def _breaks_none(messages: list[Any], terms: dict[str, Any]) -> None:
    before = copy.deepcopy(messages)
    mended = WIRE.mend(messages, Terms(**terms))
    assert lost_json(messages) == lost_json(before)
    assert len(mended.groups) == len(messages)
    assert mendable(mended.messages, **_later(terms, mended.head)) == []
    again = WIRE.mend(mended.messages, Terms(**_later(terms, mended.head)))
    assert again.mends == ()
    assert all(a is b for a, b in zip(again.messages, mended.messages, strict=True))


def _later(terms: dict[str, Any], head: JsonObject) -> dict[str, Any]:
    return {**{k: v for k, v in terms.items() if k != "made_by"}, "head": head}


@pytest.mark.fuzz
@given(broken(), st.sampled_from(TERMS))
def test_every_word_leaves_or_is_kept_under_a_mend(
    messages: list[Any], terms: dict[str, Any]
) -> None:
    mended = WIRE.mend(messages, Terms(**terms))
    kept = "\n".join(words_of(mended.messages))
    for mend in mended.mends:
        if mend.lost:
            kept += "\n" + "\n".join(_all_words(json.loads(mend.lost)))
    for word in words_of(messages):
        clean = cleaned(word)
        escaped = json.dumps(clean, ensure_ascii=False)[1:-1]
        assert clean in kept or escaped in kept or word in kept, word


def _all_words(value: Any) -> list[str]:
    return [*words_of(value), *words_of(cleaned(value))]


@pytest.mark.fuzz
@given(broken(), st.sampled_from(TERMS))
def test_what_mending_does_not_name_it_does_not_touch(
    messages: list[Any], terms: dict[str, Any]
) -> None:
    mended = WIRE.mend(messages, Terms(**terms))
    named = {mend.message for mend in mended.mends}
    if not mended.mends:
        assert all(a is b for a, b in zip(mended.messages, messages, strict=True))
    kept = {id(message) for message in mended.messages}
    touched = {n for n, message in enumerate(messages) if id(message) not in kept}
    # A result that is moved is named by its call, and a merge by the message that joins.
    assert not touched or named


@pytest.mark.fuzz
@given(broken(), broken(), st.sampled_from(TERMS), st.data())
def test_the_growing_check_equals_the_check_from_scratch(
    messages: list[Any], others: list[Any], terms: dict[str, Any], data: st.DataObject
) -> None:
    checker = WIRE.checker(Terms(**terms))
    messages = list(messages)
    for _ in range(6):
        at = data.draw(st.integers(0, len(messages)))
        match data.draw(st.sampled_from(["check", "append", "replace", "cut", "insert"])):
            case "append":
                messages += others[:1]
            case "replace" if at < len(messages):
                messages[at] = copy.deepcopy(messages[at])
            case "insert":
                messages[at:at] = others[-1:]
            case "cut":
                del messages[at:]
        found = checker.check(messages)
        assert found == WIRE.violations(messages, Terms(**terms))
        assert checker.check(messages) == found


@pytest.mark.parametrize("junk", JUNK, ids=lambda value: type(value).__name__)
def test_junk_in_any_place_is_mended(junk: Any) -> None:
    shapes: list[list[Any]] = [
        [junk],
        [{"role": junk, "content": "x"}],
        [{"role": "user", "content": junk}],
        [{"role": "user", "content": [junk]}],
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": [junk]}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": junk, "content": junk}]}],
    ]  # fmt: skip
    for messages in shapes:
        mended = WIRE.mend(messages, Terms())
        assert mendable(mended.messages) == [], messages
