"""What the check of an Anthropic request keeps of each message: who pairs with whom, marks, pictures.

Invariant: facts are those of a sound message; `plain_item` says nothing of a block unless it is
certainly sound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import cleaned, is_clean, is_clean_text, lost_json
from tenure.wire.rules_anthropic_block import (
    KEY,
    SERVER_CALLS,
    THINKING,
    Fault,
    is_base64,
    is_server_result,
    kind_of,
    side_of,
)
from tenure.wire.values import is_array, is_object

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
# The API's 400 on `server_tool_use.id`.
SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
# What a block is to the walk.
CALL, RESULT, SERVER, SERVED, THOUGHT, SUMMARY, OTHER = "crsStko"


class Item(NamedTuple):
    """A block as the walk sees it: what it is, and the id that pairs it.

    For a summary the id is "signed", "full" (unsigned, with content) or "".
    """

    what: str
    id: str = ""


class Mark(NamedTuple):
    """A cache mark: its path in the message, and whether it lives an hour."""

    path: Path
    long: bool


class Facts(NamedTuple):
    """What the walk needs of a message. `gone` messages are left out of a legal copy.

    `pictures` are (path, longest side); `blank_end` says that its last text ends in blanks.
    """

    role: str
    faults: Sequence[Fault]
    items: Sequence[Item] = ()
    marks: Sequence[Mark] = ()
    pictures: Sequence[tuple[Path, int]] = ()
    gone: bool = False
    exempt: bool = False
    blank_end: bool = False


WORDS = (Item(OTHER),)


_THOUGHT = Item(THOUGHT)


def plain_item(block: JsonObject, *, by_assistant: bool) -> Item | None:
    """A block that is certainly sound as the walk sees it: known fields, of the right types."""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if len(block) == 2 and type(text) is str and text and not text.isspace():
            return WORDS[0] if is_clean_text(text) else None
    elif kind == "tool_use":
        call, given, name = block.get("id"), block.get("input"), block.get("name")
        if (
            by_assistant
            and len(block) == 4
            and type(given) is dict
            and type(call) is str
            and type(name) is str
            and _is_plain(call)
            and _is_plain(name)
            and is_clean(given)
        ):
            return Item(CALL, call)
    elif kind == "tool_result":
        call, content = block.get("tool_use_id"), block.get("content")
        if (
            not by_assistant
            and len(block) - ("is_error" in block) == 3
            and type(content) is str
            and type(call) is str
            and _is_plain(call)
            and is_clean_text(content)
        ):
            return Item(RESULT, call)
    elif kind == "thinking" and by_assistant and len(block) == 3:
        text, signature = block.get("thinking"), block.get("signature")
        if type(text) is str and type(signature) is str and signature and is_base64(signature):
            return _THOUGHT if is_clean_text(text) else None
    return None


_is_plain = CALL_ID.fullmatch


def is_call_id(given: Any, read: str) -> bool:
    """True for an id that the API takes as it is spelled."""
    return given == read and CALL_ID.fullmatch(read) is not None


def is_server_id(block: JsonObject, read: str) -> bool:
    """True for an id of a server tool's call or result that the API takes as it is spelled."""
    kind = block.get("type")
    given = block.get("id" if kind in SERVER_CALLS else "tool_use_id")
    named = kind != "server_tool_use" or SERVER_ID.fullmatch(read) is not None
    return given == read and bool(read) and named


def pair_id(value: Any) -> str:
    """The id by which a call and its result find each other, whatever stands there."""
    if type(value) is str:
        return value.strip()
    return "" if value is None else json_text(value)


def item_of(block: JsonObject) -> Item:
    """A block as the walk sees it."""
    kind = kind_of(block)
    if kind == "text":
        return WORDS[0]
    if kind == "tool_use":
        return Item(CALL, pair_id(block.get("id")))
    if kind == "tool_result":
        return Item(RESULT, pair_id(block.get("tool_use_id")))
    if kind in THINKING:
        return Item(THOUGHT)
    if kind in SERVER_CALLS:
        return Item(SERVER, pair_id(block.get("id")))
    if is_server_result(kind):
        return Item(SERVED, pair_id(block.get("tool_use_id")))
    if kind == "compaction":
        full = "full" if block.get("content") else ""
        return Item(SUMMARY, "signed" if block.get("signature") else full)
    return WORDS[0]


def marks_and_pictures(
    content: Sequence[JsonObject],
) -> tuple[Sequence[Mark], Sequence[tuple[Path, int]]]:
    """The cache marks of a message, and its pictures with their longest sides."""
    marks: list[Mark] = []
    pictures: list[tuple[Path, int]] = []
    for at, block in enumerate(content):
        inner = block.get("content")
        if type(inner) is list or is_array(inner):
            for number, part in enumerate(inner):
                if is_object(part):
                    _note(part, ("content", at, "content", number), marks, pictures)
        _note(block, ("content", at), marks, pictures)
    return marks, pictures


def _note(
    block: JsonObject, path: Path, marks: list[Mark], pictures: list[tuple[Path, int]]
) -> None:
    mark = block.get(KEY)
    if mark is not None:
        marks.append(Mark(path, is_object(mark) and mark.get("ttl") == "1h"))
    if block.get("type") == "image":
        pictures.append((path, side_of(block)))


def json_text(value: Any) -> str:
    """The JSON text of a value, clean."""
    return lost_json(cleaned(value)).decode()
