"""The messages of a Claude Code file's nodes, and those that a rewound conversation inherits.

Invariant: the messages of a chain are the same objects in every chain that inherits them, made once,
so that a session of many rewinds is read in the time and room that its threads take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.message import Message, Origin
from tenure.traces.claude_tree import Chain, Node
from tenure.traces.origins import user_origin
from tenure.traces.values import as_dict, as_list


class Past(NamedTuple):
    """What a chain inherits: the messages up to the last reply, that reply (None when there is
    none), and the nodes that were open behind it."""

    said: list[Message]
    reply: Node | None
    open: list[Node]


class _Heard(NamedTuple):
    """The messages of what a chain hands on, and for each number of its nodes that a branch takes:
    how many of the messages are closed by a reply, and how many of the nodes that reply ends."""

    messages: list[Message]
    closed: list[tuple[int, int]]


class Pasts:
    """The pasts of the chains of one conversation."""

    def __init__(self) -> None:
        self._of: dict[Chain, Past] = {}
        self._heard: dict[Chain, _Heard] = {}

    def of(self, chain: Chain) -> Past:
        """What a chain inherits; kept for those that others left."""
        line = [chain]
        while (left := line[-1].left) is not None and left not in self._of:
            line.append(left)
        past = Past([], None, [])
        for one in reversed(line):
            past = self._made(one)
            if one is not chain:
                self._of[one] = past
        return past

    def _made(self, chain: Chain) -> Past:
        left = chain.left
        if left is None:
            return Past([], None, [])
        past, handed = self._of[left], self._handed_on(left)
        taken, beside = left.leave(chain.own[0])
        heard = left.heard()
        messages, nodes = handed.closed[taken]
        behind = [node for node in (*heard[nodes:taken], *beside) if node.kind != "other"]
        if not nodes:
            return Past(past.said, past.reply, [*past.open, *behind])
        return Past([*past.said, *handed.messages[:messages]], heard[nodes - 1], behind)

    def _handed_on(self, chain: Chain) -> _Heard:
        """The messages of `heard`, the first of which may begin with what the past left open."""
        known = self._heard.get(chain)
        if known is not None:
            return known
        messages: list[Message] = []
        closed = [(0, 0)]
        arrived = list(self._of[chain].open)
        for count, node in enumerate(chain.heard(), 1):
            if node.kind == "reply":
                messages += [*arrivals_of(arrived), reply_of(node)]
                arrived = []
                closed.append((len(messages), count))
                continue
            if node.kind != "other":
                arrived.append(node)
            closed.append(closed[-1])
        self._heard[chain] = _Heard(messages, closed)
        return self._heard[chain]


def reply_of(node: Node) -> Message:
    """The reply as it is sent back: all its blocks in one message."""
    contents = [as_dict(row.data.get("message")).get("content") for row in node.rows]
    if len(contents) == 1 and isinstance(contents[0], str):
        content: Any = contents[0]
    else:
        content = [block for one in contents for block in _blocks(one)]
    return Message({"role": "assistant", "content": content}, origin=Origin.ASSISTANT)


def arrivals_of(nodes: Sequence[Node]) -> list[Message]:
    """What arrived since the last reply: one message of all tool results, then the rest."""
    results: list[Any] = []
    words: list[Message] = []
    for node in nodes:
        data = node.rows[0].data
        content = _content(data)
        if node.kind == "results":
            results += [block for block in content if is_result(block)]
            content = [block for block in content if not is_result(block)]
        if content:
            harness = data.get("isMeta") or data.get("isCompactSummary")
            origin = Origin.HARNESS if harness else user_origin(content)
            words.append(Message({"role": "user", "content": content}, origin=origin))
    if results:
        words.insert(0, Message({"role": "user", "content": results}, origin=Origin.TOOL))
    return words


def _content(data: dict[str, Any]) -> Any:
    if data.get("type") == "attachment":
        return as_dict(data.get("attachment")).get("prompt")
    return as_dict(data.get("message")).get("content")


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def is_result(block: Any) -> bool:
    """Whether a block is the result of a tool call."""
    return isinstance(block, dict) and block.get("type") == "tool_result"
