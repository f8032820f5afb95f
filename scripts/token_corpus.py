"""Texts for fitting and judging the Claude estimator.

Invariant: what a file may be used for depends on nothing but its bytes (`share_of`), so the fit and
the benchmark can never share a file, whatever folders either of them is given.
"""

from __future__ import annotations

import gettext
import gzip
import hashlib
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("prose", "code", "json", "logs", "chinese", "markdown", "sessions", "other scripts")

_SUFFIX_KIND = {
    **dict.fromkeys((".py", ".js", ".ts", ".mjs", ".go", ".rs", ".c", ".h", ".hpp"), "code"),
    **dict.fromkeys((".rb", ".php", ".sh", ".css", ".diff", ".vue", ".pyi", ".sql"), "code"),
    **dict.fromkeys((".json", ".map", ".yaml", ".csv", ".xml"), "json"),
    **dict.fromkeys((".log", ".out"), "logs"),
    **dict.fromkeys((".md", ".rst"), "markdown"),
    **dict.fromkeys((".txt", ".html", ".po", ".mo", ".sgml", ".jsonl", ""), "prose"),
}
_MANUAL = re.compile(r"\.[1-9][a-z]*$")
_HAN = re.compile("[\u4e00-\u9fff]")
_OTHER_SCRIPT = re.compile("[\u0370-\u2dff\u3040-\u30ff\ua000-\ud7ff]")
_TAGS = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^>]*>")
_BLANK = re.compile(r"\n[ \t\n]*\n")
_SESSION_TEXT = ("text", "thinking", "content", "output", "query", "message")
_SESSION_JSON = ("input", "arguments", "toolUseResult", "args")


@dataclass(frozen=True)
class Text:
    """One file's text, with the kind it is reported under."""

    kind: str
    name: str
    text: str


def share_of(raw: bytes) -> str:
    """One word: judge (half of all files), bound (a tenth) or fit (the rest)."""
    first = hashlib.sha256(raw).digest()[0]
    return "judge" if first < 128 else "bound" if first < 154 else "fit"


def read_folder(folder: Path, *, share: str, budget: int, cap: int = 40_000) -> list[Text]:
    """Up to `budget` characters of that share of the files below `folder`.

    At most `cap` come from one file, ten times that from a recorded session.

    Files come in the order of their content's hash: a deterministic, well mixed sample.
    """
    found: list[tuple[bytes, Path, bytes]] = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        if _kind_of(path) is None or path.stat().st_size > 20_000_000:
            continue
        raw = path.read_bytes()
        if share_of(raw) == share:
            found.append((hashlib.sha256(raw).digest(), path, raw))
    texts: list[Text] = []
    left = budget
    for digest, path, raw in sorted(found, key=lambda item: item[0]):
        session = "session" in str(folder)
        limit = min(left, cap * 10 if session else cap)
        text = _decode(path, raw, session=session)
        if text is None or len(text) < 200:
            continue
        start = int.from_bytes(digest[1:5], "big") % max(1, len(text) - limit)
        part = text[start : start + limit].strip()
        texts.append(Text(_kind(path, part, session=session), f"{folder.name}/{path.name}", part))
        left -= len(part)
        if left <= 0:
            break
    return texts


def pieces(text: str, *, tokens: int = 4000) -> Iterator[str]:
    """`text` cut into runs of roughly `tokens` Claude tokens; a short remainder is dropped."""
    start = 0
    while start < len(text):
        probe = text[start : start + tokens]
        wide = sum(map(probe.count, set(_HAN.findall(probe) + _OTHER_SCRIPT.findall(probe))))
        share = wide / len(probe)
        length = int(tokens / (share * 0.9 + (1 - share) * 0.36))
        if len(text) - start < length // 2:
            return
        yield text[start : start + length]
        start += length


def _stem(path: Path) -> Path:
    return path.with_suffix("") if path.suffix == ".gz" else path


def _kind_of(path: Path) -> str | None:
    name = _stem(path)
    if name.name == "METADATA":  # an installed package's README
        return "markdown"
    if _MANUAL.search(name.name):
        return "prose"
    return _SUFFIX_KIND.get(name.suffix)


def _kind(path: Path, text: str, *, session: bool) -> str:
    if session:
        return "sessions"
    others = len(_OTHER_SCRIPT.findall(text))
    if len(_HAN.findall(text)) > max(0.1 * len(text), 2 * others):
        return "chinese"
    if others > 0.15 * len(text):
        return "other scripts"
    return _kind_of(path) or "prose"


def _decode(path: Path, raw: bytes, *, session: bool) -> str | None:
    try:
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        if _stem(path).suffix == ".mo":
            return _translations(raw)
        text = raw.decode("utf-8")
    except (UnicodeDecodeError, gzip.BadGzipFile):
        return None
    if "\x00" in text:
        return None
    if session:
        return "\n".join(_session_strings(text))
    if _stem(path).suffix == ".html" and hashlib.sha256(raw).digest()[2] % 4:
        return _BLANK.sub("\n\n", html.unescape(_TAGS.sub("", text)))
    return text


def _translations(raw: bytes) -> str | None:
    """The translated strings of a gettext catalogue; the tables around them are no text."""
    try:
        catalogue = gettext.GNUTranslations(io.BytesIO(raw))
    except (OSError, ValueError, LookupError):
        return None  # not a catalogue that gettext can read
    return "\n".join(text for text in vars(catalogue)["_catalog"].values() if text)


def _session_strings(text: str) -> Iterator[str]:
    """What a model saw of a recorded session, whatever the tool that wrote it."""
    documents = [text] if text.startswith(("[", "{\n")) else text.splitlines()
    for document in documents:
        try:
            yield from _strings(json.loads(document))
        except ValueError:
            continue


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _SESSION_JSON and isinstance(item, dict):
                yield json.dumps(item, ensure_ascii=False)
            elif key in (*_SESSION_TEXT, *_SESSION_JSON) and isinstance(item, str):
                yield item
            elif isinstance(item, dict | list):
                yield from _strings(item)
