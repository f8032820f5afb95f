"""What the Messages API refuses, one named rule each.

Invariant: rules read the request and nothing else; those on shape come first, so that the later
ones may index freely. Sources: anthropic 2.14.0 docstrings, platform docs (handle-tool-calls,
prompt-caching, preserved thinking, versioning), and what the module of each group of rules names;
wordings without a current source are the long-known ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tenure.testing.anthropic_betas import beta_rules
from tenure.testing.anthropic_compaction import compaction_rules, is_request
from tenure.testing.anthropic_content import content_rules
from tenure.testing.anthropic_edit_rules import edit_rules
from tenure.testing.anthropic_marks import mark_rules
from tenure.testing.anthropic_pairs import pair_rules
from tenure.testing.anthropic_pictures import picture_rules
from tenure.testing.anthropic_server_tools import is_paused, server_rules
from tenure.testing.anthropic_shape import shape_rules
from tenure.testing.anthropic_system import system_rules
from tenure.testing.anthropic_thinking import thinking_rules
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

PREFILLED = re.compile("claude-([123].*|instant.*|[a-z]+-4(-[0-5])?)")
"""Models that take a last message of the assistant's: older than Claude 4.6. Source: platform docs,
prefill."""


def last_message(asked: Asked) -> Iterator[Refusal]:
    """Current models take no prefill: the last message is not the assistant's, unless the provider
    paused the turn, for a tool or behind a compaction, or is to summarise it."""
    last = asked.body["messages"][-1]
    ending = as_blocks(last["content"])[-1:]
    compacted = any(block["type"] == "compaction" for block in ending)
    if last["role"] != "assistant" or compacted or is_paused(asked) or is_request(asked):
        return
    text = str(ending[0].get("text", "")) if ending else ""
    if text != text.rstrip():
        yield invalid("messages: final assistant content cannot end with trailing whitespace")
    if PREFILLED.fullmatch(asked.profile.name):
        return
    yield invalid(
        "This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


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


RULES: Rules = {
    "version_header": version_header,
    **shape_rules,
    **beta_rules,
    **content_rules,
    **compaction_rules,
    **pair_rules,
    **server_rules,
    "last_message": last_message,
    **system_rules,
    **mark_rules,
    **thinking_rules,
    **edit_rules,
    **picture_rules,
    "cache_warming": cache_warming,
    "window": window,
}
