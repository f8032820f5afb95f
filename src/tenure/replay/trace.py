"""A recorded run as data: threads of steps, each one model call.

Invariant: values only; every message is held as it stood on the wire, in the order it was sent.
The request of step i of a thread is the arrivals and replies of steps 0..i-1 and the arrivals of
step i, in order (`Thread.request`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tenure.core.message import JsonObject, Message
from tenure.core.usage import Usage


@dataclass(frozen=True, slots=True)
class Step:
    """One model call.

    `arrivals` are the messages appended since the previous reply (user words, tool results,
    harness text); `reply` is what the model answered, merged per message id. `usage` is the one
    the provider reported for this call, None when the file has none. `at` is the unix time of
    the request in seconds, best known: that of the last arrival before it.
    """

    arrivals: tuple[Message, ...]
    reply: tuple[Message, ...]
    usage: Usage | None = None
    at: float | None = None
    model: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """One growing conversation: the main one between two compactions, or a sub-agent's.

    `tail` holds arrivals that were never answered.
    """

    name: str
    kind: Literal["main", "sidechain"]
    steps: tuple[Step, ...]
    tail: tuple[Message, ...] = ()
    after_compaction: bool = False
    tokens_before_compaction: int | None = None

    def messages(self) -> Iterator[Message]:
        """All messages in wire order, the unanswered tail included."""
        for step in self.steps:
            yield from step.arrivals
            yield from step.reply
        yield from self.tail

    def request(self, index: int) -> tuple[Message, ...]:
        """The messages that step number `index`, counted from 0, sent to the model."""
        sent: list[Message] = []
        for step in self.steps[:index]:
            sent += step.arrivals
            sent += step.reply
        return (*sent, *self.steps[index].arrivals)


@dataclass(frozen=True, slots=True)
class Damage:
    """A place that could not be read as it should: what was lost, or how it was recovered.

    `line` counts from 1, `offset` is in bytes of the unpacked file, from 0.
    """

    line: int
    offset: int
    words: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One recorded session.

    `format` is claude-code, codex, openai-chat or anthropic-messages; `wire` is the spelling of
    its messages: anthropic_messages, openai_chat or openai_responses. `skipped` counts rows that
    are no part of the conversation, by kind; `head` holds system, tools or instructions where
    the file has them.
    """

    name: str
    source: str
    format: str
    wire: str
    model: str
    threads: tuple[Thread, ...]
    damage: tuple[Damage, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    head: JsonObject = field(default_factory=dict)
