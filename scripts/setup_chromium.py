"""Install Debian's chromium for the tests of the HTML report, when no browser is found.

Invariant: a machine that has a browser is left alone, without asking its package manager anything.
Where it cannot be installed the tests that need it skip and say so; under CI that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.browser import find_browser

PACKAGES = ("chromium", "fonts-dejavu-core")


def main() -> int:
    """Return 0 when a browser is there, or may be done without; 1 when CI lacks it."""
    if find_browser():
        return 0
    hint = "install chromium or name a browser in TENURE_CHROMIUM"
    if not (shutil.which("apt-get") and os.geteuid() == 0):
        return _without(f"no browser found, and apt-get as root is not available: {hint}")
    print("installing chromium for the browser tests", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES],
    ):
        done = subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return _without(f"`{' '.join(command)}` failed with {done.returncode}: {hint}")
    return 0


def _without(message: str) -> int:
    print(message, file=sys.stderr)
    if os.environ.get("CI"):
        return 1
    print("going on: the browser tests will be skipped", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
