"""Tool calls and their results in the Messages API: who must stand next to whom.

Invariant: after these rules every call has exactly one result, in the next turn, before any other
block of it. Source: platform docs, handle-tool-calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid


class _Place(NamedTuple):
    """Where a block stands: the message's number and the block's."""

    message: int
    block: int


CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")


def pair_fields(asked: Asked) -> Iterator[Refusal]:
    """Calls and results carry the fields that pair them, on the side they belong to."""
    for index, message in enumerate(asked.body["messages"]):
        for place, block in enumerate(as_blocks(message["content"])):
            path = f"messages.{index}.content.{place}"
            if block["type"] == "tool_use":
                yield from _call_fields(path, block, message["role"])
            if block["type"] == "tool_result":
                yield from _id(f"{path}.tool_result.tool_use_id", block.get("tool_use_id"))
                if message["role"] != "user":
                    yield invalid(f"{path}: `tool_result` blocks can only be in `user` messages")


def calls_unique(asked: Asked) -> Iterator[Refusal]:
    """No two calls share an id."""
    seen: set[str] = set()
    for message in asked.body["messages"]:
        for call_id in _ids(message, "tool_use", "id"):
            if call_id in seen:
                yield invalid("messages: `tool_use` ids must be unique")
            seen.add(call_id)


def calls_answered(asked: Asked) -> Iterator[Refusal]:
    """Every call is answered in the next turn, ahead of that turn's other blocks."""
    turns = _turns(asked)
    for number, turn in enumerate(turns):
        calls = [block["id"] for _, block in turn if block["type"] == "tool_use"]
        if not calls:
            continue
        following = turns[number + 1] if number + 1 < len(turns) else []
        missing = set(calls) - set(_leading_results(following))
        if missing:
            names = ", ".join(call for call in calls if call in missing)
            yield invalid(
                f"messages.{turn[0][0].message}: `tool_use` ids were found without `tool_result` "
                f"blocks immediately after: {names}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message."
            )


def results_expected(asked: Asked) -> Iterator[Refusal]:
    """Every result answers a call of the turn before it."""
    called: set[str] = set()
    for turn in _turns(asked):
        for place, block in turn:
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                yield invalid(
                    f"messages.{place.message}.content.{place.block}: unexpected `tool_use_id` found "
                    f"in `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block "
                    "must have a corresponding `tool_use` block in the previous message."
                )
        called = {block["id"] for _, block in turn if block["type"] == "tool_use"}


def results_single(asked: Asked) -> Iterator[Refusal]:
    """No call is answered twice."""
    for turn in _turns(asked):
        answered: set[str] = set()
        for place, block in turn:
            if block["type"] != "tool_result":
                continue
            if block["tool_use_id"] in answered:
                yield invalid(
                    f"messages.{place.message}.content: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {block['tool_use_id']}"
                )
            answered.add(block["tool_use_id"])


def _call_fields(path: str, block: dict[str, Any], role: str) -> Iterator[Refusal]:
    yield from _id(f"{path}.tool_use.id", block.get("id"))
    if not isinstance(block.get("name"), str) or not block["name"]:
        yield invalid(f"{path}.tool_use.name: Field required")
    if not isinstance(block.get("input"), dict):
        yield invalid(f"{path}.tool_use.input: Input should be a valid dictionary")
    if role != "assistant":
        yield invalid(f"{path}: `tool_use` blocks can only be in `assistant` messages")


def _id(path: str, value: Any) -> Iterator[Refusal]:
    if not isinstance(value, str):
        yield invalid(f"{path}: Field required")
    elif not CALL_ID.fullmatch(value):
        yield invalid(f"{path}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _ids(message: dict[str, Any], kind: str, field: str) -> list[str]:
    return [block[field] for block in as_blocks(message["content"]) if block["type"] == kind]


def _turns(asked: Asked) -> list[list[tuple[_Place, dict[str, Any]]]]:
    """The blocks of each turn: consecutive messages of one role are one turn (docstring of
    `messages`, anthropic 2.14.0)."""
    turns: list[list[tuple[_Place, dict[str, Any]]]] = []
    role = None
    for index, message in enumerate(asked.body["messages"]):
        if message["role"] != role or role == "system":
            turns.append([])
        role = message["role"]
        blocks = enumerate(as_blocks(message["content"]))
        turns[-1] += [(_Place(index, place), block) for place, block in blocks]
    return turns


def _leading_results(turn: list[tuple[_Place, dict[str, Any]]]) -> list[str]:
    """Ids of the results that no other block precedes."""
    leading = takewhile(lambda each: each[1]["type"] == "tool_result", turn)
    return [block["tool_use_id"] for _, block in leading]


pair_rules: Rules = {
    "pair_fields": pair_fields,
    "calls_unique": calls_unique,
    "calls_answered": calls_answered,
    "results_expected": results_expected,
    "results_single": results_single,
}
