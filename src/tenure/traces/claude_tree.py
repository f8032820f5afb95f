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


@dataclass(eq=False, slots=True)
class Chain:
    """One conversation: its own nodes in file order, and the one that it left at the first of them
    (None for the live one).

    What it inherits is made when asked for: most rewinds end before a reply, and a file of many has
    the same beginning as often.
    """

    own: list[Node]
    left: Chain | None
    _tree: _Tree
    _heard: list[Node] = field(default_factory=list)
    # Of each node from its first to its last one: how many of `_heard` there are with it, and the
    # last number of a result of the replies so far.
    _places: dict[Node, tuple[int, int]] = field(default_factory=dict)

    def inherited(self) -> list[Node]:
        """What had been said when its first node was, in file order."""
        pieces: list[list[Node]] = []
        chain = self
        while chain.left is not None:
            taken, beside = chain.left.leave(chain.own[0])
            pieces.append([*chain.left.heard()[:taken], *beside])
            chain = chain.left
        return [node for piece in reversed(pieces) for node in piece]

    def heard(self) -> list[Node]:
        """Its own nodes that lead to its end, and the results of the replies among them."""
        if self._heard:
            return self._heard
        path = _path(max(self.own, key=_tells), self._above)
        said = {one for node in path for one in self._tree.results.get(node, ())} | path
        self._heard = sorted(said, key=_number)
        latest = -1
        for count, node in enumerate(self._heard, 1):
            if node in path:
                latest = max(
                    [latest, *(one.number for one in self._tree.results.get(node, ())[-1:])]
                )
                self._places[node] = count, latest
        return self._heard

    def leave(self, first: Node) -> tuple[int, list[Node]]:
        """What of its own a branch takes along whose first node hangs on one of these.

        That many of `heard`, which come before the fork, and these nodes behind it: what leads from
        there to the first one, and results that were late.
        """
        self.heard()
        beside: set[Node] = set()
        node = first.parent
        while node is not None and node is not self._above and node not in self._places:
            beside.add(node)
            node = node.parent
        if node is None or node is self._above:
            return 0, sorted(beside, key=_number)
        fork = node
        while node is not None and node in self._places and self._places[node][1] > fork.number:
            results = self._tree.results.get(node, ())
            beside |= {one for one in results if fork.number < one.number < first.number}
            node = node.parent
        return self._places[fork][0], sorted(beside, key=_number)

    @property
    def _above(self) -> Node | None:
        """The node that its first one hangs on."""
        return self.own[0].parent if self.left is not None else None


def chains(nodes: Sequence[Node]) -> list[Chain]:
    """The live conversation first, then each one that was abandoned, in file order.

    A group of nodes is a first node with all that hangs on it (at the beginning: all nodes). Its
    live ones are a chain, and each tree of others that hangs on them is a group in its turn.
    """
    tree = _Tree.of(nodes)
    found: list[Chain] = []
    waiting: deque[tuple[list[Node], Chain | None]] = deque([(tree.tops, None)])
    while waiting:
        tops, left = waiting.popleft()
        live, branches = tree.split(tops)
        chain = Chain(live, left, tree)
        found.append(chain)
        waiting += [([first], chain) for first in branches]
    return found


@dataclass(slots=True)
class _Tree:
    """The nodes by parent, in file order, `tops` being those without one. `ends` has of each node
    the last one below it that says something: where that conversation stood when it ended."""

    tops: list[Node] = field(default_factory=list)
    children: dict[Node, list[Node]] = field(default_factory=dict)
    results: dict[Node, list[Node]] = field(default_factory=dict)
    ends: dict[Node, Node] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> _Tree:
        """The tree of nodes of which each stands behind its parent."""
        tree = cls()
        for node in nodes:
            parent = node.parent
            if parent is None:
                tree.tops.append(node)
                continue
            tree.children.setdefault(parent, []).append(node)
            if node.kind == "results" and parent.kind == "reply":
                tree.results.setdefault(parent, []).append(node)
        for node in reversed(nodes):
            end = tree.ends.setdefault(node, node)
            if node.parent is not None:
                best = tree.ends.get(node.parent, node.parent)
                tree.ends[node.parent] = max(best, end, key=_tells)
        return tree

    def split(self, tops: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """The live nodes of the group below these, and the first node of each abandoned branch."""
        path = _path(max((self.ends[top] for top in tops), key=_tells), until=tops[0].parent)
        live: list[Node] = []
        branches: list[Node] = []
        beside: set[Node] = set()  # off the live path, but sent: parallel results and what follows
        waiting: list[tuple[Node, bool]] = [(top, False) for top in tops]
        while waiting:
            node, parallel = waiting.pop()
            if parallel and node.kind != "reply" and node not in path:
                beside.add(node)
            elif node not in path and node.kind != "other":
                branches.append(node)
                continue
            live.append(node)
            waiting += [
                (child, child.kind == "results" or node in beside)
                for child in self.children.get(node, ())
            ]
        live.sort(key=_number)
        branches.sort(key=_number)
        return live, branches


def _tells(node: Node) -> tuple[bool, int]:
    """Of several nodes the conversation ends with the one for which this is greatest."""
    return node.kind != "other", node.number


def _path(leaf: Node | None, until: Node | None) -> set[Node]:
    """A node and its ancestors, up to the one below `until`."""
    path: set[Node] = set()
    node = leaf
    while node is not None and node is not until:
        path.add(node)
        node = node.parent
    return path


def _number(node: Node) -> int:
    return node.number
