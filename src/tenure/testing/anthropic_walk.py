"""An Anthropic request's content in the order the model reads it: tools, system, messages.

Invariant: everything that is part of the prompt is visited once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.prompt import HEAD, as_blocks


def walk(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """(role, block, message index) of every block; `HEAD` for tools and system."""
    for tool in body.get("tools") or []:
        yield "tool", tool, HEAD
    for block in as_blocks(body.get("system")):
        yield "system", block, HEAD
    for index, message in enumerate(body["messages"]):
        for block in as_blocks(message["content"]):
            yield message["role"], block, index
