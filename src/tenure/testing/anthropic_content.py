"""What content the Messages API takes in which message, by API version.

Invariant: versions compare as the dates they are. Source: platform docs, versioning and
migration-2026-10-21; the wordings on empty and blank text are the long-known ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenure.testing.anthropic_walk import blocks
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

STRICT_SINCE = "2026-10-21"
SAMPLING = ("temperature", "top_p", "top_k")


def text_not_empty(asked: Asked) -> Iterator[Refusal]:
    """No message without content, no empty and no blank text block."""
    for index, message in enumerate(asked.body["messages"]):
        if not message["content"] and message.get("output_config"):
            continue  # it only sets the effort
        if not as_blocks(message["content"]):
            yield invalid(f"messages.{index}: all messages must have non-empty content")
        for block in as_blocks(message["content"]):
            if block["type"] == "text":
                yield from _text("messages", block)
    for block in as_blocks(asked.body.get("system")):
        if isinstance(asked.body["system"], list):
            yield from _text("system", block)


def documents_placed(asked: Asked) -> Iterator[Refusal]:
    """Documents stand in user messages since API version 2026-10-21."""
    for at, role, block in blocks(asked.body) if _strict(asked) else ():
        if role == "assistant" and block["type"] == "document":
            yield invalid(f"{at.path}: `document` blocks cannot be in `assistant` messages")


def citations_placed(asked: Asked) -> Iterator[Refusal]:
    """The user's text carries no citations since API version 2026-10-21."""
    for at, role, block in blocks(asked.body) if _strict(asked) else ():
        if role == "user" and any(part.get("citations") for part in _texts(block)):
            yield invalid(f"{at.path}: `citations` are not permitted on text in `user` messages")


def no_sampling(asked: Asked) -> Iterator[Refusal]:
    """temperature, top_p and top_k are gone since API version 2026-10-21."""
    for name in SAMPLING if _strict(asked) else ():
        if name in asked.body:
            yield invalid(f"{name}: Extra inputs are not permitted")


def _text(where: str, block: dict[str, Any]) -> Iterator[Refusal]:
    text = block.get("text")
    if not isinstance(text, str) or not text:
        yield invalid(f"{where}: text content blocks must be non-empty")
    elif not text.strip():
        yield invalid(f"{where}: text content blocks must contain non-whitespace text")


def _texts(block: dict[str, Any]) -> list[dict[str, Any]]:
    """The text blocks that a block of a user message is or holds directly."""
    inner = block.get("content") if block["type"] == "search_result" else [block]
    return [part for part in as_blocks(inner) if part.get("type") == "text"]


def _strict(asked: Asked) -> bool:
    return asked.headers.get("anthropic-version", "") >= STRICT_SINCE


content_rules: Rules = {
    "text_not_empty": text_not_empty,
    "documents_placed": documents_placed,
    "citations_placed": citations_placed,
    "no_sampling": no_sampling,
}
