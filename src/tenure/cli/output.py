"""How results reach the terminal: one place that writes, and the spellings of numbers.

Invariant: text of a transcript is shown as text: no control character of it reaches the terminal
and none of it is read as markup.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from tenure.cli.grid import Grid
from tenure.cli.work import STDOUT

PIPED_WIDTH = 10_000
"""Columns when the output is no terminal and COLUMNS does not say: each row is one line, whatever
its length."""

NARROWEST = 30
"""Columns that are written for at least: a narrower terminal breaks lines itself."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def emit(renderables: Iterable[RenderableType]) -> None:
    """Writes rendered things to stdout, each on its own lines."""
    width = max(NARROWEST, shutil.get_terminal_size((PIPED_WIDTH, 50)).columns)
    console = Console(width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)
    # Rich touches the file at the end of a capture too.
    with _stdout(), console.capture() as captured:
        for one in renderables:
            if isinstance(one, Text) and one.no_wrap:
                # rich forgets how a bare text wants to be laid.
                console.print(one, no_wrap=True, overflow="ignore", crop=False)
            else:
                # A cell that is wider than the screen is for the terminal to wrap, not for us to cut.
                console.print(_hanging(one, width), crop=False)
    # Rich pads lines to the width; nobody wants that in a file.
    lines = (line.rstrip() for line in captured.get().splitlines())
    _write("\n".join(lines) + "\n")


def _hanging(one: RenderableType, width: int) -> RenderableType:
    """What is indented stays so on the lines it is wrapped into."""
    if not isinstance(one, Text) or one.cell_len <= width:
        return one
    indent = len(one.plain) - len(one.plain.lstrip(" "))
    return Padding(one[indent:], (0, 0, 0, indent)) if indent else one


def emit_json(value: Any) -> None:
    """Writes one JSON value to stdout: ASCII, and null for what is no finite number."""
    _write(json.dumps(_finite(value), indent=2, allow_nan=False) + "\n")


def _write(text: str) -> None:
    with _stdout():
        sys.stdout.write(text)
        sys.stdout.flush()


@contextmanager
def _stdout() -> Iterator[None]:
    """An OSError while writing, e.g. on a full disk, names stdout."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, STDOUT) from error


def heading(text: str, *, note: str = "") -> Text:
    """A title above a table; `note` says how to read it."""
    title = Text("\n").append(plain(text), style="bold")
    return title.append(f"  {note}" if note else "", style="dim")


def table(
    columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str | Text]]
) -> RenderableType:
    """A compact table; each column is its title and how it is laid: left, right, fold (words in
    sentences) or bar. What happens where the screen is narrow is told in `grid`."""
    cells = [
        [one if isinstance(one, Text) else Text(plain(one).strip()) for one in row] for row in rows
    ]
    return Grid(columns, cells)


def plain(text: str) -> str:
    """The text on one line, without a character that a terminal would act on."""
    return "".join(c if c.isprintable() else " " for c in text)


def tail(text: str, width: int) -> str:
    """The end of a path that is too long, which tells more than its beginning."""
    text = plain(text)
    return text if len(text) <= width else f"…{text[1 - width :]}"


def start(text: str, width: int) -> str:
    """The beginning of a text that is too long."""
    text = plain(text[: 4 * width])
    return text if len(text) <= width else f"{text[: width - 1]}…"


def bar(share: float, width: int = 20) -> Text:
    """A bar of `share` (0 to 1) of the width."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    whole, rest = divmod(eighths, 8)
    return Text("█" * whole + (_EIGHTHS[rest] if rest else ""), style="cyan")


def count(value: float) -> str:
    """A whole number with thousands apart; from a million on, in millions."""
    if abs(value) >= 999_999.5:
        return f"{value / 1e6:,.{1 if abs(value) >= 1e7 else 2}f}M"
    return f"{round(value):,}"


def usd(value: float) -> str:
    """US dollars; small amounts with the digits that they need."""
    sign = "-" if value < 0 else ""
    digits = 4 if 0 < abs(value) < 0.1 else 2
    return f"{sign}${abs(value):,.{digits}f}"


def percent(share: float | None) -> str:
    """A share of 1 as percent, "-" when there is none."""
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return "-" if share is None else f"{round(share, 3) + 0.0:.1%}"


def step_number(step: int) -> str:
    """A step for people, who count from 1; JSON has it as it is, from 0.

    >>> step_number(0)
    '1'
    """
    return f"{step + 1:,}"


def many(number: int, one: str) -> str:
    """A number of things: "1 step", "2 steps"."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def part(value: float, whole: float) -> float:
    """A share, 0 of nothing."""
    return value / whole if whole else 0.0


def model_name(name: str) -> str:
    """A model's name, "unknown" for one that is priced as a default."""
    return "unknown" if name.startswith("default (") else name


def span(seconds: float) -> str:
    """A time in the unit that reads best."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if isfinite(value) else None
        case dict():
            return {key: _finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case _:
            return value
