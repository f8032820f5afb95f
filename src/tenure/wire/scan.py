"""Where the values of a JSON text begin and end.

Invariant: `text[start:end]` of every span is one JSON value as written; nothing is normalised.
Values are decoded along the way by the C decoder, which is also what finds their ends.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from tenure.core.nesting import MAX_NESTING, nests_too_deep

_BLANK = re.compile(r"[ \t\n\r]*")


class Span(NamedTuple):
    """One member or element: `at` is where it starts with its key, `start:end` is the value."""

    key: str | int
    at: int
    start: int
    end: int
    value: Any


def decoded(raw: bytes) -> str:
    """The text of bytes of any kind; `encoded` gives the same bytes back."""
    return raw.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a text; lone surrogates that never were bytes leave as JSON escapes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _LONE.sub(lambda m: f"\\u{ord(m.group()):04x}", text).encode(
            "utf-8", "surrogateescape"
        )


def skip(text: str, at: int) -> int:
    """The first place at or after `at` that is not JSON white space."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The value that starts at `at` and its end; ValueError or RecursionError when there is none."""
    return _DECODER.raw_decode(text, at)


def members(text: str, at: int, *, spread: str = "") -> tuple[list[Span], int]:
    """The members of the object at `at`, duplicates included, and the object's end.

    Where the value of the key `spread` is an array, its elements' spans are the value.
    """
    found: list[Span] = []
    place = skip(text, at + 1)
    if text[place : place + 1] == "}":
        return found, place + 1
    while True:
        if text[place : place + 1] != '"':
            raise json.JSONDecodeError("expected a key in double quotes", text, place)
        key, after = value_at(text, place)
        colon = skip(text, after)
        if text[colon : colon + 1] != ":":
            raise json.JSONDecodeError("expected ':'", text, colon)
        start = skip(text, colon + 1)
        whole = key != spread or text[start : start + 1] != "["
        value, end = value_at(text, start) if whole else elements(text, start)
        found.append(Span(key, place, start, end, value))
        place, done = _next(text, end, "}")
        if done:
            return found, place


def elements(text: str, at: int) -> tuple[list[Span], int]:
    """The elements of the array at `at` and the array's end."""
    found: list[Span] = []
    place = skip(text, at + 1)
    if text[place : place + 1] == "]":
        return found, place + 1
    while True:
        value, end = value_at(text, place)
        found.append(Span(len(found), place, place, end, value))
        place, done = _next(text, end, "]")
        if done:
            return found, place


def too_deep(value: Any, text: str) -> bool:
    """True when a decoded value is nested deeper than `MAX_NESTING`.

    Reading it would exhaust Python's stack later on. `text` is the value's JSON: with few brackets
    it can't be deep, which spares nearly all values the walk.
    """
    return text.count("[") + text.count("{") > MAX_NESTING and nests_too_deep(value)


def _next(text: str, end: int, close: str) -> tuple[int, bool]:
    mark = skip(text, end)
    found = text[mark : mark + 1]
    if found == close:
        return mark + 1, True
    if found != ",":
        raise json.JSONDecodeError(f"expected ',' or {close!r}", text, mark)
    return skip(text, mark + 1), False


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
