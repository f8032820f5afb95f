"""A request's prompt, cut into blocks in the order the model reads them.

Invariant: two requests have equal leading blocks exactly when the provider would see the same
prompt up to there; cache marks are beside the text, never in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

HEAD = -1
"""The message index of what stands before the messages: tools and system."""

MARKS = ("cache_control", "prompt_cache_breakpoint")
"""Fields that place a cache mark; moving one changes no prompt."""

UNREAD = (*MARKS, "signature", "encrypted_content")
"""Fields the model does not read as text, so that nobody counts them."""

MEDIA_TOKENS = 1_600
"""What the server charges for one picture or document, whatever its size."""

Counter: TypeAlias = Callable[[str], int]
"""Tokens of a text as the scripted model counts them."""


@dataclass(frozen=True)
class PromptBlock:
    """One block of the prompt: its exact text, its size, and the cache mark after it.

    `message` is the index of its message in the request, `HEAD` for tools and system;
    `ttl` is the lifetime in seconds that a cache mark on it asks for.
    """

    text: str
    tokens: int
    message: int
    kind: str = "text"
    ttl: float | None = None


def default_counter(text: str) -> int:
    """A plain stand-in for a tokenizer: one token per 3.5 bytes of UTF-8, rounded up."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / 3.5)


class Spelled(float):
    """A JSON number that remembers its spelling: the model reads 1e3 and 1000.0 as two texts."""

    spelling: str

    def __new__(cls, spelling: str) -> Self:
        """The number so written."""
        number = super().__new__(cls, spelling)
        number.spelling = spelling
        return number


def canonical(value: Any) -> str:
    """The value as JSON without its cache marks; key order and number spelling are kept."""
    return json.dumps(_bare(value, MARKS), ensure_ascii=False, separators=(",", ":"))


def _bare(value: Any, without: Sequence[str]) -> Any:
    if isinstance(value, Mapping):
        # What the model itself wrote may hold any key.
        inside = () if value.get("type") == "tool_use" else without
        return {key: _bare(item, inside) for key, item in value.items() if key not in without}
    if isinstance(value, list):
        return [_bare(item, without) for item in value]
    return f"number {value.spelling}" if isinstance(value, Spelled) else value


def as_blocks(content: Any) -> list[Any]:
    """Content as a list of blocks: a string is one text block, which is how providers read it."""
    if content is None:
        return []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def count(value: Any, counter: Counter) -> int:
    """Tokens of a block: its readable text by `counter`, pictures and documents flat."""
    words: list[str] = []
    media = sum(1 for _ in _read(value, words))
    return counter("\n".join(words)) + MEDIA_TOKENS * media


def _read(value: Any, words: list[str]) -> Iterator[None]:
    """Collects the readable text in `words` and yields once per picture or document."""
    if isinstance(value, str):
        words.append(value)
    elif isinstance(value, Mapping):
        if value.get("type") == "base64" or str(value.get("url", "")).startswith("data:"):
            yield None
            return
        for key, item in value.items():
            if key not in UNREAD:
                yield from _read(item, words)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _read(item, words)
    elif value is not None:
        words.append(json.dumps(value))


def prompt_tokens(blocks: Sequence[PromptBlock]) -> int:
    """Tokens of the whole prompt."""
    return sum(block.tokens for block in blocks)
