"""Hypothesis profiles and the fixtures that every test may use.

Invariant: the profile is chosen by HYPOTHESIS_PROFILE, else it is `test`, whose examples are the
same each time: nobody's tests fail by luck. Only `fuzz` draws fresh ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.browser import find_browser
from tests.shared import absent, find_shared, shared_path

_SLOW_MACHINE = [HealthCheck.too_slow]

settings.register_profile(
    "test",
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=_SLOW_MACHINE,
)
settings.register_profile(
    "fuzz",
    max_examples=3_000,
    deadline=timedelta(seconds=30),
    print_blob=True,
    phases=list(Phase),
    suppress_health_check=_SLOW_MACHINE,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


@pytest.fixture(scope="session")
def shared_data() -> Callable[..., Path]:
    """`shared_data("data", "x")` is that path below the shared folder; skips where it is absent."""

    def path_of(*parts: str) -> Path:
        if find_shared(*parts) is None:
            pytest.skip(absent(*parts))
        return shared_path(*parts)

    return path_of


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable, for Playwright's `executable_path`; skips where there is none."""
    path = find_browser()
    if path is None:
        pytest.skip("no browser: install chromium or name one in TENURE_CHROMIUM")
    return path
