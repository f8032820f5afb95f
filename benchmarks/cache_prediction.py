"""Cache truth against prediction on the recorded Claude Code sessions.

Invariant: the predictions read no usage after the first request of a session; the truth is what the
provider reported. Figure to reach: recall 0.9 on expiries.

    python -m benchmarks.cache_prediction
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from tenure.core.usage import Usage
from tenure.cost.diagnose import (
    UNEXPLAINED,
    Diagnosis,
    ObservedRequest,
    Outcome,
    Score,
    diagnose,
    score,
)
from tenure.cost.prefix_tree import Segment
from tests.shared import absent, find_shared

FOLDER = ("data", "agent-sessions-dev", "claude-code")
BYTES_PER_TOKEN = 3
"""Rough: which requests miss hardly depends on it, only sizes against the cache minimum do."""

WANTED_RECALL = 0.9  # on expiries

COMPACTED = "compacted"
RESUMED = "resumed by a new process, which rebuilt the first messages"
TOOLS = "a tool search loaded tool definitions"

Json = Mapping[str, Any]


def run() -> dict[str, object]:
    """All figures, printed on the way; `skipped` alone when the recordings are absent."""
    folder = find_shared(*FOLDER)
    if folder is None:
        print(absent(*FOLDER))
        return {"skipped": absent(*FOLDER)}
    sessions = {path.name: read_session(path) for path in sorted(folder.glob("*.jsonl.gz"))}
    diagnoses = {name: diagnose(requests) for name, requests in sessions.items()}
    every = [one for session in diagnoses.values() for one in session]
    scores = {kind: score(every, kind) for kind in (Outcome.EXPIRY, Outcome.DROP)}
    causes = Counter(_kind_of(one) for one in every if one.lost)
    print(f"{len(sessions)} sessions, {len(every)} requests after the first of their session")
    for one_score in scores.values():
        _print_score(one_score)
    for (outcome, cause), count in sorted(causes.items()):
        print(f"  {count:3d} {outcome}: {cause}")
    _print_errors(diagnoses)
    return {
        "sessions": len(sessions),
        "requests": len(every),
        **{kind.value: _as_dict(one) for kind, one in scores.items()},
        "causes": {f"{kind}: {cause}": count for (kind, cause), count in sorted(causes.items())},
        "unexplained": sum(one.cause == UNEXPLAINED for one in every),
        "reached": (scores[Outcome.EXPIRY].recall or 0) >= WANTED_RECALL,
    }


def read_session(path: Path) -> list[ObservedRequest]:
    """The main chain's requests of one transcript, in file order."""
    reader = _Reader()
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for record in _records(lines):
            reader.read(record)
    return reader.requests


def _records(lines: Iterator[str] | Any) -> Iterator[Json]:
    for line in lines:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue  # the recordings keep torn lines on purpose; the official reader names them
        if isinstance(record, dict) and not record.get("isSidechain"):
            yield record


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a record stands: the request it follows and what was said since, newest first."""

    request: int = -1
    since: tuple[Any, ...] | None = None  # (Segment, since)
    broken: str = ""
    time: float = 0.0


@dataclass(slots=True)
class _Reader:
    requests: list[ObservedRequest] = field(default_factory=list)
    _places: dict[str, _Place] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _latest: _Place = field(default_factory=_Place)

    def read(self, record: Json) -> None:
        uuid = record.get("uuid")
        if not isinstance(uuid, str):
            return
        parent = record.get("parentUuid")
        # A parent that was named but not read stood on a torn line: the record before it will do.
        place = self._places.get(parent, self._latest) if parent else _Place()
        message = record.get("message")
        broken = _breaks(record) or place.broken
        if broken == COMPACTED and _breaks(record):
            place = _Place()
        place = _Place(place.request, place.since, broken, place.time)
        if record.get("type") == "assistant" and isinstance(message, dict):
            place = self._answer(place, record, message)
        else:
            time = _time(record) if record.get("type") in {"user", "attachment"} else place.time
            place = _Place(place.request, place.since, broken, max(time, place.time))
        content = message.get("content") if isinstance(message, dict) else record.get("attachment")
        since = place.since
        for index, block in enumerate(content if isinstance(content, list) else [content]):
            if block is not None:
                since = (_segment(uuid, index, block), since)
        self._latest = _Place(place.request, since, place.broken, place.time)
        self._places[uuid] = self._latest

    def _answer(self, place: _Place, record: Json, message: Json) -> _Place:
        """The place after an assistant record; a new message id is a request."""
        if message.get("model") == "<synthetic>" or message["id"] in self._seen:
            return place
        self._seen.add(message["id"])
        usage = message["usage"]
        details = usage.get("cache_creation") or {}
        added = _unwound(place.since)
        if place.broken and place.request >= 0:
            added = self._whole(place.request) + added
        self.requests.append(
            ObservedRequest(
                start=place.time or _time(record),
                model=message["model"],
                added=added,
                reported=Usage(
                    fresh=usage["input_tokens"],
                    cache_read=usage.get("cache_read_input_tokens") or 0,
                    cache_write=usage.get("cache_creation_input_tokens") or 0,
                    cache_write_1h=details.get("ephemeral_1h_input_tokens") or 0,
                    output=usage.get("output_tokens") or 0,
                ),
                parent=place.request,
                broken=place.broken,
                reason=_reason(message),
            )
        )
        return _Place(len(self.requests) - 1)

    def _whole(self, number: int) -> tuple[Segment, ...]:
        parts = []
        while number >= 0:
            request = self.requests[number]
            parts.append(tuple(request.added))
            number = -1 if request.broken or request.parent is None else request.parent
        return tuple(segment for part in reversed(parts) for segment in part)


def _breaks(record: Json) -> str:
    """What this record shows to change the messages before it, "" if nothing."""
    if record.get("subtype") == "compact_boundary":
        return COMPACTED
    data = record.get("data")
    if isinstance(data, dict) and data.get("hookName") == "SessionStart:resume":
        return RESUMED
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str) and content.startswith("<command-name>/exit<"):
        return RESUMED
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            if block.get("type") == "tool_use" and block.get("name") == "ToolSearch":
                return TOOLS
            if block.get("text") == "No response requested.":
                return RESUMED  # what Claude Code answers to itself when it resumes
    return ""


def _reason(message: Json) -> str:
    """The provider's own diagnosis, "" where the record holds none."""
    reason = (message.get("diagnostics") or {}).get("cache_miss_reason") or {}
    return str(reason.get("type", ""))


def _segment(uuid: str, index: int, block: object) -> Segment:
    kind = str(block.get("type", "text")) if isinstance(block, dict) else "text"
    text = block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)
    return Segment((uuid, index), max(1, len(text) // BYTES_PER_TOKEN), kind)


def _unwound(since: tuple[Any, ...] | None) -> tuple[Segment, ...]:
    found = []
    while since is not None:
        segment, since = since
        found.append(segment)
    return tuple(reversed(found))


def _time(record: Json) -> float:
    return datetime.fromisoformat(str(record["timestamp"])).timestamp()


def _kind_of(one: Diagnosis) -> tuple[str, str]:
    return one.observed.value, re.sub(r"\d+", "N", one.cause)


def _print_score(one: Score) -> None:
    values = _as_dict(one)
    print(
        f"{one.kind.value}: {values['happened']} happened, {values['predicted']} predicted, "
        f"precision {_shown(one.precision)}, recall {_shown(one.recall)}"
    )


def _as_dict(one: Score) -> dict[str, object]:
    return {
        "happened": one.hits + one.overlooked,
        "predicted": one.hits + one.false_alarms,
        "precision": one.precision,
        "recall": one.recall,
    }


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _print_errors(diagnoses: Mapping[str, list[Diagnosis]]) -> None:
    for name, session in diagnoses.items():
        for one in session:
            if one.predicted.outcome is not one.observed:
                print(
                    f"  {name} request {one.index}: {one.predicted.outcome} predicted "
                    f"({one.predicted.cause or 'nothing against it'}), {one.observed} after "
                    f"{one.gap:.0f} s, {one.lost} tokens lost{': ' if one.cause else ''}{one.cause}"
                )


if __name__ == "__main__":
    run()
