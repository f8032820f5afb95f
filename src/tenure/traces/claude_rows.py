"""The rows of a Claude Code file, sorted: who speaks in them, and what is no part of the talk.

Invariant: a row is in one group or counted as skipped (a few that only link others are both); a
uuid is taken once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.traces.claude_tree import NodeKind, Row
from tenure.traces.lines import Record
from tenure.traces.values import as_dict, as_list, text_of

MAIN = "main"
SIDE = "agent "


@dataclass(slots=True)
class Expanded:
    """The rows by conversation, main first, and how many rows of each kind are no part of one."""

    groups: dict[str, list[Row]] = field(default_factory=lambda: {MAIN: []})
    skipped: Counter[str] = field(default_factory=Counter)


def expand(records: Sequence[Record]) -> Expanded:
    """The rows of a file by conversation: the main one, and each sub-agent's."""
    expanded = Expanded()
    group_of: dict[str, str] = {}
    for row in _rows(records):
        label = _skip_label(row.data)
        if label:
            expanded.skipped[label] += 1
        uuid = text_of(row.data, "uuid")
        if uuid in group_of:
            expanded.skipped["repeated uuid"] += 1
            continue
        # Without a uuid nothing can point at a row: only what is said in it counts.
        if label and not uuid:
            continue
        group = _group(row.data, group_of, expanded.groups)
        expanded.groups.setdefault(group, []).append(row)
        if uuid:
            group_of[uuid] = group
    return expanded


def _rows(records: Sequence[Record]) -> Iterator[Row]:
    """Each row, and behind a sub-agent's progress row the row that it carries."""
    for record in records:
        if not isinstance(record.value, dict):
            continue
        yield Row(record.line, record.offset, record.value)
        progress = as_dict(record.value.get("data"))
        carried = progress.get("message")
        if progress.get("type") == "agent_progress" and isinstance(carried, dict):
            agent = progress.get("agentId")
            row = {**carried, "isSidechain": True, "agentId": agent}
            yield Row(record.line, record.offset, row)


def _group(data: dict[str, Any], group_of: dict[str, str], groups: dict[str, list[Row]]) -> str:
    if not data.get("isSidechain"):
        return MAIN
    agent = data.get("agentId")
    if isinstance(agent, str):
        return SIDE + agent
    group = group_of.get(text_of(data, "parentUuid"), "")
    return group if group.startswith(SIDE) else f"{SIDE}{len(groups)}"


def kind_of(data: dict[str, Any]) -> NodeKind:
    """What a row is in the conversation; `other` when it was never sent."""
    if _skip_label(data):
        return "other"
    if data.get("type") == "assistant":
        return "reply"
    if data.get("subtype") == "compact_boundary":
        return "other"
    blocks = as_list(as_dict(data.get("message")).get("content"))
    has_result = any(as_dict(block).get("type") == "tool_result" for block in blocks)
    return "results" if has_result else "words"


def _skip_label(data: dict[str, Any]) -> str:
    """The kind under which a row is counted as no part of the conversation, else ""."""
    kind = text_of(data, "type") or "row without type"
    message = as_dict(data.get("message"))
    match kind:
        case "assistant":
            synthetic = message.get("model") == "<synthetic>" or data.get("isApiErrorMessage")
            return "synthetic reply" if synthetic else ""
        case "user":
            if data.get("isVisibleInTranscriptOnly") and not data.get("isCompactSummary"):
                return "user, for display only"
            return "" if message.get("content") else "user without content"
        case "system":
            subtype = text_of(data, "subtype")
            return "" if subtype == "compact_boundary" else f"system {subtype}".strip()
        case "attachment":
            attachment = as_dict(data.get("attachment"))
            sent = attachment.get("type") == "queued_command" and attachment.get("prompt")
            return "" if sent else f"attachment {text_of(attachment, 'type')}".strip()
        case "progress":
            return f"progress {text_of(as_dict(data.get('data')), 'type')}".strip()
        case _:
            return kind
