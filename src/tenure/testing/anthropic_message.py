"""A reply of the script as an Anthropic message.

Invariant: thinking is signed for the very prompt it answers; tokens of a compaction stand in
`usage.iterations` only. Source: anthropic 2.14.0 types/beta (message, usage, compaction).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.core.usage import Usage
from tenure.testing import anthropic_compaction, signature
from tenure.testing.anthropic_betas import BINDING
from tenure.testing.anthropic_walk import walk
from tenure.testing.script import Call
from tenure.testing.sealed import seal
from tenure.testing.side import Turn

STOP_REASONS = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
}


def message(turn: Turn) -> dict[str, Any]:
    """The Message object, with what the provider reports only when it was asked to."""
    asked = turn.asked
    warming = asked.body["max_tokens"] == 0
    content, stopped, usage = _told(turn)
    whole: dict[str, Any] = {
        "id": f"msg_{turn.step:06d}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [] if warming else content,
        "stop_reason": "max_tokens" if warming else stopped,
        "stop_sequence": None,
        "usage": usage,
    }
    if asked.body.get("context_management") is not None:
        whole["context_management"] = {"applied_edits": list(asked.seen.applied)}
    if BINDING in asked.betas:
        whole["input_transformations"] = list(asked.seen.dropped)
    return whole


def _told(turn: Turn) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    """Content, stop reason and usage of an answer, a compaction, or both.

    Simplified: the answer after a compaction by threshold is billed for the whole prompt too.
    """
    reply = turn.reply
    spent = usage_of(turn.usage, turn.thought)
    stopped = STOP_REASONS[reply.stopped_by]
    compaction = _iteration("compaction", spent)
    alone = {**usage_of(Usage(), 0), "iterations": [compaction]}
    match turn.compacts:
        case "":
            return content_of(turn), stopped, spent
        case "request" if reply.text:
            return [anthropic_compaction.made(turn.asked, reply.text)], "compaction", alone
        case "request":
            return [], stopped, alone
        case "instead":
            return [_compacted_unasked(reply.text)], "compaction", alone
        case "before":
            both = [compaction, _iteration("message", spent)]
            block = _compacted_unasked(turn.summary or "")
            return [block, *content_of(turn, block)], stopped, {**spent, "iterations": both}


def content_of(turn: Turn, *said: dict[str, Any]) -> list[dict[str, Any]]:
    """The reply as content blocks, thinking signed for this very prompt and what was said first."""
    reply = turn.reply
    found: list[dict[str, Any]] = []
    if reply.thinking:
        found.append(_thinking(turn, said))
    if reply.text:
        found.append({"type": "text", "text": reply.text, "citations": None})
    for number, call in enumerate(reply.calls):
        found.extend(_call(call, f"{turn.step:06d}_{number}"))
    return found


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


def _thinking(turn: Turn, said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Thinking as the request wants to see it: whole, without its text, or redacted."""
    asked, reply = turn.asked, turn.reply
    answer = len(asked.body["messages"])
    before = [*walk(asked.body), *(("assistant", block, answer) for block in said)]
    model = asked.profile.name
    if reply.redacted:
        data = signature.sign(signature.REDACTED, before, model=model)
        return {"type": "redacted_thinking", "data": data}
    omitted = (asked.body.get("thinking") or {}).get("display") == "omitted"
    text = "" if omitted else reply.thinking
    signed = signature.sign(text, before, model=model)
    return {"type": "thinking", "thinking": text, "signature": signed}


def _call(call: Call, name: str) -> Iterator[dict[str, Any]]:
    given = {"name": call.name, "input": dict(call.input)}
    if not call.server:
        yield {"type": "tool_use", "id": call.id or f"toolu_{name}", **given}
        return
    call_id = call.id or f"srvtoolu_{name}"
    yield {"type": "server_tool_use", "id": call_id, **given}
    if call.result is not None:
        kind = f"{call.name}_tool_result"
        yield {"type": kind, "tool_use_id": call_id, "content": call.result}


def _compacted_unasked(summary: str) -> dict[str, Any]:
    """The block of a compaction by threshold; without a summary it says that it failed."""
    sealed = seal("compacted", summary.encode("utf-8", "surrogatepass"))
    return {"type": "compaction", "content": summary or None, "encrypted_content": sealed}


def _iteration(kind: str, spent: dict[str, Any]) -> dict[str, Any]:
    names = (
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cache_creation",
    )
    return {"type": kind, **{name: spent[name] for name in names}}
