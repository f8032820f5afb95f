"""The cases of the field, read from the shared folder.

Invariant: a test that asks for a case whose folder is absent is skipped, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.shared import absent, find_shared
from tests.tokens.pictures import png


def case_input(number: str) -> dict[str, Any]:
    """The input of the case whose file name begins with this number."""
    folder = find_shared("cases")
    if folder is None:
        pytest.skip(absent("cases"))
    (file,) = folder.glob(f"{number}-*.json")
    given: dict[str, Any] = json.loads(file.read_text("utf-8"))["input"]
    return given


def expanded(value: Any) -> Any:
    """The value with the markers of large and awkward values written out.

    `$repeat`, `$concat`, `$png` (base64 of a real picture), `$base64`, `$data_url`, `$tools`.
    """
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (name := next(iter(value))) in _MARKERS:
        return _MARKERS[name](expanded(value[name]))
    return {key: expanded(item) for key, item in value.items()}


def _base64(chars: int) -> str:
    return ("QUJD" * (chars // 4 + 1))[:chars]


def _tools(given: dict[str, int]) -> list[dict[str, Any]]:
    filler = "x" * given["schema_chars"]
    return [
        {
            "type": "function",
            "function": {
                "name": f"tool_{n}",
                "description": filler,
                "parameters": {"type": "object", "properties": {}},
            },
        }
        for n in range(given["count"])
    ]


_MARKERS: dict[str, Callable[[Any], Any]] = {
    "$repeat": lambda given: given["text"] * given["times"],
    "$concat": "".join,
    "$png": lambda given: png(given["width"], given["height"]),
    "$base64": lambda given: _base64(given["chars"]),
    "$data_url": lambda given: f"data:{given['mime']};base64,{_base64(given['base64_chars'])}",
    "$tools": _tools,
}
