"""OpenAI Chat Completions as the scripted server speaks it.

Invariant: a stream, accumulated by the SDK, is the completion that the plain answer would have
been. Source: openai 3.57.0 types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.core.usage import Usage
from tenure.testing import chat_rules, openai_common
from tenure.testing.prompt import HEAD, Counter, PromptBlock, as_blocks, canonical, count
from tenure.testing.refusal import Asked, Refusal, Rules, Seen
from tenure.testing.script import Call
from tenure.testing.side import Compacts, Turn
from tenure.testing.sse import event, pieces

FINISH = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
    "pause": "stop",
}


class ChatSide:
    """POST /v1/chat/completions."""

    @property
    def rules(self) -> Rules:
        """Rules of Chat Completions."""
        return chat_rules.RULES

    def seen(self, asked: Asked, counter: Counter) -> Seen:  # noqa: ARG002
        """All of it."""
        return Seen(asked.body)

    def compacts(self, asked: Asked) -> Compacts:  # noqa: ARG002
        """Never."""
        return ""

    def caches_by_mark(self, asked: Asked) -> bool:
        """The mode `explicit` of `prompt_cache_options`."""
        return openai_common.caches_by_breakpoint(asked)

    def prompt(self, asked: Asked, counter: Counter) -> Sequence[PromptBlock]:
        """Tools, then one block per message."""
        blocks = [
            PromptBlock(canonical(tool), count(tool, counter), HEAD, "tool")
            for tool in asked.body.get("tools") or []
        ]
        for index, message in enumerate(asked.body["messages"]):
            plain = {**message, "content": as_blocks(message.get("content"))}
            ttl = openai_common.breakpoint_ttl(asked.body, plain["content"])
            blocks.append(PromptBlock(canonical(plain), count(plain, counter), index, ttl=ttl))
        return blocks

    def message(self, turn: Turn) -> dict[str, Any]:
        """The chat.completion object."""
        reply = turn.reply
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        message["refusal"] = None
        if reply.client_calls:
            message["tool_calls"] = [
                _call(call, turn.step, number) for number, call in enumerate(reply.client_calls)
            ]
        choice = {"index": 0, "message": message, "logprobs": None}
        choice["finish_reason"] = FINISH[reply.stopped_by]
        return {
            **_envelope(turn, "chat.completion"),
            "choices": [choice],
            "usage": usage_of(turn.usage, turn.thought),
        }

    def stream(self, turn: Turn) -> Iterator[bytes]:
        """Chunks, then the usage chunk if it was asked for, then `[DONE]`."""
        options = turn.asked.body.get("stream_options") or {}
        frame = _envelope(turn, "chat.completion.chunk")
        if options.get("include_usage"):
            frame["usage"] = None
        for delta in _deltas(turn):
            yield event({**frame, "choices": [_choice(delta, None)]})
        yield event({**frame, "choices": [_choice({}, FINISH[turn.reply.stopped_by])]})
        if options.get("include_usage"):
            yield event({**frame, "choices": [], "usage": usage_of(turn.usage, turn.thought)})
        yield b"data: [DONE]\n\n"

    def counted(self, asked: Asked, counter: Counter) -> dict[str, Any]:  # noqa: ARG002
        """Chat has no counting endpoint; the Responses one answers in this shape."""
        return {"object": "response.input_tokens", "input_tokens": asked.tokens}

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`{"error": {...}}`."""
        return openai_common.error_body(refusal)

    def broken_stream(self, refusal: Refusal, *, sent: int) -> bytes:  # noqa: ARG002
        """A data line that holds an error."""
        return event(self.error(refusal))

    def denied(self, headers: Mapping[str, str]) -> Refusal | None:
        """401 without a bearer token."""
        return openai_common.denied(headers)


def usage_of(usage: Usage, thought: int) -> dict[str, Any]:
    """The usage object; prompt_tokens includes what the cache read."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt + usage.output,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": thought, "audio_tokens": 0},
    }


def _envelope(turn: Turn, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{turn.step:06d}",
        "object": kind,
        "created": turn.created,
        "model": turn.model,
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
    }


def _choice(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _deltas(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if turn.reply.text else None, "refusal": None}
    for piece in pieces(turn.reply.text):
        yield {"content": piece}
    for number, call in enumerate(turn.reply.client_calls):
        whole = _call(call, turn.step, number)
        arguments = whole["function"]["arguments"]
        start = {**whole, "index": number, "function": {"name": call.name, "arguments": ""}}
        yield {"tool_calls": [start]}
        for piece in pieces(arguments):
            yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _call(call: Call, step: int, number: int) -> dict[str, Any]:
    arguments = json.dumps(call.input, ensure_ascii=False)
    return {
        "id": call.id or f"call_{step:06d}_{number}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }
