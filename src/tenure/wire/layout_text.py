"""Volatile sentences and lines of a system text, told from what is stable.

Invariant: the pieces cut out and what is left, put together in their places, are the text; nothing is
cut that is not a whole line or a whole leading sentence; cutting what is left again cuts nothing.

Safe to move is what says the same wherever it stands: a line `label: value` whose value is volatile,
and the sentences that open a text. Left in place: what orders something ("must", "never"), what
points at its neighbours ("above", "below"), code between fences, long lines, and the header that
Claude Code puts first, which the provider reads by its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tenure.core.volatile import Kind, Volatile, find_volatile

# A path is needed where it is named, and does not change within a session.
_MOVABLE = frozenset(Kind) - {Kind.SESSION_PATH}
_LONGEST = 200
# A sentence that says more than the hour says something that is stable.
_MOST_WORDS = 8
_HEADER = "x-anthropic-"
_BINDS = re.compile(
    r"\b(?:must|never|always|do not|don't|should|shall|only|ensure|make sure|please|keep|avoid|use|"
    r"above|below|following|previous|earlier|this (?:line|section|block)|if|unless|when)\b",
    re.IGNORECASE,
)
# A label, then nothing but volatile text (\0) and a few words about it.
_LABELLED = re.compile(
    r"\s*(?:[-*•]\s+)?(?:\*\*)?(?:<[\w:-]{1,40}>\s*|[\w '’/()-]{1,48}?(?:\*\*)?\s*(?:[:=]|\bis\b|\bat\b)\s*"
    r"(?:\*\*)?\s*)\0(?:[ ,(/]{0,3}[\w %-]{0,24}\0){0,3}[\w /,()%+:-]{0,24}\.?\s*(?:</[\w:-]{1,40}>)?\s*"
)
# A sentence ends at its stop, abbreviations aside, or with its line.
_SENTENCE = re.compile(
    r"[^\n]*?(?:(?<!\b[ap]\.m)(?<!\be\.g)(?<!\bi\.e)(?<!\bca)(?<!\bapprox)(?<!\b[Nn]o)[.!?](?=\s|$)"
    r"|(?=\n)|$)",
    re.MULTILINE,
)


class Piece(NamedTuple):
    """A piece to move: [start, end) in characters, and the volatile text in it."""

    start: int
    end: int
    found: tuple[Volatile, ...]


class Cut(NamedTuple):
    """A text without its volatile pieces; `left` is volatile text that was not safe to move."""

    stable: str
    pieces: tuple[Piece, ...]
    left: tuple[Volatile, ...]


def cut_text(text: str) -> Cut:
    """The text with its movable volatile lines and leading sentences taken out.

    >>> cut = cut_text("Time is 15:09:20. House rules follow.")
    >>> cut.stable, [piece.end for piece in cut.pieces]
    ('House rules follow.', [18])
    """
    found = find_volatile(text)
    if not found or text.startswith(_HEADER):
        return Cut(text, (), tuple(found))
    pieces = list(_pieces(text, found))
    moved = {volatile for piece in pieces for volatile in piece.found}
    kept, done = [], 0
    for piece in pieces:
        kept.append(text[done : piece.start])
        done = piece.end
    left = tuple(each for each in found if each not in moved)
    return Cut("".join([*kept, text[done:]]), tuple(pieces), left)


def _pieces(text: str, found: list[Volatile]) -> Iterator[Piece]:
    opening = _opening(text, found)
    if opening is not None:
        yield opening
    begun = opening.end if opening else 0
    yield from _lines(text, [each for each in found if each.start >= begun], begun)


def _opening(text: str, found: list[Volatile]) -> Piece | None:
    """The sentences in front that hold volatile text, up to the first that holds none."""
    end = number = 0
    while number < len(found):
        start = end + len(text[end : end + _LONGEST]) - len(text[end : end + _LONGEST].lstrip())
        sentence = _SENTENCE.match(text, start, start + _LONGEST + 1)
        if sentence is None or sentence.end() - start > _LONGEST:
            break
        inside = number
        while inside < len(found) and found[inside].end <= sentence.end():
            inside += 1
        here = found[number:inside]
        if not here or not _movable(sentence.group(), here):
            break
        if inside < len(found) and found[inside].start < sentence.end():
            break
        number, end = inside, sentence.end()
    if not end:
        return None
    end += len(text[end:]) - len(text[end:].lstrip()) if number else 0
    return Piece(0, end, tuple(found[:number]))


def _lines(text: str, found: list[Volatile], begun: int) -> Iterator[Piece]:
    """The later lines that are a label and its volatile value."""
    fenced = False
    number, start = 0, begun
    while start < len(text) and number < len(found):
        end = text.find("\n", start) + 1 or len(text)
        fenced ^= text[start:end].lstrip().startswith("```")
        inside = number
        while inside < len(found) and found[inside].start < end:
            inside += 1
        here = found[number:inside]
        if here and not fenced and _labelled(text[start:end], here, start):
            yield Piece(start, end, tuple(here))
        number, start = inside, end


def _labelled(line: str, here: list[Volatile], start: int) -> bool:
    if len(line) > _LONGEST or here[-1].end > start + len(line) or not _movable(line, here):
        return False
    bare, done = "", 0
    for each in here:
        bare += line[done : each.start - start] + "\0"
        done = each.end - start
    return _LABELLED.fullmatch(bare + line[done:]) is not None


def _movable(words: str, here: list[Volatile]) -> bool:
    """Volatile through and through: few other words, none that order or point."""
    if any(each.kind not in _MOVABLE for each in here) or _BINDS.search(words):
        return False
    return len(words.split()) - sum(len(each.text.split()) for each in here) <= _MOST_WORDS
