"""A Message told as the events of its stream.

Invariant: accumulated, the events are the message. Source: anthropic 2.14.0 types and platform
docs, streaming: `input_transformations` is final in message_start, `applied_edits` come with
message_delta, a block of an on-demand compaction arrives whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tenure.testing.sse import event, pieces


def events_of(whole: dict[str, Any]) -> Iterator[bytes]:
    """message_start, a ping, each block's start, deltas and stop, message_delta and _stop."""
    begun = {key: value for key, value in whole.items() if key != "context_management"}
    begun["usage"] = {**whole["usage"], "output_tokens": 1}
    yield named({"type": "message_start", "message": {**begun, "content": [], "stop_reason": None}})
    yield named({"type": "ping"})
    for index, block in enumerate(whole["content"]):
        empty, deltas = _in_portions(block)
        yield named({"type": "content_block_start", "index": index, "content_block": empty})
        for delta in deltas:
            yield named({"type": "content_block_delta", "index": index, "delta": delta})
        yield named({"type": "content_block_stop", "index": index})
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
        "usage": whole["usage"],
    }
    if "context_management" in whole:
        ended["context_management"] = whole["context_management"]
    yield named(ended)
    yield named({"type": "message_stop"})


def named(payload: dict[str, Any]) -> bytes:
    """One event under the name that its type is."""
    return event(payload, name=payload["type"])


def _in_portions(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as its start and the deltas that fill it; one without deltas starts whole."""
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "text":
            deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case "tool_use" | "server_tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(written)]
            return {**block, "input": {}}, deltas
        case "compaction" if "signature" not in block:
            filled = {key: block[key] for key in ("content", "encrypted_content")}
            return {"type": "compaction", "content": None}, [{"type": "compaction_delta", **filled}]
        case _:
            return block, []
