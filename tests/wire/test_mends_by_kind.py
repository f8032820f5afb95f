"""One mend of each newer kind: what leaves in the place of what no API takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.legal import Mended, Terms
from tenure.cost.models import profile
from tenure.cost.terms import terms_of
from tenure.wire.detect import WIRES, AnyWire

A, CHAT, ITEMS = (WIRES[n] for n in ("anthropic_messages", "openai_chat", "openai_responses"))
U: dict[str, Any] = {"role": "user", "content": "go"}
SAID: dict[str, Any] = {"role": "assistant", "content": "so"}
LONG = "call_" + "x" * 70


def mended(wire: AnyWire, *messages: Any, terms: Terms | None = None) -> Mended:
    """The copy; it breaks no rule that has a mend, and mending it again does nothing."""
    terms = terms or Terms()
    found = wire.mend(messages, terms)
    assert wire.mend(found.messages, terms).mends in ((), [])
    assert found.mends
    return found


def use(call: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": "read", "input": given}


def result(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text}


def blocks(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


# -- Anthropic ---------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [[{"n": 0}, {"n": 1}, {"n": 2}], [{}, {}, {}]])
def test_parallel_calls_of_one_id_get_their_own_with_their_results_in_order(given: Any) -> None:
    said = blocks("assistant", *(use("c", **one) for one in given))
    heard = blocks("user", *(result("c", f"result {n}") for n in range(3)))
    _, asked, answered = mended(A, U, said, heard).messages
    ids = [block["id"] for block in asked["content"]]
    assert len(set(ids)) == 3
    assert [(b["tool_use_id"], b["content"]) for b in answered["content"]] == [
        (call, f"result {n}") for n, call in enumerate(ids)
    ]


def test_a_copy_of_a_call_that_is_answered_once_is_left_out() -> None:
    said = blocks("assistant", use("c"), use("c"))
    _, asked, answered = mended(A, U, said, blocks("user", result("c", "x"))).messages
    assert [b["id"] for b in asked["content"]] == ["c"]
    assert answered["content"] == [result("c", "x")]


def test_two_system_messages_become_one_that_is_shown_as_long_as_the_longer() -> None:
    brief = {"role": "system", "content": "be brief", "clear_at": "next_user_message"}
    kind = blocks("system", {"type": "text", "text": "be kind"})
    found = mended(A, U, brief, kind, SAID, U)
    assert [m["role"] for m in found.messages] == ["user", "system", "assistant", "user"]
    joined = found.messages[1]
    assert [b["text"] for b in joined["content"]] == ["be brief", "be kind"]
    assert "clear_at" not in joined
    assert b"next_user_message" in b"".join(mend.lost for mend in found.mends)


def test_a_result_in_a_system_message_is_brought_to_its_call() -> None:
    found = mended(A, U, blocks("assistant", use("c")), blocks("system", result("c", "x")), U)
    assert [m["role"] for m in found.messages] == ["user", "assistant", "user", "user"]
    assert found.messages[2]["content"] == [result("c", "x")]


def test_an_effort_between_calls_and_results_comes_behind_them() -> None:
    effort = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    found = mended(A, U, blocks("assistant", use("c")), effort, blocks("user", result("c", "x")))
    assert [m["role"] for m in found.messages] == ["user", "assistant", "user", "system"]
    assert found.messages[3] is effort


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50))
def test_a_server_tool_keeps_its_words_under_an_id_that_the_api_takes(call: str) -> None:
    search = {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"q": "lamps"}}
    hits = {"type": "web_search_tool_result", "tool_use_id": call, "content": []}
    messages = [U, blocks("assistant", search, hits, {"type": "text", "text": "so"}), U]
    whole = A.mend(messages, Terms())
    asked, answered, _ = whole.messages[1]["content"]
    assert asked["id"] == answered["tool_use_id"]
    assert asked["id"].startswith("srvtoolu_")
    assert asked["input"] == {"q": "lamps"}
    assert A.violations(whole.messages) == []


def test_the_mark_of_the_last_block_gives_way_to_an_automatic_one_of_another_life() -> None:
    text = {"type": "text", "text": "go", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    terms = Terms(head={"cache_control": {"type": "ephemeral"}})
    found = mended(A, blocks("user", text), terms=terms)
    assert found.messages[0]["content"] == [{"type": "text", "text": "go"}]
    assert found.head is terms.head


def test_a_request_of_which_nothing_is_left_says_so() -> None:
    found = mended(A, {"role": "user", "content": " "})
    assert "[tenure: " in found.messages[0]["content"]
    sealed = {"type": "compaction", "id": "cmp_1"}
    (left,) = mended(ITEMS, sealed).messages
    assert left["role"] == "user"


# -- OpenAI ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=5, unique=True))
def test_long_call_ids_are_cut_alike_on_both_sides_and_stay_apart(numbers: list[int]) -> None:
    ids = [f"{LONG}{n}" for n in numbers]
    function = {"name": "n", "arguments": "{}"}
    calls = [{"id": i, "type": "function", "function": function} for i in ids]
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    results = [{"role": "tool", "tool_call_id": i, "content": i} for i in ids]
    _, asked, *answers = mended(CHAT, U, said, *results).messages
    sent = [call["id"] for call in asked["tool_calls"]]
    assert len(set(sent)) == len(ids)
    assert max(map(len, sent)) <= 40
    assert [(m["tool_call_id"], m["content"]) for m in answers] == [*zip(sent, ids, strict=True)]
    # The same id is cut to the same whatever stands beside it.
    assert mended(CHAT, U, {**said, "tool_calls": calls[-1:]}, results[-1]).messages[1]["tool_calls"][0]["id"] == sent[-1]  # fmt: skip


def test_ids_are_as_long_as_the_host_takes_them() -> None:
    call = {"type": "function_call", "call_id": "c" * 64, "name": "n", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c" * 64, "output": "x"}
    assert ITEMS.violations([U, call, output]) == []
    longer = [U, {**call, "call_id": "c" * 65}, {**output, "call_id": "c" * 65}]
    assert {v.rule for v in ITEMS.violations(longer)} == {"id-shape"}
    for other in ("gemini-2.5-pro", "qwen-of-some-host"):
        assert ITEMS.violations(longer, terms_of(profile(other), other, {})) == []
    assert ITEMS.violations(longer, terms_of(profile("gpt-99"), "gpt-99", {}))


@pytest.mark.parametrize(
    ("mark", "left"),
    [
        ({"mode": "explicit", "ttl": "12h"}, {"mode": "explicit", "ttl": "12h"}),
        ({"mode": "explicit", "ttl": "5m"}, {"mode": "explicit"}),
        ({"mode": "implicit"}, None),
        (5, None),
    ],
)
@pytest.mark.parametrize("wire", [CHAT, ITEMS], ids=lambda wire: wire.name)
def test_a_breakpoint_is_as_the_api_spells_it_or_goes(wire: AnyWire, mark: Any, left: Any) -> None:
    kind = "text" if wire is CHAT else "input_text"
    message = blocks("user", {"type": kind, "text": "go", "prompt_cache_breakpoint": mark})
    (sent,) = wire.mend([message], Terms()).messages
    assert sent["content"][0].get("prompt_cache_breakpoint") == left
    assert (sent is message) == (mark == left)
    old = terms_of(profile("gpt-5.1"), "gpt-5.1", {})
    assert "prompt_cache_breakpoint" not in wire.mend([message], old).messages[0]["content"][0]


@pytest.mark.parametrize("wire", [CHAT, ITEMS], ids=lambda wire: wire.name)
def test_parts_of_another_api_say_the_same_and_those_of_a_host_pass_by_name(wire: AnyWire) -> None:
    theirs = {"type": "item_reference", "id": "msg_9"}
    own = {"type": "video_url", "video_url": {"url": "https://x.example/v"}}
    found = wire.mend([blocks("user", theirs, own)], Terms())
    said, passed = found.messages[0]["content"]
    assert json.loads(said["text"]) == theirs
    assert passed is own
    left = wire.violations(found.messages)
    assert [(v.rule, v.path) for v in left] == [("part-type", ("content", 1))]
    assert not wire.rules["part-type"].fatal


def test_a_tool_name_of_other_characters_is_spelled_with_those_the_api_takes() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "read a.file", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "x"}
    assert mended(ITEMS, U, call, output).messages[1]["name"] == "read_a_file"
    function = {"name": "read a.file", "arguments": "{}"}
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "custom", "function": function}]}  # fmt: skip
    answer = {"role": "tool", "tool_call_id": "c", "content": "x"}
    (sent,) = mended(CHAT, U, asked, answer).messages[1]["tool_calls"]
    assert sent == {"id": "c", "type": "function", "function": {**function, "name": "read_a_file"}}


# -- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "most"), [("claude-haiku-4-5", 100), ("claude-opus-5-5", 600)])
def test_as_many_pictures_leave_as_the_window_of_the_model_takes(model: str, most: int) -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://x.example/p"}}
    terms = terms_of(profile(model), model, {})
    assert A.violations([blocks("user", *[picture] * most)], terms) == []
    found = mended(A, blocks("user", *[picture] * (most + 1)), terms=terms)
    kinds = [block["type"] for block in found.messages[0]["content"]]
    assert kinds == ["text", *["image"] * most]
