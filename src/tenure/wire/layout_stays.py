"""Whether a text that came again may stay as it was sent, and what of it has to be said anew.

Invariant: only volatile text and the order of lines may differ; where anything else does the answer
is no. Types, roles, fields and the number of texts count, cache marks do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenure.core.volatile import find_volatile
from tenure.core.volatile_change import Change, Other, changes
from tenure.wire.meaning import MARKS
from tenure.wire.values import is_array, is_object, plain_json


def stays(sent: Any, given: Any, *, live: bool = False) -> tuple[str, ...] | None:
    """What differs in words, none when nothing does; None when it is more than volatile text.

    With `live` its surroundings must say that it is volatile (`find_volatile`), and an order counts:
    a person who edits a message writes other numbers and times too.
    """
    before, after = list(texts(sent)), list(texts(given))
    if len(before) != len(after) or plain_json(_shape(sent)) != plain_json(_shape(given)):
        return None
    words: list[str] = []
    for one, other in zip(before, after, strict=True):
        for change in changes(one, other):
            if change.kind is Other.EDITED or (live and not _is_live(other, change)):
                return None
            words.append(change.words)
    return tuple(words)


def changed_lines(sent: Any, given: Any) -> list[str]:
    """The lines of the given texts that hold volatile text which is another one now."""
    found: list[str] = []
    for one, other in zip(texts(sent), texts(given), strict=True):
        known = set(one.splitlines())
        if any(change.kind is not Other.RERANKED for change in changes(one, other)):
            found += [line.strip() for line in other.splitlines() if line not in known]
    return list(dict.fromkeys(line for line in found if line))


def texts(value: Any) -> Iterator[str]:
    """The texts of a message or a system field, in order: string content and `text` of blocks."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for key, item in value.items():
            if (key in _TEXTS or not isinstance(item, str)) and key not in MARKS:
                yield from texts(item)
    elif is_array(value):
        for item in value:
            yield from texts(item)


def _is_live(text: str, change: Change) -> bool:
    return any((v.kind, v.at) == (change.kind, change.at) for v in find_volatile(text))


_TEXTS = frozenset({"system", "instructions", "content", "text"})


def _shape(value: Any) -> Any:
    """The value with its texts taken out: equal for values that differ in their texts alone."""
    if is_object(value):
        return {
            key: None if key in _TEXTS and isinstance(item, str) else _shape(item)
            for key, item in value.items()
            if key not in MARKS
        }
    return [_shape(item) for item in value] if is_array(value) else value
