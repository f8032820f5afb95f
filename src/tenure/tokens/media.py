"""What pictures, documents and audio cost, by size and never by the length of their base64.

Invariant: the same picture costs the same at one provider whatever part it arrives in, and
nothing a caller passes makes counting raise: what cannot be read gets a stated default.

Sources: Anthropic's vision and PDF pages (width x height / 750 after scaling to 1568 pixels and
about 1,600 tokens; 1,500 to 3,000 tokens of text a PDF page, plus the page as a picture), OpenAI's
images guide (85 + 170 for each 512-pixel tile; 32-pixel patches, at most 1,536), its audio guide
(one token for each 100 ms a user says).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from math import ceil
from typing import Any

from tenure.core.picture_size import Base64Bytes, picture_size
from tenure.tokens.families import Family, family_of

# A picture whose size cannot be known (a URL, a file id, damaged bytes): the most that one costs
# at Anthropic, hence rather too much than too little.
UNKNOWN_PICTURE = 1600
# The text of a page (the middle of Anthropic's 1,500 to 3,000) and its picture, together.
PDF_PAGE = 3000
# PDFs keep their page list compressed as often as not; 50 KB a page is usual for text and figures.
# Other documents that are no text, and films, cost by their size in the same way.
PDF_BYTES_A_PAGE = 50_000
# A document that is only named (URL, file id).
UNKNOWN_DOCUMENT = 10 * PDF_PAGE
AUDIO_TOKENS_A_SECOND = 10
# 128 kbit/s, for compressed audio whose header is not read.
AUDIO_BYTES_A_SECOND = 16_000
# Audio that is only named.
UNKNOWN_AUDIO = 60 * AUDIO_TOKENS_A_SECOND

_ANTHROPIC_EDGE = 1568
_OPENAI_PATCHES = 1536
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*?(;base64)?,", re.IGNORECASE)
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")


def picture_tokens(provider: str, *, width: int, height: int, detail: str = "auto") -> int:
    """Tokens of one picture of `width` x `height` pixels.

    Providers other than "openai" are counted by Anthropic's rule, the dearest known.

    >>> picture_tokens("anthropic", width=750, height=1000)
    1000
    """
    if width <= 0 or height <= 0:
        return UNKNOWN_PICTURE
    if provider == "openai":
        return _openai_picture(width, height, detail)
    scale = min(1.0, _ANTHROPIC_EDGE / max(width, height))
    return max(1, min(UNKNOWN_PICTURE, ceil(width * height * scale * scale / 750)))


def media_tokens(provider: str, source: Mapping[str, Any], *, family: Family | None = None) -> int:
    """Tokens of one media part, in any provider's spelling.

    `source` is an Anthropic block or its `source` (base64, url, file, text, content), an OpenAI part
    (image_url, input_image, input_file, file, input_audio), or one of MCP (image, audio). Text inside documents is counted
    for `family`, by default the provider's newest.
    """
    family = family or family_of("gpt-5" if provider == "openai" else "claude")
    return _Part(provider, family).tokens(source, depth=0)


def _openai_picture(width: int, height: int, detail: str) -> int:
    """The dearer of the two rules: which one holds depends on the model, not the provider."""
    if detail == "low":
        return 85
    patches = ceil(width / 32) * ceil(height / 32)
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = ceil(width * scale / 512) * ceil(height * scale / 512)
    return max(min(patches, _OPENAI_PATCHES), 85 + 170 * tiles)


class _Part:
    """Counts one part and what is nested in it, for one provider and family."""

    def __init__(self, provider: str, family: Family) -> None:
        self.provider = provider
        self.family = family

    def tokens(self, part: Mapping[str, Any], *, depth: int) -> int:
        inner = part.get("source")
        if isinstance(inner, Mapping):
            text = sum(self._text(part.get(key)) for key in ("title", "context"))
            return text + self._source(inner, wanted=str(part.get("type")), depth=depth)
        match part.get("type"):
            case "image_url" | "input_image" | "computer_screenshot":
                return self._image_part(part)
            case "input_audio":
                return self._audio_part(part)
            case "image" | "audio" if isinstance(part.get("data"), str):  # as MCP spells them
                media_type = str(part.get("mimeType") or f"{part['type']}/unknown")
                return self._data(media_type, part["data"])
            case "audio":
                return UNKNOWN_AUDIO
            case "image" if isinstance(part.get("url"), str):
                return self._url(part["url"], wanted="image")
            case "input_file":
                return self._file(part)
            case "file" if isinstance(part.get("file"), Mapping):
                return self._file(part["file"])
            case "text" if isinstance(part.get("text"), str):
                return self._text(part["text"])
        return self._source(part, wanted="", depth=depth)

    def _source(self, source: Mapping[str, Any], *, wanted: str, depth: int) -> int:
        media_type = str(source.get("media_type") or "")
        data = source.get("data")
        match source.get("type"):
            case "base64" if isinstance(data, str):
                return self._data(media_type or _guess(wanted), data)
            case "text":
                return self._text(data)
            case "content":
                return self._content(source.get("content"), depth=depth)
            case "url" if isinstance(source.get("url"), str):
                return self._url(source["url"], wanted=wanted)
        return UNKNOWN_DOCUMENT if wanted == "document" else UNKNOWN_PICTURE

    def _content(self, content: object, *, depth: int) -> int:
        if isinstance(content, str):
            return self._text(content)
        if not isinstance(content, list) or depth > 8:
            return 0
        parts = (item for item in content if isinstance(item, Mapping))
        return sum(self.tokens(item, depth=depth + 1) for item in parts)

    def _image_part(self, part: Mapping[str, Any]) -> int:
        image = part.get("image_url")
        detail = part.get("detail")
        if isinstance(image, Mapping):
            detail = image.get("detail", detail)
            image = image.get("url")
        if not isinstance(image, str):
            return UNKNOWN_PICTURE
        return self._url(image, wanted="image", detail=str(detail))

    def _audio_part(self, part: Mapping[str, Any]) -> int:
        audio = part.get("input_audio")
        data = audio.get("data") if isinstance(audio, Mapping) else part.get("data")
        return _audio(data) if isinstance(data, str) else UNKNOWN_AUDIO

    def _file(self, file: Mapping[str, Any]) -> int:
        data = file.get("file_data")
        if not isinstance(data, str):
            return UNKNOWN_DOCUMENT
        if data[:5].lower() == "data:":
            return self._url(data, wanted="document")
        return self._data("application/pdf", data)

    def _url(self, url: str, *, wanted: str, detail: str = "auto") -> int:
        header = _DATA_URL.match(url)
        if header is not None:
            media_type = header.group(1) or _guess(wanted)
            if header.group(2) is None:
                return self._text(url[header.end() :])
            return self._data(media_type, url[header.end() :], detail=detail)
        named = url.split("?", 1)[0].lower()
        if wanted == "document" or named.endswith(".pdf"):
            return UNKNOWN_DOCUMENT
        return UNKNOWN_PICTURE

    def _data(self, media_type: str, data: str, *, detail: str = "auto") -> int:
        media_type = media_type.lower()
        if media_type.startswith("image/") and media_type != "image/svg+xml":
            size = picture_size(data)
            if size is None:
                return UNKNOWN_PICTURE
            return picture_tokens(self.provider, width=size[0], height=size[1], detail=detail)
        if media_type.startswith("audio/"):
            return _audio(data)
        raw = Base64Bytes(data).all()
        if media_type == "application/pdf" or raw.startswith(b"%PDF"):
            pages = len(_PAGE.findall(raw)) or ceil(len(raw) / PDF_BYTES_A_PAGE)
            return max(1, pages) * PDF_PAGE
        spoken = media_type.startswith("text/")
        text = raw.decode("utf-8", "replace") if spoken else _words(raw)
        if text is None:
            # An office document, a film: no text of ours to count, so by its size.
            return max(1, ceil(len(raw) / PDF_BYTES_A_PAGE)) * PDF_PAGE
        return self._text(text)

    def _text(self, text: object) -> int:
        return self.family.count(text).estimate if isinstance(text, str) else 0


def _guess(wanted: str) -> str:
    return "application/pdf" if wanted == "document" else "image/unknown"


def _words(raw: bytes) -> str | None:
    """The text that the bytes are, None when they are no text."""
    if b"\x00" in raw or not raw:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _audio(data: str) -> int:
    """By duration for WAV, whose header states its byte rate; else by size at 128 kbit/s."""
    source = Base64Bytes(data[url.end() :] if (url := _DATA_URL.match(data)) else data)
    head = source.read(0, 32)
    rate = AUDIO_BYTES_A_SECOND
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE" and len(head) == 32:
        rate = struct.unpack_from("<I", head, 28)[0] or rate
    return max(1, ceil(len(source) / rate * AUDIO_TOKENS_A_SECOND))
