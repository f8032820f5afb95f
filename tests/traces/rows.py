"""Rows as Claude Code writes them, and files of them, for tests.

Invariant: a row made here is valid JSON with the keys that the real ones have.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenure.replay.trace import Trace
from tenure.traces.claude_code import read_claude_code
from tenure.traces.lines import records_of

Row = dict[str, Any]


def user(uuid: str, parent: str | None, content: Any, **extra: Any) -> Row:
    """A row of role user."""
    message = {"role": "user", "content": content}
    return {"parentUuid": parent, "uuid": uuid, "type": "user", "message": message, **extra}


def result(uuid: str, parent: str | None, call_id: str, text: str = "done", **extra: Any) -> Row:
    """A row with one tool result."""
    return user(uuid, parent, [tool_result(call_id, text)], **extra)


def tool_result(call_id: str, text: str) -> Row:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def text(words: str) -> Row:
    return {"type": "text", "text": words}


def call(call_id: str, tool: str = "Read") -> Row:
    return {"type": "tool_use", "id": call_id, "name": tool, "input": {"path": f"{call_id}.py"}}


def usage(output: int, fresh: int = 1) -> Row:
    return {"input_tokens": fresh, "cache_read_input_tokens": 0, "output_tokens": output}


def reply(uuid: str, parent: str | None, message_id: str, block: Row, **extra: Any) -> Row:
    """A row with one block of a reply."""
    message = {
        "id": message_id,
        "role": "assistant",
        "model": extra.pop("model", "claude-opus-4-6"),
        "content": [block],
        "usage": extra.pop("usage", usage(5)),
    }
    return {"parentUuid": parent, "uuid": uuid, "type": "assistant", "message": message, **extra}


def boundary(uuid: str, tokens: int) -> Row:
    return {
        "parentUuid": None,
        "uuid": uuid,
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto", "preTokens": tokens},
    }


def jsonl(rows: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def trace_of(rows: Sequence[Any]) -> Trace:
    """The trace of a file of these rows."""
    (trace,) = read_claude_code(records_of(jsonl(rows)), "run", Path("run.jsonl"))
    return trace


def spoken(trace: Trace) -> list[list[Any]]:
    """What each thread says, in order: texts as they are, calls and results by id."""
    return [
        [_said(block) for message in thread.messages() for block in _blocks(message.data)]
        for thread in trace.threads
    ]


def _blocks(data: Any) -> list[Any]:
    content = data["content"]
    return [text(content)] if isinstance(content, str) else list(content)


def _said(block: Any) -> Any:
    return block.get("text") or block.get("id") or f"={block.get('tool_use_id')}"
