"""What stands in front of the messages of an Anthropic request, as far as messages depend on it.

Invariant: a sound head is the very object given; only system texts, cache marks and what JSON
cannot carry are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.mend_common import cleaned, is_clean, lost_json
from tenure.wire.rules_anthropic_block import KEY, Fault, kind_of
from tenure.wire.rules_anthropic_facts import Mark
from tenure.wire.rules_anthropic_message import sound_mark
from tenure.wire.values import is_array, is_object

PARTS = ("tools", "system")


def head_faults(terms: Terms) -> list[Fault]:
    """The rules that a head breaks by itself."""
    return sound_head(terms.head)[1]


def sound_head(head: JsonObject) -> tuple[JsonObject, list[Fault]]:
    """The nearest sound head, and the faults of this one."""
    faults: list[Fault] = []
    if not is_clean(head):
        words = "the request holds what JSON in UTF-8 cannot, in front of its messages"
        faults.append(Fault("unsendable-text", words, (), lost_json(head)))
        head = cleaned(head)
    for key in PARTS:
        head = _with_sound_blocks(head, key, faults)
    mark = head.get(KEY)
    if mark is not None and sound_mark(mark) is not mark:
        faults.append(_bad_mark(mark, (KEY,)))
        head = {**head, KEY: sound_mark(mark)}
    return head, faults


def _with_sound_blocks(head: JsonObject, key: str, faults: list[Fault]) -> JsonObject:
    blocks = head.get(key)
    if not is_array(blocks):
        return head
    new: list[Any] = []
    for at, block in enumerate(blocks):
        if key == "system" and kind_of(block) == "text" and _is_blank(block.get("text")):
            words = "a text block of the system prompt has no text"
            faults.append(Fault("empty-text", words, (key, at), lost_json(block)))
            continue
        mark = block.get(KEY) if is_object(block) else None
        if mark is not None and sound_mark(mark) is not mark:
            faults.append(_bad_mark(mark, (key, at, KEY)))
            block = {**block, KEY: sound_mark(mark)}
        new.append(block)
    if len(new) == len(blocks) and all(a is b for a, b in zip(new, blocks, strict=True)):
        return head
    if not new:
        return {name: value for name, value in head.items() if name != key}
    return {**head, key: new}


def _is_blank(text: Any) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())


def _bad_mark(mark: Any, path: tuple[str | int, ...]) -> Fault:
    return Fault("mark-shape", "a cache mark is not as it must be", path, lost_json(mark))


def head_marks(head: JsonObject) -> Sequence[Mark]:
    """The marks of tools and system, in order; not the automatic one."""
    found: list[Mark] = []
    for key in PARTS:
        blocks = head.get(key)
        for at, block in enumerate(blocks if is_array(blocks) else ()):
            mark = block.get(KEY) if is_object(block) else None
            if mark is not None:
                found.append(Mark((key, at), is_object(mark) and mark.get("ttl") == "1h"))
    return found
