"""The tool list: one order, one spelling, settled over the requests of a conversation."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import json_bytes
from tenure.wire.layout_tools import ToolList, ordered_tools, tool_name, unavailable
from tests.cases import case_input

SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {}}, "required": ["b"]}


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": f"does {name}", "input_schema": SCHEMA, **more}


def _shuffled(value: Any, chance: Any) -> Any:
    """The value with the keys of every object in some order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: _shuffled(value[key], chance) for key in keys}
    return [_shuffled(v, chance) for v in value] if isinstance(value, list) else value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
names = st.sampled_from(["read", "grep", "srv_find", "zeta", "alpha"])
tools = st.builds(
    lambda name, schema, server: (
        {"type": "web_search_20260318", "name": name}
        if server
        else {"name": name, "description": name, "input_schema": schema}
    ),
    names,
    st.dictionaries(st.sampled_from(["type", "properties", "default", "x"]), json_values),
    st.booleans(),
)


@pytest.mark.fuzz
@given(st.lists(tools, max_size=6), st.randoms(use_true_random=False))
def test_a_set_of_tools_has_one_spelling(given_tools: list[Any], chance: Any) -> None:
    other = _shuffled(given_tools, chance)
    chance.shuffle(other)
    one, two = ordered_tools(given_tools), ordered_tools(other)
    assert json_bytes(list(one)) == json_bytes(list(two))
    assert ordered_tools(one) is one
    assert sorted(map(_canonical, one)) == sorted(map(_canonical, given_tools))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(st.lists(json_values, max_size=4))
def test_ordering_is_total_over_any_json(values: list[Any]) -> None:
    assert len(ordered_tools(values)) == len(values)


def test_the_providers_own_tools_come_first_in_every_api() -> None:
    chat = {"type": "function", "function": {"name": "alpha", "parameters": {}}}
    search = {"type": "web_search"}
    custom = {"type": "custom", "custom": {"name": "beta"}}
    found = ordered_tools([custom, chat, search])
    assert [tool_name(t) for t in found] == ["web_search", "alpha", "beta"]


def test_a_mark_stays_on_the_last_tool_that_may_have_one() -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}
    late = _tool("zz", defer_loading=True)
    found = ordered_tools([_tool("b", cache_control=mark), late, _tool("a")])
    assert [("cache_control" in t) for t in found] == [False, True, False]
    assert found[1]["cache_control"] == mark


def test_required_names_are_a_set_and_lists_in_data_are_not() -> None:
    one = _tool("f", input_schema={**SCHEMA, "required": ["b", "a"], "default": {
        "properties": {}, "required": ["z", "y"]}})  # fmt: skip
    (found,) = ordered_tools([one])
    assert found["input_schema"]["required"] == ["a", "b"]
    assert found["input_schema"]["default"]["required"] == ["z", "y"]


def test_case_048_tools_that_arrive_in_another_order_are_sent_alike() -> None:
    turns = case_input("048")["tools_each_turn"]
    settled, hashes = ToolList(), set()
    for turn in turns:
        settled, notes = settled.settle([_tool(name) for name in turn])
        assert notes == ()
        hashes.add(sha256(json_bytes(settled.tools)).hexdigest())
        hashes.add(sha256(json_bytes(list(ordered_tools([_tool(n) for n in turn])))).hexdigest())
    assert len(hashes) == 1


def test_case_049_a_tool_whose_server_flaps_stays_listed() -> None:
    turns = case_input("049")["tools_each_turn"]
    settled, sent, missing = ToolList(), [], []
    for turn in turns:
        settled, notes = settled.settle([_tool(name) for name in turn], resident=90_000)
        sent.append(json_bytes(settled.tools))
        missing.append(settled.missing)
        assert not any(note.breaks for note in notes)
    assert len(set(sent)) == 1
    assert missing == [(), ("srv_find",), ()]
    assert "unavailable" in unavailable("srv_find")


def test_case_049_a_list_that_must_change_is_told_to_miss_twice() -> None:
    turns = case_input("049")["tools_each_turn"]
    settled, broken = ToolList(keep=False), []
    for turn in turns:
        settled, notes = settled.settle([_tool(name) for name in turn], resident=90_000)
        broken += [note.words for note in notes if note.breaks]
    assert len(broken) == 2
    assert "two full misses" in broken[0]
    assert "90,000 tokens" in broken[1]


@pytest.mark.fuzz
@given(st.lists(st.lists(names, unique=True, max_size=5), min_size=1, max_size=6))
def test_a_settled_list_only_grows_at_its_end(turns: list[list[str]]) -> None:
    settled = ToolList()
    for number, turn in enumerate(turns):
        before = settled
        settled, notes = settled.settle([_tool(name) for name in turn])
        sent = [tool_name(t) for t in settled.tools]
        if number:
            assert settled.tools[: len(before.tools)] == before.tools
            assert any(n.breaks for n in notes) == (len(sent) > len(before.tools))
        assert set(settled.missing) == set(sent) - set(turn)
        assert set(turn) <= set(sent)


def test_a_real_change_of_a_definition_is_sent_and_priced() -> None:
    settled, _ = ToolList().settle([_tool("a"), _tool("b")])
    changed = _tool("a", description="does more")
    settled, (note,) = settled.settle([changed, _tool("b")], resident=5_000)
    assert settled.tools[0]["description"] == "does more"
    assert note.breaks
    assert "5,000 tokens" in note.words


def test_a_limit_that_changes_is_a_real_change_and_a_clock_is_not() -> None:
    settled, _ = ToolList().settle([_tool("a", description="Reads 5 files. Time is 10:00.")])
    same, (idle,) = settled.settle([_tool("a", description="Reads 5 files. Time is 10:05.")])
    assert same.tools == settled.tools
    assert not idle.breaks
    assert "clock" in idle.words
    other, (note,) = settled.settle([_tool("a", description="Reads 6 files. Time is 10:00.")])
    assert "6 files" in other.tools[0]["description"]
    assert note.breaks


def test_types_that_swap_between_properties_are_a_real_change() -> None:
    def schema(p: str, q: str) -> dict[str, Any]:
        return {"properties": {"p": {"description": "d", "type": p},
                               "q": {"description": "d", "type": q}}}  # fmt: skip

    settled, _ = ToolList().settle([_tool("a", input_schema=schema("string", "number"))])
    _, (note,) = settled.settle([_tool("a", input_schema=schema("number", "string"))])
    assert note.breaks
