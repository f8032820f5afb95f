"""The options that several commands share, and what their values mean.

Invariant: a value that makes no sense ends the program with status 2 before any file is read.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Sequence
from datetime import date
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tenure.cost.models import known_models, profile
from tenure.errors import ConfigError

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001
else:
    Commands = object

PATHS_HELP = "transcripts: files, folders with all below them, or patterns like 'runs/*.jsonl'"


def add_command(
    commands: Commands, name: str, *, summary: str, example: str, json: bool = True
) -> argparse.ArgumentParser:
    """A command with the options that every one has."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--debug", action="store_true", help="show where an unexpected error arose")
    return parser


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """How many files are worked on at once."""
    parser.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="files worked on at once (default: one for each processor)",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Whose prices, limits and tokenizer count."""
    parser.add_argument(
        "--model", default="", help="count and price as this model (default: the one recorded)"
    )


def add_prices(parser: argparse.ArgumentParser) -> None:
    """r and w of the formulas."""
    parser.add_argument(
        "--read",
        type=not_negative,
        metavar="R",
        help="price of a token read from the cache, in input tokens (default: the model's)",
    )
    parser.add_argument(
        "--write",
        type=not_negative,
        metavar="W",
        help="price of a token written to the cache, in input tokens (default: the model's)",
    )


def check_model(name: str) -> None:
    """ConfigError, which names the known models, for a name that is not in the price table."""
    if not name or profile(name).known:
        return
    known = known_models()
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    meant = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise ConfigError(
        f"no model is called {name!r}{meant}; known are {', '.join(known)}", key="model"
    )


def out_file(text: str) -> Path:
    """The name of a file to write."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is no file name")
    return Path(text)


def check_out(path: Path | None, inputs: Sequence[str] = ()) -> None:
    """ConfigError for a file that cannot be written, or that is one of the `inputs`: told before the
    long work. What is in the file stays as it is."""
    if path is None:
        return
    try:
        words = _why_not(path, inputs)
    except OSError as error:
        words = (error.strerror or str(error)).lower()
    if words:
        raise ConfigError(f"{str(path)!r} cannot be written: {words}", key="out")


def _why_not(path: Path, inputs: Sequence[str]) -> str:
    """Why a file can't be written, "" when it can; OSError where the system says so."""
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    if path.is_dir():
        return "it is a folder: give the name of a file in it"
    # What a link leads to, which need not be there yet.
    real = Path(os.path.realpath(path))
    if not real.exists():
        # Whether a file may be made is known for certain when it was.
        real.open("ab").close()
        real.unlink()
    elif any(Path(one).exists() and real.samefile(one) for one in inputs):
        return "it is one of the files to read"
    elif real.is_file():
        real.open("ab").close()
    return ""


def positive(text: str) -> int:
    """A whole number of 1 or more; `100k` and `1.5M` are understood."""
    value = _number(text)
    if value < 1 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(value)


def api_version(text: str) -> str:
    """A date, as the versions of Anthropic's API are called."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        words = f"{text!r} is no date like 2023-06-01"
        raise argparse.ArgumentTypeError(words) from None


def not_negative(text: str) -> float:
    """A number of 0 or more; `100k` and `1.5M` are understood."""
    value = _number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return value


def _number(text: str) -> float:
    factor = {"k": 1_000.0, "m": 1_000_000.0}.get(text[-1:].lower(), 1.0)
    try:
        value = float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        value = nan
    if not isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value
