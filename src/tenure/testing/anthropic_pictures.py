"""Pictures in the Messages API: how many, how large, and that they are pictures.

Invariant: only base64 pictures are looked into; what a URL or a file id holds is not known here.
Source: platform docs, vision (20 pictures, 2,000 and 8,000 pixels, 600 or 100 a request, 10 MB of
base64 each); anthropic 2.14.0 image_dimensions_too_large_error_details; wordings from public issues
up to September 2026.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, NamedTuple

from tenure.testing.anthropic_walk import blocks
from tenure.testing.pictures import picture
from tenure.testing.refusal import Asked, Refusal, Rules, coded, invalid

MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
MANY, MANY_SIDE = 20, 2_000
LARGEST_SIDE = 8_000
LARGEST_BASE64 = 10 * 1024 * 1024
LARGE_WINDOW = 1_000_000
MOST, MOST_SMALL_WINDOW = 600, 100


class Shown(NamedTuple):
    """A picture block and its path."""

    path: str
    source: dict[str, Any]


def pictures_sound(asked: Asked) -> Iterator[Refusal]:
    """A base64 picture is a picture, of the type it claims, and not too many bytes."""
    for path, source in _pictures(asked):
        if source.get("type") != "base64":
            continue
        claimed, data = source.get("media_type"), source.get("data")
        where = f"{path}.image.source.base64"
        if claimed not in MEDIA_TYPES:
            yield invalid(f"{where}.media_type: Input should be {', '.join(MEDIA_TYPES)}")
        if not isinstance(data, str) or not data:
            yield invalid(f"{where}.data: image cannot be empty")
        elif len(data) > LARGEST_BASE64:
            yield invalid(
                f"{where}: image exceeds 10 MB maximum: {len(data)} bytes > {LARGEST_BASE64} bytes"
            )
        else:
            yield from _decoded(where, str(claimed), data)


def pictures_counted(asked: Asked) -> Iterator[Refusal]:
    """No more pictures than the model's window allows."""
    most = MOST if asked.profile.context_window >= LARGE_WINDOW else MOST_SMALL_WINDOW
    found = sum(1 for _ in _pictures(asked))
    if found > most:
        yield invalid(f"Too many images and documents in the request: {found} > {most}")


def pictures_sized(asked: Asked) -> Iterator[Refusal]:
    """No side above 8,000 pixels, and above 2,000 in a request with more than 20 pictures."""
    shown = list(_pictures(asked))
    many = len(shown) > MANY
    limit = MANY_SIDE if many else LARGEST_SIDE
    paths = [path for path, source in shown if _longest_side(source) > limit]
    if paths:
        kind = " for many-image requests" if many else ""
        yield coded(
            f"{paths[0]}.image.source.base64.data: At least one of the image dimensions exceed max "
            f"allowed size{kind}: {limit} pixels",
            "image_dimensions_too_large",
            max_side_length_pixels=limit,
            paths=paths,
        )


def _pictures(asked: Asked) -> Iterator[Shown]:
    for at, _, block in blocks(asked.body):
        if block["type"] == "image":
            yield Shown(at.path, _source(block))
        inner = block.get("content") if block["type"] == "tool_result" else None
        for number, part in enumerate(inner if isinstance(inner, list) else ()):
            if isinstance(part, dict) and part.get("type") == "image":
                yield Shown(f"{at.path}.content.{number}", _source(part))


def _source(block: dict[str, Any]) -> dict[str, Any]:
    found = block.get("source")
    return found if isinstance(found, dict) else {"type": "base64"}


def _decoded(where: str, claimed: str, data: str) -> Iterator[Refusal]:
    try:
        found = picture(base64.b64decode(data, validate=True))
    except ValueError:
        yield invalid(f"{where}.data: invalid base64 data")
        return
    if found is None:
        yield invalid(f"{where}.data: Could not process image")
    elif found.media_type != claimed:
        yield invalid(
            f"{where}.media_type: The image was specified using the {claimed} media type, but the "
            f"image appears to be a {found.media_type} image"
        )


def _longest_side(source: dict[str, Any]) -> int:
    """In pixels; 0 for what cannot be looked into."""
    if source.get("type") != "base64":
        return 0
    found = picture(base64.b64decode(source["data"]))
    return max(found.width, found.height) if found else 0


picture_rules: Rules = {
    "pictures_counted": pictures_counted,
    "pictures_sound": pictures_sound,
    "pictures_sized": pictures_sized,
}
