"""Where two JSON values first differ, and in what way.

Invariant: total over JSON values; equal values have no difference, and the place named is the first
in reading order. What is only spelled in another way is told apart from other words.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, NamedTuple

from tenure.core.message import Path
from tenure.core.volatile import Kind
from tenure.core.volatile_change import Other, changes
from tenure.wire.prefix_parts import compact
from tenure.wire.values import is_array, is_object

_DATA = frozenset({"input", "arguments", "input_schema", "parameters"})
_LEAD, _LENGTH = 30, 50


class Way(StrEnum):
    """In what way two values differ."""

    FORM = "the one as a string, the other as a list with that one text"
    SPLIT = "the same text cut into other blocks"
    NULLS = "a field that is null in one and absent in the other"
    KEYS = "the same keys in another order"
    SPELLING = "the same JSON spelled differently"
    VOLATILE = "text that changes by itself"
    RANKED = "the same lines in another order"
    WORDS = "other words"
    ADDED = "something was added"
    REMOVED = "something was removed"


SHAPES = frozenset({Way.FORM, Way.SPLIT, Way.NULLS, Way.KEYS, Way.SPELLING})
"""The ways in which the same text differs."""


class Place(NamedTuple):
    """The first difference: its path, its way, what stands there, and the volatile kind if any."""

    path: Path
    way: Way
    before: str
    after: str
    kind: str = ""


def first_place(before: Any, after: Any) -> Place | None:
    """The first difference of two values; None when their JSON is the same."""
    if compact(before) == compact(after):
        return None
    return _spelled(before, after, ()) or _descend(before, after, ())


def meaning_of(value: Any) -> str:
    """One text for all values that mean the same, however they are spelled."""
    return compact(_plain(value))


def _descend(before: Any, after: Any, path: Path) -> Place:
    """The first difference of two values that do not mean the same."""
    if is_object(before) and is_object(after):
        return _in_object(before, after, path)
    if is_array(before) and is_array(after):
        return _in_array(before, after, path)
    if isinstance(before, str) and isinstance(after, str):
        return _of_texts(before, after, path)
    # The words have changed, whatever form they came in.
    if isinstance(before, str) and _one_text(after) is not None:
        return _of_texts(before, _one_text(after) or "", path)
    if isinstance(after, str) and _one_text(before) is not None:
        return _of_texts(_one_text(before) or "", after, path)
    return Place(path, Way.WORDS, compact(before), compact(after))


def _in_object(before: Any, after: Any, path: Path) -> Place:
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if compact(old) == compact(new) or _plain(old) == _plain(new):
            continue
        if old is None:
            return Place((*path, key), Way.ADDED, "", compact(new))
        if new is None:
            return Place((*path, key), Way.REMOVED, compact(old), "")
        return _descend(old, new, (*path, key))
    return Place(path, Way.WORDS, compact(before), compact(after))


def _in_array(before: Any, after: Any, path: Path) -> Place:
    olds, news = [_plain(one) for one in before], [_plain(one) for one in after]
    for at, (old, new) in enumerate(zip(olds, news, strict=False)):
        if old == new:
            continue
        rest_old, rest_new = len(olds) - at, len(news) - at
        if rest_new > rest_old and olds[at:] == news[-rest_old:]:
            return Place((*path, at), Way.ADDED, "", compact(after[at]))
        if rest_old > rest_new and news[at:] == olds[-rest_new:]:
            return Place((*path, at), Way.REMOVED, compact(before[at]), "")
        return _descend(before[at], after[at], (*path, at))
    at = min(len(olds), len(news))
    if len(news) > at:
        return Place((*path, at), Way.ADDED, "", compact(after[at]))
    return Place((*path, at), Way.REMOVED, compact(before[at]) if len(olds) > at else "", "")


def _of_texts(before: str, after: str, path: Path) -> Place:
    old_json, new_json = _json_of(before), _json_of(after)
    if old_json is not None and old_json == new_json:
        return Place(path, Way.SPELLING, *_around(before, after))
    excerpts = _around(before, after)
    kind = changes(before, after)[0].kind
    match kind:
        case Kind():
            return Place(path, Way.VOLATILE, *excerpts, kind.value)
        case Other.RERANKED:
            return Place(path, Way.RANKED, *excerpts)
        case _:
            return Place(path, Way.WORDS, *excerpts)


def _around(before: str, after: str) -> tuple[str, str]:
    """What stands in both texts where they first differ, with some words around it."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    start = max(0, low - _LEAD)
    return before[start : low + _LENGTH], after[start : low + _LENGTH]


# -- the same, spelled in another way ----------------------------------------------------------


def _spelled(before: Any, after: Any, path: Path) -> Place | None:
    """The first place where two values that mean the same are spelled differently, else None."""
    if compact(before) == compact(after):
        return None
    if _plain(before) != _plain(after):
        return _split(before, after, path)
    if is_object(before) and is_object(after):
        for key in [*before, *(key for key in after if key not in before)]:
            if (key in before) != (key in after):
                return Place((*path, key), Way.NULLS, *_both(before.get(key), after.get(key)))
            inner = _spelled(before[key], after[key], (*path, key))
            if inner is not None:
                return inner
        return Place(path, Way.KEYS, ", ".join(before), ", ".join(after))
    if is_array(before) and is_array(after):
        pairs = enumerate(zip(before, after, strict=True))
        inners = (_spelled(old, new, (*path, at)) for at, (old, new) in pairs)
        found = next((one for one in inners if one is not None), None)
        return found or Place(path, Way.SPELLING, *_both(before, after))
    form = isinstance(before, str) != isinstance(after, str)
    return Place(path, Way.FORM if form else Way.SPELLING, *_both(before, after))


def _split(before: Any, after: Any, path: Path) -> Place | None:
    """Where the same text is cut into other blocks, when nothing else differs."""
    if is_object(before) and is_object(after) and before.keys() == after.keys():
        others = [key for key in before if _plain(before[key]) != _plain(after[key])]
        if others in (["content"], ["text"]):
            return _split(before[others[0]], after[others[0]], (*path, others[0]))
        return None
    texts = _texts(before), _texts(after)
    if texts[0] is None or texts[1] is None or "".join(texts[0]) != "".join(texts[1]):
        return None
    return Place(path, Way.SPLIT, *_both(before, after))


def _texts(value: Any) -> list[str] | None:
    """The texts of content that is nothing but text."""
    if isinstance(value, str):
        return [value]
    blocks = value if is_array(value) else ()
    texts = [block.get("text") for block in blocks if is_object(block)]
    plain = [text for text in texts if isinstance(text, str)]
    return plain if plain and len(plain) == len(blocks) else None


def _plain(value: Any, *, exact: bool = False) -> Any:
    """One spelling for all that mean the same: no nulls, one text for a list with one text block,
    keys in order. What a tool gets (`exact`) keeps its nulls: there they are data."""
    if is_object(value):
        kept = {
            str(key): _plain(one, exact=exact or key in _DATA)
            for key, one in value.items()
            if exact or one is not None
        }
        return tuple(sorted(kept.items(), key=lambda item: item[0]))
    if is_array(value):
        text = None if exact else _one_text(value)
        return text if text is not None else ["list", *(_plain(one, exact=exact) for one in value)]
    return value if isinstance(value, str | bool) or value is None else _number(value)


def _number(value: Any) -> Any:
    """A number in the one spelling that JSON has for it: 1 is 1.0 but not true."""
    if isinstance(value, float) and value.is_integer():
        return ("number", int(value))
    return ("number", value)


def _one_text(value: Any) -> str | None:
    """The text of content that is one text block without anything else."""
    if not is_array(value) or len(value) != 1 or not is_object(value[0]):
        return None
    block = value[0]
    kinds = {"text", "input_text", "output_text"}
    fields = {key for key, one in block.items() if one is not None}
    text = block.get("text")
    alone = fields == {"type", "text"} and block.get("type") in kinds
    return text if alone and isinstance(text, str) else None


def _json_of(text: str) -> Any:
    """The JSON object that a text spells, in one spelling; None when it is no object."""
    if text[:1] != "{":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _plain(value, exact=True) if isinstance(value, dict) else None


def _both(before: Any, after: Any) -> tuple[str, str]:
    return compact(before)[:80], compact(after)[:80]
