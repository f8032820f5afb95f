"""The provider's prompt cache as the scripted server bills it.

Invariant: a read never exceeds what an earlier accepted request wrote and what is still alive;
fresh + read + written is the whole prompt.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from itertools import accumulate

from tenure.core.usage import Usage
from tenure.testing.prompt import PromptBlock

LOOKBACK = 20
"""Anthropic looks at most this many positions back from a mark (its prompt-caching page)."""

OPENAI_TTL = 1_800.0
"""Seconds an OpenAI prefix stays (prompt_cache_options.ttl "30m")."""

OPENAI_MINIMUM = 1_024
"""Tokens below which OpenAI caches nothing."""

LONG_TTL = 3_600.0


class PromptCache:
    """Live prefixes of all conversations of one server; safe to call from several threads."""

    def __init__(self) -> None:
        self._expiry: dict[str, float] = {}
        self._ttl: dict[str, float] = {}
        self._lock = threading.Lock()

    def anthropic(
        self, model: str, blocks: Sequence[PromptBlock], *, minimum: int, now: float
    ) -> Usage:
        """Bills a request by its marks: writes only there, reads at most `LOOKBACK` back."""
        marks = [index for index, block in enumerate(blocks) if block.ttl is not None]
        keys, sizes = _chain(model, blocks)
        with self._lock:
            read = self._longest_read(keys, blocks, marks, now)
            for mark in marks:
                if sizes[mark] >= minimum:
                    self._write(keys[mark], blocks[mark].ttl or 0.0, now)
        total = sizes[-1] if sizes else 0
        cached = sizes[read] if read is not None else 0
        written = [mark for mark in marks if sizes[mark] >= minimum and sizes[mark] > cached]
        long = [mark for mark in written if blocks[mark].ttl == LONG_TTL]
        write = sizes[written[-1]] - cached if written else 0
        write_long = sizes[long[-1]] - cached if long else 0
        return Usage(total - cached - write, cached, write, write_long)

    def openai(self, model: str, blocks: Sequence[PromptBlock], *, now: float) -> Usage:
        """Bills a request by automatic prefix caching, at block boundaries."""
        keys, sizes = _chain(model, blocks)
        total = sizes[-1] if sizes else 0
        if total < OPENAI_MINIMUM:
            return Usage(total)
        with self._lock:
            alive = [index for index, key in enumerate(keys) if self._alive(key, now)]
            for key in keys:
                self._write(key, OPENAI_TTL, now)
        cached = sizes[alive[-1]] if alive else 0
        cached = cached if cached >= OPENAI_MINIMUM else 0
        return Usage(0, cached, total - cached)

    def _longest_read(
        self, keys: Sequence[str], blocks: Sequence[PromptBlock], marks: Sequence[int], now: float
    ) -> int | None:
        for mark in reversed(marks):
            for index in _positions_back(blocks, mark):
                if self._alive(keys[index], now):
                    self._expiry[keys[index]] = now + self._ttl[keys[index]]
                    return index
        return None

    def _alive(self, key: str, now: float) -> bool:
        return self._expiry.get(key, now) > now

    def _write(self, key: str, ttl: float, now: float) -> None:
        self._ttl[key] = max(ttl, self._ttl.get(key, 0.0)) if self._alive(key, now) else ttl
        self._expiry[key] = now + self._ttl[key]


def _positions_back(blocks: Sequence[PromptBlock], mark: int) -> list[int]:
    """Block indexes a mark can read at; a run of tool calls (or of results) is one position."""
    found = [mark]
    positions = 1
    for index in range(mark - 1, -1, -1):
        run = blocks[index].kind
        if run != blocks[index + 1].kind or run not in ("tool_use", "tool_result"):
            positions += 1
        if positions > LOOKBACK:
            break
        found.append(index)
    return found


def _chain(model: str, blocks: Sequence[PromptBlock]) -> tuple[list[str], list[int]]:
    """For each block the key of the prefix that ends with it, and that prefix's tokens."""
    keys: list[str] = []
    key = hashlib.sha256(model.encode())
    for block in blocks:
        key.update(f"{block.kind}\0{block.message == -1}\0".encode())
        key.update(block.text.encode("utf-8", "surrogatepass"))
        keys.append(key.hexdigest())
    return keys, list(accumulate(block.tokens for block in blocks))
