"""The words of a difference between two requests.

Invariant: texts are shown in excerpts; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenure.core.message import Path
from tenure.wire.prefix_parts import path_text
from tenure.wire.prefix_place import SHAPES, Place, Way

SHOWN = 80
"""Characters of an excerpt."""


def of_place(place: Place) -> str:
    """What differs at a place."""
    if place.way in SHAPES:
        return f"same text, different shape ({place.way.value})"
    if place.way is Way.VOLATILE:
        return f"a {place.kind} changed: {place.before!r} became {place.after!r}"
    if place.way is Way.RANKED:
        return place.way.value
    if place.way is Way.ADDED:
        return f"{place.after[:SHOWN]!r} was added"
    if place.way is Way.REMOVED:
        return f"{place.before[:SHOWN]!r} was removed"
    return f"{place.before[:SHOWN]!r} became {place.after[:SHOWN]!r}"


def these(at: int, count: int) -> str:
    """Messages by number, with their verb."""
    if count == 1:
        return f"message {at} is"
    return f"messages {at} to {at + count - 1} are"


def places(marks: Mapping[Path, str]) -> str:
    """Where cache marks stand."""
    named = [path_text(path[:-1]) or "the request" for path in sorted(marks, key=str)]
    return (
        ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "") or "none"
    )
