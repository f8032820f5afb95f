"""The cases of the field, read from the shared folder.

Invariant: a test that asks for a case whose folder is absent is skipped, and says so.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.shared import absent, find_shared


def case_input(number: str) -> dict[str, Any]:
    """The input of the case whose file name begins with this number."""
    folder = find_shared("cases")
    if folder is None:
        pytest.skip(absent("cases"))
    (file,) = folder.glob(f"{number}-*.json")
    given: dict[str, Any] = json.loads(file.read_text("utf-8"))["input"]
    return given
