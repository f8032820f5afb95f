"""OpenAI Responses as the scripted server speaks it.

Invariant: a stream's `response.completed` carries the very object the plain answer would have
been. Source: openai 3.57.0 types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.core.usage import Usage
from tenure.testing import openai_common, responses_compaction, responses_rules
from tenure.testing.prompt import HEAD, Counter, PromptBlock, as_blocks, canonical, count
from tenure.testing.refusal import Asked, Refusal, Rules, Seen
from tenure.testing.responses_events import events_of
from tenure.testing.responses_input import items_of, parts_of
from tenure.testing.sealed import seal
from tenure.testing.side import Compacts, Turn
from tenure.testing.sse import event


@dataclass(frozen=True)
class ResponsesSide:
    """POST /v1/responses and /v1/responses/input_tokens; /v1/responses/compact if `compacting`."""

    compacting: bool = False

    @property
    def rules(self) -> Rules:
        """Rules of the Responses API."""
        return responses_rules.RULES

    def seen(self, asked: Asked, counter: Counter) -> Seen:  # noqa: ARG002
        """All of it."""
        return Seen(asked.body)

    def compacts(self, asked: Asked) -> Compacts:
        """The endpoint or the last item asks for it, or a threshold is reached."""
        if self.compacting or responses_compaction.triggered(asked):
            return "request"
        return "before" if responses_compaction.due(asked) else ""

    def caches_by_mark(self, asked: Asked) -> bool:
        """The mode `explicit` of `prompt_cache_options`."""
        return openai_common.caches_by_breakpoint(asked)

    def prompt(self, asked: Asked, counter: Counter) -> Sequence[PromptBlock]:
        """Tools, instructions, then one block per item."""
        head = list(asked.body.get("tools") or [])
        if asked.body.get("instructions"):
            head.append({"instructions": asked.body["instructions"]})
        blocks = [PromptBlock(canonical(part), count(part, counter), HEAD) for part in head]
        for index, item in enumerate(items_of(asked)):
            plain = _plain(item)
            ttl = openai_common.breakpoint_ttl(asked.body, parts_of(item))
            blocks.append(PromptBlock(canonical(plain), count(plain, counter), index, ttl=ttl))
        return blocks

    def message(self, turn: Turn) -> dict[str, Any]:
        """The response object; what it stands for is kept for previous_response_id."""
        body = turn.asked.body
        if self.compacting:
            usage = usage_of(turn.usage, turn.thought)
            words, step, at = turn.reply.text, turn.step, turn.created
            return responses_compaction.compacted(
                turn.asked, words, step=step, created=at, usage=usage
            )
        output = output_of(turn)
        whole = {**_envelope(turn), "output": output, "usage": usage_of(turn.usage, turn.thought)}
        _remember(turn, whole["id"], output)
        if turn.reply.stopped_by == "length":
            whole["status"] = "incomplete"
            whole["incomplete_details"] = {"reason": "max_output_tokens"}
        return {**whole, "previous_response_id": body.get("previous_response_id")}

    def stream(self, turn: Turn) -> Iterator[bytes]:
        """Named events, numbered from 0."""
        for number, payload in enumerate(events_of(self.message(turn))):
            numbered = {**payload, "sequence_number": number}
            yield event(numbered, name=payload["type"])

    def counted(self, asked: Asked, counter: Counter) -> dict[str, Any]:  # noqa: ARG002
        """The answer of input_tokens."""
        return {"object": "response.input_tokens", "input_tokens": asked.tokens}

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`{"error": {...}}`."""
        return openai_common.error_body(refusal)

    def broken_stream(self, refusal: Refusal, *, sent: int) -> bytes:
        """The `error` event."""
        inner = self.error(refusal)["error"]
        payload = {
            "type": "error",
            "code": inner["code"],
            "message": inner["message"],
            "param": inner["param"],
            "sequence_number": sent,
        }
        return event(payload, name="error")

    def denied(self, headers: Mapping[str, str]) -> Refusal | None:
        """401 without a bearer token."""
        return openai_common.denied(headers)


def output_of(turn: Turn) -> list[dict[str, Any]]:
    """The reply as output items: compaction, reasoning, message, function calls."""
    reply, step = turn.reply, turn.step
    if turn.compacts == "request":
        return [responses_compaction.item_of(reply.text, step)]
    items: list[dict[str, Any]] = []
    if turn.summary is not None:
        items.append(responses_compaction.item_of(turn.summary, step))
    if reply.thinking:
        sealed = seal("reasoning", f"{step}: {reply.thinking}".encode("utf-8", "surrogatepass"))
        items.append(
            {
                "id": f"rs_{step:06d}",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": reply.thinking}],
                "encrypted_content": sealed,
            }
        )
    if reply.text:
        items.append(
            {
                "id": f"msg_{step:06d}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "phase": "commentary" if reply.client_calls else "final_answer",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            }
        )
    for number, call in enumerate(reply.client_calls):
        items.append(
            {
                "id": f"fc_{step:06d}_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id or f"call_{step:06d}_{number}",
                "name": call.name,
                "arguments": json.dumps(call.input, ensure_ascii=False),
            }
        )
    return items


def usage_of(usage: Usage, thought: int) -> dict[str, Any]:
    """The usage object; input_tokens includes what the cache read."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": usage.prompt + usage.output,
    }


def _envelope(turn: Turn) -> dict[str, Any]:
    body = turn.asked.body
    return {
        "id": f"resp_{turn.step:06d}",
        "object": "response",
        "created_at": turn.created,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": turn.model,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "store": body.get("store", True),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "truncation": body.get("truncation") or "disabled",
    }


def _remember(turn: Turn, response_id: str, output: Sequence[Mapping[str, Any]]) -> None:
    """Notes which items belong to a reasoning item, and stores the response unless told not to."""
    ledger = turn.asked.ledger
    reasoning = [item["id"] for item in output if item["type"] == "reasoning"]
    for item in output:
        if reasoning and item["type"] not in ("reasoning", "compaction"):
            ledger.reasoning_of[item["id"]] = reasoning[0]
    if turn.asked.body.get("store", True):
        ledger.stored[response_id] = [*items_of(turn.asked), *output]
        ledger.items.update({item["id"]: item for item in output})


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item with its content as parts, and without the fields that change no prompt.

    What a message says as a string is kept as one input_text part (`ResponseInputMessageItem`).
    """
    kept = {key: value for key, value in item.items() if key not in ("status", "annotations")}
    if "role" in kept:
        content = kept.get("content")
        if isinstance(content, str) and kept["role"] != "assistant":
            content = [{"type": "input_text", "text": content}]
        kept = {"type": "message", **kept, "content": as_blocks(content)}
    return kept
