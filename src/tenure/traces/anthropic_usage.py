"""The `usage` objects of the Anthropic Messages API.

Invariant: `input_tokens` excludes what the cache read and wrote, so the prompt is the sum of three.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenure.core.usage import Usage
from tenure.traces.values import as_dict, tokens_at


def largest_usage(rows: Iterable[Any]) -> Usage | None:
    """The usage of one reply out of the several written while it streamed.

    The one with the most output; of equal ones the last. None when no row holds one.
    """
    largest: Usage | None = None
    for row in rows:
        if not as_dict(row):
            continue
        usage = Usage(
            fresh=tokens_at(row, "input_tokens"),
            cache_read=tokens_at(row, "cache_read_input_tokens"),
            cache_write=tokens_at(row, "cache_creation_input_tokens"),
            cache_write_1h=tokens_at(row.get("cache_creation"), "ephemeral_1h_input_tokens"),
            output=tokens_at(row, "output_tokens"),
        )
        if largest is None or (usage.output, usage.prompt) >= (largest.output, largest.prompt):
            largest = usage
    return largest
