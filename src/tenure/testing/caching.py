"""The provider's prompt cache as the scripted server bills it: `tenure.cost` with a lock.

Invariant: one cache per model, shared by all conversations of a server, as in one workspace.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import Segment
from tenure.testing.prompt import PromptBlock

LONG_TTL = 3_600.0
"""Seconds from which a mark counts as one with the long lifetime."""


class PromptCache:
    """Live prefixes of all conversations of one server; safe to call from several threads."""

    def __init__(self) -> None:
        self._caches: dict[str, PrefixCache] = {}
        self._lock = threading.Lock()

    def bill(
        self,
        model: ModelProfile,
        blocks: Sequence[PromptBlock],
        *,
        now: float,
        explicit: bool = False,
    ) -> Usage:
        """The input side of the usage of a request that starts at `now` (seconds).

        With `explicit` nothing behind the last mark is read or written.
        """
        marked = [index for index, block in enumerate(blocks) if block.ttl is not None]
        end = (max(marked, default=-1) + 1) if explicit else len(blocks)
        rest = sum(block.tokens for block in blocks[end:])
        if not end:
            return Usage(fresh=rest)
        with self._lock:
            cache = self._caches.setdefault(model.name, PrefixCache(model))
            node, marks = cache.root, []
            for block in blocks[:end]:
                node = cache.extend(node, [Segment(block.text, block.tokens, block.kind)])
                if block.ttl is not None:
                    long = block.ttl >= LONG_TTL and model.ttl_long > 0
                    marks.append(Mark(node, long=long))
            return cache.request(node, marks, at=now).usage + Usage(fresh=rest)


def profile_for(model: str, *, marks: bool) -> ModelProfile:
    """The model's profile; a name of no known provider gets the default of the API it came by.

    `marks` says that this API caches by marks (Anthropic) and not by itself.
    """
    found = profile(model)
    return found if found.automatic is not marks else profile("claude" if marks else "gpt")
