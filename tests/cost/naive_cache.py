"""A second implementation of the cache rules, slow and plain, to check the fast one against.

Invariant: no tree, no lanes, no search: prefixes are tuples and every question is a loop over them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenure.cost.models import ModelProfile
from tenure.cost.prefix_tree import Segment

Prefix = tuple[Segment, ...]


def size(prefix: Prefix) -> int:
    return sum(segment.tokens for segment in prefix)


def positions(prefix: Prefix) -> int:
    """Segments, a run of tool_use or of tool_result being one."""
    count, before = 0, ""
    for segment in prefix:
        if segment.kind != before or segment.kind not in {"tool_use", "tool_result"}:
            count += 1
        before = segment.kind
    return count


@dataclass
class NaiveCache:
    """`marked` and `automatic` give (read, written, written with the long TTL, fresh)."""

    profile: ModelProfile
    entries: dict[Prefix, list[float]] = field(default_factory=dict)  # [expires, ttl]

    def marked(
        self, prefix: Prefix, marks: list[tuple[int, bool]], at: float
    ) -> tuple[int, int, int, int]:
        """`marks` are (number of segments before the mark, long)."""
        eligible = [
            (prefix[:length], long)
            for length, long in marks
            if size(prefix[:length]) >= self.profile.cache_minimum
        ]
        read = 0
        for marked, _ in eligible:
            for length in range(len(marked), 0, -1):
                candidate = marked[:length]
                lookback = self.profile.lookback
                if lookback and positions(marked) - positions(candidate) >= lookback:
                    break
                entry = self.entries.get(candidate)
                if entry is not None and entry[0] >= at:
                    entry[0] = max(entry[0], at + entry[1])
                    read = max(read, size(candidate))
                    break
        for marked, long in eligible:
            entry = self.entries.get(marked)
            if entry is None or entry[0] < at:
                ttl = self.profile.ttl_long if long else self.profile.ttl_short
                self.entries[marked] = [at + ttl, ttl]
        end = max((size(marked) for marked, _ in eligible), default=0)
        end_long = max((size(marked) for marked, long in eligible if long), default=0)
        written = max(0, end - read)
        return read, written, max(0, end_long - read), size(prefix) - read - written

    def automatic(self, prefix: Prefix, at: float) -> tuple[int, int, int, int]:
        whole = self._cacheable(size(prefix))
        read = 0
        for earlier, (expires, _) in self.entries.items():
            if expires >= at:
                shared = 0
                while shared < min(len(earlier), len(prefix)) and earlier[shared] == prefix[shared]:
                    shared += 1
                read = max(read, self._cacheable(size(prefix[:shared])))
        if whole:
            self.entries[prefix] = [at + self.profile.ttl_short, self.profile.ttl_short]
        written = max(0, whole - read) if self.profile.write != 1 else 0
        return read, written, 0, size(prefix) - read - written

    def _cacheable(self, tokens: int) -> int:
        whole = tokens // self.profile.step * self.profile.step
        return whole if whole >= self.profile.cache_minimum else 0
