"""OpenAI Chat Completions conversations.

Invariant: messages stay as they are; one conversation is one trace.

A file is a JSON array of messages, an object with `messages` (a request body, a fine-tuning line) or
`traj` (tau-bench), JSONL of such objects or arrays, or JSONL of messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tenure.core.message import Origin
from tenure.replay.trace import Trace
from tenure.traces.conversation import Conversation, joined, thread_of
from tenure.traces.lines import Record, Records
from tenure.traces.origins import user_origin
from tenure.traces.values import as_dict, as_list, text_of

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_LIST_KEYS = ("messages", "traj")
_HEAD_KEYS = ("system", "tools", "functions", "response_format")


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message: it has a role and says or calls something."""
    said = {"content", "tool_calls", "function_call", "refusal", "audio"}
    return text_of(value, "role") in _ROLES and not said.isdisjoint(value)


def messages_in(value: Any) -> list[dict[str, Any]] | None:
    """The messages of a JSON value that holds a whole conversation, else None."""
    lists = [value] if isinstance(value, list) else [as_dict(value).get(key) for key in _LIST_KEYS]
    for one in lists:
        messages = as_list(one)
        if messages and all(is_message(message) for message in messages):
            return messages
    return None


def conversations(records: Sequence[Record], skipped: dict[str, int]) -> Iterator[Conversation]:
    """The conversations of a file; single messages, one a line, make one together."""
    loose: list[dict[str, Any]] = []
    for record in records:
        messages = messages_in(record.value)
        if messages is not None:
            body = as_dict(record.value)
            head = {key: body[key] for key in _HEAD_KEYS if key in body}
            yield Conversation(messages, head, text_of(body, "model"), _title(body))
        elif is_message(record.value):
            loose.append(record.value)
        else:
            kind = text_of(record.value, "type") or "row without messages"
            skipped[kind] = skipped.get(kind, 0) + 1
    if loose:
        yield Conversation(loose, {})


def read_openai_chat(found: Records, name: str, path: Path) -> list[Trace]:
    """The conversations of a file."""
    skipped: dict[str, int] = {}
    talks = joined(conversations(found.records, skipped))
    return [
        Trace(
            name=numbered(name, number, talk, len(talks)),
            source=str(path),
            format="openai-chat",
            wire="openai_chat",
            model=talk.model,
            threads=(thread_of(talk, _origin),),
            damage=tuple(found.damage) if number == 1 else (),
            skipped=skipped if number == 1 else {},
            head=talk.head,
        )
        for number, talk in enumerate(talks, 1)
    ]


def numbered(name: str, number: int, talk: Conversation, of: int) -> str:
    """The name of one of a file's conversations: its own where it has one, else its number."""
    return f"{name}#{talk.name or number}" if of > 1 else name


def _title(body: dict[str, Any]) -> str:
    """What the file calls the conversation: tau-bench numbers tasks and trials."""
    task, trial = body.get("task_id"), body.get("trial")
    if task is None:
        return ""
    return f"{task}" if trial is None else f"{task}.{trial}"


def _origin(message: dict[str, Any]) -> Origin:
    match message.get("role"):
        case "assistant":
            return Origin.ASSISTANT
        case "tool" | "function":
            return Origin.TOOL
        case "user":
            media = ("image_url", "input_audio", "file")
            return user_origin(message.get("content"), media_types=media)
        case _:
            return Origin.SYSTEM
