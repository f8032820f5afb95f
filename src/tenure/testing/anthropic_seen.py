"""What a Claude model is shown of a request: without what was dropped, cleared and summarised.

Invariant: whatever leaves the prompt leaves its place empty; nothing moves, so that paths and
message numbers mean the same in the request and in what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.testing import anthropic_edits, anthropic_system, anthropic_thinking
from tenure.testing.anthropic_compaction import superseded
from tenure.testing.anthropic_edit_rules import edits_of
from tenure.testing.anthropic_walk import At, with_contents
from tenure.testing.prompt import Counter, as_blocks
from tenure.testing.refusal import Asked, Seen
from tenure.testing.script import Body


def seen(asked: Asked, counter: Counter) -> Seen:
    """The request as the model reads it, and what is reported of the difference."""
    dropped = anthropic_thinking.transformations(asked)
    shown = unedited(asked, dropped)
    body, applied = anthropic_edits.clear(shown, edits_of(asked.body), asked.profile.name, counter)
    return Seen(body, dropped, applied)


def unedited(asked: Asked, dropped: Sequence[Mapping[str, Any]]) -> Body:
    """The request as the model would read it without `context_management`."""
    gone = {entry["path"] for entry in dropped if entry["type"] == "thinking_dropped"}
    messages = asked.body["messages"]
    cleared = set(anthropic_system.cleared(messages))
    newest = superseded(messages) or At(0, 0)
    contents: dict[int, list[Any]] = {}
    for index, message in enumerate(messages):
        before = as_blocks(message["content"])
        after = [
            block
            for place, block in enumerate(before)
            if index not in cleared
            and At(index, place).path not in gone
            and At(index, place) >= newest
        ]
        if len(after) != len(before):
            contents[index] = after
    return with_contents(asked.body, contents)
