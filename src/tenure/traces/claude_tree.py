"""The uuid tree of a Claude Code file: which rows the session kept, and which it abandoned.

Invariant: every node is in exactly one chain; a node's parent stands before it in the file.

Rows point at their parent by uuid. Rows of one message id are one reply and make one node. A call's
result points at the row of the call, so parallel calls look like forks; they are none: all results
of a live reply are live. A fork that is none of these is a rewind: the person went back and said
something else, and what was said before is a chain of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

NodeKind = Literal["reply", "results", "words", "other"]


class Row(NamedTuple):
    """One row of the file; line from 1, offset in bytes."""

    line: int
    offset: int
    data: dict[str, Any]


@dataclass(eq=False, slots=True)
class Node:
    """One row, or all rows of one reply. `other` rows are links of the tree and nothing else."""

    number: int
    kind: NodeKind
    rows: list[Row] = field(default_factory=list)
    parent: Node | None = None


class Chain(NamedTuple):
    """One conversation: its nodes in file order, the first `inherited` of another chain."""

    nodes: list[Node]
    inherited: int = 0


def chains(nodes: Sequence[Node]) -> list[Chain]:
    """The live conversation first, then each one that was abandoned, in file order."""
    found: list[Chain] = []
    waiting: deque[tuple[Sequence[Node], list[Node]]] = deque([(nodes, [])])
    while waiting:
        members, inherited = waiting.popleft()
        live, branches = _split(members)
        found.append(Chain([*inherited, *live], len(inherited)))
        for branch in branches:
            waiting.append((branch, _before(branch[0], [*inherited, *live])))
    return found


def _split(nodes: Sequence[Node]) -> tuple[list[Node], list[list[Node]]]:
    """The live nodes, and the abandoned ones by the fork they hang on."""
    path = _path_to(_leaf(nodes))
    live: list[Node] = []
    beside: set[Node] = set()  # off the live path, but sent: parallel results and what follows them
    branch_of: dict[Node, int] = {}
    branches: list[list[Node]] = []
    kept: set[Node] = set()
    for node in nodes:
        parent = node.parent
        parallel = (node.kind == "results" and parent in kept) or parent in beside
        if parallel and node.kind != "reply" and node not in path:
            beside.add(node)
        idle = node.kind == "other" and parent not in branch_of
        if node in path or node in beside or idle:
            kept.add(node)
            live.append(node)
            continue
        branch = branch_of.get(parent) if parent is not None else None
        if branch is None:
            branch = len(branches)
            branches.append([])
        branch_of[node] = branch
        branches[branch].append(node)
    return live, branches


def _leaf(nodes: Sequence[Node]) -> Node:
    """The last node that says something: where the session stood when it ended."""
    return next((node for node in reversed(nodes) if node.kind != "other"), nodes[-1])


def _path_to(leaf: Node) -> set[Node]:
    path: set[Node] = set()
    node: Node | None = leaf
    while node is not None:
        path.add(node)
        node = node.parent
    return path


def _before(first: Node, nodes: list[Node]) -> list[Node]:
    """What had been said when `first`, a child of one of the nodes, was."""
    path = _path_to(first)
    said = [node for node in nodes if node in path]
    replies = {node for node in said if node.kind == "reply"}
    return [
        node
        for node in nodes
        if node.number < first.number
        and (node in path or (node.kind == "results" and node.parent in replies))
    ]
