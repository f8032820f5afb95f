"""A table that fits the screen and cuts no cell.

Invariant: every cell is written whole, whatever the width. Where the screen is too narrow titles are
wrapped and bars go (each repeats a figure), then words are wrapped, and when that is not enough each
row is told as "title value" pairs on as many lines as it takes. A figure is never wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

LEFT, RIGHT, FOLD, BAR = "left", "right", "fold", "bar"
"""How a column is laid: words, figures, words in sentences, bars."""

_LEAST = {LEFT: 14, FOLD: 26}
"""The least width of words, so that they do not become a pillar of letters."""

_GAP, _INDENT = 2, 2
_BREAKS = " /-_:;="


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows below titles; `columns` are titles and how each is laid."""

    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Text]]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        del console
        widths = self._natural()
        whole = min(_INDENT + _sum(widths), options.max_width)
        return Measurement(whole, whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        room = options.max_width - _INDENT
        widths = self._fitted(room)
        lines = self._told(room) if widths is None else self._laid(widths)
        for line in lines:
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def _natural(self) -> list[int]:
        return [
            max([cell_len(title), *(row[at].cell_len for row in self.rows)])
            for at, (title, _) in enumerate(self.columns)
        ]

    def _fitted(self, room: int) -> list[int] | None:
        """The width of each column, 0 for one that goes; None when the rows do not fit."""
        widths = self._natural()
        if _sum(widths) <= room:
            return widths
        for at, (title, lay) in enumerate(self.columns):
            cells = max((row[at].cell_len for row in self.rows), default=0)
            longest = max((cell_len(word) for word in wrapped(title, 1)), default=0)
            widths[at] = 0 if lay == BAR else max(cells, longest)
        least = [
            min(width, max(_LEAST[lay], *map(cell_len, wrapped(title, 1))))
            if lay in _LEAST
            else width
            for width, (title, lay) in zip(widths, self.columns, strict=True)
        ]
        while (excess := _sum(widths) - room) > 0:
            spare = [width - low for width, low in zip(widths, least, strict=True)]
            if not any(spare):
                return None
            widest = max((at for at in range(len(widths)) if spare[at]), key=widths.__getitem__)
            # One column at a time, so that the words share what there is.
            widths[widest] -= 1 if excess < len(widths) else min(spare[widest], len(widths))
        return widths

    def _laid(self, widths: Sequence[int]) -> Iterator[Text]:
        shown = [at for at, width in enumerate(widths) if width]
        titles = [wrapped(self.columns[at][0], widths[at]) for at in shown]
        deep = max(map(len, titles), default=0)
        # Titles stand on the line above the cells.
        heads = [[""] * (deep - len(title)) + title for title in titles]
        for line in zip(*heads, strict=True):
            texts = [Text(one, style="dim") for one in line]
            if any(line):
                yield self._line(shown, widths, texts)
        for row in self.rows:
            cells = [_cell(row[at], widths[at]) for at in shown]
            for parts in zip_longest(*cells, fillvalue=Text("")):
                yield self._line(shown, widths, parts)

    def _line(self, shown: Sequence[int], widths: Sequence[int], parts: Sequence[Text]) -> Text:
        line = Text(" " * _INDENT)
        for place, (at, part) in enumerate(zip(shown, parts, strict=True)):
            pad = " " * (widths[at] - part.cell_len)
            if place:
                line.append(" " * _GAP)
            if self.columns[at][1] == RIGHT:
                line.append(pad).append_text(part)
            else:
                line.append_text(part).append(pad)
        return line

    def _told(self, room: int) -> Iterator[Text]:
        """Each row as pairs of title and value; what is empty has nothing to tell."""
        for row in self.rows:
            line, indent = Text(""), _INDENT
            for (title, lay), cell in zip(self.columns, row, strict=True):
                if lay == BAR or not cell.plain:
                    continue
                pair = Text(title and f"{title} ", style="dim")
                pair = Text("").append_text(pair).append_text(cell)
                if line and indent - _INDENT + line.cell_len + 3 + pair.cell_len > room:
                    yield Text(" " * indent).append_text(line)
                    line, indent = Text(""), 2 * _INDENT
                line.append(" · " if line else "", style="dim").append_text(pair)
                if indent - _INDENT + line.cell_len > room:
                    *whole, rest = wrapped(line.plain, room - _INDENT)
                    for one in whole:
                        yield Text(" " * indent + one)
                        indent = 2 * _INDENT
                    line = Text(rest)
            yield Text(" " * indent).append_text(line)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken behind a space or a mark of paths where
    there is one; with width 1 the pieces that a title may be broken into.

    >>> wrapped("steps over budget", 1)
    ['steps', 'over', 'budget']
    >>> wrapped("clear-100k-keep-3", 12)
    ['clear-100k-', 'keep-3']
    """
    if width == 1:
        return text.split() or [""]
    lines: list[str] = []
    while cell_len(text) > width:
        head = chop_cells(text, width)[0]
        if text[len(head)] == " ":
            at = len(head)
        else:
            at = max(head.rfind(one) + 1 for one in _BREAKS)
        at = at if 2 * at >= len(head) else len(head)
        lines.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*lines, text]


def _cell(cell: Text, width: int) -> list[Text]:
    if cell.cell_len <= width:
        return [cell]
    return [Text(line, style=cell.style) for line in wrapped(cell.plain, width)]


def _sum(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + _GAP * max(0, len(shown) - 1)
