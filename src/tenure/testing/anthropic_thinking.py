"""Thinking in the Messages API: its settings, whose it is, and what it is bound to.

Invariant: the check reads what was sent, never what the server made of it. Source: platform docs,
preserved thinking and extended thinking; anthropic 2.14.0, beta_thinking_block_binding_param and
beta_thinking_dropped_input_transformation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from tenure.testing import signature
from tenure.testing.anthropic_walk import THINKING, At, blocks, walk
from tenure.testing.prompt import HEAD, as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

BEHAVIOURS = ("error", "drop_block")
TYPES = ("enabled", "adaptive", "disabled", "between_tools")

READ_BY_ALL = re.compile("claude-haiku-5-5")
AGES = tuple(
    re.compile(pattern)
    for pattern in (
        "claude-[a-z]+-4(-.*)?",
        "claude-[a-z]+-5",
        "claude-(opus|sonnet)-5-5",
        "claude-(fable|mythos)-5-1",
        "claude-(fable|mythos)-5-2",
    )
)
"""Models by age, oldest first: a model reads the thinking of its own and of older ones."""

NO_BUDGET = re.compile("claude-[a-z]+-(4-[789]|5|5-[1-9])")
ALWAYS_THINK = re.compile("claude-((fable|mythos)-.*|opus-5-5)")
NO_FORCED_TOOL = re.compile("claude-((fable|mythos)-5-1|opus-5-5)")

Behaviour: TypeAlias = Literal["error", "drop_block", "allow"]


def thinking_shape(asked: Asked) -> Iterator[Refusal]:
    """A known type of thinking, and a known answer to a broken prefix."""
    thinking = asked.body.get("thinking")
    if thinking is None:
        return
    if not isinstance(thinking, dict) or thinking.get("type") not in TYPES:
        yield invalid(f"thinking.type: Input should be one of {', '.join(map(repr, TYPES))}")
        return
    binding = thinking.get("block_binding") or {}
    behaviour = binding.get("prefix_mismatch_behavior") or "error"
    if behaviour not in BEHAVIOURS:
        yield invalid(
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or "
            "'drop_block'"
        )


def thinking_settings(asked: Asked) -> Iterator[Refusal]:
    """A thinking budget is at least 1,024 tokens and below max_tokens."""
    thinking = asked.body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if not isinstance(budget, int) or budget < 1_024:
        yield invalid(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
        return
    if not asked.counting and budget >= asked.body["max_tokens"]:
        yield invalid("`max_tokens` must be greater than `thinking.budget_tokens`")


def thinking_by_model(asked: Asked) -> Iterator[Refusal]:
    """No budget since Claude 4.7; some models cannot do without thinking, or be forced to call."""
    kind = (asked.body.get("thinking") or {}).get("type")
    if kind == "enabled" and _is(asked, NO_BUDGET):
        yield invalid(
            '"thinking.type.enabled" is not supported for this model. Use '
            '"thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
    if kind == "disabled" and _is(asked, ALWAYS_THINK):
        yield invalid('"thinking.type.disabled" is not supported for this model.')
    forced = (asked.body.get("tool_choice") or {}).get("type")
    if forced in ("any", "tool") and _is(asked, NO_FORCED_TOOL):
        yield invalid(f"tool_choice.type: '{forced}' is not supported for this model.")


def thinking_first(asked: Asked) -> Iterator[Refusal]:
    """With a thinking budget, the assistant turn of an open tool loop begins with thinking."""
    if (asked.body.get("thinking") or {}).get("type") != "enabled":
        return
    messages = asked.body["messages"]
    spoken = [i for i, said in enumerate(messages) if said["role"] == "assistant"]
    if not spoken:
        return
    # Neighbours of one role are one turn (docstring of `messages`, anthropic 2.14.0).
    first = spoken[-1]
    while first and messages[first - 1]["role"] == "assistant":
        first -= 1
    turn = [
        block for said in messages[first : spoken[-1] + 1] for block in as_blocks(said["content"])
    ]
    if any(block["type"] == "tool_use" for block in turn) and turn[0]["type"] not in THINKING:
        yield invalid(
            f"messages.{first}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{turn[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start "
            "with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` "
            "blocks)."
        )


def thinking_untouched(asked: Asked) -> Iterator[Refusal]:
    """A thinking block is the assistant's, and exactly the one that was signed."""
    for at, role, block in blocks(asked.body):
        if block["type"] not in THINKING:
            continue
        if role != "assistant":
            yield invalid(
                f"{at.path}: `{block['type']}` blocks can only be in `assistant` messages"
            )
        field, text = _spoken(block)
        if not isinstance(block.get(field), str):
            yield invalid(f"{at.path}.{block['type']}.{field}: Field required")
        if not signature.is_for_text(signature.signature_of(block), text):
            yield invalid(f"{at.path}: Invalid `{field}` in `{block['type']}` block")


def thinking_bound(asked: Asked) -> Iterator[Refusal]:
    """Where thinking is preserved, nothing before a thinking block has changed."""
    if behaviour(asked) != "error":
        return
    for at, block in _unbound(asked):
        if _readable(asked, block):
            yield invalid(
                f"{at.path}: Invalid `signature` in `{block['type']}` block. The block is bound to "
                "a different conversation. Remove the block, or set "
                '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
            )


def behaviour(asked: Asked) -> Behaviour:
    """What happens to thinking whose prefix has changed: older accounts are held to it only where
    the request says what is to happen, some models never."""
    binding = (asked.body.get("thinking") or {}).get("block_binding") or {}
    wanted = binding.get("prefix_mismatch_behavior")
    if not asked.binds or not (wanted or asked.enforced):
        return "allow"
    return "drop_block" if wanted == "drop_block" else "error"


def transformations(asked: Asked) -> list[dict[str, Any]]:
    """The entries of `input_transformations`, in the order of the request."""
    unbound = {at for at, _ in _unbound(asked)} if asked.binds else set()
    dropping = behaviour(asked) == "drop_block"
    found: list[dict[str, Any]] = []
    run: At | None = None  # where the last dropped block of a run of thinking stands
    for at, _, block in blocks(asked.body):
        if block["type"] not in THINKING:
            continue
        follows = run is not None and At(run.message, run.place + 1) == at
        if not _readable(asked, block):
            found.append(_entry("thinking_dropped", "model", at))
        elif dropping and (at in unbound or follows):
            found.append(_entry("thinking_dropped", "prefix", at))
            run = at
        elif at in unbound:
            found.append(_entry("thinking_mismatch_allowed", "prefix", at))
    return found


def reads(reader: str, thinker: str) -> bool:
    """Whether one model may read another's thinking.

    Source: platform docs, preserved thinking: newer models read older ones, nobody but itself
    reads Fable 5.1 before 5.2, and what Haiku 5.5 thought is readable by all. An unknown model
    reads only itself; a signature without a model is readable by all.
    """
    if thinker in ("", reader) or READ_BY_ALL.fullmatch(thinker):
        return True
    if READ_BY_ALL.fullmatch(reader):
        return False
    own, other = _age(reader), _age(thinker)
    return own is not None and other is not None and other < own


def _entry(kind: str, reason: str, at: At) -> dict[str, Any]:
    return {"type": kind, "reason": f"{reason}_binding_mismatch", "path": at.path}


def _unbound(asked: Asked) -> list[tuple[At, dict[str, Any]]]:
    """The thinking blocks whose prefix is not the one they were signed for."""
    placed = list(blocks(asked.body))
    if all(block["type"] not in THINKING for _, _, block in placed):
        return []
    walked = list(walk(asked.body))
    head = sum(message == HEAD for _, _, message in walked)
    found = (placed[position - head] for position in signature.examine(walked).unbound)
    return [(at, block) for at, _, block in found]


def _spoken(block: dict[str, Any]) -> tuple[str, str]:
    """The field that holds a thinking block's signature, and the text it was made for."""
    if block["type"] == "redacted_thinking":
        return "data", signature.REDACTED
    return "signature", str(block.get("thinking", ""))


def _readable(asked: Asked, block: dict[str, Any]) -> bool:
    thinker = signature.read(signature.signature_of(block)).model
    return reads(asked.profile.name, thinker)


def _is(asked: Asked, models: re.Pattern[str]) -> bool:
    return models.fullmatch(asked.profile.name) is not None


def _age(model: str) -> int | None:
    ages = (age for age, models in enumerate(AGES) if models.fullmatch(model))
    return next(ages, None)


thinking_rules: Rules = {
    "thinking_shape": thinking_shape,
    "thinking_settings": thinking_settings,
    "thinking_by_model": thinking_by_model,
    "thinking_first": thinking_first,
    "thinking_untouched": thinking_untouched,
    "thinking_bound": thinking_bound,
}
