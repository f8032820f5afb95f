"""The one reader of data files that ship inside the package.

Invariant: nothing else in tenure opens a packaged file; the name is relative to `tenure/`.
"""

from __future__ import annotations

from importlib import resources


def read_data(name: str) -> bytes:
    """The bytes of a packaged data file, e.g. `read_data("cost/data/models.json")`.

    Raises FileNotFoundError when the installed package lacks the file (a broken install).
    """
    return resources.files("tenure").joinpath(name).read_bytes()
