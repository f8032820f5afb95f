"""Which nodes are a conversation, against a plain definition; and how the work grows with rewinds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.traces.claude_tree import Node, NodeKind, chains
from tests.effort import seconds_of
from tests.traces.rows import boundary, reply, text, trace_of, user

Numbers = list[int]
KINDS: tuple[NodeKind, ...] = ("reply", "results", "words", "other")


@st.composite
def forests(draw: st.DrawFn) -> list[Node]:
    """Nodes of all kinds, each behind its parent; some hang deep, some far back, some on none."""
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 16))):
        kind = draw(st.sampled_from(KINDS))
        near = draw(st.booleans())
        places = range(len(nodes))[-2:] if near else range(len(nodes))
        parent = draw(st.sampled_from([None, *(nodes[place] for place in places)]))
        nodes.append(Node(2 * number, kind, [], parent))
    return nodes


@given(forests())
def test_chains_are_what_the_plain_definition_says(nodes: list[Node]) -> None:
    found = [(numbers(one.inherited()), numbers(one.own)) for one in chains(nodes)]
    assert found == plain_chains(nodes)


@given(forests())
def test_every_node_is_in_exactly_one_chain(nodes: list[Node]) -> None:
    own = [number for one in chains(nodes) for number in numbers(one.own)]
    assert sorted(own) == numbers(nodes)


def plain_chains(nodes: Sequence[Node]) -> list[tuple[Numbers, Numbers]]:
    """Inherited and own nodes of each chain, step by step and without haste."""
    found: list[tuple[Numbers, Numbers]] = []
    groups: list[tuple[Sequence[Node], list[Node]]] = [(nodes, [])]
    while groups:
        members, inherited = groups.pop(0)
        said = [node for node in members if node.kind != "other"]
        path = ancestry(said[-1] if said else members[-1])
        live: list[Node] = []
        beside: list[Node] = []
        branches: list[list[Node]] = []
        for node in members:
            branch = next((one for one in branches if node.parent in one), None)
            answers = node.kind == "results" and node.parent in live
            if node not in path and node.kind != "reply" and (answers or node.parent in beside):
                beside.append(node)
            if node in path or node in beside or (node.kind == "other" and branch is None):
                live.append(node)
            elif branch is not None:
                branch.append(node)
            else:
                branches.append([node])
        all_said = [*inherited, *live]
        found.append((numbers(inherited), numbers(live)))
        groups += [(branch, plain_before(branch[0], all_said)) for branch in branches]
    return found


def plain_before(first: Node, said: Sequence[Node]) -> list[Node]:
    """Of what was said: its ancestors, and the earlier results of replies among them."""
    above = [node for node in said if node in ancestry(first)]
    replies = [node for node in above if node.kind == "reply"]
    return [
        node
        for node in said
        if node in above
        or (node.kind == "results" and node.parent in replies and node.number < first.number)
    ]


def ancestry(node: Node | None) -> list[Node]:
    found: list[Node] = []
    while node is not None:
        found.append(node)
        node = node.parent
    return found


def numbers(nodes: Sequence[Node]) -> Numbers:
    return [node.number for node in nodes]


def taken_back_at_once(count: int) -> list[Any]:
    """A person says the same thing again and again, each time in the place of the last."""
    rows: list[Any] = [user("u", None, "go"), reply("a", "u", "m", text("hi"))]
    return rows + [user(f"x{n}", "a", "again") for n in range(count)]


def taken_back_each_turn(count: int) -> list[Any]:
    """Before each turn of a long session the person takes one message back."""
    rows: list[Any] = [user("u0", None, "go")]
    for n in range(count // 3):
        rows.append(reply(f"a{n}", f"u{n}", f"m{n}", text("hi")))
        rows += [user(f"x{n}", f"a{n}", "oops"), user(f"u{n + 1}", f"a{n}", "again")]
    return rows


def answered_and_taken_back(count: int) -> list[Any]:
    """The person tries many questions on the same beginning, and gets a reply to each."""
    rows: list[Any] = [user("u", None, "go"), reply("a", "u", "m", text("hi"))]
    for n in range(count // 2):
        rows += [user(f"x{n}", "a", "or this?"), reply(f"y{n}", f"x{n}", f"m{n}", text("no"))]
    return rows


def taken_back_step_by_step(count: int) -> list[Any]:
    """After a long session the person goes back one turn further each time, saying little."""
    rows: list[Any] = [user("u0", None, "go")]
    rows += [user(f"u{n}", f"u{n - 1}", "and") for n in range(1, count // 2)]
    return rows + [user(f"x{n}", f"u{n}", "no") for n in reversed(range(count // 2))]


SHAPES = [
    taken_back_at_once,
    taken_back_each_turn,
    answered_and_taken_back,
    taken_back_step_by_step,
]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_rows_not_with_rows_times_rewinds(shape: Any) -> None:
    short = min(seconds_of(partial(trace_of, shape(1_000))) for _ in range(3)) / 1_000
    rows = shape(16_000)
    # A busy machine slows one measurement down, never three.
    assert any(seconds_of(partial(trace_of, rows)) / 16_000 < 5 * short for _ in range(3))


def test_a_rewind_reaches_no_further_back_than_the_last_compaction() -> None:
    rows = [
        user("u", None, "old"),
        reply("a", "u", "m1", text("old too")),
        boundary("b", 9_000),
        user("s", "b", "summary", isCompactSummary=True),
        reply("c", "s", "m2", text("on")),
        user("x", "c", "oops"),
        reply("y", "x", "m3", text("bad")),
        user("v", "c", "well"),
        reply("d", "v", "m4", text("good")),
    ]
    trace = trace_of(rows)
    (back,) = (one for one in trace.threads if one.steps[0].request_id == "m3")
    said = [one.data["content"] for one in back.request(0)]
    assert [one if isinstance(one, str) else one[0]["text"] for one in said] == [
        "summary",
        "on",
        "oops",
    ]
