"""Hypothesis profiles and the fixtures that every test may use.

Invariant: one selection of tests draws the same examples whenever and in whatever order it is run,
and writes none down; only `HYPOTHESIS_PROFILE=fuzz` (`make fuzz`, and `--hypothesis-seed`) draws fresh ones.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from time import time

import pytest
from hypothesis import HealthCheck, settings

import tenure
from tests.browser import find_browser
from tests.formats import is_chosen
from tests.shared import absent, find_shared, shared_path

_SLOW_MACHINE = [HealthCheck.too_slow]
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "test")

settings.register_profile(
    "test",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=_SLOW_MACHINE,
)
settings.register_profile(
    "fuzz",
    max_examples=100,
    deadline=timedelta(seconds=30),
    database=None,
    print_blob=True,
    suppress_health_check=_SLOW_MACHINE,
)
settings.load_profile(_PROFILE)

if settings.get_current_profile_name() == "test":
    # Hypothesis also draws the literals of those modules that happen to be imported.
    for _module in pkgutil.walk_packages(tenure.__path__, "tenure."):
        if not _module.name.endswith("__main__"):
            import_module(_module.name)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leaves out what would begin when the time for fuzzing is up: what has begun is not broken
    off, lest it lose what it found."""
    if time() > float(os.environ.get("TENURE_FUZZ_UNTIL", "inf")):
        pytest.skip("the time for fuzzing is up")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what concerns another wire format than the one being fuzzed."""
    left_out = [item for item in items if not is_chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_chosen(item)]


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
