"""Cases of the field that concern the rules of Anthropic Messages, each with its neighbours."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.legal import Mended, Terms
from tenure.core.message import JsonObject, Message
from tenure.core.transcript import Transcript
from tenure.wire.detect import WIRES
from tenure.wire.mend_common import NO_RESULT
from tests.cases import case_input, expanded
from tests.tokens.pictures import png
from tests.wire.strategies import WORDS

WIRE = WIRES["anthropic_messages"]
IDS = st.text("abcXYZ019_-", min_size=1, max_size=12)


def legal(messages: Sequence[JsonObject], terms: Terms | None = None) -> Mended:
    """The legal copy, held to break no rule, to leave what was given, and to be the same again."""
    before = json.dumps(messages)
    mended = WIRE.mend(messages, terms or Terms())
    assert WIRE.violations(mended.messages, terms or Terms()) == []
    assert WIRE.mend(messages, terms or Terms()) == mended
    assert json.dumps(messages) == before
    return mended


def user(*content: Any) -> JsonObject:
    words = content[0] if len(content) == 1 and isinstance(content[0], str) else list(content)
    return {"role": "user", "content": words}


def assistant(*blocks: Any) -> JsonObject:
    return {"role": "assistant", "content": list(blocks)}


def use(call: str, value: Any = None) -> JsonObject:
    given_input = {} if value is None else value
    return {"type": "tool_use", "id": call, "name": "read", "input": given_input}


def result(call: str, content: Any) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def ids(messages: Sequence[JsonObject], kind: str, field: str) -> list[str]:
    blocks = [b for m in messages if isinstance(m["content"], list) for b in m["content"]]
    return [b[field] for b in blocks if b["type"] == kind]


# -- pairing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["001", "012", "022"])
def test_a_cut_tail_has_every_call_with_its_result_and_begins_with_a_user(number: str) -> None:
    given_case = case_input(number)
    tail = given_case["messages"][-given_case["keep_last_messages"] :]
    sent = WIRE.mend(tail, Terms()).messages
    assert sent[0]["role"] == "user"
    open_at_the_end = ids(sent[-1:], "tool_use", "id")
    calls = [call for call in ids(sent, "tool_use", "id") if call not in open_at_the_end]
    assert calls == ids(sent, "tool_result", "tool_use_id")
    assert sent


@given(st.lists(st.tuples(IDS, WORDS), min_size=1, max_size=4, unique_by=lambda p: p[0]), st.data())
def test_any_tail_of_a_tool_loop_is_legal_and_says_what_it_said(
    steps: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole = [user("go")]
    for call, words in steps:
        whole += [assistant(use(call)), user(result(call, words))]
    whole.append(user("thanks"))
    tail = whole[-data.draw(st.integers(1, len(whole))) :]
    sent = json.dumps(legal(tail).messages, ensure_ascii=False)
    said = [b["content"] for m in tail[:-1] if m["role"] == "user" for b in _blocks(m["content"])]
    assert all(json.dumps(words, ensure_ascii=False)[1:-1] in sent for words in said)


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def test_a_result_whose_call_was_summarised_away_becomes_text_and_turns_are_merged() -> None:
    terms = Terms(strict_alternation=True)
    mended = legal(case_input("007")["messages"], terms)
    assert [m["role"] for m in mended.messages] == ["user", "assistant"]
    sent = json.dumps(mended.messages)
    assert "tool_result" not in sent
    assert "carry on" in sent
    assert "missing result; placeholder" in sent
    assert any("toolu_gone" in mend.words for mend in mended.mends)


def test_strict_alternation_merges_neighbours_in_order() -> None:
    messages = case_input("011")["messages"]
    mended = legal(messages, Terms(strict_alternation=True))
    assert [m["role"] for m in mended.messages] == ["user", "assistant", "user"]
    sent = json.dumps(mended.messages)
    places = [sent.index(m["content"]) for m in messages]
    assert places == sorted(places)


@given(st.lists(st.tuples(st.booleans(), WORDS), min_size=1, max_size=8))
def test_merging_loses_no_word_and_moves_none(said: list[tuple[bool, str]]) -> None:
    messages = [user("begin"), *({"role": _role(by), "content": words} for by, words in said)]
    messages.append(user("end"))
    mended = legal(messages, Terms(strict_alternation=True)).messages
    roles = [m["role"] for m in mended]
    assert all(a != b for a, b in pairwise(roles))
    spoken = [w for m in mended for w in _words(m["content"])]
    assert spoken == [str(m["content"]) for m in messages if str(m["content"]).strip()]


def _role(by_user: bool) -> str:
    return "user" if by_user else "assistant"


def _words(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content]


def test_a_call_that_waits_for_an_approval_is_never_answered_in_the_tools_stead() -> None:
    given_case = case_input("014")
    terms = Terms(pending=frozenset(given_case["pending_ids"]))
    mended = WIRE.mend(given_case["messages"], terms)
    assert list(mended.messages) == given_case["messages"]
    (broken,) = WIRE.violations(mended.messages, terms)
    assert broken.rule == "pending-call"
    assert not WIRE.rules[broken.rule].mend
    # A result that comes later still finds its call.
    transcript = Transcript(WIRE)
    late = user(result("toolu_confirm", "approved"))
    for data in [*given_case["messages"], late]:
        transcript.append(Message(data, origin=WIRE.origin(data)))
    answer = transcript.blocks[-1][0]
    call = transcript.partner(answer)
    assert call is not None
    assert call.tool == "ask_confirmation"


def test_an_orphan_of_a_crashed_tool_is_closed_and_named() -> None:
    messages = case_input("016")["messages"]
    mended = legal(messages)
    assert ids(mended.messages, "tool_result", "tool_use_id") == ["dead1"]
    assert NO_RESULT in json.dumps(mended.messages)
    assert any("dead1" in mend.words for mend in mended.mends)
    assert len(mended.messages) == len(messages) + 1


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.lists(IDS, min_size=6, unique=True))
def test_calls_without_results_are_answered_where_they_stand(
    answered: list[bool], names: list[str]
) -> None:
    messages = [user("go")]
    for has_result, call in zip(answered, names, strict=False):
        messages.append(assistant(use(call)))
        if has_result:
            messages.append(user(result(call, "fine")))
        messages.append(user("go on"))
    sent = legal(messages).messages
    assert ids(sent, "tool_use", "id") == ids(sent, "tool_result", "tool_use_id")
    assert sum(NO_RESULT in json.dumps(m) for m in sent) == answered.count(False)


def test_a_server_tool_call_that_never_ended_goes_once_other_words_follow() -> None:
    messages = case_input("018")["messages"]
    assert list(legal(messages).messages) == messages  # A pause: it goes back unchanged.
    mended = legal([*messages, user("Summarise that.")])
    assert "server_tool_use" not in json.dumps(mended.messages)
    assert b"http://example.test/tides" in mended.mends[0].lost


# -- thinking ----------------------------------------------------------------------------------


def test_thinking_that_a_tool_turn_lacks_is_never_made_up() -> None:
    given_case = case_input("023")
    terms = Terms(head={"thinking": given_case["thinking"]})
    assert [v.rule for v in WIRE.violations(given_case["messages"], terms)] == ["thinking-first"]
    mended = WIRE.mend(given_case["messages"], terms)
    assert list(mended.messages) == given_case["messages"]
    assert "thinking" not in mended.head
    assert WIRE.violations(mended.messages, Terms(head=mended.head)) == []


@pytest.mark.parametrize("number", ["025", "026"])
def test_thinking_of_another_provider_stays_in_the_store_and_does_not_leave(number: str) -> None:
    messages = case_input(number)["messages"]
    made_by = {at: "model-a" for at, m in enumerate(messages) if m["role"] == "assistant"}
    mended = legal(messages, Terms(model="model-b", made_by=made_by))
    sent = json.dumps(mended.messages)
    assert "thinking" not in sent.replace("Think", "")
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else ():
            assert "text" not in block or block["text"] in sent
    assert all(mend.lost for mend in mended.mends)
    # A switch back finds it: the same messages for the model that made them leave as they are.
    back = legal(messages, Terms(model="model-a", made_by=made_by))
    assert all(a is b for a, b in zip(back.messages, messages, strict=True))


SIGNATURES = st.sampled_from(["reasoning_content", "", None, "signature", "not base64!", "====", 7])


def test_a_signature_that_can_be_none_costs_its_block_and_no_more() -> None:
    messages = case_input("027")["messages"]
    mended = legal(messages)
    assert mended.messages[1]["content"] == [text("Done.")]
    assert json.loads(mended.mends[0].lost)["thinking"] == "user asks to re-read"


@given(SIGNATURES, WORDS)
def test_any_thinking_that_no_provider_signed_is_left_out(signature: Any, words: str) -> None:
    block = {"type": "thinking", "thinking": words}
    if signature is not None:
        block["signature"] = signature
    mended = legal([user("hi"), assistant(block, text("hello")), user("more")])
    assert mended.messages[1]["content"] == [text("hello")]
    assert words in json.loads(mended.mends[0].lost)["thinking"]


def test_stored_thinking_without_a_signature_leaves_the_session_usable() -> None:
    messages = [json.loads(line) for line in case_input("029")["lines"]]
    mended = legal(messages)
    assert mended.messages[1]["content"] == [text("hello")]
    assert len(mended.mends) == 1
    assert not legal(mended.messages).mends


@given(st.binary(min_size=3, max_size=40))
def test_thinking_without_text_but_with_a_signature_is_kept_as_it_is(signature: bytes) -> None:
    signed = base64.b64encode(signature).decode()
    block = {"type": "thinking", "thinking": "", "signature": signed}
    messages = [user("hi"), assistant(block, use("s1", {"a": 2})), user(result("s1", "4"))]
    mended = legal(messages)
    assert all(a is b for a, b in zip(mended.messages, messages, strict=True))
    assert list(legal(case_input("030")["messages"]).messages) == case_input("030")["messages"]


# -- malformed ---------------------------------------------------------------------------------


def test_a_tool_input_that_is_a_text_is_kept_visible_in_an_object() -> None:
    messages = case_input("125")["messages"]
    sent = legal(messages).messages
    (call,) = sent[1]["content"]
    assert call["input"] == {"_raw": messages[1]["content"][0]["input"]}
    assert sent[2] is messages[2]


@given(st.dictionaries(WORDS, st.integers() | WORDS, max_size=3), st.data())
def test_any_input_that_is_no_object_is_parsed_or_wrapped(
    arguments: dict[str, Any], data: st.DataObject
) -> None:
    spelled = json.dumps(arguments)
    cut = spelled[: data.draw(st.integers(0, len(spelled)))]
    messages = [user("go"), assistant(use("x1", cut)), user(result("x1", "bad call"))]
    (call,) = legal(messages).messages[1]["content"]
    assert call["input"] == (arguments if cut == spelled else {"_raw": cut} if cut else {})


def test_one_wide_picture_among_many_becomes_a_label_that_names_its_call() -> None:
    messages = expanded(case_input("127")["messages"])
    mended = legal(messages)
    assert len(mended.mends) == 1
    changed = [m for m, old in zip(mended.messages, messages, strict=True) if m is not old]
    assert len(changed) == 1
    assert "im3" in json.dumps(changed[0])
    assert json.loads(mended.mends[0].lost)["type"] == "image"


@given(st.integers(19, 23), st.integers(1_998, 2_002))
def test_a_wide_picture_is_legal_up_to_twenty_pictures(count: int, width: int) -> None:
    pictures = [picture(width if number == 2 else 40) for number in range(count)]
    messages = [user(*pictures, text("compare"))]
    mended = WIRE.mend(messages, Terms())
    assert bool(mended.mends) == (count > 20 and width > 2_000)
    assert WIRE.violations(mended.messages) == []


def picture(width: int) -> JsonObject:
    source = {"type": "base64", "media_type": "image/png", "data": png(width, 8)}
    return {"type": "image", "source": source}


@given(st.binary(max_size=30))
def test_data_that_is_no_picture_becomes_a_label_beside_the_words(junk: bytes) -> None:
    for data in (base64.b64encode(junk).decode(), "bm90IGEgcGljdHVyZQ=="):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        messages = [user({"type": "image", "source": source}, text("what is it?"))]
        mended = legal(messages)
        assert mended.messages[0]["content"][-1] == text("what is it?")
        assert "image" not in [b["type"] for b in mended.messages[0]["content"]]
        assert json.loads(mended.mends[0].lost)["source"]["data"] == data
