"""Call ids and tool names in the two OpenAI formats: what pairs, and what is wrong with a spelling.

Invariant: two ids that differ only in the blanks around them, or in being text, pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tenure.core.message import Path
from tenure.wire.mend_common import lost_json
from tenure.wire.shape import Fault, Findings, spoken

# 400 "Invalid 'messages[..].tool_calls[..].function.name': string does not match pattern".
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_UNNAMED = re.compile(r"[^a-zA-Z0-9_-]")


def call_key(value: Any) -> str:
    """What a call id pairs by: without the blanks around it; other values by their JSON text."""
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else spoken(value)


def id_fault(value: Any, fits: Callable[[str], bool]) -> Fault | None:
    """What is wrong with the spelling of a call id, whatever else has that id."""
    if type(value) is str and value and value == value.strip() and fits(value):
        return None
    key = call_key(value)
    if not key:
        return Fault("call-id", "a call id is missing or blank", "given an id", _lost_id(value))
    if not isinstance(value, str):
        words = f"call id {key!r} is no text"
        return Fault("call-id", words, "given an id that is text", _lost_id(value))
    if key != value:
        words = f"call id {value!r} has blanks around it"
        return Fault("id-spaces", words, "blanks around a call id taken off", _lost_id(value))
    if not fits(key):
        words = f"call id {key!r} is too long, or not of the shape that the host wants"
        return Fault("id-shape", words, "call id respelled", _lost_id(value))
    return None


def _lost_id(value: Any) -> bytes:
    return b"" if value is None else lost_json(value)


def sound_name(name: str, notes: Findings, path: Path) -> str:
    """The name of a tool as the API spells names; `name` is not empty."""
    if _NAME.fullmatch(name):
        return name
    words = f"the tool name {name[:60]!r} has other characters than letters, digits, _ and -"
    notes.add("call-name", words, "they became _", name, path)
    return _UNNAMED.sub("_", name)
