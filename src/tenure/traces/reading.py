"""From a path to traces: which format a file is in, and which files a folder holds.

Invariant: the format is told by content, never by name; a file that is no transcript raises
`WireError`, and so does one that cannot be opened; nothing else raises.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tenure.errors import WireError
from tenure.replay.trace import Trace
from tenure.traces import codex
from tenure.traces.anthropic_messages import is_anthropic, read_anthropic_messages
from tenure.traces.claude_code import read_claude_code
from tenure.traces.lines import TOO_DEEP, Record, Records, read_records
from tenure.traces.openai_chat import is_message, messages_in, read_openai_chat
from tenure.traces.values import as_dict, text_of

KNOWN = "claude-code, codex, openai-chat, anthropic-messages"
_SUFFIXES = (".jsonl", ".json", ".ndjson", ".gz", ".traj")
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
_DEVICES = frozenset(_KINDS) - {stat.S_IFIFO}
_CLAUDE_TYPES = frozenset(
    "user assistant system summary file-history-snapshot queue-operation progress attachment".split()
)


def read(path: str | Path) -> list[Trace]:
    """The sessions that a file holds, most often one.

    Raises `WireError` when the file cannot be opened or is no transcript we know, naming what was
    found. A pipe that is named is read to its end, as a shell's `<(...)` is; a device is refused.
    """
    path = _path(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind in _DEVICES:
            words = f"{str(path)!r} is {_KINDS[kind]}, no file: name a file, or a pipe that ends"
            raise WireError(words, path=str(path))
        found = read_records(path)
    except OSError as error:
        link = _dead_link(path)
        words = f"is {link}" if link else f"cannot be read: {error.strerror or error}"
        raise WireError(f"{str(path)!r} {words}", path=str(path)) from error
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


class Meant(NamedTuple):
    """What paths mean: the files to read, and why something else that they hit is none."""

    files: list[Path]
    skipped: list[WireError]


def find(paths: Sequence[str]) -> list[Path]:
    """The files that the paths mean, each once: files, folders with all below them, and patterns.

    Of a folder the files that may be transcripts by their suffix: .jsonl, .json, .ndjson, .traj
    and .gz. Raises `WireError` for a path that names nothing, or a link that leads nowhere.
    """
    return look_up(paths).files


def look_up(paths: Sequence[str]) -> Meant:
    """What `find` gives, and the pipes, sockets, devices and broken links among the hits.

    Reading those may never end, so a folder or a pattern does not bring them in; a pipe is read
    when it is named itself.
    """
    files: dict[Path, None] = {}
    skipped: dict[Path, WireError] = {}
    for name in paths:
        path = _path(name)
        if path.is_dir():
            hits = _below(path)
        elif path.exists():
            files[path] = None
            continue
        else:
            found = _matches(name)
            hits = [one for hit in found for one in (_below(hit) if hit.is_dir() else [hit])]
            dead = _dead_link(path)
            if dead:
                raise WireError(f"{name!r} is {dead}", path=name)
            if not found:
                raise WireError(f"{name!r} names no file, no folder and no pattern", path=name)
        for hit in hits:
            kind = _strange(hit)
            if kind:
                words = f"{str(hit)!r} is {kind}, no file: skipped"
                skipped[hit] = WireError(words, path=str(hit))
            else:
                files[hit] = None
    return Meant(list(files), [error for hit, error in skipped.items() if hit not in files])


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
    meant = look_up(paths)
    skipped = meant.skipped
    for path in meant.files:
        try:
            traces += read(path)
        except WireError as error:
            if path in named:
                raise
            skipped.append(error)
    return Reading(tuple(traces), tuple(skipped))


def _path(name: str | Path) -> Path:
    """The path of a name; `WireError` for an empty one, which pathlib takes for the current folder."""
    if name == "":
        raise WireError("'' names no file: the path is empty; the current folder is '.'", path="")
    return Path(name)


def _dead_link(path: Path) -> str:
    """Why a path leads nowhere though it, or a folder it goes through, is a link; "" otherwise."""
    try:
        path.stat()
    except FileNotFoundError:
        link = next((one for one in (path, *path.parents) if one.is_symlink()), None)
        if link is None or link.exists():
            return ""
        below = "" if link == path else f"below {str(link)!r}, "
        return f"{below}a broken link to {str(link.readlink())!r}"
    except OSError as error:
        return "a link that leads back to itself" if error.errno == errno.ELOOP else ""
    except ValueError:  # a NUL in the name, which no file has
        return ""
    return ""


def _matches(pattern: str) -> list[Path]:
    anchor = Path(pattern).anchor
    try:
        return sorted(Path(anchor).glob(str(Path(pattern).relative_to(anchor))))
    except ValueError:  # a pattern that pathlib does not take
        return []


def _below(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.name.endswith(_SUFFIXES))
    return sorted(path for path in inside if not path.is_dir())


def _strange(path: Path) -> str:
    """What a path is that is no regular file, else ""; one that can't be asked is left to `read`."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return _dead_link(path)
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a special file")


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
        # Without a single record the damage of its lines means nothing, but for a broken archive
        # and for a record that was whole.
        deep = (f"line {one.line} is {one.words}" for one in found.damage if TOO_DEEP in one.words)
        packed = (one.words for one in found.damage if "gzip" in one.words)
        none = "it holds no JSON record" if found.damage else "it is empty"
        return next(packed, "") or next(deep, "") or none
    first = found.records[0].value
    if isinstance(first, list):
        return f"{len(found.records)} JSON values, the first an array of {len(first)}"
    keys = ", ".join(map(repr, list(first)[:6])) or "no keys"
    kind = f" of type {text_of(first, 'type')!r}" if text_of(first, "type") else ""
    return f"{len(found.records)} JSON records, the first{kind} with {keys}"
