"""Rules of the OpenAI formats, each with the smallest request that breaks it, and what mends it."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core.legal import Terms
from tenure.wire.detect import WIRES
from tenure.wire.rules_responses_shape import MOST_SEALED
from tests.effort import seconds_of

CHAT, RESPONSES = WIRES["openai_chat"], WIRES["openai_responses"]
U: dict[str, Any] = {"role": "user", "content": "go"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
CALL = {"type": "function_call", "call_id": "a", "name": "n", "arguments": "{}"}
CUSTOM = {"type": "custom_tool_call", "call_id": "a", "name": "n", "input": "free"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
SEALED = "s" * (MOST_SEALED + 1)
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
SHELL = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls word_92"]}}


@pytest.mark.parametrize("wire", [CHAT, RESPONSES], ids=lambda wire: wire.name)
def test_every_rule_has_a_source_and_fatal_ones_without_a_mend_are_few(wire: Any) -> None:
    for name, rule in wire.rules.items():
        assert rule.name == name
        assert rule.words
        assert rule.source
    bare = {name for name, rule in wire.rules.items() if not rule.mend}
    # A host may have parts of its own: those pass, and are named.
    assert bare <= {"open-loop", "pending-call", "compaction-size", "part-type"}
    assert not wire.rules["part-type"].fatal


def call(**fields: Any) -> dict[str, Any]:
    """A Chat call with other fields."""
    function = {"name": "n", "arguments": "{}"}
    return {"id": "a", "type": "function", "function": function, **fields}


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("bare", "message-object"),
        ({"role": "critic", "content": "x"}, "role-known"),
        ({"role": "user", "content": "a\ud83db"}, "unsendable-text"),
        ({"role": "user", "content": [5]}, "content-parts"),
        ({"role": "system", "content": [PICTURE]}, "text-only"),
        ({"role": "assistant", "content": "x", "tool_calls": []}, "empty-calls"),
        ({"role": "assistant", "content": "x", "tool_calls": [{"id": "a"}]}, "broken-call"),
    ],
)
def test_a_chat_message_that_is_wrong_by_itself_is_named_and_mended(
    message: Any, rule: str
) -> None:
    assert [v.rule for v in CHAT.violations([U, message])] == [rule]
    mended = CHAT.mend([U, message], Terms())
    assert [mend.rule for mend in mended.mends] == [rule]
    assert CHAT.violations(mended.messages) == []
    assert mended.messages[0] is U


def test_a_picture_in_a_tool_message_is_labelled_and_kept() -> None:
    calls = {"role": "assistant", "content": None, "tool_calls": [call()]}
    text = {"type": "text", "text": "see"}
    result = {"role": "tool", "tool_call_id": "a", "content": [text, PICTURE]}
    mended = CHAT.mend([U, calls, result], Terms())
    kept, label = mended.messages[2]["content"]
    assert kept is text
    assert label["text"].startswith("[tenure: a picture left out")
    assert b"QUJD" in mended.mends[0].lost


@pytest.mark.parametrize(
    ("items", "rules"),
    [
        ([U, {**THOUGHT, "encrypted_content": SEALED}, SAID], ["reasoning-size"]),
        ([U, {"type": "reasoning", "id": "rs_1"}, SAID], ["reasoning-summary"]),
        ([U, CUSTOM, OUTPUT], ["output-type"]),
        ([U, THOUGHT, SAID, U, THOUGHT, SAID], ["duplicate-item"]),
        ([U, SHELL, U], ["unanswered-call"]),
        ([U, {**CALL, "name": 5}], ["broken-call"]),
        ([U, {**CALL, "arguments": {"a": 1}}, OUTPUT], ["arguments-text"]),
        ([{"type": "compaction_trigger"}, U], ["trigger-not-last"]),
        ([U, {**SAID, "content": [PICTURE]}], ["text-only"]),
        ([U, {**SAID, "id": 7}], ["item-id"]),
    ],
)
def test_a_broken_rule_of_items_is_named_and_mended(items: list[Any], rules: list[str]) -> None:
    assert [v.rule for v in RESPONSES.violations(items)] == rules
    mended = RESPONSES.mend(items, Terms())
    assert {mend.rule for mend in mended.mends} >= set(rules)
    assert RESPONSES.violations(mended.messages) == []


def test_a_compaction_item_is_never_touched_even_when_it_is_too_long() -> None:
    items = [U, {"type": "compaction", "id": "cmp_1", "encrypted_content": SEALED}, U]
    assert [v.rule for v in RESPONSES.violations(items)] == ["compaction-size"]
    mended = RESPONSES.mend(items, Terms())
    assert mended.mends == []
    assert mended.messages[1] is items[1]


def test_a_shell_call_without_output_is_told_in_words_since_an_output_would_claim_a_status() -> (
    None
):
    told = RESPONSES.mend([U, SHELL, U], Terms()).messages[1]
    assert told["role"] == "assistant"
    assert "word_92" in told["content"]
    assert "unknown" in told["content"]


@pytest.mark.parametrize("field", ["previous_response_id", "conversation"])
def test_pairs_are_not_judged_where_the_history_is_on_the_server(field: str) -> None:
    terms = Terms(head={field: "stored_1"})
    items: list[dict[str, Any]] = [OUTPUT, {**SAID, "id": "msg_1"}, U, CALL, U]
    assert RESPONSES.violations(items, terms) == []
    assert RESPONSES.mend(items, terms).messages == items
    assert RESPONSES.violations(items) != []


def test_an_item_reference_may_stand_for_a_call_an_output_or_reasoning() -> None:
    items = [U, CALL, {"type": "item_reference", "id": "fco_1"}, {**SAID, "id": "msg_1"}, U]
    assert RESPONSES.violations(items) == []
    assert RESPONSES.violations([U, {"id": "fc_1"}, OUTPUT, U]) == []


def test_numbers_that_no_json_can_carry_never_raise() -> None:
    for wire in (CHAT, RESPONSES):
        items: list[dict[str, Any]] = [{**U, "n": 10**5_000, "x": float("nan")}, U]
        mended = wire.mend(items, Terms())
        assert wire.violations(mended.messages) == []
        assert mended.messages[1] is U


def test_mending_and_checking_grow_with_the_messages_not_their_square() -> None:
    def work(size: int) -> float:
        # Every call unanswered, every result an orphan, ids the same: all the slow roads at once.
        items = [U, CALL, U, {**OUTPUT, "call_id": "z"}, {"type": "item_reference", "id": "r"}]
        chat = [U, {"role": "assistant", "content": None, "tool_calls": [call()]}, U]
        chat.append({"role": "tool", "tool_call_id": "z", "content": "x"})
        return seconds_of(
            lambda: (
                RESPONSES.mend(items * size, Terms()),
                RESPONSES.violations(items * size),
                CHAT.mend(chat * size, Terms()),
                CHAT.violations(chat * size),
            )
        )

    assert min(work(2_000) for _ in range(3)) < 20 * min(work(250) for _ in range(3))
