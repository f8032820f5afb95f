"""Anthropic Messages as the scripted server speaks it.

Invariant: a stream, accumulated by the SDK, is the message that the plain answer would have been.
Source: anthropic 2.14.0 types; platform docs on streaming, usage and errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenure.testing import (
    anthropic_edits,
    anthropic_events,
    anthropic_message,
    anthropic_rules,
    anthropic_seen,
)
from tenure.testing.anthropic_compaction import is_request
from tenure.testing.anthropic_edit_rules import COMPACT, edits_of, trigger_of
from tenure.testing.anthropic_walk import walk
from tenure.testing.prompt import HEAD, Counter, PromptBlock, canonical, count
from tenure.testing.refusal import Asked, Refusal, Rules, Seen
from tenure.testing.side import Compacts, Turn

TTL_SECONDS = {"5m": 300.0, "1h": 3_600.0}

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
            for role, block, message in walk(asked.seen.body)
        ]
        _read_under(blocks, asked.body)
        automatic = asked.body.get("cache_control")
        if automatic:
            _mark_last(blocks, _ttl(automatic))
        return blocks

    def seen(self, asked: Asked, counter: Counter) -> Seen:
        """Without dropped thinking, cleared messages and what `context_management` takes."""
        return anthropic_seen.seen(asked, counter)

    def compacts(self, asked: Asked) -> Compacts:
        """The top-level `compaction` asks for it, or `compact_20260112` has reached its trigger."""
        if is_request(asked):
            return "request"
        for edit in edits_of(asked.body):
            if edit["type"] == COMPACT and asked.tokens > trigger_of(edit):
                return "instead" if edit.get("pause_after_compaction") else "before"
        return ""

    def caches_by_mark(self, asked: Asked) -> bool:  # noqa: ARG002
        """Its cache writes at marks and nowhere else by itself."""
        return False

    def message(self, turn: Turn) -> dict[str, Any]:
        """The Message object."""
        return anthropic_message.message(turn)

    def stream(self, turn: Turn) -> Iterator[bytes]:
        """The same message as events."""
        return anthropic_events.events_of(self.message(turn))

    def counted(self, asked: Asked, counter: Counter) -> dict[str, Any]:
        """The answer of count_tokens, with the count before `context_management` if there is any."""
        if asked.body.get("context_management") is None:
            return {"input_tokens": asked.tokens}
        whole = anthropic_seen.unedited(asked, asked.seen.dropped)
        original = anthropic_edits.tokens(whole, counter)
        return {
            "input_tokens": asked.tokens,
            "context_management": {"original_input_tokens": original},
        }

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`{"type": "error", "error": {...}}`."""
        kind = refusal.kind
        if not refusal.rule and kind == "invalid_request_error" and refusal.status != 400:
            kind = ERROR_KINDS.get(refusal.status, "api_error")
        error: dict[str, Any] = {"type": kind, "message": refusal.message}
        if refusal.details is not None:
            error["details"] = dict(refusal.details)
        return {"type": "error", "error": error, "request_id": "req_scripted"}

    def broken_stream(self, refusal: Refusal, *, sent: int) -> bytes:  # noqa: ARG002
        """The `error` event."""
        return anthropic_events.named(self.error(refusal))

    def denied(self, headers: Mapping[str, str]) -> Refusal | None:
        """401 without a key."""
        if headers.get("x-api-key") or headers.get("authorization"):
            return None
        return Refusal(401, "x-api-key header is required", kind="authentication_error")


def _prompt_block(
    role: str, block: Mapping[str, Any], message: int, counter: Counter
) -> PromptBlock:
    text = f"{role}:{canonical(block)}"
    mark = block.get("cache_control") or _inner_mark(block)
    return PromptBlock(
        text, count(block, counter), message, str(block.get("type")), _ttl(mark) if mark else None
    )


def _read_under(blocks: list[PromptBlock], body: Mapping[str, Any]) -> None:
    """Messages are cached under the settings that they were read under: another thinking, effort
    or tool choice keeps tools and system cached and nothing else (docs, prompt caching). What is
    to happen to unbound thinking is no such setting: the model is not shown it."""
    output = body.get("output_config")
    effort = output.get("effort") if isinstance(output, Mapping) else None
    thinking = {k: v for k, v in (body.get("thinking") or {}).items() if k != "block_binding"}
    settings = [thinking or None, effort, body.get("tool_choice")]
    first = next((at for at, block in enumerate(blocks) if block.message != HEAD), None)
    if first is not None and any(one is not None for one in settings):
        blocks[first] = replace(blocks[first], text=f"{canonical(settings)}{blocks[first].text}")


def _inner_mark(block: Mapping[str, Any]) -> Any:
    """A mark inside a tool result's content: it stands at the end of that result."""
    inner = block.get("content")
    if not isinstance(inner, list):
        return None
    parts = [part for part in inner if isinstance(part, Mapping)]
    marks = [part["cache_control"] for part in parts if part.get("cache_control")]
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
