"""The `recall` tool: how the model gets an evicted original back.

Invariant: a handle resolves inside its own session only; what it gives is the original text,
whole, by line range or by pattern, never a summary of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tenure.core.edit import Delegated, Edit
from tenure.core.message import Block, BlockKind, JsonObject, json_bytes
from tenure.core.plan import spans_of
from tenure.core.transcript import Transcript
from tenure.errors import RecallError

NAME = "recall"
DESCRIPTION = (
    "Fetch back text that was removed from this conversation to save room. A removed text is "
    "marked with its handle, like [tenure t-4f9c21ab ...]. Give the handle; add `lines` (for "
    "example '40-80') or `pattern` (a regular expression; matching lines come with their numbers) "
    "when a part is enough."
)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "the handle in the marker, e.g. t-4f9c21ab"},
        "lines": {"type": "string", "description": "line range, first line is 1, e.g. '40-80'"},
        "pattern": {"type": "string", "description": "regular expression to select lines by"},
    },
    "required": ["handle"],
}
_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-:,]\s*(\d{1,9})\s*)?", re.ASCII)
# A pattern comes from the model and runs over text of any size: bounded, so that it ends.
_LONGEST_PATTERN = 200
_LONGEST_LINE = 2_000
_NESTED = re.compile(r"[+*}?|][^()]*\)+[+*{]|\\[0-9]")
_REPEATS = re.compile(r"[*+?]|\{")
_MOST_REPEATS = 2
# How much of a call's arguments names its result.
_NAME_CHARACTERS = 80

Handles: TypeAlias = Mapping[str, Edit]
"""The edit of each handle that a session ever gave."""


def original(transcript: Transcript, handles: Handles, handle: str) -> str:
    """The whole original behind a handle, its pictures and documents as JSON after the text.

    RecallError when the session has no such handle.
    """
    edit, number = _found(transcript, handles, handle)
    blocks = _blocks(transcript, edit, number)
    media = (json_bytes(part).decode() for b in blocks for part in b.media)
    return "\n".join([_text(transcript, edit, blocks, number), *media])


def _text(transcript: Transcript, edit: Edit, blocks: Sequence[Block], number: int) -> str:
    """The blocks' text; of many results that the provider cleared, each under a line that names it."""
    if not isinstance(edit, Delegated) or number:
        return "\n".join(b.text for b in blocks)
    return "\n".join(
        f"== {_name(transcript, edit, block, at)}\n{block.text}"
        for at, block in enumerate(blocks, 1)
    )


def _list(transcript: Transcript, edit: Edit, blocks: Sequence[Block]) -> str:
    """What stands behind the handle of a clearing by the provider: too much to give unasked."""
    names = (
        f"{_name(transcript, edit, block, at)}, {len(block.text)} characters"
        for at, block in enumerate(blocks, 1)
    )
    head = f"{len(blocks)} texts; recall one by its own handle, or all with a pattern or lines:"
    return "\n".join([head, *names])


def _name(transcript: Transcript, edit: Edit, block: Block, number: int) -> str:
    call = transcript.partner(block) if block.kind is BlockKind.TOOL_RESULT else None
    what = f"{call.tool} {call.text[:_NAME_CHARACTERS]}" if call else block.kind.value
    return f"{edit.handle}.{number}: {what}"


def _found(transcript: Transcript, handles: Handles, handle: str) -> tuple[Edit, int]:
    """The edit of a handle, and which of its blocks: `t-4f9c21ab.3` is the third that an edit of the
    provider's took; 0 for all."""
    name, _, digits = handle.partition(".")
    edit = handles.get(name)
    if not digits or not isinstance(edit, Delegated):
        return _edit(handles, handle), 0
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else 0
    count = len(_blocks(transcript, edit))
    if not 1 <= number <= count:
        raise RecallError(
            f"{handle!r} names no removed text: there are {count}, the first is {name}.1"
        )
    return edit, number


def _edit(handles: Handles, handle: str) -> Edit:
    edit = handles.get(handle)
    if edit is None:
        raise RecallError(
            f"no removed text has the handle {handle!r}; use a handle from a marker in this "
            "conversation"
        )
    return edit


def _blocks(transcript: Transcript, edit: Edit, number: int = 0) -> list[Block]:
    blocks: list[Block] = []
    if isinstance(edit, Delegated) and not edit.span:
        blocks = sorted(map(transcript.block, edit.cleared), key=lambda b: _place(transcript, b))
        return [blocks[number - 1]] if number else blocks
    for span in spans_of(edit):
        first, last = span.bounds
        blocks += [b for i in range(first, last + 1) for b in transcript.blocks[i]]
    blocks += [transcript.block(t) for t in edit.targets if isinstance(t, str)]
    return [blocks[number - 1]] if number else blocks


def _place(transcript: Transcript, block: Block) -> tuple[int, str]:
    """Where a block stands; a result where its call does, since the provider clears in that order."""
    at = transcript.partner(block) if block.kind is BlockKind.TOOL_RESULT else None
    at = at or block
    return at.index, "/".join(f"{part:>6}" for part in at.path)


def select(text: str, *, lines: str = "", pattern: str = "") -> str:
    """The lines of a range and/or those that match; all of it when neither is given."""
    if not lines and not pattern:
        return text
    every = list(enumerate(text.splitlines(), 1))
    if lines:
        found = _RANGE.fullmatch(lines)
        if not found:
            raise RecallError(f"lines {lines!r} is no range; write it like '40-80'")
        first = int(found[1])
        last = int(found[2] or found[1])
        chosen = [(n, line) for n, line in every if first <= n <= last]
        if not chosen:
            raise RecallError(f"lines {lines!r} is outside the text, which has {len(every)} lines")
        every = chosen
    if pattern:
        every = _matching(every, pattern)
    return "\n".join(f"{n}: {line}" for n, line in every)


def _matching(every: list[tuple[int, str]], pattern: str) -> list[tuple[int, str]]:
    search = _searcher(pattern)
    chosen = [(n, line) for n, line in every if search(line)]
    if not chosen:
        raise RecallError(f"no line matches {pattern!r}; the text has {len(every)} lines")
    return chosen


def _searcher(pattern: str) -> Callable[[str], bool]:
    # A regular expression that nests repeats can take exponential time, one with many repeats a
    # high power of the line's length, and a broken one can't run at all: taken as plain text.
    tame = not _NESTED.search(pattern) and len(_REPEATS.findall(pattern)) <= _MOST_REPEATS
    if tame and len(pattern) <= _LONGEST_PATTERN:
        try:
            compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            pass  # Not a pattern that can run: searched for as plain text.
        else:
            return lambda line: compiled.search(line[:_LONGEST_LINE]) is not None
    return lambda line: pattern in line


def answer(
    transcript: Transcript,
    handles: Handles,
    arguments: Any,
    lost: Callable[[str], bytes | None] = lambda _: None,
) -> str | list[JsonObject]:
    """What a recall call gets: a text, or content parts when pictures or documents come with it.

    `lost` finds what a mend took away. RecallError with words for the model when it can't be given.
    """
    if not isinstance(arguments, dict) or not isinstance(arguments.get("handle"), str):
        raise RecallError("recall needs a handle, a string such as 't-4f9c21ab'")
    lines, pattern = (str(arguments.get(k) or "") for k in ("lines", "pattern"))
    handle = arguments["handle"].strip("[] ")
    gone = lost(handle)
    if gone is not None:
        return select(gone.decode(), lines=lines, pattern=pattern)
    edit, number = _found(transcript, handles, handle)
    blocks = _blocks(transcript, edit, number)
    if isinstance(edit, Delegated) and len(blocks) > 1 and not (number or lines or pattern):
        return _list(transcript, edit, blocks)
    text = select(_text(transcript, edit, blocks, number), lines=lines, pattern=pattern)
    media = [part for b in blocks for part in b.media] if not lines and not pattern else []
    if not media:
        return text
    # The parts go back as they came; Responses is the one API that calls text otherwise.
    responses = str(media[0].get("type", "")).startswith("input_")
    said: JsonObject = {"type": "input_text" if responses else "text", "text": text}
    return [said, *media] if text else media
