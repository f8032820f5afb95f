"""What the provider says one request used.

Invariant: all fields are tokens of one request and never negative; `prompt` is the whole input,
whichever way the provider spells it (Anthropic's input_tokens excludes the cached part, OpenAI's
includes it).
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_TOKENS = 10**12
"""A reported count above this is no count of tokens: a slip of a gateway, or of a file."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request.

    `cache_write` is everything written; `cache_write_1h` is the part of it with the long TTL.
    """

    fresh: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        """The whole input: fresh, read from and written to the cache."""
        return self.fresh + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.fresh + other.fresh,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
        )
