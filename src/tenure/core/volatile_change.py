"""What differs between two texts that should have been one: named by the kind of volatile text.

Invariant: equal texts have no changes, different ones at least one; the first change stands at the
first differing byte or at the start of the volatile text that holds it; linear in the texts.

Two texts show what one cannot: a time in the middle of a sentence that was another time before is a
clock, whatever stands around it. So every place whose form is that of volatile text counts here
(`volatile.shapes`), and lists whose lines came in another order are told from rewritten ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from tenure.core.volatile import Kind, Volatile, is_fixed, masked, shapes


class Other(StrEnum):
    """A difference that is no volatile piece of text."""

    RERANKED = "re-ranked"
    EDITED = "edited"


class Change(NamedTuple):
    """One difference; `at` is its byte offset (UTF-8) in the later text.

    `before` and `after` are the texts that differ; whole lines where lines came, went or moved.
    """

    kind: Kind | Other
    at: int
    before: str
    after: str

    @property
    def words(self) -> str:
        """`clock at byte 8: '15:09:20' became '15:09:34'`."""
        if self.kind is Other.RERANKED:
            return f"the same pieces in another order at byte {self.at}"
        return f"{self.kind} at byte {self.at}: {_shown(self.before)} became {_shown(self.after)}"


def changes(before: str, after: str) -> list[Change]:
    """What differs, in the order of the later text; at most one change of lines for one place.

    >>> [c.words for c in changes("Time is 15:09:20.", "Time is 15:09:34.")]
    ["clock at byte 8: '15:09:20' became '15:09:34'"]
    >>> [c.kind.value for c in changes("- a\\n- b\\n- c", "- c\\n- a\\n- b")]
    ['re-ranked']
    """
    if before == after:
        return []
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    head, tail = _shared(old, new)
    at = _size("".join(new[:head]))
    return list(_of_lines(old[head : len(old) - tail], new[head : len(new) - tail], at))


def same_but_volatile(before: str, after: str) -> bool:
    """Whether the texts differ in nothing but volatile text and the order of lines."""
    return all(change.kind is not Other.EDITED for change in changes(before, after))


def first_difference(before: str, after: str) -> int:
    """The first differing byte of two texts in UTF-8; -1 when they are equal."""
    if before == after:
        return -1
    left = before.encode("utf-8", "surrogatepass")
    return _common(left, after.encode("utf-8", "surrogatepass"))


def _of_lines(old: Sequence[str], new: Sequence[str], at: int) -> Iterator[Change]:
    """The changes of lines that begin at byte `at`; neither the first nor the last ones are equal."""
    seen, then = [shapes(line) for line in new], [shapes(line) for line in old]
    bare_old = [masked(line, found) for line, found in zip(old, then, strict=True)]
    bare_new = [masked(line, found) for line, found in zip(new, seen, strict=True)]
    head, tail = _shared(bare_old, bare_new)
    for number in range(head):
        yield from _of_shapes(then[number], seen[number], at)
        at += _size(new[number])
    middle = slice(head, len(old) - tail), slice(head, len(new) - tail)
    yield from _of_other_lines(old[middle[0]], new[middle[1]], at)
    at += _size("".join(new[middle[1]]))
    for number in range(tail):
        back = tail - number
        yield from _of_shapes(then[len(old) - back], seen[len(new) - back], at)
        at += _size(new[len(new) - back])


def _of_shapes(old: Sequence[Volatile], new: Sequence[Volatile], at: int) -> Iterator[Change]:
    for one, other in zip(old, new, strict=True):
        if one.text != other.text:
            yield Change(other.kind, at + other.at, one.text, other.text)


def _of_other_lines(old: Sequence[str], new: Sequence[str], at: int) -> Iterator[Change]:
    """Lines whose words differ: the same ones in another order, or others."""
    before, after = "".join(old), "".join(new)
    if before == after:
        return
    place = at + first_difference(before, after)
    if _alike(old, new) or (len(old) == len(new) == 1 and _alike(_items(old[0]), _items(new[0]))):
        yield Change(Other.RERANKED, place, before, after)
        return
    found = _of_one_token(before, after)
    if found is not None:
        kind, start, one, other = found
        yield Change(kind, at + _size(after[:start]), one, other)
        return
    yield Change(Other.EDITED, place, before, after)


def _of_one_token(before: str, after: str) -> tuple[Kind, int, str, str] | None:
    """The kind, place and two texts of a single word that changed, if it is volatile: its form may
    be another one now, as an id that came without letters, or it is a number that is no limit."""
    start = _common(before, after)
    while start and not after[start - 1].isspace():
        start -= 1
    one, other = before[start:], after[start:]
    left, right = _word(one), _word(other)
    if not left or not right or one[len(left) :] != other[len(right) :]:
        return None
    digits = all(any(c.isdigit() for c in word) for word in (left, right))
    for found in (*shapes(before), *shapes(after)) if digits else ():
        if found.start <= start + len(left) and start <= found.start:
            return found.kind, start, left, right
    if _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right) and not is_fixed(after, start):
        return Kind.COUNTER, start, left, right
    return None


def _word(text: str) -> str:
    return text.split(maxsplit=1)[0] if text and not text[0].isspace() else ""


_NUMBER = re.compile(r"[(\[#$]?\d[\d,.]*%?[)\],;:.]?")


def _alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """The same pieces, more than one, in another order; a line end more or less aside."""
    one, other = [x.strip() for x in old], [x.strip() for x in new]
    one, other = [x for x in one if x], [x for x in other if x]
    return len(one) > 1 and one != other and Counter(one) == Counter(other)


def _items(line: str) -> list[str]:
    """The pieces of a list in one line."""
    inner = line.strip().removesuffix(".")
    label, colon, rest = inner.partition(": ")
    if colon and not _SEPARATOR.search(label):
        inner = rest
    return [piece.strip("[](){} ") for piece in _SEPARATOR.split(inner)]


_SEPARATOR = re.compile(r"[,;|]\s*|(?<=[.!?])\s+")


def _shared(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """How many pieces at the start and then at the end are equal."""
    most = min(len(old), len(new))
    head = 0
    while head < most and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _common(before: str | bytes, after: str | bytes) -> int:
    """How many characters (or bytes) at the start are equal."""
    low, high = 0, min(len(before), len(after))
    # Slices compare at the speed of memory, so halving beats a walk character by character.
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[low:middle] == after[low:middle] else (low, middle - 1)
    return low


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
