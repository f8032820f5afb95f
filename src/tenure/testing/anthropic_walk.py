"""An Anthropic request's content in the order the model reads it: tools, system, messages.

Invariant: everything that is part of the prompt is visited once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tenure.testing.prompt import HEAD, as_blocks
from tenure.testing.script import Body

THINKING = ("thinking", "redacted_thinking")


class At(NamedTuple):
    """Where a block of a message stands: the message's index and the block's inside it."""

    message: int
    place: int

    @property
    def path(self) -> str:
        """As the provider spells it."""
        return f"messages.{self.message}.content.{self.place}"


def walk(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """(role, block, message index) of every block; `HEAD` for tools and system."""
    for tool in body.get("tools") or []:
        yield "tool", tool, HEAD
    for block in as_blocks(body.get("system")):
        yield "system", block, HEAD
    for at, role, block in blocks(body):
        yield role, block, at.message


def blocks(body: Mapping[str, Any]) -> Iterator[tuple[At, str, dict[str, Any]]]:
    """(place, role, block) of every block of the messages."""
    for index, message in enumerate(body["messages"]):
        for place, block in enumerate(as_blocks(message["content"])):
            yield At(index, place), message["role"], block


def is_server_result(block: Mapping[str, Any]) -> bool:
    """Whether the block is what a tool that the provider ran gave back."""
    kind = str(block["type"])
    return kind.endswith("_tool_result") and kind != "tool_result"


def with_contents(body: Body, contents: Mapping[int, list[Any]]) -> Body:
    """The body with other content in some messages, by index; they keep their places."""
    if not contents:
        return body
    messages = [
        {**message, "content": contents[index]} if index in contents else message
        for index, message in enumerate(body["messages"])
    ]
    return {**body, "messages": messages}
