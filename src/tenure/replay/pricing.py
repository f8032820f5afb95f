"""What a growing view costs with the prompt cache, request by request.

Invariant: only what changed since the last request is walked; the part of a view in front of the
first changed entry keeps its nodes of the prefix tree.

The cache marks are the session's own (`core.marks`), so that what is priced is what is sent.

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
    # The node after each entry of the view.
    _nodes: list[PrefixNode] = field(default_factory=list)

    def send(self, view: View, marks: Sequence[int], at: float) -> Usage:
        """The usage of a request with this view, at `at` seconds; output is not in it.

        `marks` are the entry counts after which the request is marked.
        """
        self._follow(view)
        nodes = [self._node(count) for count in marks] if self.cache.profile.max_marks else []
        node = self._node(len(self._nodes))
        usage = self.cache.request(node, [Mark(one) for one in nodes], at=at).usage
        self._refresh(node, usage.cache_read, at)
        return usage

    def _node(self, count: int) -> PrefixNode:
        """The prefix of that many entries."""
        return self._nodes[count - 1] if count else self._start()

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
        self._view = view
        node = self._node(len(self._nodes))
        for entry in view.entries[len(self._nodes) :]:
            node = self.cache.extend(node, self.sizes.segments(entry.message))
            self._nodes.append(node)

    def _refresh(self, node: PrefixNode, read: int, at: float) -> None:
        for found, entry in node.nearest_written():
            if found.tokens <= read and entry.live(at):
                entry.expires = max(entry.expires, at + entry.ttl)
