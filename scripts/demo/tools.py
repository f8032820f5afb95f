"""The agent's tools, working for real on the workspace.

Invariant: a tool answers with what it found; an error is an answer too, marked as one. Their names
and the shape of their results are Claude Code's, so that its transcripts' readers know them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.demo.workspace import Workspace

LINES_READ = 2_000
OUTPUT_CHARACTERS = 30_000
SNIPPET_LINES = 4
PYTEST_SECONDS = re.compile(r" in ([0-9.]+)s")


@dataclass(frozen=True)
class Outcome:
    """What a tool answers: text for the model, the structured twin for the log."""

    text: str
    detail: Any
    is_error: bool = False
    seconds: float = 0.05


class Tools:
    """The seven tools over one workspace; keeps the plan that TodoWrite writes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._plan: list[Any] = []
        self._by_name: dict[str, Callable[[Mapping[str, Any]], Outcome]] = {
            "Read": self._read,
            "Write": self._write,
            "Edit": self._edit,
            "Glob": self._glob,
            "Grep": self._grep,
            "Bash": self._bash,
            "TodoWrite": self._todo_write,
        }

    def run(self, name: str, given: Mapping[str, Any]) -> Outcome:
        """Runs one call."""
        return self._by_name[name](given)

    def _read(self, given: Mapping[str, Any]) -> Outcome:
        path = self._workspace.path(given["file_path"])
        if not path.is_file():
            return _error(f"There is no file {given['file_path']}.")
        lines = path.read_text("utf-8").split("\n")
        start = given.get("offset", 1)
        chosen = lines[start - 1 : start - 1 + given.get("limit", LINES_READ)]
        file = {
            "filePath": given["file_path"],
            "content": "\n".join(chosen),
            "numLines": len(chosen),
            "startLine": start,
            "totalLines": len(lines),
        }
        return Outcome(numbered(chosen, start), {"type": "text", "file": file})

    def _write(self, given: Mapping[str, Any]) -> Outcome:
        path = self._workspace.path(given["file_path"])
        kind = "update" if path.exists() else "create"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(given["content"], "utf-8")
        detail = {
            "type": kind,
            "filePath": given["file_path"],
            "content": given["content"],
            "structuredPatch": [],
            "originalFile": None,
        }
        return Outcome(f"{kind.capitalize()}d {given['file_path']}", detail)

    def _edit(self, given: Mapping[str, Any]) -> Outcome:
        path = self._workspace.path(given["file_path"])
        old, new = given["old_string"], given["new_string"]
        text = path.read_text("utf-8")
        if text.count(old) != 1:
            return _error(f"old_string occurs {text.count(old)} times in {given['file_path']}.")
        path.write_text(text.replace(old, new), "utf-8")
        first = max(1, text[: text.index(old)].count("\n") + 1 - SNIPPET_LINES)
        length = new.count("\n") + 1 + 2 * SNIPPET_LINES
        shown = text.replace(old, new).split("\n")[first - 1 : first - 1 + length]
        detail = {
            "filePath": given["file_path"],
            "oldString": old,
            "newString": new,
            "originalFile": None,
            "structuredPatch": [],
            "userModified": False,
            "replaceAll": False,
        }
        said = f"Updated {given['file_path']}; the place now reads:\n{numbered(shown, first)}"
        return Outcome(said, detail)

    def _glob(self, given: Mapping[str, Any]) -> Outcome:
        pattern = re.compile(_as_regex(given["pattern"]))
        found = [name for name in self._tracked() if pattern.fullmatch(name)]
        names = [self._workspace.show(self._workspace.path(name)) for name in found]
        detail = {
            "filenames": names,
            "durationMs": 12,
            "numFiles": len(names),
            "truncated": False,
        }
        return Outcome("\n".join(names) or "No files found", detail)

    def _grep(self, given: Mapping[str, Any]) -> Outcome:
        pattern = re.compile(given["pattern"])
        files_like = re.compile(_as_regex(f"**/{given.get('glob', '*')}"))
        under = given.get("path", "")
        folder = self._workspace.path(under) if under else self._workspace.root.resolve()
        hits = [
            (name, number, line)
            for name in self._tracked()
            if files_like.fullmatch(name)
            and (path := self._workspace.path(name)).is_relative_to(folder)
            for number, line in _lines(path)
            if pattern.search(line)
        ]
        files = list(dict.fromkeys(name for name, _, _ in hits))
        if given.get("output_mode", "files_with_matches") == "files_with_matches":
            text = "\n".join([f"Found {len(files)} files", *files]) if files else "No files found"
            detail = {"mode": "files_with_matches", "filenames": files, "numFiles": len(files)}
            return Outcome(text, detail)
        text = shortened("\n".join(f"{name}:{number}:{line}" for name, number, line in hits))
        detail = {
            "mode": "content",
            "numFiles": 0,
            "filenames": [],
            "content": text,
            "numLines": len(hits),
        }
        return Outcome(text or "No matches found", detail)

    def _bash(self, given: Mapping[str, Any]) -> Outcome:
        status, out, err = self._workspace.run(given["command"], timeout=600)
        both = "\n".join(part.rstrip("\n") for part in (out, err) if part.strip())
        text = shortened(both) or "(no output)"
        detail = {
            "stdout": shortened(out.rstrip("\n")),
            "stderr": err.rstrip("\n"),
            "interrupted": False,
            "isImage": False,
        }
        tested = PYTEST_SECONDS.search(text)
        seconds = float(tested[1]) + 1 if tested else 1.2
        if status:
            said = f"Exit code {status}\n{text}"
            return Outcome(said, f"Error: {said}", is_error=True, seconds=seconds)
        return Outcome(text, detail, seconds=seconds)

    def _todo_write(self, given: Mapping[str, Any]) -> Outcome:
        before, self._plan = self._plan, list(given["todos"])
        done = sum(item["status"] == "completed" for item in self._plan)
        text = f"The plan is updated: {done} of {len(self._plan)} items are completed."
        return Outcome(text, {"oldTodos": before, "newTodos": self._plan})

    def _tracked(self) -> list[str]:
        """Files of the copy that git does not ignore, new ones included."""
        command = "git ls-files --cached --others --exclude-standard | sort"
        _, out, _ = self._workspace.run(command, timeout=60)
        return [name for name in out.splitlines() if self._workspace.path(name).is_file()]


def numbered(lines: list[str], start: int) -> str:
    """Lines with their numbers, six wide, an arrow between."""
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, start))


def shortened(text: str) -> str:
    """At most `OUTPUT_CHARACTERS`: head and tail, with a note of what is left out."""
    if len(text) <= OUTPUT_CHARACTERS:
        return text
    half = OUTPUT_CHARACTERS // 2
    left_out = text[half:-half].count("\n")
    return f"{text[:half]}\n\n... [{left_out} lines truncated] ...\n\n{text[-half:]}"


def _error(text: str) -> Outcome:
    return Outcome(f"<tool_use_error>{text}</tool_use_error>", f"Error: {text}", is_error=True)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:  # not a text file: a search passes over it
        return
    yield from enumerate(text.splitlines(), 1)


def _as_regex(pattern: str) -> str:
    """A glob as a regular expression: `**/` any folders, `*` no slash."""
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    spelled = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(spelled.get(part, re.escape(part)) for part in parts)
