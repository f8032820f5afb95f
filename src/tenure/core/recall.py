"""The `recall` tool: how the model gets an evicted original back.

Invariant: a handle resolves inside its own session only; what it gives is the original text,
whole, by line range or by pattern, never a summary of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tenure.core.edit import Edit, Span
from tenure.core.message import JsonObject
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript

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
_RANGE = re.compile(r"\s*(\d+)\s*(?:[-:,]\s*(\d+)\s*)?")
# A pattern comes from the model and runs over text of any size: bounded, so that it ends.
_LONGEST_PATTERN = 200
_LONGEST_LINE = 4_000
_NESTED = re.compile(r"[+*}?]\)*\)[+*{]|\\[0-9]")


class RecallError(ValueError):
    """What to tell the model when its recall can't be answered."""


def original(transcript: Transcript, plan: Plan, handle: str) -> str:
    """The whole original text behind a handle; RecallError when the session has no such handle."""
    edit = plan.by_handle.get(handle)
    if edit is None:
        raise RecallError(
            f"no removed text has the handle {handle!r}; use a handle from a marker in this "
            "conversation"
        )
    return "\n".join(_texts(transcript, edit))


def _texts(transcript: Transcript, edit: Edit) -> list[str]:
    texts: list[str] = []
    for target in edit.targets:
        if isinstance(target, Span):
            first, last = target.bounds
            texts += [b.text for i in range(first, last + 1) for b in transcript.blocks[i]]
        else:
            texts.append(transcript.block(target).text)
    return texts


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
    # A regular expression that nests repeats can take exponential time, and a broken one can't
    # run at all: both are taken as plain text.
    if len(pattern) <= _LONGEST_PATTERN and not _NESTED.search(pattern):
        try:
            compiled = re.compile(pattern)
        except re.error:
            pass
        else:
            return lambda line: compiled.search(line[:_LONGEST_LINE]) is not None
    return lambda line: pattern in line


def answer(transcript: Transcript, plan: Plan, arguments: Any) -> str:
    """The text for a recall call; RecallError with words for the model when it can't be given."""
    if not isinstance(arguments, dict) or not isinstance(arguments.get("handle"), str):
        raise RecallError("recall needs a handle, a string such as 't-4f9c21ab'")
    lines, pattern = (str(arguments.get(k) or "") for k in ("lines", "pattern"))
    return select(
        original(transcript, plan, arguments["handle"].strip("[] ")), lines=lines, pattern=pattern
    )
