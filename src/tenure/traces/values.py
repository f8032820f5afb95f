"""Small readings of JSON values that may be anything.

Invariant: nothing here raises, whatever the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from tenure.core.usage import MOST_TOKENS
from tenure.replay.trace import Thread


def as_dict(value: Any) -> dict[str, Any]:
    """The value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value when it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def text_of(data: Any, key: str) -> str:
    """The text at a key of an object, "" when there is none."""
    value = as_dict(data).get(key)
    return value if isinstance(value, str) else ""


def tokens_at(data: Any, key: str) -> int:
    """The count at a key of an object, 0 when there is none that a request can have."""
    value = as_dict(data).get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return value if 0 < value <= MOST_TOKENS else 0


def unix_seconds(value: Any) -> float | None:
    """The time that an ISO 8601 text names; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def main_model(threads: Iterable[Thread]) -> str:
    """The model of most steps, main threads first; "" when no step names one."""
    for kind in ("main", "sidechain"):
        names = [step.model for one in threads if one.kind == kind for step in one.steps]
        counted = Counter(name for name in names if name)
        if counted:
            return counted.most_common(1)[0][0]
    return ""
