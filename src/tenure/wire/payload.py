"""Pictures, sounds and documents inside JSON: taken out, so that they are counted by their size.

Invariant: total. What a model reads as words (the text of a part, a log, a call's arguments) stays
text, however much it looks like base64; a payload of any other field is taken out wherever it is
nested: in a part of a known type, as a data URL, under a field or type that says what it is, or
known by its first bytes. What is left holds the rest of the JSON, so nothing is counted twice.
"""

from __future__ import annotations

import re
from typing import Any

from tenure.core.message import BlockKind, JsonObject, Lens, Path
from tenure.core.nesting import nests_too_deep
from tenure.wire.values import MEDIA_TYPES, is_array, is_object, plain_json, text_of

_NESTED_MEDIA = MEDIA_TYPES | {"computer_screenshot"}
_MEDIA_FIELDS = frozenset({"source", "image_url", "file_data", "file", "input_audio"})
# Only named: it costs as much as one that is there.
_NAMED_FIELDS = frozenset({"file_id", "file_url"})
# Their strings are words for the model, or its own.
_WORDS = frozenset(
    "text thinking refusal transcript content input output arguments code logs stdout stderr "
    "command query summary title reasoning delta encrypted_content signature".split()
)
_STATED = ("media_type", "mimeType", "mime_type", "format")
_BINARY = (
    "image/", "audio/", "video/", "application/pdf", "application/octet-stream",
    "application/zip", "application/vnd.", "application/msword",
)  # fmt: skip
# A field, or the type of an object, tells what the payloads in it are.
_TELLING = (
    (("image", "picture", "screenshot", "photo"), "image/unknown"),
    (("audio", "sound", "speech"), "audio/unknown"),
    (("video",), "video/unknown"),
)
_PAYLOADS = ("b64", "base64", "blob", "file_data")
_OPAQUE = "application/octet-stream"
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*?;base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]+={0,2}\s*")
# How the base64 of a file begins whose first bytes are known.
_BEGINNINGS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "JVBERi0": "application/pdf",
    "SUQz": "audio/mpeg",
    "T2dnU": "audio/ogg",
    "ZkxhQ": "audio/flac",
    "UEsDB": "application/zip",
}
_RIFF = {"RUJQ": "image/webp", "QVZF": "audio/wav"}
# Shorter strings that only look like base64 are ids and hashes, and cost little as text.
_SHORTEST = 256
_SHORTEST_KNOWN = 40


def other_lens(path: Path, value: Any) -> Lens:
    """The lens of a value of no kind we know: its JSON, and the media in it by size."""
    rest, media = without_media(value)
    return Lens(path, BlockKind.OTHER, plain_json(rest), media=tuple(media))


def result_text(content: Any) -> tuple[str, tuple[JsonObject, ...]]:
    """The text of a tool result and its media: text parts joined by newline, unknown ones as JSON."""
    if isinstance(content, str):
        return content, ()
    if content is None:
        return "", ()
    if not is_array(content):
        rest, found = without_media(content)
        return plain_json(rest), tuple(found)
    texts: list[str] = []
    media: list[JsonObject] = []
    for part in content:
        if is_object(part) and not text_of(part.get("type")):
            # No content part: it leaves as the text of its JSON.
            texts.append(part["text"] if isinstance(part.get("text"), str) else plain_json(part))
            continue
        rest, found = without_media(part)
        media += found
        if is_object(part) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif not found or rest.keys() != {"type"}:
            texts.append(plain_json(rest))
    return "\n".join(texts), tuple(media)


def without_media(value: Any) -> tuple[Any, list[JsonObject]]:
    """The value with its pictures, sounds and documents taken out, and those as content parts.

    A part of a known type comes out as it is, a payload in any other place as a part of Anthropic's
    kind around it, from which the other formats' mends know what it is.
    """
    return _split(value, "", "")


def media_in(value: Any, field: str) -> list[JsonObject]:
    """The media in the value of a field whose name may tell what they are."""
    # Nothing is sent that nests deeper than is read.
    return [] if nests_too_deep(value) else _split(value, field, _told(field))[1]


def _split(value: Any, field: str, kind: str) -> tuple[Any, list[JsonObject]]:
    """`without_media` of what stands under a field, inside something that is of `kind`."""
    if isinstance(value, str):
        media_type = _media_type(value, field, kind)
        if not media_type:
            return value, []
        return "", [_part(value, media_type)]
    if is_array(value):
        pairs = [_split(item, field, kind) for item in value]
        return [rest for rest, _ in pairs], [m for _, found in pairs for m in found]
    if not is_object(value):
        return value, []
    named = text_of(value.get("type"))
    if named in _NESTED_MEDIA and not value.keys().isdisjoint(_MEDIA_FIELDS | _NAMED_FIELDS):
        return {"type": named}, [value]
    kind = _stated(value) or _told(named) or (_OPAQUE if named == "base64" else kind)
    split = {key: _split(item, key, _told(key) or kind) for key, item in value.items()}
    return (
        {key: rest for key, (rest, _) in split.items()},
        [m for _, found in split.values() for m in found],
    )


def _media_type(text: str, field: str, kind: str) -> str:
    """The media type of a string that is a payload, nothing of any other string."""
    if field == "text" or len(text) < _SHORTEST_KNOWN:
        return ""
    if field in _WORDS and not (field == "content" and kind and not kind.endswith("unknown")):
        return ""
    url = _DATA_URL.match(text)
    if url is not None:
        return url[1] or kind or _OPAQUE
    known = next((t for start, t in _BEGINNINGS.items() if text.startswith(start)), "")
    if text.startswith("UklGR"):
        known = _RIFF.get(text[12:16], "")
    if not known and len(text) >= _SHORTEST:
        known = kind or (_OPAQUE if any(p in field.lower() for p in _PAYLOADS) else "")
    # The head settles it for nearly every text.
    if not known or not _BASE64.fullmatch(text[:64]) or not _BASE64.fullmatch(text):
        return ""
    return known


def _stated(value: JsonObject) -> str:
    """The media type that an object states, unless it is one of text."""
    stated = (text_of(value.get(field)).lower() for field in _STATED)
    return next((media_type for media_type in stated if media_type.startswith(_BINARY)), "")


def _told(name: Any) -> str:
    """What the name of a field or of a type says of the payloads in it."""
    name = text_of(name).lower()
    return next((m for words, m in _TELLING if any(w in name for w in words)), "")


def _part(text: str, media_type: str) -> JsonObject:
    data = text[found.end() :] if (found := _DATA_URL.match(text)) else text
    source = {"type": "base64", "media_type": media_type, "data": data}
    kind = "image" if media_type.lower().startswith("image/") else "document"
    return {"type": kind, "source": source}
