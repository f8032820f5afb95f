"""The wire formats that properties draw from: all three, or the one being fuzzed.

Invariant: without TENURE_FUZZ_FORMAT nothing is left out; with it no property of another format is
run, and one of several formats draws from this one alone.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import strategies as st

from tenure.wire.detect import WIRES, AnyWire

SHORT = {"anthropic": "anthropic_messages", "chat": "openai_chat", "responses": "openai_responses"}
CHOSEN = SHORT.get(os.environ.get("TENURE_FUZZ_FORMAT", ""), "")


def chosen(*names: str) -> list[str]:
    """Those of these formats (without any: of all) that are being tested."""
    return [name for name in names or WIRES if CHOSEN in {"", name}]


def any_wire(*names: str) -> st.SearchStrategy[AnyWire]:
    """One of these formats (without any: of all) that are being tested."""
    return st.sampled_from([WIRES[name] for name in chosen(*names)])


def is_chosen(item: pytest.Item) -> bool:
    """Whether a test concerns the format being tested. A test says which ones it concerns by its
    marker `wire` or by a parameter that names one; what says nothing concerns all."""
    named = {str(name) for marker in item.iter_markers("wire") for name in marker.args}
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(
        item, "callspec"
    ) else {}  # fmt: skip
    named |= {name for value in parameters.values() if (name := _wire_of(value))}
    return not CHOSEN or not named or CHOSEN in named


def _wire_of(value: Any) -> str:
    """The format that a parameter of a test stands for; "" for none."""
    for name in (value, getattr(value, "wire", None), getattr(value, "name", None)):
        if isinstance(name, str) and name in WIRES:
            return name
    return ""
