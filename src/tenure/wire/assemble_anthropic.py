"""The reply that a stream of Anthropic events adds up to.

Invariant: a block is what `content_block_start` gave it plus its deltas; what is unknown in either
is kept.
"""

from __future__ import annotations

import json
from typing import Any

from tenure.wire.values import is_object, text_of

# Deltas whose text goes to the end of a field.
_APPENDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class AnthropicAssembly:
    """State of one streamed message."""

    def __init__(self) -> None:
        self.done = False
        self._begun = False
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: dict[str, Any]) -> None:
        """Takes in one event."""
        kind = event.get("type")
        if kind == "message_start" and is_object(event.get("message")):
            self._begun = True
            self._message = {k: v for k, v in event["message"].items() if k != "usage"}
            self._replace_usage(event["message"].get("usage"))
        elif kind == "content_block_start" and is_object(event.get("content_block")):
            self._blocks[_index(event)] = dict(event["content_block"])
        elif kind == "content_block_delta" and is_object(event.get("delta")):
            self._delta(_index(event), event["delta"])
        elif kind == "message_delta":
            self._message_delta(event)
        elif kind == "message_stop":
            self.done = True

    def reply(self) -> dict[str, Any]:
        """The message so far."""
        if not self._begun:
            return {}
        content = [self._block(index) for index in sorted(self._blocks)]
        usage = {"usage": dict(self._usage)} if self._usage else {}
        return {**self._message, "content": content, **usage}

    def _message_delta(self, event: dict[str, Any]) -> None:
        if is_object(event.get("delta")):
            self._message.update(event["delta"])
        self._replace_usage(event.get("usage"))
        rest = {k: v for k, v in event.items() if k not in {"type", "delta", "usage"}}
        self._message.update(rest)

    def _replace_usage(self, usage: Any) -> None:
        """Later counts are cumulative: they stand in for the earlier ones."""
        if is_object(usage):
            self._usage.update({k: v for k, v in usage.items() if v is not None})

    def _delta(self, index: int, delta: Any) -> None:
        block = self._blocks.setdefault(index, {})
        kind = text_of(delta.get("type"))
        if kind in _APPENDS:
            field = _APPENDS[kind]
            self._texts.setdefault((index, field), []).append(text_of(delta.get(field)))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or []), delta.get("citation")]
        else:
            # signature_delta, compaction_delta and types to come: each field in its final form.
            block.update({k: v for k, v in delta.items() if k != "type" and v is not None})

    def _block(self, index: int) -> dict[str, Any]:
        block = dict(self._blocks[index])
        for field in ("text", "thinking"):
            if (index, field) in self._texts:
                block[field] = text_of(block.get(field)) + "".join(self._texts[index, field])
        spelled = "".join(self._texts.get((index, "partial_json"), ()))
        if spelled:
            block["input"] = _input(spelled)
        return block


def _input(spelled: str) -> Any:
    """The input of a call. A call cut off by max_tokens shows what arrived: it must stay an object."""
    try:
        return json.loads(spelled)
    except (ValueError, RecursionError):
        return {"unparsed_arguments": spelled}


def _index(event: dict[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
