"""What the Responses API refuses, one named rule each.

Invariant: rules on shape come first, so that the later ones may index freely.
Sources: openai 3.57.0 docstrings; wordings of the pairing errors as reported in public issues up
to August 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.testing.openai_common import cache_options, field_types, misnamed, overlong, too_long
from tenure.testing.refusal import Asked, Refusal, Rules, invalid
from tenure.testing.responses_content import content_rules
from tenure.testing.responses_input import items_of, own_items

CALLS = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "computer_call": "computer call",
    "shell_call": "shell call",
    "apply_patch_call": "apply patch call",
}
"""Calls that the client answers by call_id, and their names in errors."""

OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
}
WRITTEN = {"function_call": "arguments", "custom_tool_call": "input"}
"""Where a call by name keeps what the model wrote, as a string."""

LONGEST_ID = 64


def required_fields(asked: Asked) -> Iterator[Refusal]:
    """model, and an input of text or items."""
    if not isinstance(asked.body.get("model"), str):
        yield invalid("Missing required parameter: 'model'.", param="model")
    given = asked.body.get("input")
    sound = isinstance(given, str) or (
        isinstance(given, list) and all(isinstance(item, Mapping) for item in given)
    )
    if not sound:
        yield invalid("Invalid type for 'input': expected a string or an array.", param="input")
        return
    for index, item in enumerate(own_items(asked.body)):
        for name in ("type", "id"):
            if not isinstance(item.get(name), str | None):
                path = f"input[{index}].{name}"
                yield invalid(f"Invalid type for '{path}': expected a string.", param=path)


def previous_known(asked: Asked) -> Iterator[Refusal]:
    """previous_response_id names a stored response, and excludes conversation."""
    previous = asked.body.get("previous_response_id")
    if previous and asked.body.get("conversation"):
        yield invalid("'previous_response_id' and 'conversation' exclude each other.")
    if previous and previous not in asked.ledger.stored:
        yield invalid(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )


def item_shape(asked: Asked) -> Iterator[Refusal]:
    """Items have the fields by which they are paired, reasoning its summary; there is an item."""
    items = items_of(asked)
    if not items:
        yield invalid("Missing required parameter: 'input'.", param="input")
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind in (None, "message") and not item.get("role"):
            yield invalid(f"Missing required parameter: 'input[{index}].role'.", param="input")
        if (kind in CALLS or kind in OUTPUTS) and not isinstance(item.get("call_id"), str):
            yield invalid(f"Missing required parameter: 'input[{index}].call_id'.", param="input")
            return
        if kind in WRITTEN and not isinstance(item.get(WRITTEN[kind]), str):
            path = f"input[{index}].{WRITTEN[kind]}"
            yield invalid(f"Invalid type for '{path}'.", param=path)
        if kind in WRITTEN:
            yield from misnamed(f"input[{index}].name", item.get("name"))
        if kind in CALLS or kind in OUTPUTS:
            yield from overlong(f"input[{index}].call_id", item["call_id"], LONGEST_ID)
        if kind == "reasoning" and not isinstance(item.get("summary"), list):
            path = f"input[{index}].summary"
            yield invalid(
                f"Missing required parameter: '{path}'.",
                param=path,
                code="missing_required_parameter",
            )


def items_unique(asked: Asked) -> Iterator[Refusal]:
    """No two items share an id, no two calls a call_id."""
    seen: set[str] = set()
    for item in items_of(asked):
        names = [item.get("id")]
        if item.get("type") in CALLS or item.get("type") in OUTPUTS:
            names.append(f"{item['type']} {item['call_id']}")
        for name in names:
            if name and name in seen:
                yield invalid(
                    f"Duplicate item found with id {name}. Remove duplicate items from your input "
                    "and try again.",
                    param="input",
                )
            seen.add(name or "")


def calls_answered(asked: Asked) -> Iterator[Refusal]:
    """Every call has its output somewhere after it."""
    items = items_of(asked)
    last = {
        (OUTPUTS[item["type"]], item["call_id"]): index
        for index, item in enumerate(items)
        if item.get("type") in OUTPUTS
    }
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind in CALLS and last.get((kind, item["call_id"]), -1) < index:
            yield invalid(
                f"No tool output found for {CALLS[kind]} {item['call_id']}.", param="input"
            )


def outputs_expected(asked: Asked) -> Iterator[Refusal]:
    """Every output has its call before it."""
    called: set[tuple[Any, Any]] = set()
    for item in items_of(asked):
        kind = item.get("type")
        if kind in OUTPUTS and (OUTPUTS[kind], item["call_id"]) not in called:
            yield invalid(
                f"No tool call found for {CALLS[OUTPUTS[kind]]} output with call_id "
                f"{item['call_id']}.",
                param="input",
            )
        if kind in CALLS:
            called.add((kind, item["call_id"]))


def reasoning_followed(asked: Asked) -> Iterator[Refusal]:
    """A reasoning item stands before something else that the model made."""
    items = items_of(asked)
    for index, item in enumerate(items):
        if item.get("type") != "reasoning" or not item.get("id"):
            continue
        if not _made_by_model(items[index + 1 : index + 2]):
            yield invalid(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                "following item.",
                param="input",
            )


def reasoning_present(asked: Asked) -> Iterator[Refusal]:
    """An item that came with a reasoning item comes back with it."""
    seen: set[str] = set()
    for item in items_of(asked):
        item_id = item.get("id") or ""
        needed = asked.ledger.reasoning_of.get(item_id)
        if needed and needed not in seen:
            yield invalid(
                f"Item '{item_id}' of type '{item.get('type', 'message')}' was provided without "
                f"its required 'reasoning' item: '{needed}'.",
                param="input",
            )
        seen.add(item_id)


def trigger_last(asked: Asked) -> Iterator[Refusal]:
    """A compaction_trigger is the final item."""
    for item in items_of(asked)[:-1]:
        if item.get("type") == "compaction_trigger":
            yield invalid("'compaction_trigger' must be the final input item.", param="input")


def window(asked: Asked) -> Iterator[Refusal]:
    """The prompt and the wanted output fit; truncation "auto" is no refusal but a rewrite."""
    wanted = asked.body.get("max_output_tokens") or 0
    if asked.tokens + wanted > asked.window and asked.body.get("truncation") != "auto":
        yield too_long(asked.tokens + wanted, asked.window, "input")


def _made_by_model(following: Sequence[Mapping[str, Any]]) -> bool:
    for item in following:
        kind = item.get("type") or "message"
        if kind == "message":
            return item.get("role") == "assistant"
        return not kind.endswith("_output") and kind not in ("compaction_trigger", "item_reference")
    return False


RULES: Rules = {
    "required_fields": required_fields,
    "field_types": field_types,
    "previous_known": previous_known,
    "item_shape": item_shape,
    **content_rules,
    "items_unique": items_unique,
    "outputs_expected": outputs_expected,
    "calls_answered": calls_answered,
    "reasoning_followed": reasoning_followed,
    "reasoning_present": reasoning_present,
    "trigger_last": trigger_last,
    "cache_options": cache_options,
    "window": window,
}
