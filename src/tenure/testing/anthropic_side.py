"""Anthropic Messages as the scripted server speaks it.

Invariant: a stream, accumulated by the SDK, is the message that the plain answer would have been.
Source: anthropic 2.14.0 types; platform docs on streaming, usage and errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.core.usage import Usage
from tenure.testing import anthropic_rules, signature
from tenure.testing.anthropic_walk import walk
from tenure.testing.prompt import Counter, PromptBlock, canonical, count
from tenure.testing.refusal import Asked, Refusal, Rules
from tenure.testing.script import Reply
from tenure.testing.side import Turn
from tenure.testing.sse import event, pieces

TTL_SECONDS = {"5m": 300.0, "1h": 3_600.0}

STOP_REASONS = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}

ERROR_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicSide:
    """POST /v1/messages and /v1/messages/count_tokens."""

    @property
    def rules(self) -> Rules:
        """Rules of the Messages API."""
        return anthropic_rules.RULES

    def prompt(self, asked: Asked, counter: Counter) -> Sequence[PromptBlock]:
        """Tools, then system, then messages, one block each."""
        blocks = [
            _prompt_block(role, block, message, counter)
            for role, block, message in walk(asked.body)
        ]
        automatic = asked.body.get("cache_control")
        if automatic:
            _mark_last(blocks, _ttl(automatic))
        return blocks

    def message(self, turn: Turn) -> dict[str, Any]:
        """The Message object."""
        reply = turn.reply
        warming = turn.asked.body["max_tokens"] == 0
        return {
            "id": f"msg_{turn.step:06d}",
            "type": "message",
            "role": "assistant",
            "model": turn.model,
            "content": [] if warming else content_of(turn),
            "stop_reason": "max_tokens" if warming else STOP_REASONS[reply.stopped_by],
            "stop_sequence": None,
            "usage": usage_of(turn.usage, turn.thought),
        }

    def stream(self, turn: Turn) -> Iterator[bytes]:
        """message_start, a ping, each block's start, deltas and stop, message_delta and _stop."""
        whole = self.message(turn)
        usage = {**whole["usage"], "output_tokens": 1}
        yield _named(
            {
                "type": "message_start",
                "message": {**whole, "content": [], "stop_reason": None, "usage": usage},
            }
        )
        yield _named({"type": "ping"})
        for index, block in enumerate(whole["content"]):
            yield from _block_events(index, block)
        yield _named(
            {
                "type": "message_delta",
                "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
                "usage": whole["usage"],
            }
        )
        yield _named({"type": "message_stop"})

    def counted(self, tokens: int) -> dict[str, Any]:
        """The answer of count_tokens."""
        return {"input_tokens": tokens}

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`{"type": "error", "error": {...}}`."""
        kind = refusal.kind
        if not refusal.rule and kind == "invalid_request_error" and refusal.status != 400:
            kind = ERROR_KINDS.get(refusal.status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": refusal.message},
            "request_id": "req_scripted",
        }

    def broken_stream(self, refusal: Refusal, *, sent: int) -> bytes:  # noqa: ARG002
        """The `error` event."""
        return _named(self.error(refusal))

    def denied(self, headers: Mapping[str, str]) -> Refusal | None:
        """401 without a key."""
        if headers.get("x-api-key") or headers.get("authorization"):
            return None
        return Refusal(401, "x-api-key header is required", kind="authentication_error")


def content_of(turn: Turn) -> list[dict[str, Any]]:
    """The reply as content blocks, thinking signed for this very prompt."""
    reply = turn.reply
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        signed = signature.sign(reply.thinking, list(walk(turn.asked.body)))
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": signed})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text, "citations": None})
    blocks.extend(_calls(reply, turn.step))
    return blocks


def _calls(reply: Reply, step: int) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(reply.calls):
        call_id = call.id or f"toolu_{step:06d}_{number}"
        yield {"type": "tool_use", "id": call_id, "name": call.name, "input": dict(call.input)}


def usage_of(usage: Usage, thought: int) -> dict[str, Any]:
    """The usage object; input_tokens excludes what the cache read or wrote."""
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_1h,
            "ephemeral_1h_input_tokens": usage.cache_write_1h,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": thought},
        "service_tier": "standard",
    }


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    empty, deltas = _in_portions(block)
    yield _named({"type": "content_block_start", "index": index, "content_block": empty})
    for delta in deltas:
        yield _named({"type": "content_block_delta", "index": index, "delta": delta})
    yield _named({"type": "content_block_stop", "index": index})


def _in_portions(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as its empty start and the deltas that fill it."""
    match block["type"]:
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "text":
            deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
            return {**block, "text": ""}, deltas
        case _:
            written = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(written)]
            return {**block, "input": {}}, deltas


def _named(payload: dict[str, Any]) -> bytes:
    return event(payload, name=payload["type"])


def _prompt_block(
    role: str, block: Mapping[str, Any], message: int, counter: Counter
) -> PromptBlock:
    text = f"{role}:{canonical(block)}"
    mark = block.get("cache_control") or _inner_mark(block)
    return PromptBlock(
        text, count(block, counter), message, str(block.get("type")), _ttl(mark) if mark else None
    )


def _inner_mark(block: Mapping[str, Any]) -> Any:
    """A mark inside a tool result's content: it stands at the end of that result."""
    inner = block.get("content")
    if not isinstance(inner, list):
        return None
    marks = [item["cache_control"] for item in inner if item.get("cache_control")]
    return marks[-1] if marks else None


def _ttl(mark: Mapping[str, Any]) -> float:
    return TTL_SECONDS[mark.get("ttl") or "5m"]


def _mark_last(blocks: list[PromptBlock], ttl: float) -> None:
    """The automatic mark: on the last block that can carry one."""
    for index in range(len(blocks) - 1, -1, -1):
        if blocks[index].kind not in ("thinking", "redacted_thinking"):
            blocks[index] = PromptBlock(
                blocks[index].text,
                blocks[index].tokens,
                blocks[index].message,
                blocks[index].kind,
                blocks[index].ttl or ttl,
            )
            return
