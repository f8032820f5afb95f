"""What `context_management.edits` may say.

Invariant: after these rules an edit's parameters have the documented types.
Source: anthropic 2.14.0 beta_clear_*_edit_param and beta_compact_20260112_edit_param; platform docs,
context editing (thinking first) and compaction (trigger of at least 50,000).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.anthropic_betas import COMPACT_EDIT, EDITS
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

CLEAR_TOOLS = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
COMPACT = "compact_20260112"
LEAST_TRIGGER = 50_000
COMPACT_TRIGGER = 150_000

FIELDS = {
    CLEAR_TOOLS: {
        "type",
        "trigger",
        "keep",
        "clear_at_least",
        "exclude_tools",
        "clear_tool_inputs",
    },
    CLEAR_THINKING: {"type", "keep"},
    COMPACT: {"type", "trigger", "pause_after_compaction", "instructions"},
}
HEADERS = {CLEAR_TOOLS: EDITS, CLEAR_THINKING: EDITS, COMPACT: COMPACT_EDIT}


def edits_known(asked: Asked) -> Iterator[Refusal]:
    """Edits are of known types, with known fields, each type at most once, with its header."""
    wanted = asked.body.get("context_management")
    if wanted is None:
        return
    listed = wanted.get("edits", []) if isinstance(wanted, Mapping) else None
    if not isinstance(listed, list):
        yield invalid("context_management.edits: Input should be a valid list")
        return
    seen: set[str] = set()
    for index, edit in enumerate(listed):
        path = f"context_management.edits.{index}"
        kind = edit.get("type") if isinstance(edit, Mapping) else None
        if not isinstance(kind, str) or kind not in FIELDS:
            yield invalid(f"{path}.type: Input should be one of {', '.join(FIELDS)}")
            return
        for name in sorted(set(edit) - FIELDS[kind]):
            yield invalid(f"{path}.{kind}.{name}: Extra inputs are not permitted")
        if HEADERS[kind] not in asked.betas:
            yield invalid(f"{path}: `{kind}` requires `{HEADERS[kind]}` in `anthropic-beta`")
        if kind in seen:
            yield invalid(f"{path}: `{kind}` may be given once")
        seen.add(kind)


def edits_ordered(asked: Asked) -> Iterator[Refusal]:
    """Clearing thinking comes first."""
    kinds = [edit["type"] for edit in edits_of(asked.body)]
    if CLEAR_THINKING in kinds[1:]:
        yield invalid(f"context_management.edits: `{CLEAR_THINKING}` must be listed first")


def edits_settings(asked: Asked) -> Iterator[Refusal]:
    """Parameters have their types and ranges."""
    for index, edit in enumerate(edits_of(asked.body)):
        path = f"context_management.edits.{index}.{edit['type']}"
        for name, sound in _checks(edit).items():
            if not sound:
                yield invalid(f"{path}.{name}: Input should be valid")


def edits_need_thinking(asked: Asked) -> Iterator[Refusal]:
    """Thinking is cleared only where there is thinking."""
    off = (asked.body.get("thinking") or {}).get("type") == "disabled"
    if off and any(edit["type"] == CLEAR_THINKING for edit in edits_of(asked.body)):
        yield invalid(f"`{CLEAR_THINKING}` strategy requires `thinking` to be enabled or adaptive")


def edits_supported(asked: Asked) -> Iterator[Refusal]:
    """The model has context editing; one that is not known gets the benefit of the doubt."""
    profile = asked.profile
    if edits_of(asked.body) and profile.known and not profile.server_edits:
        yield invalid("context_management is not supported on this model")


def edits_of(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The edits that a request asks for."""
    return list((body.get("context_management") or {}).get("edits") or [])


def trigger_of(edit: Mapping[str, Any]) -> int:
    """The input tokens above which the edit `compact_20260112` compacts."""
    return int((edit.get("trigger") or {"value": COMPACT_TRIGGER})["value"])


def _checks(edit: Mapping[str, Any]) -> dict[str, bool]:
    keep, trigger = edit.get("keep"), edit.get("trigger")
    if edit["type"] == CLEAR_THINKING:
        return {"keep": keep in (None, "all") or _all(keep) or _sized(keep, "thinking_turns", 1)}
    if edit["type"] == COMPACT:
        words, pause = edit.get("instructions"), edit.get("pause_after_compaction", False)
        return {
            "trigger": trigger is None or _sized(trigger, "input_tokens", LEAST_TRIGGER),
            "instructions": words is None or isinstance(words, str),
            "pause_after_compaction": isinstance(pause, bool),
        }
    least, inputs = edit.get("clear_at_least"), edit.get("clear_tool_inputs")
    triggers = ("input_tokens", "tool_uses")
    return {
        "trigger": "trigger" not in edit or any(_sized(trigger, kind, 0) for kind in triggers),
        "keep": "keep" not in edit or _sized(keep, "tool_uses", 0),
        "clear_at_least": least is None or _sized(least, "input_tokens", 0),
        "exclude_tools": _names(edit.get("exclude_tools")),
        "clear_tool_inputs": isinstance(inputs, bool) or _names(inputs),
    }


def _all(keep: Any) -> bool:
    return isinstance(keep, Mapping) and dict(keep) == {"type": "all"}


def _sized(value: Any, kind: str, least: int) -> bool:
    if not isinstance(value, Mapping) or value.get("type") != kind:
        return False
    number = value.get("value")
    return isinstance(number, int) and not isinstance(number, bool) and number >= least


def _names(value: Any) -> bool:
    listed = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return value is None or listed


edit_rules: Rules = {
    "edits_known": edits_known,
    "edits_ordered": edits_ordered,
    "edits_settings": edits_settings,
    "edits_need_thinking": edits_need_thinking,
    "edits_supported": edits_supported,
}
