"""From a path to traces: which format a file is in, and which files a folder holds.

Invariant: the format is told by content, never by name; a file that is no transcript raises
`WireError`, and so does one that cannot be opened; nothing else raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tenure.errors import WireError
from tenure.replay.trace import Trace
from tenure.traces import codex
from tenure.traces.anthropic_messages import is_anthropic, read_anthropic_messages
from tenure.traces.claude_code import read_claude_code
from tenure.traces.lines import Record, Records, read_records
from tenure.traces.openai_chat import is_message, messages_in, read_openai_chat
from tenure.traces.values import as_dict, text_of

KNOWN = "claude-code, codex, openai-chat, anthropic-messages"
_SUFFIXES = (".jsonl", ".json", ".ndjson", ".gz", ".traj")
_CLAUDE_TYPES = frozenset(
    "user assistant system summary file-history-snapshot queue-operation progress attachment".split()
)


def read(path: str | Path) -> list[Trace]:
    """The sessions that a file holds, most often one.

    Raises `WireError` when the file cannot be opened or is no transcript we know, naming what was
    found.
    """
    path = Path(path)
    try:
        found = read_records(path)
    except OSError as error:
        words = f"{str(path)!r} cannot be read: {error.strerror or error}"
        raise WireError(words, path=str(path)) from error
    return sessions(found, path)


def sessions(found: Records, path: Path) -> list[Trace]:
    """The same for records that were read already; `path` names them.

    Raises `WireError` when they are no transcript we know.
    """
    reader = _reader(found)
    if reader is None:
        raise WireError(
            f"{str(path)!r} is no transcript: {_words(found)}; known formats: {KNOWN}",
            path=str(path),
        )
    return reader(found, _name(path), path)


def find(paths: Sequence[str]) -> list[Path]:
    """The files that the paths mean, each once: files, folders with all below them, and patterns.

    Of a folder the files that may be transcripts by their suffix: .jsonl, .json, .ndjson, .traj
    and .gz. Raises `WireError` for a path that names nothing.
    """
    files: dict[Path, None] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            meant = _below(path)
        elif path.exists():
            meant = [path]
        else:
            hits = _matches(name)
            meant = [one for hit in hits for one in (_below(hit) if hit.is_dir() else [hit])]
            if not hits:
                raise WireError(f"{name!r} names no file, no folder and no pattern", path=name)
        files.update(dict.fromkeys(meant))
    return list(files)


@dataclass(frozen=True, slots=True)
class Reading:
    """The traces of many files, and why a file of a folder gave none."""

    traces: tuple[Trace, ...] = ()
    skipped: tuple[WireError, ...] = field(default=())


def read_all(paths: Sequence[str]) -> Reading:
    """The sessions of all files that the paths mean.

    A file that was named itself must be a transcript, else `WireError`; one that a folder or a
    pattern brought in is reported as skipped.
    """
    named = {Path(name) for name in paths}
    traces: list[Trace] = []
    skipped: list[WireError] = []
    for path in find(paths):
        try:
            traces += read(path)
        except WireError as error:
            if path in named:
                raise
            skipped.append(error)
    return Reading(tuple(traces), tuple(skipped))


def _matches(pattern: str) -> list[Path]:
    anchor = Path(pattern).anchor
    try:
        return sorted(Path(anchor).glob(str(Path(pattern).relative_to(anchor))))
    except ValueError:  # a pattern that pathlib does not take
        return []


def _below(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES))
    return sorted(path for path in inside if path.is_file())


def _name(path: Path) -> str:
    """The file's name without what says how it is stored."""
    name = path.name.removesuffix(".gz")
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name


def _reader(found: Records) -> Callable[[Records, str, Path], list[Trace]] | None:
    """The reader for most of a file's records; a damaged file may hold a few strange ones."""
    tests: list[tuple[Callable[[Any], bool], Callable[[Records, str, Path], list[Trace]]]] = [
        (_is_codex, codex.read_codex),
        (_is_claude_code, read_claude_code),
        (_is_chat, _chat_reader(found.records)),
    ]
    best = max(tests, key=lambda one: sum(one[0](record.value) for record in found.records))
    return best[1] if any(best[0](record.value) for record in found.records) else None


def _is_codex(value: Any) -> bool:
    row = as_dict(value)
    if isinstance(row.get("payload"), dict):
        return text_of(row, "type") in codex.ROW_TYPES
    return codex.is_item(row)


def _is_claude_code(value: Any) -> bool:
    row = as_dict(value)
    if text_of(row, "type") in {"user", "assistant"} and isinstance(row.get("message"), dict):
        return True
    return "parentUuid" in row or ("sessionId" in row and text_of(row, "type") in _CLAUDE_TYPES)


def _is_chat(value: Any) -> bool:
    return messages_in(value) is not None or is_message(value)


def _chat_reader(records: Iterable[Record]) -> Callable[[Records, str, Path], list[Trace]]:
    anthropic = any(_is_chat(record.value) and is_anthropic(record.value) for record in records)
    return read_anthropic_messages if anthropic else read_openai_chat


def _words(found: Records) -> str:
    """What a file holds that is no transcript."""
    if not found.records:
        # Without a single record the damage of its lines means nothing, but for a broken archive.
        packed = next((one.words for one in found.damage if "gzip" in one.words), "")
        return packed or ("it holds no JSON record" if found.damage else "it is empty")
    first = found.records[0].value
    if isinstance(first, list):
        return f"{len(found.records)} JSON values, the first an array of {len(first)}"
    keys = ", ".join(map(repr, list(first)[:6])) or "no keys"
    kind = f" of type {text_of(first, 'type')!r}" if text_of(first, "type") else ""
    return f"{len(found.records)} JSON records, the first{kind} with {keys}"
