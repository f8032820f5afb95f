"""Which browser the tests of the HTML report drive.

Invariant: nothing is downloaded and nothing started here; the answer is a path or None.
"""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """The executable that TENURE_CHROMIUM names, else the first known browser on PATH."""
    named = os.environ.get("TENURE_CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None)
