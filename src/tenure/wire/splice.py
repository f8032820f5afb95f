"""Changes of a message at paths: on its bytes when bytes came in, else on the caller's dict.

Invariant: every byte (every object) that no change touches stays. Both ways give the same JSON. A
list that loses its last element goes too, and so does the key that held it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tenure.core.message import BlockKind, Lens, Message, Path
from tenure.errors import PlanError
from tenure.wire.scan import Span, decoded, elements, encoded, members

Changes: TypeAlias = Mapping[Path, str | None]
Branches: TypeAlias = dict[str | int, dict[Path, str | None]]


def splice(
    message: Message, changes: Mapping[Path, bytes | None], lenses: Sequence[Lens]
) -> Message | None:
    """The message with these values replaced (None: taken out); None when no block is left.

    `lenses` are those of the message. Reasoning alone does not keep a message: no API accepts it.
    Raises PlanError when a path leads nowhere.
    """
    gone = {path for path, body in changes.items() if body is None}
    if gone and not any(
        lens.kind is not BlockKind.THINKING for lens in lenses if lens.path not in gone
    ):
        return None
    wanted = {path: None if body is None else decoded(body) for path, body in changes.items()}
    if message.held_raw:
        text = decoded(message.raw)
        start = len(text) - len(text.lstrip(" \t\n\r"))
        end = len(text.rstrip(" \t\n\r"))
        new = _in_text(text, start, end, wanted)
        if new is None:
            return None
        raw = encoded(text[:start] + new + text[end:])
        return Message(None, raw, origin=message.origin, pinned=message.pinned)
    data = _in_value(message.data, wanted)
    if data is _GONE:
        return None
    return Message(data, origin=message.origin, pinned=message.pinned)


_GONE = object()


def _branches(changes: Changes) -> Branches:
    found: Branches = {}
    for path, body in changes.items():
        found.setdefault(path[0], {})[path[1:]] = body
    return found


def _in_value(value: Any, changes: Changes) -> Any:
    if () in changes:
        body = changes[()]
        return _GONE if body is None else json.loads(body)
    branches = _branches(changes)
    known: Any = value if isinstance(value, Mapping) else range(len(value))
    _check_paths(branches, known)
    new = {key: _in_value(value[key], below) for key, below in branches.items()}
    if isinstance(value, Mapping):
        kept = {key: new.get(key, old) for key, old in value.items()}
        kept = {key: item for key, item in kept.items() if item is not _GONE}
        return kept or _GONE
    items = [new.get(at, old) for at, old in enumerate(value)]
    items = [item for item in items if item is not _GONE]
    return items or _GONE


def _in_text(text: str, start: int, end: int, changes: Changes) -> str | None:
    if () in changes:
        return changes[()]
    spans, _ = (members if text[start] == "{" else elements)(text, start)
    branches = _branches(changes)
    last = {span.key: span for span in spans}
    _check_paths(branches, last)
    new = {
        key: _in_text(text, last[key].start, last[key].end, below)
        for key, below in branches.items()
    }
    kept = [span for span in spans if span.key not in new or new[span.key] is not None]
    if not kept:
        return None
    # Of duplicate keys the last one counts; all of them go when the key goes.
    swaps = [(s.start, s.end, new[s.key] or "") for s in kept if last[s.key] is s and s.key in new]
    return _apply(text, start, end, [*swaps, *_removals(spans, {id(s) for s in kept})])


def _removals(spans: list[Span], kept: set[int]) -> list[tuple[int, int, str]]:
    """The runs of text to take out, each with the comma that would be left over."""
    runs: list[tuple[int, int, str]] = []
    run: int | None = None
    for number, span in enumerate(spans):
        if id(span) not in kept:
            run = span.at if run is None else run
        elif run is not None:
            runs.append((run, span.at, ""))
            run = None
        if run is not None and number == len(spans) - 1:
            before = max(s.end for s in spans if id(s) in kept)
            runs.append((before, span.end, ""))
    return runs


def _apply(text: str, start: int, end: int, swaps: list[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = start
    for first, last, new in sorted(swaps):
        pieces += text[at:first], new
        at = last
    pieces.append(text[at:end])
    return "".join(pieces)


def _check_paths(branches: Branches, known: Any) -> None:
    for key in branches:
        if key not in known:
            raise PlanError(
                f"path step {key!r} leads nowhere in the message, so it can't be edited"
            )
