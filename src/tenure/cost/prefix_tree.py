"""A prefix tree of requests, built so that growing at the end costs only what is new.

Invariant: a node stands for one exact sequence of segments from the first on; equal sequences are
the same node, whoever extended to them. Awkward on purpose: a chain without branches is one `Lane`
(arrays), not a node per segment, so that a session of 10,000 steps is one lane and a question about
"the nearest ancestor that ..." is a binary search instead of a walk.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

RUNS = frozenset({"tool_use", "tool_result"})
"""Kinds of which consecutive segments count as one position of the lookback (Anthropic docs,
prompt caching: a run of tool_use, and a run of tool_result, is one position)."""


class Segment(NamedTuple):
    """A piece of the prompt that changes as a whole: system, the tool list, one content block.

    `key` identifies the content (two segments with equal keys are the same bytes), `tokens` is its
    length, `kind` its block type; only "tool_use" and "tool_result" mean something here.
    """

    key: Hashable
    tokens: int
    kind: str = "text"


@dataclass(slots=True)
class Entry:
    """A cached prefix: readable from `ready` on until `expires` (both seconds, inclusive)."""

    expires: float
    ttl: float
    ready: float

    def live(self, at: float) -> bool:
        """Whether a request that starts at `at` can read it."""
        return self.ready <= at <= self.expires


@dataclass(slots=True, eq=False)
class Lane:
    """A chain of segments without branches; index -1 means the node it hangs from."""

    parent: PrefixNode | None = None
    offset: int = 0  # how many segments come before the first of this lane
    segments: list[Segment] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # tokens up to and including the segment
    positions: list[int] = field(default_factory=list)  # lookback positions likewise
    branches: dict[tuple[int, Hashable], Lane] = field(default_factory=dict)
    used: int = -1  # deepest index that a request has sent
    stops: set[int] = field(default_factory=set)  # indexes at which a request ended
    entries: dict[int, Entry] = field(default_factory=dict)  # written at marks
    written: list[int] = field(default_factory=list)  # sorted keys of `entries`
    reach: list[tuple[int, Entry]] = field(default_factory=list)  # automatic caches, deepest first

    def append(self, segment: Segment) -> None:
        """Grow at the end, keeping the running totals."""
        if self.segments:
            end, position, kind = self.ends[-1], self.positions[-1], self.segments[-1].kind
        elif self.parent is not None:
            end, position, kind = self.parent.tokens, self.parent.position, self.parent.kind
        else:
            end, position, kind = 0, 0, ""
        in_run = segment.kind == kind and kind in RUNS
        self.segments.append(segment)
        self.ends.append(end + segment.tokens)
        self.positions.append(position if in_run else position + 1)

    def write(self, index: int, entry: Entry) -> None:
        """Put an entry at a mark; one that was there is replaced."""
        if index not in self.entries:
            insort(self.written, index)
        self.entries[index] = entry

    def extend_reach(self, index: int, entry: Entry, at: float) -> None:
        """Note that an automatic cache holds this lane up to `index`; what it outdoes is dropped."""
        kept: list[tuple[int, Entry]] = []
        best = float("-inf")
        for depth, one in sorted([*self.reach, (index, entry)], key=lambda item: -item[0]):
            if one.expires > best:
                kept.append((depth, one))
                # An entry that is not yet readable must not hide one that is.
                best = one.expires if one.ready <= at else best
        self.reach = kept


@dataclass(frozen=True, slots=True)
class PrefixNode:
    """The prefix that ends with one segment (or the empty one). Opaque; equal when identical."""

    lane: Lane
    index: int

    @property
    def tokens(self) -> int:
        """Length of the whole prefix."""
        return self.lane.ends[self.index] if self.index >= 0 else 0

    @property
    def position(self) -> int:
        return self.lane.positions[self.index] if self.index >= 0 else 0

    @property
    def kind(self) -> str:
        return self.lane.segments[self.index].kind if self.index >= 0 else ""

    @property
    def depth(self) -> int:
        """How many segments the prefix has."""
        return self.lane.offset + self.index + 1

    def path(self) -> Iterator[tuple[Lane, int]]:
        """The lanes from here to the root, each with the deepest index that is on the way."""
        node: PrefixNode | None = self
        while node is not None:
            if node.index >= 0:
                yield node.lane, node.index
            node = node.lane.parent

    def extends(self, other: PrefixNode) -> bool:
        """Whether `other` is this prefix or a shorter one of the same segments."""
        if other.index < 0:
            return True
        return any(lane is other.lane and other.index <= index for lane, index in self.path())

    def nearest_written(self) -> Iterator[tuple[PrefixNode, Entry]]:
        """Entries that marks wrote on the way to the root, the longest prefix first."""
        for lane, index in self.path():
            for place in range(bisect_right(lane.written, index) - 1, -1, -1):
                found = lane.written[place]
                yield PrefixNode(lane, found), lane.entries[found]

    def reached(self) -> Iterator[tuple[PrefixNode, Entry]]:
        """What an automatic cache holds on the way to the root, the longest prefix first.

        The yielded node may be shorter than what is held: it is the part shared with this prefix.
        """
        for lane, index in self.path():
            for depth, entry in lane.reach:
                yield PrefixNode(lane, min(depth, index)), entry


class PrefixTree:
    """All prefixes that were ever asked for; sessions and forks share what they have in common.

    Time of `extend` is proportional to the segments given, whatever the node's depth.
    """

    __slots__ = ("root",)

    def __init__(self) -> None:
        self.root = PrefixNode(Lane(), -1)

    def extend(self, node: PrefixNode, segments: Iterable[Segment]) -> PrefixNode:
        """The node for `node`'s prefix followed by these segments.

        A key that was seen at this place before keeps the token count it had then.
        """
        lane, index = node.lane, node.index
        for segment in segments:
            following = index + 1
            if following == len(lane.segments):
                lane.append(segment)
            elif lane.segments[following].key != segment.key:
                branch = lane.branches.get((index, segment.key))
                if branch is None:
                    base = PrefixNode(lane, index)
                    branch = Lane(base if index >= 0 else None, base.depth)
                    branch.append(segment)
                    lane.branches[index, segment.key] = branch
                lane, following = branch, 0
            index = following
        return PrefixNode(lane, index)

    @staticmethod
    def shared(node: PrefixNode) -> PrefixNode | None:
        """The longest prefix of `node` that a request has sent; None when not even one segment."""
        for lane, index in node.path():
            if lane.used >= 0:
                return PrefixNode(lane, min(index, lane.used))
        return None

    @staticmethod
    def use(node: PrefixNode) -> None:
        """Note that a request ended here."""
        if node.index >= 0:
            node.lane.stops.add(node.index)
        for lane, index in node.path():
            if lane.used >= index:
                return  # then its ancestors were noted by the request that came this far
            lane.used = index
