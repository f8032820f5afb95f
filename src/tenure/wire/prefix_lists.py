"""How one list of parts became another: what was added, removed, put in another order or replaced.

Invariant: linear in the parts; the answer names the first change, by its place in the lists given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from tenure.wire.prefix_parts import Part, tool_name
from tenure.wire.prefix_place import meaning_of


class Change(Enum):
    """What happened to a list; SAME is a list whose elements stand where they stood."""

    SAME = auto()
    ADDED = auto()
    REMOVED = auto()
    REORDERED = auto()
    REPLACED = auto()


class ToolChange(NamedTuple):
    """What happened to the tools, and the number of the first one concerned."""

    way: Change
    at: int


class Alignment(NamedTuple):
    """What happened to a run of messages: how many are gone, and how many came instead."""

    way: Change
    gone: int
    come: int


def tool_cause(old: Sequence[Part], new: Sequence[Part]) -> ToolChange | None:
    """The change of a list of tools; None when their texts are the same, in the same order."""
    texts = [part.text for part in old], [part.text for part in new]
    if texts[0] == texts[1]:
        return None
    names = [tool_name(part.value) for part in old], [tool_name(part.value) for part in new]
    if names[0] == names[1]:
        pairs = zip(*texts, strict=True)
        return ToolChange(Change.SAME, next(at for at, (a, b) in enumerate(pairs) if a != b))
    gone, come = (list((Counter(a) - Counter(b)).elements()) for a, b in (names, names[::-1]))
    if not gone and not come:
        pairs = zip(*names, strict=True)
        return ToolChange(Change.REORDERED, next(at for at, (a, b) in enumerate(pairs) if a != b))
    if gone:
        return ToolChange(Change.REMOVED, names[0].index(gone[0]))
    return ToolChange(Change.ADDED, names[1].index(come[0]))


def tool_words(old: Sequence[Part], new: Sequence[Part]) -> str:
    """What happened to the tools, in words."""
    names = [tool_name(part.value) for part in old], [tool_name(part.value) for part in new]
    gone, come = (list((Counter(a) - Counter(b)).elements()) for a, b in (names, names[::-1]))
    if not gone and not come:
        return "the same tools stand in another order: " + ", ".join(map(repr, names[1][:8]))
    told = [
        f"{', '.join(map(repr, some[:8]))} {word}"
        for some, word in ((gone, "gone"), (come, "new"))
        if some
    ]
    return "tools: " + "; ".join(told)


def alignment(old: Sequence[Part], new: Sequence[Part]) -> Alignment:
    """What happened between two lists of messages whose first ones differ.

    The longest run of `new` that is the end of `old` is taken to be what was kept; what stands in
    front of it on each side is what is gone and what came.
    """
    olds = [meaning_of(part.value) for part in old]
    news = [meaning_of(part.value) for part in new]
    kept, end = _longest_end(olds, news)
    if not kept:
        gone, come = len(olds), min(len(olds), len(news))
        if Counter(olds) == Counter(news[: len(olds)]):
            return Alignment(Change.REORDERED, gone, gone)
        way = Change.REPLACED if len(news) < len(olds) else Change.SAME
        return Alignment(way, gone, come)
    gone, come = len(olds) - kept, end - kept
    if not gone or not come:
        return Alignment(Change.ADDED if come else Change.REMOVED, gone, come)
    if gone > 1 and Counter(olds[:gone]) == Counter(news[:come]):
        return Alignment(Change.REORDERED, gone, come)
    return Alignment(Change.REPLACED if gone > come else Change.SAME, gone, come)


def _longest_end(olds: Sequence[str], news: Sequence[str]) -> tuple[int, int]:
    """The longest end of `olds` that stands in `news`: its length, and where it ends there."""
    best = (0, 0)
    for back, length in enumerate(_beginnings(olds[::-1], news[::-1])):
        if length and length >= best[0]:
            best = (length, len(news) - back)
    return best


def _beginnings(pattern: Sequence[str], text: Sequence[str]) -> list[int]:
    """For each place of `text` how much of `pattern` begins there (the Z function: linear)."""
    whole: list[str | None] = [*pattern, None, *text]
    lengths = [0] * len(whole)
    left = right = 0
    for at in range(1, len(whole)):
        length = min(right - at, lengths[at - left]) if at < right else 0
        while at + length < len(whole) and whole[length] == whole[at + length]:
            length += 1
        lengths[at] = length
        if at + length > right:
            left, right = at, at + length
    return lengths[len(pattern) + 1 :]
