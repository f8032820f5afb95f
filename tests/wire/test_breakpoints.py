"""OpenAI's explicit breakpoints and cache keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import JsonObject, json_bytes
from tenure.wire.breakpoints import KEY, OPTIONS, PointRules, cache_key, plan_breakpoints
from tenure.wire.detect import WIRES
from tests.formats import chosen
from tests.wire.strategies import conversations

U: dict[str, Any] = {"role": "user", "content": "go"}
OPENAI = ("openai_chat", "openai_responses")


def _found(messages: list[JsonObject]) -> int:
    return json_bytes(messages).count(f'"{KEY}"'.encode())


@pytest.mark.fuzz
@pytest.mark.wire(*OPENAI)
@given(st.sampled_from(chosen(*OPENAI)).flatmap(lambda n: st.tuples(st.just(n), conversations(WIRES[n]))),
       st.sets(st.integers(0, 12)), st.sampled_from(["", "implicit", "explicit"]), st.booleans())  # fmt: skip
def test_breakpoints_are_few_and_mean_nothing(
    made: tuple[str, list[JsonObject]], places: set[int], mode: str, long: bool
) -> None:
    name, messages = made
    wire = WIRES[name]
    head: JsonObject = {"prompt_cache_options": {"mode": mode}} if mode else {}
    plan = plan_breakpoints(name, head, messages, places, PointRules(long=long))
    sent = [plan.messages.get(n, m) for n, m in enumerate(messages)]
    assert _found(sent) == len(plan.messages) <= (4 if mode == "explicit" else 3)
    assert [wire.meaning(m) for m in sent] == [wire.meaning(m) for m in messages]
    assert wire.violations(sent) == []
    again = plan_breakpoints(name, head, sent, places)
    assert _found([again.messages.get(n, m) for n, m in enumerate(sent)]) <= 4


def test_the_system_text_of_a_chat_ends_a_prefix_and_instructions_cannot() -> None:
    plan = plan_breakpoints("openai_chat", {"system": "be brief"}, [U, U], (0, 1))
    assert plan.head["system"][0][KEY] == {"mode": "explicit"}
    assert plan.places == (0, 1)
    head = {"instructions": "be brief"}
    assert plan_breakpoints("openai_responses", head, [U], (0,)).head is head


def test_the_clients_own_breakpoints_win() -> None:
    own = [
        {"role": "user", "content": [{"type": "text", "text": "x", KEY: {"mode": "explicit"}}]}
    ] * 3
    plan = plan_breakpoints("openai_chat", {"system": "s"}, [*own, U, U], (0, 4))
    assert (plan.messages, plan.places) == ({}, ())


def test_the_words_of_the_model_have_no_breakpoint_in_responses() -> None:
    said = {"role": "assistant", "content": "done"}
    asked = {"role": "user", "content": [{"type": "input_text", "text": "go"}]}
    plan = plan_breakpoints("openai_responses", {}, [asked, said, said, U], (3,))
    assert list(plan.messages) == [0]


def test_a_cache_key_is_of_the_head_and_not_of_its_marks() -> None:
    head = {"model": "m", "system": [{"type": "text", "text": "s"}], "tools": [{"name": "a"}]}
    marked = {**head, "system": [{"type": "text", "text": "s", KEY: {"mode": "explicit"}}]}
    assert cache_key(head) == cache_key({**marked, "max_tokens": 5})
    assert cache_key(head) != cache_key({**head, "tools": []})
    assert cache_key(head) != cache_key(head, session="s1") != cache_key(head, session="s2")
    assert len(cache_key(head)) <= 64


def test_a_string_is_the_part_it_stands_for_unless_a_tool_gave_it() -> None:
    out = {"type": "function_call_output", "call_id": "c", "output": "done"}
    plan = plan_breakpoints("openai_responses", {}, [U, out, out], (2,))
    part = {"type": "input_text", "text": "go", KEY: {"mode": "explicit"}}
    assert plan.messages == {0: {"role": "user", "content": [part]}}
    listed = {**out, "output": [{"type": "input_text", "text": "done"}]}
    assert list(plan_breakpoints("openai_responses", {}, [U, listed, U], (2,)).messages) == [1]


@pytest.mark.parametrize("between", [60, 70, 5_000])
def test_a_breakpoint_far_in_front_of_its_place_is_not_looked_for(between: int) -> None:
    out = {"type": "function_call_output", "call_id": "c", "output": "done"}
    messages = Watched([U, *[out] * between, U])
    plan = plan_breakpoints("openai_responses", {}, messages, (between + 1,), own=())
    assert list(plan.messages) == ([0] if between < 64 else [])
    assert messages.read <= 70


class Watched(list[JsonObject]):
    """A list that counts how often one of its items is read."""

    read = 0

    def __getitem__(self, at: Any) -> Any:
        self.read += 1
        return super().__getitem__(at)


def test_a_prefix_below_the_minimum_gets_no_breakpoint_and_takes_no_place() -> None:
    messages = [U] * 8
    sizes = {0: 100, **{n: 200 * n for n in range(1, 9)}}
    plan = plan_breakpoints(
        "openai_chat", {"system": "s"}, messages, (0, 2, 5, 6, 7), PointRules(minimum=1_024),
        tokens=sizes.__getitem__,
    )  # fmt: skip
    assert plan.places == (6, 7)
    assert plan.head == {"system": "s"}


def test_twelve_hours_are_asked_for_where_each_api_takes_them() -> None:
    long = PointRules(long=True)
    chat = plan_breakpoints("openai_chat", {}, [U, U, U], (1, 3), long)
    assert chat.places == (1, 3)  # The end too: the API's own mark there lives 30 minutes.
    marks = [m["content"][0][KEY] for m in chat.messages.values()]
    assert marks == [{"mode": "explicit", "ttl": "12h"}] * 2
    assert chat.head == {}
    responses = plan_breakpoints(
        "openai_responses", {OPTIONS: {"mode": "explicit"}}, [U], (1,), long
    )
    assert responses.head == {OPTIONS: {"mode": "explicit", "ttl": "12h"}}
    assert responses.messages[0]["content"][0][KEY] == {"mode": "explicit"}


@pytest.mark.parametrize("format", OPENAI)
@pytest.mark.parametrize("ttl", ["30m", "12h"])
def test_the_clients_own_lifetime_wins(format: str, ttl: str) -> None:
    head = {OPTIONS: {"ttl": ttl}}
    plan = plan_breakpoints(format, head, [U, U], (1, 2), PointRules(long=True))
    assert plan.head is head
    assert plan.places == (1,)
    assert plan.messages[0]["content"][0][KEY] == {"mode": "explicit"}
