"""`context_management.edits` as the server carries them out before the model reads the prompt.

Invariant: messages and blocks keep their places; what an edit takes off is the difference between
the counts before and after it. The client's copy stays whole, so every request is edited anew.
Source: platform docs, context editing (August 2026). The placeholder's words are not documented;
`CLEARED` stands for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tenure.testing.anthropic_edit_rules import CLEAR_THINKING, CLEAR_TOOLS
from tenure.testing.anthropic_walk import THINKING, blocks, walk, with_contents
from tenure.testing.prompt import Counter, as_blocks, count
from tenure.testing.script import Body

CLEARED = "[old tool result content cleared]"
TRIGGER = {"type": "input_tokens", "value": 100_000}
KEEP = {"type": "tool_uses", "value": 3}

KEEPS_LAST_TURN = re.compile("claude-(opus-4(-[0-4])?|sonnet-4(-[0-5])?|haiku-4.*)")
"""Models whose default keeps the thinking of the last turn only; the others keep all of it."""


class Edited(NamedTuple):
    """A body after an edit, and how many tool uses or turns were cleared in it."""

    body: Body
    cleared: int


def clear(
    body: Body, edits: Sequence[Mapping[str, Any]], model: str, counter: Counter
) -> tuple[Body, list[dict[str, Any]]]:
    """The body after the edits in their order, and the entries of `applied_edits`."""
    applied: list[dict[str, Any]] = []
    for edit in edits:
        before = tokens(body, counter)
        if edit["type"] == CLEAR_THINKING:
            done, name = _clear_thinking(body, edit, model), "cleared_thinking_turns"
        elif edit["type"] == CLEAR_TOOLS and _triggered(body, edit, before):
            done, name = _clear_tools(body, edit), "cleared_tool_uses"
        else:
            continue
        saved = max(0, before - tokens(done.body, counter))
        least = edit.get("clear_at_least") or {"value": 0}
        if done.cleared and saved >= least["value"]:
            body = done.body
            applied.append(
                {"type": edit["type"], name: done.cleared, "cleared_input_tokens": saved}
            )
    return body, applied


def tokens(body: Body, counter: Counter) -> int:
    """Tokens of the whole prompt."""
    return sum(count(block, counter) for _, block, _ in walk(body))


def _triggered(body: Body, edit: Mapping[str, Any], size: int) -> bool:
    trigger = edit.get("trigger", TRIGGER)
    uses = sum(block["type"] == "tool_use" for _, _, block in blocks(body))
    reached = uses if trigger["type"] == "tool_uses" else size
    return bool(reached > trigger["value"])


def _clear_tools(body: Body, edit: Mapping[str, Any]) -> Edited:
    """Results of all tool uses but the last ones and the excluded ones become a placeholder."""
    excluded = edit.get("exclude_tools") or []
    uses = [block for _, _, block in blocks(body) if block["type"] == "tool_use"]
    kept = edit.get("keep", KEEP)["value"]
    old = {
        block["id"]: block["name"]
        for block in uses[: max(0, len(uses) - kept)]
        if block.get("name") not in excluded
    }
    contents: dict[int, list[Any]] = {}
    cleared = 0
    for index, message in enumerate(body["messages"]):
        before = as_blocks(message["content"])
        after = [_without_result(block, old) for block in before]
        cleared += sum(new is not was for was, new in zip(before, after, strict=True))
        after = [_without_input(block, old, edit.get("clear_tool_inputs")) for block in after]
        if any(new is not was for was, new in zip(before, after, strict=True)):
            contents[index] = after
    return Edited(with_contents(body, contents), cleared)


def _without_result(block: dict[str, Any], old: Mapping[str, str]) -> dict[str, Any]:
    if block["type"] != "tool_result" or block["tool_use_id"] not in old:
        return block
    return {**block, "content": CLEARED}


def _without_input(block: dict[str, Any], old: Mapping[str, str], wanted: Any) -> dict[str, Any]:
    if block["type"] != "tool_use" or block["id"] not in old or not wanted:
        return block
    return {**block, "input": {}} if wanted is True or block["name"] in wanted else block


def _clear_thinking(body: Body, edit: Mapping[str, Any], model: str) -> Edited:
    """The thinking of all turns but the last ones goes."""
    kept = _turns_kept(edit.get("keep"), model)
    if kept is None:
        return Edited(body, 0)
    turns = [turn for turn in _turns(body) if turn]
    old = [index for turn in turns[: max(0, len(turns) - kept)] for index in turn]
    contents = {
        index: [
            block
            for block in as_blocks(body["messages"][index]["content"])
            if block["type"] not in THINKING
        ]
        for index in old
    }
    return Edited(with_contents(body, contents), max(0, len(turns) - kept))


def _turns_kept(keep: Any, model: str) -> int | None:
    """How many of the last turns keep their thinking; None for all."""
    if keep is None:
        return 1 if KEEPS_LAST_TURN.fullmatch(model) else None
    return None if keep == "all" or keep["type"] == "all" else int(keep["value"])


def _turns(body: Body) -> Iterator[list[int]]:
    """For each assistant turn the messages that hold thinking; results do not end a turn."""
    turn: list[int] = []
    for index, message in enumerate(body["messages"]):
        content = as_blocks(message["content"])
        if message["role"] == "user" and any(block["type"] != "tool_result" for block in content):
            yield turn
            turn = []
        if any(block["type"] in THINKING for block in content):
            turn.append(index)
    yield turn
