"""How deep a JSON value may nest before it is refused rather than read.

Invariant: never recurses, so that any value can be looked at, one that holds itself included.

Python's reading and writing of JSON, and what walks messages here, recurse: a deep value would end
in a RecursionError, or not, depending on how deep the caller already stands. No agent's data nests
anywhere near this limit, so it is refused by depth, the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_NESTING = 200
"""Objects and arrays within each other; a number or a text is 0 deep, `[]` is 1."""


def nests_too_deep(value: Any) -> bool:
    """Whether objects and arrays stand within each other more than `MAX_NESTING` deep."""
    level = [value] if isinstance(value, Mapping | list | tuple) else []
    for _ in range(MAX_NESTING):
        if not level:
            return False
        # By identity: what a value holds twice is looked at once.
        inner: dict[int, Any] = {}
        for one in level:
            for item in one.values() if isinstance(one, Mapping) else one:
                if isinstance(item, dict | list | tuple | Mapping):
                    inner[id(item)] = item
        level = list(inner.values())
    return bool(level)
