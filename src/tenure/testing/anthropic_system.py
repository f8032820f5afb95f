"""System messages among the messages: on which models, where, and until when they are shown.

Invariant: a message that was cleared keeps its place in the request and leaves only the prompt.
Source: platform docs, mid-conversation system messages; anthropic 2.14.0 beta_system_message_param.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.anthropic_walk import is_server_result
from tenure.testing.prompt import as_blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid

CLEAR_AT = ("next_user_message", "never")
WITHOUT = re.compile("claude-([a-z]+-4(-[0-7])?|sonnet-5)")
"""Models that know no system message among the messages: older than Opus 4.8, and Sonnet 5."""

BLOCKS = ("text", "tool_addition", "tool_removal")


def system_supported(asked: Asked) -> Iterator[Refusal]:
    """The model knows system messages among the messages."""
    if WITHOUT.fullmatch(asked.profile.name):
        for index, message in enumerate(asked.body["messages"]):
            if message["role"] == "system":
                yield invalid(f"messages.{index}: role 'system' is not supported on this model")


def system_place(asked: Asked) -> Iterator[Refusal]:
    """A system message follows a user turn or a server tool's result, and precedes an assistant
    turn or ends the list; one that only sets the effort may stand anywhere."""
    spoken = [
        (index, message)
        for index, message in enumerate(asked.body["messages"])
        if not _sets_effort_only(message)
    ]
    for at, (index, message) in enumerate(spoken):
        if message["role"] != "system":
            continue
        follows = at > 0 and _may_be_followed(spoken[at - 1][1])
        after = spoken[at + 1][1]["role"] if at + 1 < len(spoken) else "assistant"
        if not follows or after != "assistant":
            yield invalid(
                f"messages.{index}: a 'system' message must immediately follow a user turn and "
                "precede an assistant turn or end the conversation"
            )


def system_content(asked: Asked) -> Iterator[Refusal]:
    """Text and changes of tools only; `clear_at` has two values, and only here."""
    for index, message in enumerate(asked.body["messages"]):
        until = message.get("clear_at")
        if until is not None and (message["role"] != "system" or until not in CLEAR_AT):
            yield invalid(f"messages.{index}.clear_at: Input should be {' or '.join(CLEAR_AT)}")
        if message["role"] != "system":
            continue
        for place, block in enumerate(as_blocks(message["content"])):
            # A signed summary has a refusal of its own.
            signed = block["type"] == "compaction" and block.get("signature")
            if block["type"] not in BLOCKS and not signed:
                yield invalid(
                    f"messages.{index}.content.{place}: `{block['type']}` blocks cannot be in "
                    "`system` messages"
                )


def cleared(messages: list[Any]) -> Iterator[int]:
    """Indices of the messages that a later user message has cleared; results count as one."""
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index, message in enumerate(messages):
        if message.get("clear_at") == "next_user_message" and users and users[-1] > index:
            yield index


def _sets_effort_only(message: Mapping[str, Any]) -> bool:
    empty = message["role"] == "system" and not message["content"]
    return empty and bool(message.get("output_config"))


def _may_be_followed(message: Mapping[str, Any]) -> bool:
    last = as_blocks(message["content"])[-1:]
    ended_by_server = any(is_server_result(block) for block in last)
    return message["role"] == "user" or (message["role"] == "assistant" and ended_by_server)


system_rules: Rules = {
    "system_supported": system_supported,
    "system_content": system_content,
    "system_place": system_place,
}
