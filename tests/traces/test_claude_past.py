"""What a rewound conversation inherits is what saying it all again would give, and is made once."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tenure.core.message import Message
from tenure.traces.claude_past import Past, Pasts, arrivals_of, reply_of
from tenure.traces.claude_tree import Node, Row, chains
from tests.traces import rows
from tests.traces.test_claude_tree import forests


def spoken(nodes: list[Node]) -> list[Node]:
    """The nodes with a row each, which says its number."""
    for node in nodes:
        node.rows = [Row(node.number, node.number, row_of(node))]
    return nodes


def row_of(node: Node) -> dict[str, Any]:
    name = str(node.number)
    match node.kind:
        case "reply":
            return rows.reply(name, None, name, rows.call(name))
        case "results":
            return rows.user(name, None, [rows.tool_result(name, "x"), rows.text(f"beside {name}")])
        case "words":
            return rows.user(name, None, name)
        case "other":
            return {"type": "system", "uuid": name}


def plain_past(nodes: list[Node]) -> Past:
    """The nodes' messages, one reply after the other."""
    said: list[Message] = []
    last: Node | None = None
    behind: list[Node] = []
    for node in nodes:
        if node.kind == "reply":
            said += [*arrivals_of(behind), reply_of(node)]
            last, behind = node, []
        elif node.kind != "other":
            behind.append(node)
    return Past(said, last, behind)


@given(forests())
def test_the_past_of_a_chain_is_that_of_the_nodes_it_inherits(nodes: list[Node]) -> None:
    found = chains(spoken(nodes))
    pasts = Pasts()
    for chain in reversed(found):
        assert pasts.of(chain) == plain_past(chain.inherited())


@given(forests())
def test_chains_that_inherit_the_same_messages_share_them(nodes: list[Node]) -> None:
    pasts = Pasts()
    made: dict[tuple[bytes, ...], Message] = {}
    for chain in chains(spoken(nodes)):
        said = pasts.of(chain).said
        for place, message in enumerate(said):
            line = tuple(one.raw for one in said[: place + 1])
            assert made.setdefault(line, message) is message
