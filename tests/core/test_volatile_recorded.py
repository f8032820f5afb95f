"""Volatile text in what recorded agents really sent first: system prompts, tools, first messages."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

from tenure.core.volatile import Kind, find_volatile

_FIRST_MESSAGES = 6


@cache
def _stable_texts(folder: Path) -> dict[str, set[str]]:
    """System texts, tool schemas and the first user messages of each tool's recorded sessions."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(folder.glob("*/*.gz")):
        text = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        users = 0
        for document in _documents(text, lines=".jsonl" in file.name):
            found[file.parent.name] |= set(_stable(document))
            message = document.get("message") or document.get("payload") if _is(document) else None
            if _is(message) and message.get("role") == "user" and users < _FIRST_MESSAGES:
                said = list(_texts(message.get("content")))
                found[file.parent.name] |= set(said)
                users += len(said)
    return found


def _documents(text: str, *, lines: bool) -> Iterator[Any]:
    for piece in text.splitlines() if lines else [text]:
        try:
            yield json.loads(piece)
        except ValueError:
            continue  # Recorded files hold broken lines on purpose.


def _is(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if _is(part) and isinstance(part.get("text"), str):
            yield part["text"]


def _stable(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _stable(item)
    if not _is(value):
        return
    if value.get("role") in {"system", "developer"}:
        yield from _texts(value.get("content"))
    for key in ("base_instructions", "instructions"):
        yield from _texts(value.get(key))
    for key in ("input_schema", "parameters"):
        if _is(value.get(key)) and "description" in value:
            yield json.dumps(value, ensure_ascii=False)
    for item in value.values():
        yield from _stable(item)


def test_real_prompts_and_schemas_raise_no_false_alarm(shared_data: Callable[..., Path]) -> None:
    texts = _stable_texts(shared_data("data", "agent-sessions-dev"))
    clean = ("claude-code", "copilot-cli", "swe-agent", "mini-swe-agent", "inspect-ai", "pi")
    assert sum(len(text) for name in clean for text in texts[name]) > 100_000
    for name in clean:
        assert [v.words for text in texts[name] for v in find_volatile(text)] == []


def test_the_clocks_and_dates_of_real_prompts_are_found(shared_data: Callable[..., Path]) -> None:
    texts = _stable_texts(shared_data("data", "agent-sessions-dev"))
    (clock,) = [v for text in texts["tau-bench"] for v in find_volatile(text)]
    assert (clock.kind, clock.text) == (Kind.CLOCK, "2024-05-15 15:00:00 EST")
    dated = [text for text in texts["codex"] if "<current_date>" in text]
    assert dated
    for text in dated:
        assert Kind.DATE in {v.kind for v in find_volatile(text)}
    kinds = {v.kind for text in texts["codex"] for v in find_volatile(text)}
    assert kinds == {Kind.DATE, Kind.UUID, Kind.HEX}
