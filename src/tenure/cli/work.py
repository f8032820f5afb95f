"""The same work on many files, in as many processes as asked for.

Invariant: results come in the order of the files, whatever finished first; a file that fails says
why and the others go on. A path that names nothing is such a failure.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Generic, TypeVar

from tenure.cli.progress import shown
from tenure.errors import TenureError, WireError
from tenure.traces import look_up

T = TypeVar("T")

STDOUT = "stdout"
"""How errors name the output, in the place of a file's name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A path that gave nothing, and why."""

    path: str
    words: str


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What all files gave, in order, and what gave nothing."""

    values: tuple[T, ...]
    failures: tuple[Failure, ...]

    def report(self) -> int:
        """Names the failures on stderr; the exit status: 1 when there is no value at all."""
        for one in self.failures:
            print(f"tenure: {one.words}", file=sys.stderr)
        if not self.values:
            print("tenure: nothing could be read", file=sys.stderr)
        return 0 if self.values else 1


def over_files(
    paths: Sequence[str], work: Callable[[Path], Iterable[T | Failure]], *, jobs: int, quiet: bool
) -> Done[T]:
    """Does `work`, which must travel to other processes, on each file that the paths mean.

    What it gives are values, and failures for parts of a file that give none.
    """
    files: dict[Path, None] = {}
    failures: list[Failure] = []
    for path in paths:
        try:
            meant = look_up([path])
        except (WireError, OSError) as error:
            failures.append(Failure(path, str(error)))
            continue
        if not meant.files and not meant.skipped:
            failures.append(Failure(path, f"{path!r} holds no file that may be a transcript"))
        failures += [Failure(one.path, str(one)) for one in meant.skipped]
        files.update(dict.fromkeys(meant.files))
    failures = list(dict.fromkeys(one for one in failures if Path(one.path) not in files))
    values: list[T] = []
    with shown(len(files), quiet=quiet) as advance:
        for done in _each(partial(_attempt, work), list(files), jobs, advance):
            values += done.values
            failures += done.failures
    return Done(tuple(values), tuple(failures))


def _each(
    attempt: Callable[[Path], Done[T]],
    files: Sequence[Path],
    jobs: int,
    advance: Callable[[str], None],
) -> Iterator[Done[T]]:
    if jobs == 1 or len(files) < 2:
        for file in files:
            yield attempt(file)
            advance(file.name)
        return
    # Spawned, not forked: progress and the caller may have threads.
    pool = ProcessPoolExecutor(min(jobs, len(files)), get_context("spawn"))
    try:
        with _deaf():
            futures: list[Future[Done[T]]] = [pool.submit(attempt, file) for file in files]
        names = dict(zip(futures, files, strict=True))
        for future in as_completed(futures):
            advance(names[future].name)
        for future in futures:
            yield _result(future, names[future])
    except KeyboardInterrupt:
        for process in active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _result(future: Future[Done[T]], file: Path) -> Done[T]:
    try:
        return future.result()
    except BrokenProcessPool:
        words = "a process ended before it was done, perhaps for want of memory; try --jobs 1"
        return Done((), (Failure(str(file), f"{str(file)!r}: {words}"),))


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes started inside ignore interrupts, which reach every process of a terminal: the
    first one alone has to answer, and ends the others."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _attempt(work: Callable[[Path], Iterable[T | Failure]], file: Path) -> Done[T]:
    try:
        found = list(work(file))
        return Done(
            tuple(one for one in found if not isinstance(one, Failure)),
            tuple(one for one in found if isinstance(one, Failure)),
        )
    except Exception as error:  # noqa: BLE001 - the program's last line, once per file
        words = words_of(error)
        named = words if str(file) in words else f"{str(file)!r}: {words}"
        return Done((), (Failure(str(file), named),))


def words_of(error: Exception) -> str:
    """An error as one line for people."""
    match error:
        case TenureError():
            return str(error)
        case OSError(filename=str(name), strerror=str(words)):
            return f"{name!r}: {words.lower()}"
        case OSError():
            return str(error)
        case RecursionError():
            return (
                "a value in it is nested deeper than Python reads; take it out, or give it as text"
            )
        case _:
            return f"a bug of tenure's: {type(error).__name__}: {error}"
