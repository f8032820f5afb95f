"""What the scripted model says, without the spelling of any provider.

Invariant: a step is a value; the same script and the same requests give the same answers, ids
included.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tenure.errors import ConfigError

Body: TypeAlias = Mapping[str, Any]
"""A parsed request body; provider JSON, hence `Any`."""

Stop: TypeAlias = Literal["end", "calls", "length", "refusal", "pause"]
"""Why the model stopped; each wire format has its own word for it."""


@dataclass(frozen=True)
class Call:
    """One tool call the model makes; `id` is made up by the server when it is empty.

    With `server` the provider runs the tool itself (only the Messages API speaks of such calls):
    `result` is the content of its result block; without one the turn pauses.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    server: bool = False
    result: Any = None


@dataclass(frozen=True)
class Reply:
    """One answer of the model: reasoning, then text, then tool calls, each optional.

    `thinking` becomes a signed thinking block (Anthropic), a reasoning item (Responses) or only a
    number in the usage (Chat). `redacted` hides it in a block of its own kind (Anthropic). `stop`
    is worked out from the calls when it is not given.
    """

    text: str = ""
    thinking: str = ""
    calls: Sequence[Call] = ()
    stop: Stop | None = None
    redacted: bool = False

    @property
    def stopped_by(self) -> Stop:
        """The stop reason, given or worked out."""
        if self.stop:
            return self.stop
        if any(call.server and call.result is None for call in self.calls):
            return "pause"
        return "calls" if self.client_calls else "end"

    @property
    def client_calls(self) -> Sequence[Call]:
        """The calls whose tools the client runs."""
        return [call for call in self.calls if not call.server]


@dataclass(frozen=True)
class Failure:
    """An answer that is an error: an HTTP status, or an `error` event inside a stream.

    With `midstream` a streaming request is answered 200 and breaks after its first events; a
    plain request gets the status. `retry_after` is seconds; without it the server asks the SDK
    not to retry, so that a test sees the error at once. `details` is Anthropic's `error.details`,
    e.g. `{"error_code": "compaction_unavailable"}`.
    """

    status: int = 529
    message: str = "Overloaded"
    midstream: bool = False
    retry_after: float | None = None
    details: Mapping[str, Any] | None = None


Step: TypeAlias = Reply | Failure
Script: TypeAlias = Sequence[Step] | Callable[[Body, int], Step]
"""The answers in order, or a function of the request body and the number of steps before it."""

Summarizer: TypeAlias = Callable[[Body], Step]
"""What a compaction of this request body comes to: the text of a `Reply`, or a `Failure`."""


Counting: TypeAlias = Callable[[Body], "int | Failure | None"]
"""What a token count of this body answers: a number or a failure; None counts it."""


def counted(body: Body) -> None:
    """Counts every body."""


def summary_of(body: Body) -> Reply:
    """A summary that says only how much it stands for."""
    said = body.get("messages", body.get("input"))
    size = len(said) if isinstance(said, list) else 1
    return Reply(f"Summary of the conversation so far: {size} messages.")


class Playhead:
    """Hands out the steps of a script, one per accepted request, in the order they arrive."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._taken = 0
        self._lock = threading.Lock()

    def next(self, body: Body) -> tuple[Step, int]:
        """The step that answers `body` and its index from 0; `ConfigError` past the end."""
        with self._lock:
            index = self._taken
            self._taken += 1
        if callable(self._script):  # outside the lock: a script may wait for another request
            return self._script(body, index), index
        if index >= len(self._script):
            raise ConfigError(
                f"the script has {len(self._script)} steps and request {index + 1} asks for one "
                "more: lengthen the script, or look why the client asked again",
                source="script",
            )
        return self._script[index], index
