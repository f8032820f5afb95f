"""What a growing view costs with the prompt cache, request by request.

Invariant: only what changed since the last request is walked; the part of a view in front of the
first changed entry keeps its nodes of the prefix tree.

Where the cache marks are, the same for every policy, four at most as Anthropic allows:

1. after the hidden text;
2. at the longest marked prefix of earlier requests that this one still begins with: where it differs
   from them, the lookback of 20 positions would often not reach back to it;
3. after the last edited message, since the next edits will most likely begin behind it;
4. at the end, as the provider's automatic mark does.

So an edit at offset a loses what follows a and little more, which is what the economics of
architecture.md section 6 suppose. A client that does not know its own edits would lose more.

A read keeps the shorter prefixes of what it read alive too: the provider refreshes cached content
whenever it is used, and the content of a shorter prefix is used with the longer one's.
"""

from __future__ import annotations

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
    # The node after each entry of the view; the entry counts that were marked, in order; and the
    # number of entries up to the last edited one.
    _nodes: list[PrefixNode] = field(default_factory=list)
    _marked: list[int] = field(default_factory=list)
    _edited: int = 0

    def send(self, view: View, at: float) -> Usage:
        """The usage of a request with this view, at `at` seconds; output is not in it."""
        self._follow(view)
        places = self._places() if self.cache.profile.max_marks else []
        nodes = [self._node(count) for count in places]
        node = self._node(len(self._nodes))
        usage = self.cache.request(node, [Mark(one) for one in nodes], at=at).usage
        self._refresh(node, usage.cache_read, at)
        self._marked += [count for count in places if count not in self._marked]
        self._marked.sort()
        return usage

    def _node(self, count: int) -> PrefixNode:
        """The prefix of that many entries."""
        return self._nodes[count - 1] if count else self._start()

    def _places(self) -> list[int]:
        """The entry counts to mark, in order."""
        longest = self._marked[-1] if self._marked else 0
        return sorted({0, longest, self._edited, len(self._nodes)})

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
            self._marked = [count for count in self._marked if count <= keep]
            edited = [n for n, entry in enumerate(view.entries, 1) if entry.edits]
            self._edited = max(edited, default=0)
        self._view = view
        node = self._node(len(self._nodes))
        for entry in view.entries[len(self._nodes) :]:
            node = self.cache.extend(node, self.sizes.segments(entry.message))
            self._nodes.append(node)

    def _refresh(self, node: PrefixNode, read: int, at: float) -> None:
        for found, entry in node.nearest_written():
            if found.tokens <= read and entry.live(at):
                entry.expires = max(entry.expires, at + entry.ttl)
