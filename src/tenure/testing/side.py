"""The seam between the HTTP server and one provider API.

Invariant: a side is pure: it spells answers and knows rules, the server does the talking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from tenure.core.usage import Usage
from tenure.testing.prompt import Counter, PromptBlock
from tenure.testing.refusal import Asked, Refusal, Rules, Seen
from tenure.testing.script import Reply

Compacts: TypeAlias = Literal["", "request", "instead", "before"]
"""A compaction that the request asks for, or one that a threshold sets off: instead of an answer,
or before it."""


@dataclass(frozen=True)
class Turn:
    """Everything an answer is made of.

    `step` numbers the answer and makes its ids; `thought` is the part of `usage.output` that is
    reasoning, in tokens; `created` is in seconds since 1970. `compacts` says whether the reply is a
    summary; `summary` is one that the provider made before the reply.
    """

    reply: Reply
    step: int
    asked: Asked
    usage: Usage
    thought: int
    created: int
    compacts: Compacts = ""
    summary: str | None = None

    @property
    def model(self) -> str:
        """The model the request named."""
        return str(self.asked.body["model"])


class Side(Protocol):
    """How one provider API spells requests, answers, streams and errors."""

    @property
    def rules(self) -> Rules:
        """Named rules of validity, in the order in which they are tried."""

    def seen(self, asked: Asked, counter: Counter) -> Seen:
        """What the model is shown of the request; relies on the shape rules."""

    def compacts(self, asked: Asked) -> Compacts:
        """Whether the provider compacts this request, and what of an answer is left then."""

    def caches_by_mark(self, asked: Asked) -> bool:
        """Whether nothing behind the last cache mark is read or written."""

    def prompt(self, asked: Asked, counter: Counter) -> Sequence[PromptBlock]:
        """The request's prompt in reading order; relies on the shape rules."""

    def message(self, turn: Turn) -> dict[str, Any]:
        """The body of a plain answer."""

    def stream(self, turn: Turn) -> Iterator[bytes]:
        """The events of a streamed answer, encoded."""

    def counted(self, asked: Asked, counter: Counter) -> dict[str, Any]:
        """The body of a token count."""

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error answer."""

    def broken_stream(self, refusal: Refusal, *, sent: int) -> bytes:
        """The event by which a stream says that it failed, after `sent` events."""

    def denied(self, headers: Mapping[str, str]) -> Refusal | None:
        """The refusal of a request that carries no credentials."""
