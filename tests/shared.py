"""Where the recordings are that tests and benchmarks read but the repository does not hold.

Invariant: nothing below that folder is copied or written; where it is absent the caller is told by
name which folder was looked for, and skips.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def find_shared(*parts: str) -> Path | None:
    """The path below the shared folder, or None when it does not exist.

    The folder is the one that TENURE_SHARED names, else `../shared` beside the repository.
    """
    path = shared_path(*parts)
    return path if path.exists() else None


def shared_path(*parts: str) -> Path:
    """The path below the shared folder, whether it exists or not."""
    named = os.environ.get("TENURE_SHARED")
    return (Path(named) if named else ROOT.parent / "shared").joinpath(*parts)


def absent(*parts: str) -> str:
    """The words of a skip."""
    return f"{shared_path(*parts)} is absent: put the recordings there or name the folder in TENURE_SHARED"
