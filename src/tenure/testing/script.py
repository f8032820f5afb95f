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

Stop: TypeAlias = Literal["end", "calls", "length", "refusal"]
"""Why the model stopped; each wire format has its own word for it."""


@dataclass(frozen=True)
class Call:
    """One tool call the model makes; `id` is made up by the server when it is empty."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True)
class Reply:
    """One answer of the model: reasoning, then text, then tool calls, each optional.

    `thinking` becomes a signed thinking block (Anthropic), a reasoning item (Responses) or only a
    number in the usage (Chat). `stop` is worked out from the calls when it is not given.
    """

    text: str = ""
    thinking: str = ""
    calls: Sequence[Call] = ()
    stop: Stop | None = None

    @property
    def stopped_by(self) -> Stop:
        """The stop reason, given or worked out."""
        return self.stop or ("calls" if self.calls else "end")


@dataclass(frozen=True)
class Failure:
    """An answer that is an error: an HTTP status, or an `error` event inside a stream.

    With `midstream` a streaming request is answered 200 and breaks after its first events; a
    plain request gets the status. `retry_after` is seconds; without it the server asks the SDK
    not to retry, so that a test sees the error at once.
    """

    status: int = 529
    message: str = "Overloaded"
    midstream: bool = False
    retry_after: float | None = None


Step: TypeAlias = Reply | Failure
Script: TypeAlias = Sequence[Step] | Callable[[Body, int], Step]
"""The answers in order, or a function of the request body and the number of steps before it."""


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
