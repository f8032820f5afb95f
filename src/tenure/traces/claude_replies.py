"""Which rows of a Claude Code file are one reply.

Invariant: a reply is one request, whose usage is billed once, however many rows it takes.

Each content block has a row of its own, and every row repeats the usage. The rows of a reply share
`message.id`; where a row has none, `requestId` tells them apart; where it has neither, a row that
hangs on another of the same model and with the same prompt goes on with that reply: nothing was said
between them that a further request could have been about.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tenure.core.usage import Usage
from tenure.traces.anthropic_usage import largest_usage
from tenure.traces.claude_tree import Node, Row
from tenure.traces.values import as_dict, text_of


@dataclass(slots=True)
class Replies:
    """The replies of a file so far, by what names them."""

    _by_id: dict[str, Node] = field(default_factory=dict)
    _by_request: dict[str, Node] = field(default_factory=dict)

    def begun(self, row: Row, before: Node | None) -> Node | None:
        """The reply that a row goes on with, None when it begins one; `before` is what it follows."""
        message_id, request = _names(row.data)
        if message_id and message_id in self._by_id:
            return self._by_id[message_id]
        known = self._by_request.get(request) if request else None
        if known is not None:
            # Of two ids under one request neither is a slip: they are two replies.
            return None if message_id and _id_of(known) else known
        if message_id or request or before is None or before.kind != "reply":
            return None
        named = _id_of(before) or any(_names(one.data)[1] for one in before.rows)
        return before if not named and _one_request(before, row) else None

    def note(self, row: Row, node: Node) -> None:
        """Remembers the reply under the names that a row of it has."""
        message_id, request = _names(row.data)
        if message_id:
            self._by_id.setdefault(message_id, node)
        if request:
            self._by_request.setdefault(request, node)


def _names(data: dict[str, Any]) -> tuple[str, str]:
    return text_of(data.get("message"), "id"), text_of(data, "requestId")


def _id_of(node: Node) -> str:
    return next((found for row in node.rows if (found := _names(row.data)[0])), "")


def _one_request(node: Node, row: Row) -> bool:
    """Whether a row reports the model and the prompt that the rows of a reply do; what one of them
    leaves out tells nothing."""
    models = {text_of(one.data.get("message"), "model") for one in (*node.rows, row)} - {""}
    usages = [largest_usage([as_dict(one.data.get("message")).get("usage")]) for one in node.rows]
    usage = largest_usage([as_dict(row.data.get("message")).get("usage")])
    prompts = {_prompt(one) for one in (*usages, usage) if one is not None and one.prompt}
    return len(models) < 2 and len(prompts) < 2


def _prompt(usage: Usage) -> tuple[int, int, int]:
    return usage.fresh, usage.cache_read, usage.cache_write
