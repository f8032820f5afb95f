"""The agent's loop: the newest Anthropic SDK, real tools, one conversation.

Invariant: every request extends the one before it; only the cache marks move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import anthropic
from anthropic.types import Message, MessageParam, TextBlockParam, ToolUseBlock

from scripts.demo.claude_log import ClaudeLog
from scripts.demo.clock import Clock
from scripts.demo.tool_schemas import SYSTEM, TOOLS
from scripts.demo.tools import Tools

MODEL = "claude-opus-5"
MAX_TOKENS = 16_000
MARKED_MESSAGES = 2
"""User messages at the end that carry a cache mark, as coding agents do it."""

OUTPUT_PER_SECOND = 70
SECONDS_TO_FIRST_TOKEN = 1.9


class MisfitError(Exception):
    """A move of the script came out otherwise than meant: the errand no longer fits the tree."""


@dataclass
class Agent:
    """One conversation with the model; `failing` holds the ids of calls that are meant to fail."""

    client: anthropic.Anthropic
    tools: Tools
    log: ClaudeLog
    clock: Clock
    failing: frozenset[str]
    _messages: list[dict[str, Any]] = field(default_factory=list)

    def turn(self, words: str) -> None:
        """The user says something; the agent works until it has nothing left to call."""
        self.log.user(words)
        self._messages.append({"role": "user", "content": [{"type": "text", "text": words}]})
        while True:
            message = self._ask()
            calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
            if not calls:
                return
            self._messages.append({"role": "user", "content": self._results(calls)})

    def _ask(self) -> Message:
        system: list[TextBlockParam] = [
            {"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}
        ]
        with self.client.messages.stream(
            model=MODEL,
            max_tokens=MAX_TOKENS,
            system=system,
            tools=TOOLS,
            messages=cast("list[MessageParam]", self._marked()),
        ) as stream:
            message = stream.get_final_message()
        self.clock.pass_(SECONDS_TO_FIRST_TOKEN + message.usage.output_tokens / OUTPUT_PER_SECOND)
        self.log.reply(message)
        self._messages.append(cast("dict[str, Any]", message.to_param()))
        return message

    def _results(self, calls: Sequence[ToolUseBlock]) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        for call in calls:
            outcome = self.tools.run(call.name, call.input)
            if outcome.is_error is not (call.id in self.failing):
                meant = "fail" if call.id in self.failing else "succeed"
                raise MisfitError(
                    f"{call.id} ({call.name} {call.input}) was meant to {meant}: mend the errand "
                    f"in scripts/demo\n{outcome.text}"
                )
            self.clock.pass_(outcome.seconds)
            self.log.result(call.id, outcome)
            blocks.append(
                {
                    "type": "tool_result",
                    "tool_use_id": call.id,
                    "content": outcome.text,
                    "is_error": outcome.is_error,
                }
            )
        return blocks

    def _marked(self) -> list[dict[str, Any]]:
        """The messages, the last block of the last user messages marked."""
        users = [i for i, message in enumerate(self._messages) if message["role"] == "user"]
        marked = list(self._messages)
        for index in users[-MARKED_MESSAGES:]:
            *rest, last = marked[index]["content"]
            last = {**last, "cache_control": {"type": "ephemeral"}}
            marked[index] = {"role": "user", "content": [*rest, last]}
        return marked
