"""OpenAI's explicit breakpoints and cache keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import JsonObject, json_bytes
from tenure.wire.breakpoints import KEY, cache_key, plan_breakpoints
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
       st.sets(st.integers(0, 12)), st.sampled_from(["", "implicit", "explicit"]))  # fmt: skip
def test_breakpoints_are_few_and_mean_nothing(
    made: tuple[str, list[JsonObject]], places: set[int], mode: str
) -> None:
    name, messages = made
    wire = WIRES[name]
    head: JsonObject = {"prompt_cache_options": {"mode": mode}} if mode else {}
    plan = plan_breakpoints(name, head, messages, places, ttl="12h")
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
    plan = plan_breakpoints("openai_responses", {}, [asked, U, said, U], (3,))
    assert list(plan.messages) == [0]


def test_a_cache_key_is_of_the_head_and_not_of_its_marks() -> None:
    head = {"model": "m", "system": [{"type": "text", "text": "s"}], "tools": [{"name": "a"}]}
    marked = {**head, "system": [{"type": "text", "text": "s", KEY: {"mode": "explicit"}}]}
    assert cache_key(head) == cache_key({**marked, "max_tokens": 5})
    assert cache_key(head) != cache_key({**head, "tools": []})
    assert cache_key(head) != cache_key(head, session="s1") != cache_key(head, session="s2")
    assert len(cache_key(head)) <= 64
