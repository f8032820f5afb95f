"""How far a command is, on stderr.

Invariant: nothing is written when stderr is no terminal, when asked to be quiet, or for one file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(files: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Gives a function to call with the name of each file that is done."""
    if quiet or files < 2 or not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=files)
        yield lambda name: progress.update(task, advance=1, description=name)


def _nothing(name: str) -> None:
    del name
