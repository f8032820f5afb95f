"""What can still be read of a line that is no JSON record.

Invariant: never raises, whatever the text; every stretch of the text but blanks and NULs is part of
a returned record or of a returned loss; positions are characters of the text given. After 2,000
places of one line where no record begins the rest counts as lost, so that time stays bounded.

A program that is killed, or two that write at once, leave a record cut off (at the end, or with the
next record right behind it), records welded into one line, and runs of NUL where a page was never
written. A cut record is lost; the whole ones around it are not.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from tenure.core.nesting import MAX_NESTING, nests_too_deep

_DECODER = json.JSONDecoder(strict=False)
_SPACE = " \t\r\n\x00"
_ATTEMPTS = 2_000
_ARGUMENTS = ("arguments", "input")
_NULS = re.compile("\x00+")
_BLANKS = re.compile(r"[ \t\r\n\x00]*")
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
# A string, or a number: its integer part, and what follows that in a number that is no integer.
_NUMBER = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(-?[0-9]++)([.eE][-+.eE0-9]*+)?', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


class Found(NamedTuple):
    """A whole record at text[start:end]."""

    start: int
    end: int
    value: dict[str, Any] | list[Any]


class Lost(NamedTuple):
    """text[start:end] is the rest of a record that is gone; `deep` when nesting is the reason."""

    start: int
    end: int
    deep: bool = False


class NotJson(Exception):
    """Why a text is no JSON value, and from which character on."""

    def __init__(self, words: str, position: int) -> None:
        super().__init__(words)
        self.words = words
        self.position = position


class TooDeep(NotJson):
    """The value at this place nests deeper than tenure reads; it ends before `position`."""

    def __init__(self, position: int) -> None:
        super().__init__(f"nested more than {MAX_NESTING} levels deep", position)


class LongInteger(NotJson):
    """The value at this place holds an integer of more digits than Python reads as one."""

    def __init__(self, position: int) -> None:
        words = f"an integer of more than {sys.get_int_max_str_digits():,} digits"
        super().__init__(words, position)


def parse(text: str) -> Any:
    """The one JSON value of a text, control characters in strings allowed; raises `NotJson`.

    Raises `TooDeep`, which is one, for a value that nests beyond `core.nesting`, and `LongInteger`.
    """
    value, end = parse_at(text, len(text) - len(text.lstrip(_SPACE)))
    if text[end:].strip(_SPACE):
        raise NotJson("more follows the first value", end)
    return value


def parse_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and where it ends; raises `NotJson`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, error.pos) from error
    except RecursionError as error:
        raise TooDeep(len(text)) from error
    except ValueError as error:  # the decoder does not say where
        raise LongInteger(len(text)) from error
    if _too_deep(text, start, end, value):
        raise TooDeep(end)
    return value, end


def _too_deep(text: str, start: int, end: int, value: Any) -> bool:
    """Whether the value at text[start:end], or the JSON text of a call's arguments in it, nests too
    deep. Counting brackets is quick, and settles it for nearly every record."""
    if text.count("[", start, end) + text.count("{", start, end) <= MAX_NESTING:
        return False
    if nests_too_deep(value):
        return True
    return any(map(_spells_too_deep, _spelled_arguments(value)))


def _spelled_arguments(value: Any) -> Iterator[str]:
    """The texts that may be JSON of a call's arguments, wherever they stand."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from (one[key] for key in _ARGUMENTS if isinstance(one.get(key), str))
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _spells_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return False
    try:
        return nests_too_deep(json.loads(text))
    except RecursionError:
        return True
    except ValueError:  # no JSON: nobody will read it as such
        return False


def with_literal_escapes(text: str) -> str:
    """The text with each backslash that starts no JSON escape doubled, so that it stands for itself.

    Some redaction tools overwrite the character behind a backslash.
    """
    return _ESCAPE.sub(lambda found: found[0] if found[1] else "\\\\", text)


def with_long_integers_as_text(text: str) -> tuple[str, list[int]]:
    """The text with each integer that Python does not read in quotes, and where those end in it."""
    limit = sys.get_int_max_str_digits()
    ends: list[int] = []

    def spelled(found: re.Match[str]) -> str:
        if not found[1] or found[2] or not 0 < limit < len(found[1].lstrip("-")):
            return found[0]
        ends.append(found.end() + 2 * len(ends) + 2)
        return f'"{found[1]}"'

    return _NUMBER.sub(spelled, text), ends


def salvage(text: str, shapes: Collection[frozenset[str]]) -> list[Found | Lost]:
    """The whole records of a damaged line and the stretches that are lost, in order.

    `shapes` are the keys of the file's good records: they tell a record from an object inside one
    when the syntax alone cannot.
    """
    parts: list[Found | Lost] = []
    attempts = _ATTEMPTS
    begin = 0
    for hole in [*_NULS.finditer(text), None]:
        end = hole.start() if hole else len(text)
        piece, failed = _salvage_piece(text[begin:end], shapes, attempts)
        parts += [part._replace(start=part.start + begin, end=part.end + begin) for part in piece]
        attempts -= failed
        begin = hole.end() if hole else end
        if attempts <= 0:
            break
    return [*parts, Lost(begin, len(text))] if text[begin:].strip(_SPACE) else parts


def _salvage_piece(
    text: str, shapes: Collection[frozenset[str]], attempts: int
) -> tuple[list[Found | Lost], int]:
    """`salvage` of a text without NUL, and at how many places of it no record began."""
    parts: list[Found | Lost] = []
    lost_from: int | None = None
    failed = 0
    at = _skip_space(text, 0)
    while at < len(text) and failed < attempts:
        found, following = _record_at(text, at, shapes, after_loss=lost_from is not None)
        if found is None:
            failed += 1
            lost_from = at if lost_from is None else lost_from
        elif isinstance(found, Lost):
            parts += [found] if lost_from is None else [Lost(lost_from, at), found]
            failed, lost_from = failed + 1, None
        else:
            lost_from = at if lost_from is None and found.start > at else lost_from
            if lost_from is not None:
                parts.append(Lost(lost_from, found.start))
                lost_from = None
            parts.append(found)
        at = _skip_space(text, following)
    lost_from = at if lost_from is None else lost_from
    if lost_from < len(text):
        parts.append(Lost(lost_from, len(text)))
    return parts, failed


def _record_at(
    text: str, at: int, shapes: Collection[frozenset[str]], *, after_loss: bool
) -> tuple[Found | Lost | None, int]:
    """The record that begins at `at` or was swallowed by a cut one there, and where to go on.

    A loss for a record that is whole and nests too deep, None where none begins.
    """
    if text[at] not in "{[":
        return None, _next_brace(text, at + 1)
    try:
        value, end = parse_at(text, at)
    except TooDeep as error:
        return Lost(at, error.position, deep=True), error.position
    except NotJson as error:
        position = max(error.position, at + 1)
        swallowed = _swallowed(text, at, position, shapes)
        if swallowed:
            return swallowed, swallowed.end
        return None, _resume(text, at, position)
    # Inside a loss, an object that more of the same record follows is a part of what was lost.
    following = _skip_space(text, end)
    whole = not after_loss or text[following : following + 1] in {"", "{"}
    if whole and (isinstance(value, dict) or not after_loss):
        return Found(at, end, value), end
    return None, _next_brace(text, end)


def _resume(text: str, at: int, position: int) -> int:
    """Where the next record may begin, when the one at `at` breaks at `position`.

    A string that was cut off ends at the first quote of the next record, so the break is seen
    two characters into it.
    """
    before = position - 1
    if text[before : before + 1] == '"':
        brace = _last_solid(text, before)
        if brace > at and text[brace] == "{":
            return brace
    return _next_brace(text, position)


def _swallowed(
    text: str, at: int, position: int, shapes: Collection[frozenset[str]]
) -> Found | None:
    """The record that a cut one took for its own value: `{"a":{"type":...}` and then the end."""
    if text[position : position + 1].strip(_SPACE) not in {"", "{"}:
        return None
    end = _last_solid(text, position) + 1
    if end <= at or text[end - 1] != "}":
        return None
    start = _opening_of(text, at, end)
    if start is None or start == at:
        return None
    try:
        value, _ = parse_at(text, start)
    except NotJson:
        return None
    return Found(start, end, value) if _is_record(value, text[at:start], shapes) else None


def _opening_of(text: str, at: int, end: int) -> int | None:
    """Where the object opens that closes just before `end`."""
    open_braces: list[int] = []
    for token in _TOKEN.finditer(text, at, end):
        if token[0] == "{":
            open_braces.append(token.start())
        elif token[0] == "}" and open_braces:
            opening = open_braces.pop()
            if token.end() == end:
                return opening
    return None


def _is_record(value: Any, cut: str, shapes: Collection[frozenset[str]]) -> bool:
    """Whether an object that ends the text of a `cut` record is a record, and no part of the other.

    It has two keys in common with a good record of the file; where the file has none, it begins
    with the same key as the cut one.
    """
    if not isinstance(value, dict) or not value:
        return False
    if not shapes:
        return cut.startswith("{" + json.dumps(next(iter(value))))
    keys = frozenset(value)
    return any(len(keys & shape) >= min(2, len(shape)) for shape in shapes)


def _next_brace(text: str, start: int) -> int:
    found = text.find("{", start)
    return len(text) if found < 0 else found


def _skip_space(text: str, start: int) -> int:
    blanks = _BLANKS.match(text, start)
    return blanks.end() if blanks else start


def _last_solid(text: str, end: int) -> int:
    """The place of the last character before `end` that is no blank, -1 when there is none."""
    last = end - 1
    while last >= 0 and text[last] in _SPACE:
        last -= 1
    return last
