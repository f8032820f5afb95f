"""What only the whole Anthropic request can break: marks, pictures, its end, and its thinking.

Invariant: cache marks of the head outlive those of the messages, and the last ones the first; the
newest pictures outlive the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tenure.core.legal import Terms, Violation
from tenure.core.message import JsonObject, Path
from tenure.wire.mend_anthropic_draft import Entry, Notes
from tenure.wire.mend_anthropic_head import head_marks
from tenure.wire.mend_common import picture_label
from tenure.wire.rules_anthropic_block import KEY, kind_of, side_of, text_block
from tenure.wire.rules_anthropic_facts import pair_id
from tenure.wire.values import is_array, is_object, text_of

# The place of a block in the draft: the number of its entry, and the path in its message.
Spot = tuple[int, Path]
Swap = Callable[[JsonObject], JsonObject]


def _spots(draft: list[Entry], wanted: Callable[[JsonObject], bool]) -> list[Spot]:
    """Where blocks of a kind stand, in the order of the prompt; a result's parts before itself."""
    found: list[Spot] = []
    for number, entry in enumerate(draft):
        for at, block in enumerate(entry.blocks):
            inner = block.get("content")
            for place, part in enumerate(inner if is_array(inner) else ()):
                if is_object(part) and wanted(part):
                    found.append((number, ("content", at, "content", place)))
            if wanted(block):
                found.append((number, ("content", at)))
    return found


def _at(draft: list[Entry], spot: Spot) -> JsonObject:
    value: Any = draft[spot[0]].message
    for step in spot[1]:
        value = value[step]
    found: JsonObject = value
    return found


def _swapped(draft: list[Entry], swaps: Mapping[Spot, Swap]) -> list[Entry]:
    by_entry: dict[int, list[tuple[Path, Swap]]] = {}
    for (number, path), swap in swaps.items():
        by_entry.setdefault(number, []).append((path, swap))
    new = list(draft)
    for number, changes in by_entry.items():
        blocks = list(draft[number].blocks)
        inner: dict[int, list[Any]] = {}
        for path, swap in changes:
            at = int(path[1])
            if len(path) > 2:
                if at not in inner:
                    inner[at] = list(blocks[at]["content"])
                inner[at][int(path[3])] = swap(inner[at][int(path[3])])
            else:
                blocks[at] = swap(blocks[at])
        for at, parts in inner.items():
            blocks[at] = {**blocks[at], "content": parts}
        new[number] = draft[number].saying(blocks)
    return new


# -- marks -------------------------------------------------------------------------------------


def _is_marked(block: JsonObject) -> bool:
    return block.get(KEY) is not None


def _unmarked(block: JsonObject) -> JsonObject:
    return {key: value for key, value in block.items() if key != KEY}


def _short(block: JsonObject) -> JsonObject:
    return {**block, KEY: {**block[KEY], "ttl": "5m"}}


def mend_marks(
    draft: list[Entry], head: JsonObject, terms: Terms, notes: Notes
) -> tuple[list[Entry], JsonObject]:
    """At most as many marks as allowed, and those of an hour first."""
    draft = _agreeing(draft, head.get(KEY), notes)
    spots = _spots(draft, _is_marked)
    own, top = len(head_marks(head)), head.get(KEY) is not None
    over = own + top + len(spots) - terms.most_marks
    if over > 0:
        # The last mark of the messages is the one that the next request reads.
        gone = spots[: min(over, max(0, len(spots) - 1))]
        head = _without_marks(head, over - len(gone), notes)
        for spot in gone:
            mark = _at(draft, spot)[KEY]
            notes.add("too-many-marks", draft[spot[0]].source, "a cache mark was taken off", mark)
        draft = _swapped(draft, dict.fromkeys(gone, _unmarked))
        spots = spots[len(gone) :]
    return _ordered(draft, head, spots, notes)


def _agreeing(draft: list[Entry], top: Any, notes: Notes) -> list[Entry]:
    """The draft without a mark on its last block that lives longer or shorter than the automatic
    one, which is one of that very block."""
    block = draft[-1].blocks[-1] if draft and draft[-1].blocks else {}
    mark = block.get(KEY)
    if not is_object(top) or not is_object(mark) or _is_long(mark) == _is_long(top):
        return draft
    words = "the last block's own mark gave way to the automatic one"
    notes.add("automatic-mark", draft[-1].source, words, mark)
    return [*draft[:-1], draft[-1].saying([*draft[-1].blocks[:-1], _unmarked(block)])]


def _is_long(mark: JsonObject) -> bool:
    return mark.get("ttl") == "1h"


def _without_marks(head: JsonObject, count: int, notes: Notes) -> JsonObject:
    for mark in head_marks(head)[: max(0, count)]:
        key, at = str(mark.path[0]), int(mark.path[1])
        blocks = list(head[key])
        words = f"the cache mark of {key} {at} was taken off"
        notes.add("too-many-marks", -1, words, blocks[at][KEY])
        blocks[at] = _unmarked(blocks[at])
        head = {**head, key: blocks}
    return head


def _ordered(
    draft: list[Entry], head: JsonObject, spots: list[Spot], notes: Notes
) -> tuple[list[Entry], JsonObject]:
    short = False
    words = "a cache mark of an hour behind a shorter one lives 5 minutes now"
    for mark in head_marks(head):
        if mark.long and short:
            key, at = str(mark.path[0]), int(mark.path[1])
            blocks = list(head[key])
            notes.add("mark-order", -1, words, blocks[at][KEY])
            blocks[at] = _short(blocks[at])
            head = {**head, key: blocks}
        short = short or not mark.long
    swaps: dict[Spot, Swap] = {}
    for spot in spots:
        mark_value = _at(draft, spot)[KEY]
        is_long = is_object(mark_value) and mark_value.get("ttl") == "1h"
        if is_long and short:
            notes.add("mark-order", draft[spot[0]].source, words, mark_value)
            swaps[spot] = _short
        short = short or not is_long
    top = head.get(KEY)
    if short and is_object(top) and top.get("ttl") == "1h":
        notes.add("mark-order", -1, words, top)
        head = _short(head)
    return _swapped(draft, swaps), head


# -- pictures ----------------------------------------------------------------------------------


def mend_pictures(draft: list[Entry], terms: Terms, notes: Notes) -> list[Entry]:
    """Labels for the oldest of too many pictures, and for those too wide among many."""
    spots = _spots(draft, lambda block: kind_of(block) == "image")
    over = len(spots) - terms.pictures
    why: dict[Spot, tuple[str, str]] = {}
    for spot in spots[: max(0, over)]:
        words = f"a request takes {terms.pictures} pictures, and later ones fill it"
        why[spot] = ("too-many-pictures", words)
    left = spots[max(0, over) :]
    if len(left) > terms.wide_pictures:
        for spot in left:
            side = side_of(_at(draft, spot))
            if side > terms.wide_side:
                words = (
                    f"a side of {side} pixels, of {terms.wide_side} allowed among more than "
                    f"{terms.wide_pictures} pictures"
                )
                why[spot] = ("wide-picture", words)
    swaps: dict[Spot, Swap] = {}
    for spot, (rule, words) in why.items():
        number, path = spot
        outer = draft[number].blocks[int(path[1])]
        call = pair_id(outer.get("tool_use_id")) if len(path) > 2 else ""
        notes.add(
            rule, draft[number].source, f"a picture became a label: {words}", _at(draft, spot)
        )
        label = picture_label(words, call)
        swaps[spot] = lambda block, label=label: text_block(label, block)  # type: ignore[misc]
    return _swapped(draft, swaps)


# -- the end, and thinking ---------------------------------------------------------------------


def mend_end(draft: list[Entry], found: list[Violation], notes: Notes) -> list[Entry]:
    """The last text without the blanks at its end."""
    if not draft or not any(violation.rule == "trailing-space" for violation in found):
        return draft
    last = draft[-1]
    content = last.message["content"]
    if isinstance(content, str):
        new = Entry(last.source, {**last.message, "content": content.rstrip()})
        lost = content[len(content.rstrip()) :]
    else:
        text = text_of(last.blocks[-1].get("text"))
        new = last.saying([*last.blocks[:-1], {**last.blocks[-1], "text": text.rstrip()}])
        lost = text[len(text.rstrip()) :]
    notes.add("trailing-space", last.source, "blanks at the end were cut off", lost)
    return [*draft[:-1], new]


def mend_thinking_first(head: JsonObject, found: list[Violation], notes: Notes) -> JsonObject:
    """The head without its wish for thinking, where the last tool loop began without any."""
    if not any(violation.rule == "thinking-first" for violation in found):
        return head
    words = "no thinking is asked for: the turn of the last tool loop has none to go on from"
    notes.add("thinking-first", -1, words, head["thinking"])
    return {key: value for key, value in head.items() if key != "thinking"}
