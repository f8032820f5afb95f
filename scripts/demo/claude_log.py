"""The session as Claude Code leaves it on disk: JSON lines, a tree of records.

Invariant: one content block per record; the records of one message share its id and its usage; a
tool result hangs from the record of its call; ids depend on nothing but their order.
"""

from __future__ import annotations

import gzip
import io
import json
import uuid
from collections.abc import Mapping
from typing import Any

from anthropic.types import Message

from scripts.demo.clock import Clock
from scripts.demo.tools import Outcome
from scripts.demo.workspace import SHOWN

NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "demo.tenure.example")


class ClaudeLog:
    """The records of one session, in the order in which they were written."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: list[dict[str, Any]] = []
        self._parent: str | None = None
        self._calls: dict[str, str] = {}

    def user(self, text: str) -> None:
        """What the user wrote."""
        self._write("user", {"message": {"role": "user", "content": text}})

    def reply(self, message: Message) -> None:
        """One record per block of the model's message."""
        whole = message.to_dict()
        blocks = message.to_dict()["content"]
        assert isinstance(blocks, list)
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            part = {
                "model": whole["model"],
                "id": whole["id"],
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": whole["stop_reason"] if last else None,
                "stop_sequence": None,
                "usage": _usage(message),
            }
            request_id = f"req_{whole['id']}"
            self._write("assistant", {"message": part, "requestId": request_id})
            if isinstance(block, dict) and block["type"] == "tool_use":
                self._calls[str(block["id"])] = str(self._parent)

    def result(self, call_id: str, outcome: Outcome) -> None:
        """One tool's answer."""
        block = {
            "tool_use_id": call_id,
            "type": "tool_result",
            "content": outcome.text,
            "is_error": outcome.is_error,
        }
        call = self._calls[call_id]
        self._parent = call
        self._write(
            "user",
            {
                "message": {"role": "user", "content": [block]},
                "toolUseResult": outcome.detail,
                "sourceToolAssistantUUID": call,
            },
        )

    def packed(self) -> bytes:
        """All records as gzip without time or name, so that equal sessions are equal files."""
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in self._records)
        held = io.BytesIO()
        with gzip.GzipFile(fileobj=held, mode="wb", filename="", mtime=0, compresslevel=9) as file:
            file.write(text.encode())
        return held.getvalue()

    def _write(self, kind: str, fields: Mapping[str, Any]) -> None:
        own = str(uuid.uuid5(NAMESPACE, str(len(self._records))))
        self._records.append(
            {
                "parentUuid": self._parent,
                "isSidechain": False,
                "userType": "external",
                "entrypoint": "record_demo",
                "cwd": str(SHOWN),
                "sessionId": str(uuid.uuid5(NAMESPACE, "session")),
                "version": "2.1.7",
                "gitBranch": "session-quotes",
                "type": kind,
                **fields,
                "uuid": own,
                "timestamp": self._clock.stamp,
            }
        )
        self._parent = own


def _usage(message: Message) -> dict[str, Any]:
    usage = message.usage.to_dict()
    kept = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
        "output_tokens",
        "service_tier",
    )
    return {name: usage[name] for name in kept}
