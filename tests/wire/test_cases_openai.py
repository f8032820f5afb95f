"""Cases of the field that concern the rules of the OpenAI formats, each with its neighbours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.legal import Mended, Terms
from tenure.core.message import BlockKind, JsonObject
from tenure.core.transcript import Transcript
from tenure.wire.detect import WIRES
from tenure.wire.mend_common import NO_RESULT
from tests.cases import case_input
from tests.wire.strategies import WORDS

CHAT, RESPONSES = WIRES["openai_chat"], WIRES["openai_responses"]
IDS = st.text("abcXYZ019_-", min_size=1, max_size=12)


def chat(messages: Sequence[JsonObject], terms: Terms | None = None) -> Mended:
    """The legal copy, held to break no rule and to be the same every time."""
    mended = CHAT.mend(messages, terms or Terms())
    assert CHAT.violations(mended.messages, terms or Terms()) == []
    assert CHAT.mend(messages, terms or Terms()) == mended
    return mended


def responses(items: Sequence[JsonObject]) -> Mended:
    """The legal copy, held to break no rule and to be the same every time."""
    mended = RESPONSES.mend(items, Terms())
    assert RESPONSES.violations(mended.messages) == []
    assert RESPONSES.mend(items, Terms()) == mended
    return mended


def asks(*ids: str, arguments: str = "{}") -> dict[str, Any]:
    """An assistant message that calls a tool once per id."""
    function = {"name": "n", "arguments": arguments}
    calls = [{"id": call, "type": "function", "function": function} for call in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(id: str, content: str) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def said(text: str, by: str = "user") -> dict[str, Any]:
    """A message of a user, or of another."""
    return {"role": by, "content": text}


# -- pairing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["002", "004", "021"])
def test_a_tail_that_begins_with_results_is_told_in_a_users_words(number: str) -> None:
    given = case_input(number)
    tail = given["messages"][-given["keep_last_messages"] :]
    mended = chat(tail)
    for message, kept in zip(tail, mended.messages, strict=True):
        if message["role"] == "tool":
            assert kept["role"] == "user"
            assert message["content"] in kept["content"]
            assert message["tool_call_id"] in kept["content"]
        else:
            assert kept is message


@given(st.lists(WORDS, min_size=1, max_size=4), st.data())
def test_any_tail_of_a_parallel_batch_is_legal_and_says_what_it_said(
    words: list[str], data: st.DataObject
) -> None:
    ids = [f"call_{n}" for n in range(len(words))]
    whole = [said("be brief", "system"), said("go"), asks(*ids), *map(tool, ids, words), said("ok")]
    keep = data.draw(st.integers(1, len(whole)))
    tail = [whole[0], *whole[max(1, len(whole) - keep) :]]
    mended = chat(tail)
    assert mended.messages[0] is whole[0]
    assert mended.messages[1]["role"] != "tool"
    sent = "".join(str(message["content"]) for message in mended.messages)
    assert all(str(message["content"]) in sent for message in tail if message["content"])


def test_a_cancelled_call_says_that_its_effect_is_unknown() -> None:
    messages = case_input("005")["messages"]
    before = json.dumps(messages)
    mended = chat(messages)
    assert mended.groups == [
        (messages[0],),
        (messages[1], {"role": "tool", "tool_call_id": "call_slow", "content": NO_RESULT}),
        (messages[2],),
    ]
    assert json.dumps(messages) == before


@given(st.lists(IDS, min_size=1, max_size=5, unique=True), st.data())
def test_of_a_batch_only_what_has_no_result_is_made_up(ids: list[str], data: st.DataObject) -> None:
    done = data.draw(st.lists(st.sampled_from(ids), unique=True))
    mended = chat([said("go"), asks(*ids), *(tool(call, "real") for call in done), said("stop")])
    told = {m["tool_call_id"]: m["content"] for m in mended.messages if m["role"] == "tool"}
    assert told == {call: "real" if call in done else NO_RESULT for call in ids}


@given(st.lists(IDS, min_size=1, max_size=4, unique=True), st.data())
def test_a_call_that_waits_on_purpose_and_the_calls_at_the_end_get_no_result(
    ids: list[str], data: st.DataObject
) -> None:
    pending = frozenset(data.draw(st.lists(st.sampled_from(ids), unique=True)))
    open_end = [said("go"), asks(*ids)]
    assert chat_left(open_end, Terms()) == {"open-loop"}
    mended = CHAT.mend([*open_end, said("hm")], Terms(pending=pending))
    made = {m["tool_call_id"] for m in mended.messages if m["role"] == "tool"}
    assert made == set(ids) - pending


def chat_left(messages: Sequence[JsonObject], terms: Terms) -> set[str]:
    """The rules still broken by messages that mending leaves as they are."""
    mended = CHAT.mend(messages, terms)
    assert mended.messages == messages
    return {v.rule for v in CHAT.violations(messages, terms)}


def test_a_result_whose_id_has_stray_blanks_stays_the_result() -> None:
    messages = case_input("008")["messages"]
    mended = chat(messages)
    assert mended.messages[:2] == messages[:2]
    assert mended.messages[2] == {**messages[2], "tool_call_id": "call_w1"}


@given(IDS, *[st.text(" \t\n", max_size=2)] * 4)
def test_blanks_on_either_side_of_an_id_never_part_call_and_result(
    id: str, a: str, b: str, c: str, d: str
) -> None:
    mended = chat([said("go"), asks(a + id + b), tool(c + id + d, "4C rain")])
    assert mended.messages[1]["tool_calls"][0]["id"] == id
    assert mended.messages[2:] == [tool(id, "4C rain")]


def test_an_id_used_in_every_turn_is_made_one_per_call() -> None:
    messages = case_input("009")["messages"]
    mended = chat(messages)
    assert mended.messages[:5] == messages[:5]
    renamed = mended.messages[5]["tool_calls"][0]["id"]
    assert renamed != "call_0"
    assert mended.messages[6] == {**messages[6], "tool_call_id": renamed}


@given(
    st.lists(st.lists(st.sampled_from(["call_0", "call_1"]), min_size=1, max_size=3), max_size=6)
)
def test_results_stay_with_their_calls_however_ids_repeat(turns: list[list[str]]) -> None:
    messages: list[JsonObject] = [said("go")]
    for number, ids in enumerate(turns):
        calls = [asks(call, arguments=f'"{number}.{at}"') for at, call in enumerate(ids)]
        joined = [call for message in calls for call in message["tool_calls"]]
        messages.append({**asks(), "tool_calls": joined})
        messages += [tool(call, f'"{number}.{at}"') for at, call in enumerate(ids)]
    mended = chat(messages)
    asked: dict[str, str] = {}
    for message in mended.messages:
        for call in message.get("tool_calls", ()):
            assert call["id"] not in asked
            asked[call["id"]] = call["function"]["arguments"]
    told = {m["tool_call_id"]: m["content"] for m in mended.messages if m["role"] == "tool"}
    assert told == asked
    # What comes later changes no id that was sent.
    cut = next((at for at, m in enumerate(messages) if at and m["role"] == "assistant"), 1)
    assert chat(messages[:cut]).messages == mended.messages[:cut]


def test_a_call_without_its_output_gets_one_behind_it() -> None:
    items = case_input("019")["input"]
    mended = responses(items)
    made = {"type": "function_call_output", "call_id": "call_x1", "output": NO_RESULT}
    assert mended.messages == [items[0], items[1], made, items[2]]


@given(st.lists(IDS, min_size=1, max_size=5, unique=True), st.data())
def test_of_parallel_calls_only_those_without_output_get_one_behind_them_all(
    ids: list[str], data: st.DataObject
) -> None:
    done = data.draw(st.lists(st.sampled_from(ids), unique=True))
    calls = [{"type": "function_call", "call_id": i, "name": "n", "arguments": "{}"} for i in ids]
    outputs = [{"type": "function_call_output", "call_id": i, "output": "real"} for i in done]
    mended = responses([said("go"), *calls, *outputs, said("hm")])
    assert mended.messages[1 : len(ids) + 1] == calls
    rest = mended.messages[len(ids) + 1 : -1]
    assert {o["call_id"]: o["output"] for o in rest} == {
        call: "real" if call in done else NO_RESULT for call in ids
    }


# -- thinking ----------------------------------------------------------------------------------


def test_a_window_that_cut_off_the_reasoning_sends_the_message_without_its_id() -> None:
    given = case_input("032")
    tail = given["input"][-given["keep_last_items"] :]
    mended = responses(tail)
    assert mended.messages == [{k: v for k, v in tail[0].items() if k != "id"}, tail[1]]


@given(st.integers(0, 6))
def test_any_window_keeps_reasoning_only_before_what_it_led_to(start: int) -> None:
    items = reasoned_turn()
    for end in range(start + 1, len(items) + 1):
        mended = RESPONSES.mend(items[start:end], Terms())
        for at, item in enumerate(mended.messages):
            if item.get("type") == "reasoning":
                following = mended.messages[at + 1]
                assert following.get("type") in {"message", "function_call", "reasoning"}
        assert {v.rule for v in RESPONSES.violations(mended.messages)} <= {"open-loop"}


def reasoned_turn() -> list[JsonObject]:
    """A turn with reasoning before a call and before the answer."""
    return [
        said("go"),
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "x"},
        {"type": "reasoning", "id": "rs_2", "summary": []},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "phase": "final_answer",
            "content": [{"type": "output_text", "text": "done"}],
        },
        said("thanks"),
    ]


@pytest.mark.parametrize(("number", "at", "gone"), [("034", 1, "fc_55"), ("035", 1, "msg_77")])
def test_an_item_id_goes_where_its_reasoning_is_absent(number: str, at: int, gone: str) -> None:
    items = case_input(number)["input"]
    mended = responses(items)
    changed = {k: v for k, v in items[at].items() if k != "id"}
    assert mended.messages == [*items[:at], changed, *items[at + 1 :]]
    assert [json.loads(mend.lost) for mend in mended.mends] == [gone]
    # The compaction item and all else are the very objects given.
    rest = [*zip(mended.messages, items, strict=True)]
    assert all(a is b for a, b in (*rest[:at], *rest[at + 1 :]))


@given(st.sets(st.integers(0, 6)))
def test_an_item_keeps_its_id_and_phase_exactly_while_its_reasoning_stands_before_it(
    gone: set[int],
) -> None:
    items = reasoned_turn()
    kept = [item for at, item in enumerate(items) if at not in gone]
    for item in RESPONSES.mend(kept, Terms()).messages:
        if item.get("type") == "message":
            assert item["phase"] == "final_answer"
            # The first reasoning stands before it as well when nothing of the client's is between.
            assert ("id" in item) == (4 not in gone or (3 in gone and 1 not in gone))
        if item.get("type") == "function_call":
            assert ("id" in item) == (1 not in gone)
            assert item["call_id"] == "a"


def test_reasoning_goes_back_as_it_came_empty_fields_included() -> None:
    items = case_input("036")["input"]
    assert all(a is b for a, b in zip(responses(items).messages, items, strict=True))


@given(
    st.dictionaries(
        st.sampled_from(["encrypted_content", "content", "status", "later_field"]),
        st.sampled_from([None, [], "", {}, "c2VhbGVk"]),
    ),
    st.sampled_from([None, "absent", [], "text"]),
)
def test_reasoning_is_touched_only_where_its_summary_is_no_list_or_its_seal_no_text(
    fields: dict[str, Any], summary: Any
) -> None:
    given = {"type": "reasoning", "id": "rs_2", **fields}
    if summary != "absent":
        given["summary"] = summary
    items = [said("hi"), given, said("hey", "assistant")]
    kept = responses(items).messages[1]
    unsealed = not isinstance(given.get("encrypted_content"), str | None)
    rest = {k: v for k, v in given.items() if k != "encrypted_content"} if unsealed else given
    assert kept == {**rest, "summary": []}
    assert (kept is given) == (summary == [] and not unsealed)


# -- malformed ---------------------------------------------------------------------------------


def visible_input(messages: Sequence[JsonObject]) -> Any:
    """The input of the first call, as every other format would be given it."""
    transcript = Transcript(CHAT)
    for message in messages:
        transcript.append(CHAT.message(message))
    call = next(b for row in transcript.blocks for b in row if b.kind is BlockKind.TOOL_CALL)
    return CHAT.call(call, transcript.messages[call.index]).input


def test_broken_arguments_stay_as_they_are_and_visible() -> None:
    messages = case_input("126")["messages"]
    assert all(a is b for a, b in zip(chat(messages).messages, messages, strict=True))
    assert visible_input(messages) == '{"query": "test'


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_arguments_that_are_no_json_are_never_an_empty_object(text: str) -> None:
    messages = [said("go"), asks("b1", arguments=text), tool("b1", "error")]
    kept = chat(messages).messages[1]["tool_calls"][0]["function"]["arguments"]
    assert kept == text
    try:
        expected: Any = json.loads(text)
    except ValueError:
        expected = text
    # As text, since NaN equals nothing.
    assert json.dumps(visible_input(messages)) == json.dumps(expected)


@given(st.dictionaries(st.text(max_size=4), st.integers(), max_size=3) | st.lists(st.integers()))
def test_arguments_given_as_values_leave_as_their_json_text(value: Any) -> None:
    wrong = {"name": "n", "arguments": value}
    calls = [{"id": "c", "type": "function", "function": wrong}]
    messages = [said("go"), {**asks(), "tool_calls": calls}, tool("c", "ok")]
    kept = chat(messages).messages[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(kept) == json.loads(json.dumps(value).replace("\\u0000", "\\ufffd"))


def test_ids_of_a_foreign_shape_are_respelled_the_same_way_on_both_sides() -> None:
    given = case_input("130")
    terms = Terms(id_pattern=given["id_rule"])
    mended = chat(given["messages"], terms)
    new = mended.messages[1]["tool_calls"][0]["id"]
    assert mended.messages[2]["tool_call_id"] == new != "2968-LWy3uasib"
    assert {json.loads(mend.lost) for mend in mended.mends} == {"2968-LWy3uasib"}


@given(st.lists(IDS, min_size=1, max_size=6, unique=True), st.data())
def test_ids_are_respelled_without_collisions_and_the_same_as_the_conversation_grows(
    ids: list[str], data: st.DataObject
) -> None:
    terms = Terms(id_pattern=data.draw(st.sampled_from(["^[A-Za-z0-9]{9}$", "call_[a-f0-9]{16}"])))
    messages: list[JsonObject] = [said("go")]
    for call in ids:
        messages += [asks(call), tool(call, f"result of {call}")]
    sent = chat(messages, terms).messages
    new = [message["tool_calls"][0]["id"] for message in sent[1::2]]
    assert len(set(new)) == len(ids)
    assert [message["tool_call_id"] for message in sent[2::2]] == new
    assert [message["content"] for message in sent[2::2]] == [f"result of {call}" for call in ids]
    assert chat(messages[:3], terms).messages == sent[:3]
