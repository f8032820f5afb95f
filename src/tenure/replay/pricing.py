"""What a growing view costs with the prompt cache, request by request.

Invariant: only what changed since the last request is walked; the part of a view in front of the
first changed entry keeps its nodes of the prefix tree.

Where the cache marks are, the same for every policy: after the hidden text, at the end of the
request (the provider's automatic mark), and at the longest earlier request that this one still
begins with. The last is what a client places that knows its own edits: without it the lookback of
20 positions would lose the whole prefix at an edit, not only what follows it.

A read keeps the shorter prefixes of what it read alive too: the provider refreshes cached content
whenever it is used, and the content of a shorter prefix is used with the longer one's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenure.core.usage import Usage
from tenure.core.view import View
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment
from tenure.replay.sizes import Sizes


@dataclass(slots=True)
class PricedView:
    """The requests of one session in one cache. `owner` names whose hidden text it is: sessions
    with equal owners and equal lengths of it share that prefix."""

    cache: PrefixCache
    sizes: Sizes
    owner: str
    _view: View | None = None
    _head: PrefixNode | None = None
    # The node after each entry of the view, and the entry counts at which requests ended.
    _nodes: list[PrefixNode] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def send(self, view: View, at: float) -> Usage:
        """The usage of a request with this view, at `at` seconds; output is not in it."""
        self._follow(view)
        node = self._nodes[-1] if self._nodes else self._start()
        marks = self._marks(node) if self.cache.profile.max_marks else ()
        usage = self.cache.request(node, marks, at=at).usage
        self._refresh(node, usage.cache_read, at)
        self._ends.append(len(self._nodes))
        return usage

    def _start(self) -> PrefixNode:
        if self._head is None:
            hidden = self.sizes.hidden
            head = [Segment((self.owner, hidden), hidden)] if hidden else []
            self._head = self.cache.extend(self.cache.root, head)
        return self._head

    def _follow(self, view: View) -> None:
        if self._view is not None and view is not self._view:
            keep = view.first_change(self._view)
            del self._nodes[keep:]
            while self._ends and self._ends[-1] > keep:
                self._ends.pop()
        self._view = view
        node = self._nodes[-1] if self._nodes else self._start()
        for entry in view.entries[len(self._nodes) :]:
            node = self.cache.extend(node, self.sizes.segments(entry.message))
            self._nodes.append(node)

    def _marks(self, node: PrefixNode) -> Sequence[Mark]:
        places = [self._start(), node]
        if self._ends and self._ends[-1]:
            places.insert(1, self._nodes[self._ends[-1] - 1])
        return [Mark(place) for place in places]

    def _refresh(self, node: PrefixNode, read: int, at: float) -> None:
        for found, entry in node.nearest_written():
            if found.tokens <= read and entry.live(at):
                entry.expires = max(entry.expires, at + entry.ttl)
