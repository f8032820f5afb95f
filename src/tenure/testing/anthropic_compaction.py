"""Compaction in the Messages API: what may ask for it, and how its block must come back.

Invariant: a signed block is known by its signature alone, so that it may come from any server.
Source: platform docs, compaction (on demand, September 2026); anthropic 2.14.0
compaction_*_error_details and beta_compaction_block_param.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing import signature
from tenure.testing.anthropic_betas import COMPACT, COMPACT_EDIT
from tenure.testing.anthropic_server_tools import is_paused
from tenure.testing.anthropic_walk import At, blocks, walk
from tenure.testing.prompt import as_blocks, canonical
from tenure.testing.refusal import Asked, Refusal, Rules, coded, invalid
from tenure.testing.sealed import PART, digest, opened

LONGEST_INSTRUCTIONS = 16_384
FIELDS = {"type", "content", "signature", "encrypted_content", "tool_changes", "cache_control"}


def is_request(asked: Asked) -> bool:
    """Whether the request asks for a compaction; a count ignores the wish."""
    return bool(asked.body.get("compaction")) and not asked.counting


def compaction_request(asked: Asked) -> Iterator[Refusal]:
    """A compaction goes with none of the settings that shape an answer."""
    if not is_request(asked):
        return
    wish = asked.body["compaction"]
    if not isinstance(wish, Mapping) or wish.get("type") != "summarize":
        yield invalid("compaction.type: Input should be 'summarize'")
        return
    instructions = wish.get("instructions") or ""
    if not isinstance(instructions, str) or len(instructions) > LONGEST_INSTRUCTIONS:
        yield invalid(
            f"compaction.instructions: String should have at most {LONGEST_INSTRUCTIONS} characters"
        )
    for name in _excluded(asked.body):
        yield invalid(f"compaction: cannot be combined with `{name}`")


def compaction_turn_complete(asked: Asked) -> Iterator[Refusal]:
    """What is summarised does not end in an assistant turn that waits for something."""
    if not is_request(asked):
        return
    last = asked.body["messages"][-1]
    calls = any(block["type"] == "tool_use" for block in as_blocks(last["content"]))
    if last["role"] == "assistant" and (calls or is_paused(asked)):
        yield coded(
            "compaction: the conversation ends with an `assistant` turn that is not finished",
            "compaction_incomplete_turn",
        )


def compaction_has_matter(asked: Asked) -> Iterator[Refusal]:
    """There is something to summarise beside a block that is a summary already."""
    said = any(
        role != "system" and block["type"] != "compaction" for _, role, block in blocks(asked.body)
    )
    if is_request(asked) and not said:
        yield coded(
            "compaction: `messages` holds no `user` or `assistant` content to summarize",
            "compaction_nothing_to_summarize",
        )


def compaction_block_shape(asked: Asked) -> Iterator[Refusal]:
    """A compaction block has no other fields, and no empty content."""
    for at, _, block in blocks(asked.body):
        if block["type"] != "compaction":
            continue
        for name in sorted(set(block) - FIELDS):
            yield invalid(f"{at.path}.compaction.{name}: Extra inputs are not permitted")
        content = block.get("content")
        if content is not None and (not isinstance(content, str) or not content):
            yield invalid(f"{at.path}.compaction.content: String should be non-empty or null")


def compaction_block_first(asked: Asked) -> Iterator[Refusal]:
    """A signed block is the first of the conversation, and not in a system message."""
    for at, role, _ in _signed(asked):
        if at != At(0, 0) or role == "system":
            yield coded(
                f"{at.path}: a `compaction` block must be the first block of the conversation",
                "compaction_block_misplaced",
            )


def compaction_block_single(asked: Asked) -> Iterator[Refusal]:
    """A signed block is the only one."""
    full = [
        at
        for at, _, block in blocks(asked.body)
        if block["type"] == "compaction" and block.get("content")
    ]
    if len(full) > 1 and any(_signed(asked)):
        yield coded(
            f"{full[1].path}: `messages` holds more than one `compaction` block",
            "compaction_block_ambiguous",
        )


def compaction_block_verbatim(asked: Asked) -> Iterator[Refusal]:
    """A signed block comes back as it was returned."""
    for at, _, block in _signed(asked):
        raw = opened("compaction", block["signature"])
        if raw is None:
            yield coded(
                f"{at.path}: Invalid `signature` in `compaction` block",
                "compaction_signature_invalid",
            )
            continue
        if raw[:PART] != digest(str(block.get("content"))):
            yield coded(
                f"{at.path}: the `content` of the `compaction` block differs from what was signed",
                "compaction_content_mismatch",
            )
        if raw[PART : 2 * PART] != digest(_changes(block)):
            yield coded(
                f"{at.path}: the `tool_changes` of the `compaction` block differ from what was "
                "returned",
                "compaction_tool_changes_mismatch",
            )


def made(asked: Asked, summary: str) -> dict[str, Any]:
    """The compaction block that stands for the whole of this request."""
    block: dict[str, Any] = {"type": "compaction", "content": summary, "tool_changes": []}
    prefix = signature.examine(list(walk(asked.body))).prefix
    signed = prefix.sealed(summary, _changes(block), preserved=asked.binds)
    return {**block, "signature": signed}


def superseded(messages: list[Any]) -> At | None:
    """Where the last unsigned compaction block with content stands: what is before it is unread.

    Source: platform docs, compaction (threshold form).
    """
    found = None
    for at, _, block in blocks({"messages": messages}):
        if block["type"] == "compaction" and block.get("content") and not block.get("signature"):
            found = at
    return found


def _signed(asked: Asked) -> Iterator[tuple[At, str, dict[str, Any]]]:
    """Blocks of the signed form; an unsigned one is of it where only its header is sent."""
    unsigned = COMPACT in asked.betas and COMPACT_EDIT not in asked.betas
    for at, role, block in blocks(asked.body):
        of_it = block["type"] == "compaction" and block.get("content") is not None
        if of_it and (block.get("signature") or unsigned):
            yield at, role, {"signature": None, **block}


def _changes(block: Mapping[str, Any]) -> str:
    return canonical(block.get("tool_changes"))


def _excluded(body: Mapping[str, Any]) -> Iterator[str]:
    output = body.get("output_config") or {}
    budget = output.get("task_budget")
    present = {
        "context_management": body.get("context_management"),
        "stop_sequences": body.get("stop_sequences"),
        "output_config.format": output.get("format"),
        "tool_choice": (body.get("tool_choice") or {}).get("type") in ("any", "tool"),
        "output_config.task_budget.remaining": isinstance(budget, Mapping)
        and budget.get("remaining"),
    }
    return (name for name, value in present.items() if value)


compaction_rules: Rules = {
    "compaction_request": compaction_request,
    "compaction_turn_complete": compaction_turn_complete,
    "compaction_has_matter": compaction_has_matter,
    "compaction_block_shape": compaction_block_shape,
    "compaction_block_single": compaction_block_single,
    "compaction_block_first": compaction_block_first,
    "compaction_block_verbatim": compaction_block_verbatim,
}
