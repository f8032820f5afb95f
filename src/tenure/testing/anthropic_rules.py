"""What the Messages API refuses, one named rule each.

Invariant: rules read the request and nothing else; those on shape come first, so that the later
ones may index freely. Sources: anthropic 2.14.0 docstrings, platform docs (handle-tool-calls,
prompt-caching, preserved thinking, versioning); wordings without a current source are the
long-known ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing import signature
from tenure.testing.anthropic_marks import mark_rules
from tenure.testing.anthropic_pairs import pair_rules
from tenure.testing.anthropic_walk import walk
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

ROLES = ("user", "assistant", "system")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
SAMPLING = ("temperature", "top_p", "top_k")
SAMPLING_GONE_SINCE = "2026-10-21"


def required_fields(asked: Asked) -> Iterator[Refusal]:
    """model, messages and, unless only counting, max_tokens."""
    wanted: dict[str, type] = {"model": str, "messages": list, "max_tokens": int}
    if asked.counting:
        del wanted["max_tokens"]
    for name, kind in wanted.items():
        if name not in asked.body:
            yield invalid(f"{name}: Field required")
        elif not isinstance(asked.body[name], kind):
            yield invalid(f"{name}: Input should be a valid {kind.__name__}")


def message_shape(asked: Asked) -> Iterator[Refusal]:
    """Each message has a known role and content of text or typed blocks."""
    if not asked.body["messages"]:
        yield invalid("messages: at least one message is required")
    for index, message in enumerate(asked.body["messages"]):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            yield invalid(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
            return
        content = message.get("content")
        if isinstance(content, str):
            continue
        if not isinstance(content, list) or not all(_is_block(block) for block in content):
            yield invalid(f"messages.{index}.content: Input should be a string or typed blocks")


def first_message(asked: Asked) -> Iterator[Refusal]:
    """The first message is the user's, or an assistant's that holds only a compaction block."""
    first = asked.body["messages"][0]
    compacted = [block["type"] for block in as_blocks(first["content"])] == ["compaction"]
    if first["role"] != "user" and not (first["role"] == "assistant" and compacted):
        yield invalid('messages: first message must use the "user" role')


def last_message(asked: Asked) -> Iterator[Refusal]:
    """Current models take no prefill: the last message is not the assistant's."""
    last = asked.body["messages"][-1]
    if last["role"] != "assistant" or asked.body["messages"][0] is last:
        return
    text = as_blocks(last["content"])[-1:] or [{}]
    if str(text[0].get("text", "")) != str(text[0].get("text", "")).rstrip():
        yield invalid("messages: final assistant content cannot end with trailing whitespace")
    yield invalid(
        "This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


def system_place(asked: Asked) -> Iterator[Refusal]:
    """A system message follows a user message, and precedes an assistant's or ends the list."""
    messages = asked.body["messages"]
    for index, message in enumerate(messages):
        if message["role"] != "system" or (message["content"] == [] and "output_config" in message):
            continue
        after = messages[index + 1]["role"] if index + 1 < len(messages) else "assistant"
        if index == 0 or messages[index - 1]["role"] != "user" or after != "assistant":
            yield invalid(
                f"messages.{index}: a 'system' message must immediately follow a user turn and "
                "precede an assistant turn or end the conversation"
            )


def text_not_empty(asked: Asked) -> Iterator[Refusal]:
    """No message without content, no empty text block."""
    for index, message in enumerate(asked.body["messages"]):
        blocks = as_blocks(message["content"])
        if not blocks and "output_config" not in message:
            yield invalid(f"messages.{index}: all messages must have non-empty content")
        if any(block["type"] == "text" and not block.get("text") for block in blocks):
            yield invalid("messages: text content blocks must be non-empty")
    for block in as_blocks(asked.body.get("system")):
        if isinstance(asked.body["system"], list) and not block.get("text"):
            yield invalid("system: text content blocks must be non-empty")


def tool_names(asked: Asked) -> Iterator[Refusal]:
    """Tool names are spelled by the rules and unique."""
    seen: set[str] = set()
    for index, tool in enumerate(asked.body.get("tools") or []):
        name = str(tool.get("name", ""))
        if not TOOL_NAME.fullmatch(name):
            yield invalid(f"tools.{index}.name: String should match pattern '{TOOL_NAME.pattern}'")
        if name in seen:
            yield invalid("tools: Tool names must be unique.")
        if "input_schema" not in tool and tool.get("type", "custom") == "custom":
            yield invalid(f"tools.{index}.custom.input_schema: Field required")
        seen.add(name)


def thinking_settings(asked: Asked) -> Iterator[Refusal]:
    """A thinking budget is at least 1,024 tokens and below max_tokens."""
    thinking = asked.body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    budget = thinking.get("budget_tokens", 0)
    if budget < 1_024:
        yield invalid(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if not asked.counting and budget >= asked.body["max_tokens"]:
        yield invalid("`max_tokens` must be greater than `thinking.budget_tokens`")


def thinking_untouched(asked: Asked) -> Iterator[Refusal]:
    """A thinking block is exactly the one that was signed."""
    for index, message in enumerate(asked.body["messages"]):
        for place, block in enumerate(as_blocks(message["content"])):
            if block["type"] != "thinking":
                continue
            if not signature.is_for_text(block.get("signature", ""), block.get("thinking", "")):
                yield invalid(
                    f"messages.{index}.content.{place}: Invalid `signature` in `thinking` block"
                )


def thinking_bound(asked: Asked) -> Iterator[Refusal]:
    """Preserved thinking: the prefix of a thinking block is the one it was signed for."""
    walked = list(walk(asked.body))
    for position in signature.unbound(walked):
        message = walked[position][2]
        place = sum(1 for _, _, other in walked[:position] if other == message)
        yield invalid(
            f"messages.{message}.content.{place}: Invalid `signature` in `thinking` block. The "
            "block is bound to a different conversation. Remove the block, or set "
            '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )


def no_sampling(asked: Asked) -> Iterator[Refusal]:
    """temperature, top_p and top_k are gone since API version 2026-10-21."""
    if asked.headers.get("anthropic-version", "") < SAMPLING_GONE_SINCE:
        return
    for name in SAMPLING:
        if name in asked.body:
            yield invalid(f"{name}: Extra inputs are not permitted")


def cache_warming(asked: Asked) -> Iterator[Refusal]:
    """max_tokens 0 warms the cache: not with a stream, thinking or a forced tool."""
    if asked.counting or asked.body["max_tokens"] != 0:
        return
    forced = (asked.body.get("tool_choice") or {}).get("type") in ("any", "tool")
    thinking = (asked.body.get("thinking") or {}).get("type") == "enabled"
    if asked.body.get("stream") or thinking or forced:
        yield invalid("max_tokens: 0 cannot be combined with stream, thinking or a forced tool")


def window(asked: Asked) -> Iterator[Refusal]:
    """The prompt fits, and so does the prompt with max_tokens."""
    if asked.tokens > asked.window:
        yield invalid(f"prompt is too long: {asked.tokens} tokens > {asked.window} maximum")
    if asked.counting:
        return
    wanted = asked.body["max_tokens"]
    if asked.tokens + wanted > asked.window:
        yield invalid(
            f"input length and `max_tokens` exceed context limit: {asked.tokens} + {wanted} > "
            f"{asked.window}, decrease input length or `max_tokens` and try again"
        )


def version_header(asked: Asked) -> Iterator[Refusal]:
    """Every request names its API version."""
    if not asked.headers.get("anthropic-version"):
        yield invalid("anthropic-version: header is required")


def _is_block(block: Any) -> bool:
    return isinstance(block, Mapping) and isinstance(block.get("type"), str)


RULES: Rules = {
    "version_header": version_header,
    "required_fields": required_fields,
    "message_shape": message_shape,
    "first_message": first_message,
    "text_not_empty": text_not_empty,
    "tool_names": tool_names,
    **pair_rules,
    "last_message": last_message,
    "system_place": system_place,
    **mark_rules,
    "no_sampling": no_sampling,
    "thinking_settings": thinking_settings,
    "thinking_untouched": thinking_untouched,
    "thinking_bound": thinking_bound,
    "cache_warming": cache_warming,
    "window": window,
}
