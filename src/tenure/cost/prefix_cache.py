"""A simulated prompt cache: how much of a request is read, written and fresh, and why not more.

Invariant: read + written + fresh is the prompt, always; time is an argument and calls come in the
order of their time. One `PrefixCache` stands for one model in one workspace: a switch of model is
another cache, since providers never read across models.

Rules (Anthropic docs, prompt caching, Aug 2026; OpenAI docs, prompt caching; see `ModelProfile`):

- Marks: entries are written only at marks, at most `max_marks`, those with the long TTL first. A
  read walks back from each mark over at most `lookback` positions (the mark is the first) to an
  entry that is alive. Lifetimes count from the start of the request; a read renews what it read.
- Automatic: the longest prefix shared with an earlier request is read, in multiples of `step`.
- Below `cache_minimum` tokens nothing is cached, silently.
- An entry can be read once the first response has begun (`ready`).

Simplified: segments change as a whole, so a changed one shares nothing with its predecessor; an
entry keeps the TTL it was written with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile
from tenure.cost.prefix_tree import Entry, PrefixNode, PrefixTree, Segment


class CauseKind(StrEnum):
    """Why a request read less than its whole earlier prefix."""

    NO_CACHE = "the model has no cache"
    NO_MARK = "no cache mark"
    BELOW_MINIMUM = "below minimum"
    FIRST = "first request"
    NEVER_WRITTEN = "no earlier request wrote a prefix of this one"
    EXPIRED = "expired"
    NOT_READY = "written by a request whose response has not begun"
    LOOKBACK = "beyond lookback"
    CHANGED = "prefix changed"


class Cause(NamedTuple):
    """A kind, and for CHANGED the index of the first segment that no earlier request shares."""

    kind: CauseKind
    segment: int | None = None

    def __str__(self) -> str:
        return self.kind.value + ("" if self.segment is None else f" at segment {self.segment}")


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache mark after the last segment of `node`; `long` asks for the long TTL."""

    node: PrefixNode
    long: bool = False


@dataclass(frozen=True, slots=True)
class CacheOutcome:
    """What the provider would report (no output), and why it did not read more.

    `cause` is None when everything was read that the request's earlier prefix had in the cache.
    """

    usage: Usage
    cause: Cause | None


class PrefixCache:
    """The cache of one model in one workspace, over a prefix tree of all its requests.

    >>> from tenure.cost.models import profile
    >>> cache = PrefixCache(profile("claude-opus-5-5"))
    >>> node = cache.extend(cache.root, [Segment("system", 4000), Segment("question", 100)])
    >>> cache.request(node, [Mark(node)], at=0).usage.cache_write
    4100
    >>> node = cache.extend(node, [Segment("answer", 50), Segment("next", 20)])
    >>> cache.request(node, [Mark(node)], at=60).usage.cache_read
    4100

    The tree is never pruned: its size is that of all distinct segments it was given.
    """

    __slots__ = ("_requests", "_tree", "profile")

    def __init__(self, profile: ModelProfile) -> None:
        self.profile = profile
        self._tree = PrefixTree()
        self._requests = 0

    @property
    def root(self) -> PrefixNode:
        """The empty prefix."""
        return self._tree.root

    def extend(self, node: PrefixNode, segments: Iterable[Segment]) -> PrefixNode:
        """The node of a longer prompt; time is proportional to the segments given."""
        return self._tree.extend(node, segments)

    def warm(self, node: PrefixNode, at: float) -> int:
        """Tokens of this prefix that the cache still holds at `at`, marks and lookback aside."""
        held = node.reached() if self.profile.automatic else node.nearest_written()
        return max((self._length(found) for found, entry in held if entry.live(at)), default=0)

    def request(
        self,
        node: PrefixNode,
        marks: Sequence[Mark] = (),
        *,
        at: float,
        ready: float | None = None,
    ) -> CacheOutcome:
        """Send the prompt that ends at `node` at time `at` (seconds); the cache learns from it.

        `marks` lie on the prefix. An automatic provider needs none; a long one there asks for the
        long TTL. `ready` is when the response begins (default: at once). Raises ValueError for
        marks that the provider would refuse.
        """
        self._check(node, marks)
        ready = at if ready is None else ready
        shared = self._tree.shared(node)
        if not self.profile.caches:
            outcome = CacheOutcome(Usage(fresh=node.tokens), Cause(CauseKind.NO_CACHE))
        elif self.profile.automatic:
            outcome = self._automatic(node, shared, long=_any_long(marks), at=at, ready=ready)
        else:
            outcome = self._marked(node, shared, marks, at=at, ready=ready)
        self._tree.use(node)
        self._requests += 1
        return outcome

    def _marked(
        self,
        node: PrefixNode,
        shared: PrefixNode | None,
        marks: Sequence[Mark],
        *,
        at: float,
        ready: float,
    ) -> CacheOutcome:
        """Anthropic's rule."""
        eligible = [mark for mark in marks if mark.node.tokens >= self.profile.cache_minimum]
        earlier = next(node.nearest_written(), None)
        read = 0
        for mark in eligible:
            hit = self._look_back(mark.node, at)
            if hit is not None:
                found, entry = hit
                entry.expires = max(entry.expires, at + entry.ttl)
                read = max(read, found.tokens)
        cause = self._cause(shared, read, earlier, at)
        if not eligible:
            kind = CauseKind.BELOW_MINIMUM if marks else CauseKind.NO_MARK
            return CacheOutcome(Usage(fresh=node.tokens), Cause(kind))
        for mark in eligible:
            present = mark.node.lane.entries.get(mark.node.index)
            if present is None or not present.live(at):
                ttl = self.profile.ttl_long if mark.long else self.profile.ttl_short
                mark.node.lane.write(mark.node.index, Entry(at + ttl, ttl, ready))
        end = max(mark.node.tokens for mark in eligible)
        long_end = max((mark.node.tokens for mark in eligible if mark.long), default=0)
        usage = Usage(
            fresh=node.tokens - max(end, read),
            cache_read=read,
            cache_write=max(0, end - read),
            cache_write_1h=max(0, long_end - read),
        )
        return CacheOutcome(usage, cause)

    def _look_back(self, mark: PrefixNode, at: float) -> tuple[PrefixNode, Entry] | None:
        limit = self.profile.lookback
        for found, entry in mark.nearest_written():
            if limit is not None and mark.position - found.position >= limit:
                return None
            if entry.live(at):
                return found, entry
        return None

    def _automatic(
        self, node: PrefixNode, shared: PrefixNode | None, *, long: bool, at: float, ready: float
    ) -> CacheOutcome:
        """OpenAI's rule; a write is reported only where it costs more than plain input."""
        cacheable = self._length(node)
        if not cacheable:
            return CacheOutcome(Usage(fresh=node.tokens), Cause(CauseKind.BELOW_MINIMUM))
        read = self.warm(node, at)
        cause = self._cause(shared, read, next(node.reached(), None), at)
        paid = self.profile.write_long if long else self.profile.write
        written = cacheable - read if paid is not None and paid != 1 else 0
        ttl = self.profile.ttl_long if long else self.profile.ttl_short
        for lane, index in node.path():
            was_there = any(depth >= index and entry.live(at) for depth, entry in lane.reach)
            lane.extend_reach(index, Entry(at + ttl, ttl, at if was_there else ready), at)
        usage = Usage(
            fresh=node.tokens - read - written,
            cache_read=read,
            cache_write=written,
            cache_write_1h=written if long else 0,
        )
        return CacheOutcome(usage, cause)

    def _cause(
        self,
        shared: PrefixNode | None,
        read: int,
        earlier: tuple[PrefixNode, Entry] | None,
        at: float,
    ) -> Cause | None:
        """Why `read` tokens and not more; `earlier` is the longest prefix ever cached."""
        if not self._requests:
            return Cause(CauseKind.FIRST)
        if shared is None:
            return Cause(CauseKind.CHANGED, 0)
        appended = shared.index in shared.lane.stops
        if earlier is None or not self._length(earlier[0]):
            return Cause(CauseKind.NEVER_WRITTEN) if appended else _changed(shared)
        found, entry = earlier
        if read < self._length(found):
            if entry.expires < at:
                return Cause(CauseKind.EXPIRED)
            return Cause(CauseKind.NOT_READY if entry.ready > at else CauseKind.LOOKBACK)
        return None if appended else _changed(shared)

    def _length(self, node: PrefixNode) -> int:
        """How much of a prefix the provider can cache."""
        whole = node.tokens - node.tokens % self.profile.step
        return whole if whole >= self.profile.cache_minimum else 0

    def _check(self, node: PrefixNode, marks: Sequence[Mark]) -> None:
        if self.profile.max_marks and len(marks) > self.profile.max_marks:
            allowed = self.profile.max_marks
            raise ValueError(f"{len(marks)} cache marks, {self.profile.name} takes {allowed}")
        shorts = [mark.node.tokens for mark in marks if not mark.long]
        for mark in marks:
            if not node.extends(mark.node):
                raise ValueError("a cache mark is not on the prefix of its request")
            if mark.long and not self.profile.ttl_long:
                raise ValueError(f"{self.profile.name} has no long TTL: use a short mark")
            if mark.long and any(short < mark.node.tokens for short in shorts):
                raise ValueError("marks with the long TTL come before those with the short one")


def _changed(shared: PrefixNode) -> Cause:
    return Cause(CauseKind.CHANGED, shared.depth)


def _any_long(marks: Sequence[Mark]) -> bool:
    return any(mark.long for mark in marks)
