"""Laws and examples of the comparison of consecutive requests."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.wire.detect import WIRES
from tenure.wire.prefix_diff import Cause, diff, differences
from tenure.wire.prefix_parts import path_text, prompt_bytes
from tests.cases import case_input, expanded
from tests.effort import seconds_of
from tests.replay.mutations import Pair, pairs

PAIRS = list(pairs())
AT = "anthropic_messages"
UNPLACED = {"model-changed", "setting-changed", "mark-moved"}

WORDS = (
    "role content type text tools system input messages name model cache_control thinking function "
    "input_schema tool_choice instructions response_format"
).split()


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=4), inner, max_size=5)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
junk = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | _objects(inner), max_leaves=12
)

bodies = st.fixed_dictionaries(
    {},
    optional={
        "messages": junk | st.lists(_objects(junk), max_size=4),
        "input": junk | st.lists(_objects(junk), max_size=4),
        "tools": junk | st.lists(_objects(junk), max_size=3),
        "system": junk,
        "instructions": junk,
        "model": scalars,
        "thinking": junk,
        "tool_choice": junk,
        "response_format": junk,
    },
)


def shared(one: bytes, other: bytes) -> int:
    """The number of bytes that both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}-{pair.wire}")
def test_a_known_mutation_is_named(pair: Pair) -> None:
    found = differences(pair.earlier, pair.later, pair.wire)
    assert [one.rule for one in found] == ([pair.rule] if pair.rule else [])
    for one in found:
        assert one.harmless is not pair.costs
        assert one.where.startswith(pair.where)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.kind}-{pair.wire}")
def test_the_offset_is_the_length_of_what_both_prompts_share(pair: Pair) -> None:
    found = diff(pair.earlier, pair.later, pair.wire)
    prompts = [prompt_bytes(body, pair.wire) for body in (pair.earlier, pair.later)]
    same = shared(prompts[0], prompts[1])
    if found is None or found.rule in UNPLACED:
        assert same == len(prompts[0])
    else:
        assert found.offset == same < len(prompts[0])


@given(bodies, st.sampled_from(sorted(WIRES)))
def test_a_request_does_not_differ_from_itself(body: dict[str, Any], wire: str) -> None:
    assert differences(body, copy.deepcopy(body), wire) == []


@given(bodies, bodies, st.sampled_from(sorted(WIRES)))
def test_any_json_can_be_compared(
    earlier: dict[str, Any], later: dict[str, Any], wire: str
) -> None:
    for one in differences(earlier, later, wire):
        assert one.words
        assert 0 <= one.offset <= len(prompt_bytes(earlier, wire))
        assert 0 <= one.share <= 1


@given(bodies, bodies, st.sampled_from(sorted(WIRES)))
def test_two_prompts_without_a_difference_begin_alike(
    earlier: dict[str, Any], later: dict[str, Any], wire: str
) -> None:
    if any(one.cause is not Cause.MARKS for one in differences(earlier, later, wire)):
        return
    old, new = (prompt_bytes(body, wire) for body in (earlier, later))
    # Blocks may be added to the last message, whose list then ends later.
    same = old[: shared(old, new)]
    assert same == old or same.count(b"\n") >= old.count(b"\n") - 1


def test_a_first_message_resumed_as_a_string_is_the_same_text_in_another_shape() -> None:
    given = case_input("052")
    first = differences(given["turn_1"], given["turn_2"], "anthropic_messages")[0]
    assert (first.rule, first.where) == ("shape-changed", "messages[0].content")
    assert "same text, different shape" in first.words
    # What the provider documents to be read alike costs nothing; the lost mark is told apart.
    assert first.harmless


def test_a_date_of_the_next_day_is_a_volatile_date() -> None:
    given = case_input("057")
    first = diff(given["turn_1"], given["turn_2"], "anthropic_messages")
    assert first is not None
    assert (first.rule, first.where, first.harmless) == (
        "volatile-date",
        "messages[0].content",
        False,
    )
    assert first.before.startswith("Today is 2026-08-14")
    replayed = {"messages": [given["turn_1"]["messages"][0], *given["turn_2"]["messages"][1:]]}
    assert diff(given["turn_1"], replayed, "anthropic_messages") is None


def test_thinking_switched_off_and_on_again_breaks_the_cached_messages_each_time() -> None:
    turns = case_input("059")["turns"]
    for earlier, later in pairwise(turns):
        (one,) = differences(earlier, later, "anthropic_messages")
        assert (one.rule, one.where, one.harmless) == ("setting-changed", "thinking", False)
        assert "although they are the same" in one.words


def test_another_budget_for_thinking_is_another_setting() -> None:
    turns = case_input("059")["turns"]
    (one,) = differences(turns[0], turns[2], "anthropic_messages")
    assert (one.rule, one.before, one.after) == (
        "setting-changed",
        '{"type":"enabled","budget_tokens":4000}',
        '{"type":"enabled","budget_tokens":8000}',
    )


def test_a_clock_at_the_top_of_the_system_text_is_named_with_its_offset() -> None:
    turns = expanded(case_input("039"))["turns"]
    found = diff(turns[0], turns[1], "anthropic_messages")
    assert found is not None
    assert (found.rule, found.where) == ("volatile-clock", "system[0].text")
    assert found.offset < 60


def test_a_body_spelled_differently_is_the_same_prompt() -> None:
    """Case 055: white space and escapes are the transport's; the model reads the same."""
    text = case_input("055")["body_text"]
    again = json.dumps(json.loads(text), ensure_ascii=False)
    assert again != text
    assert differences(json.loads(text), json.loads(again), "anthropic_messages") == []


def test_a_deferred_tool_that_nothing_refers_to_is_in_no_prompt() -> None:
    tool = {"name": "rare", "input_schema": {"type": "object"}, "defer_loading": True}
    user = {"role": "user", "content": "hi"}
    assert diff({"messages": [user]}, {"messages": [user], "tools": [tool]}, AT) is None
    found = {"type": "tool_reference", "tool_name": "rare"}
    result = {"type": "tool_result", "tool_use_id": "a", "content": [found]}
    said = [user, {"role": "user", "content": [result]}]
    edited = {**tool, "description": "now with words"}
    one = diff({"messages": said, "tools": [tool]}, {"messages": said, "tools": [edited]}, AT)
    assert one is not None
    assert one.rule == "tool-edited"


def test_what_a_tool_takes_may_be_called_like_a_mark() -> None:
    user = {"role": "user", "content": "hi"}
    bodies = [
        {"messages": [user], "tools": [{"name": "t", "input_schema": {"cache_control": value}}]}
        for value in ("a", "b")
    ]
    one = diff(bodies[0], bodies[1], AT)
    assert one is not None
    assert one.where == "tools[0].input_schema.cache_control"


def test_blocks_added_to_the_last_message_are_appended() -> None:
    first = {"role": "user", "content": [{"type": "text", "text": "a"}]}
    more = {"role": "user", "content": [*first["content"], {"type": "text", "text": "b"}]}
    assert diff({"messages": [first]}, {"messages": [more]}, AT) is None
    after = {"messages": [more, {"role": "assistant", "content": "c"}]}
    earlier = {"messages": [first, {"role": "assistant", "content": "c"}]}
    one = diff(earlier, after, AT)
    assert one is not None
    assert (one.rule, one.where) == ("message-edited", "messages[0].content[1]")


def test_a_shorter_history_is_still_cached() -> None:
    said = [{"role": "user", "content": text} for text in "abc"]
    one = diff({"messages": said}, {"messages": said[:2]}, AT)
    assert one is not None
    assert (one.rule, one.where, one.harmless) == ("history-rewound", "messages[2]", True)


def test_a_harmless_difference_hides_none_that_costs() -> None:
    earlier = [{"role": "user", "content": text} for text in ("one", "two", "three")]
    later = [
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {"role": "user", "content": "two, edited"},
        earlier[2],
    ]
    found = differences({"messages": earlier}, {"messages": later}, AT)
    assert [one.rule for one in found] == ["shape-changed", "message-edited"]
    first = diff({"messages": earlier}, {"messages": later}, AT)
    assert first is not None
    assert first.rule == "message-edited"


def test_arguments_in_another_order_of_keys_are_spelled_differently() -> None:
    def chat(arguments: str) -> dict[str, Any]:
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}

    one = diff(chat('{"a":1,"b":2}'), chat('{"b":2,"a":1}'), "openai_chat")
    assert one is not None
    assert one.rule == "shape-changed"
    assert one.where == "messages[0].tool_calls[0].function.arguments"


def test_several_causes_come_in_the_order_of_the_cache() -> None:
    earlier = {"model": "a", "system": "x", "messages": [{"role": "user", "content": "u"}]}
    later = {
        "model": "b",
        "tools": [{"name": "t"}],
        "system": "y",
        "thinking": {"type": "adaptive"},
        "messages": [{"role": "user", "content": "v"}],
    }
    assert [one.rule for one in differences(earlier, later, AT)] == [
        "model-changed",
        "tool-added",
        "system-changed",
        "setting-changed",
        "message-edited",
    ]


def test_the_schema_of_the_answer_is_part_of_the_prompt() -> None:
    said = {"messages": [{"role": "user", "content": "u"}]}
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
    one = diff(said, {**said, "response_format": schema}, "openai_chat")
    assert one is not None
    assert (one.rule, one.offset) == ("answer-format-changed", 0)
    assert diff(said, {**said, "response_format": {"type": "text"}}, "openai_chat") is None


def test_a_path_is_spelled_as_one_would_write_it() -> None:
    assert path_text(("messages", 3, "content", 0, "text")) == "messages[3].content[0].text"


def test_messages_that_are_all_alike_are_compared_in_linear_time() -> None:
    def work(size: int) -> None:
        same = [{"role": "user", "content": "again"}] * size
        other = [{"role": "user", "content": "once"}, *same]
        found = diff({"messages": same}, {"messages": other}, AT)
        assert found is not None
        assert found.rule == "message-inserted"

    work(100)
    # Sixteen times the messages; were it quadratic, 256 times the work.
    assert any(
        seconds_of(lambda: work(6_400)) < 60 * seconds_of(lambda: work(400)) for _ in range(3)
    )
