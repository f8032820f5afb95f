"""Small recordings, made by hand, in Anthropic's spelling; and a counter whose sizes are easy.

Invariant: a token is four characters here, so that tests can state sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tenure.core.message import Block, JsonObject, Message, Origin
from tenure.core.policy import SessionMeter as Meter
from tenure.core.protocols import Count, Counter
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.replay.recording import Recording, Settings, prepare
from tenure.replay.trace import Step, Thread, Trace
from tenure.tokens.meter import SessionMeter
from tenure.wire.detect import wire_for

MODEL = "claude-opus-4-5"


class Quarter:
    """A token is four characters, and a block has one more."""

    def bound(self, block: Block) -> int:
        return len(block.text) + 1

    def count(self, block: Block) -> Count:
        size = len(block.text) // 4 + 1
        return Count(size, size)

    def bound_text(self, text: str) -> int:
        return len(text)

    def count_text(self, text: str) -> Count:
        return Count(len(text) // 4, len(text) // 4)


def quarter(model: str) -> Counter:
    return Quarter()


def meter(counter: Counter, hidden: str) -> Meter:
    return SessionMeter(counter, system=hidden)


@dataclass
class Recorder:
    """Writes a thread: `user`, then `call` (a step each), then `say`."""

    seconds: float = 10.0
    steps: list[Step] = field(default_factory=list)
    _waiting: list[Message] = field(default_factory=list)
    _calls: int = 0

    def user(self, text: str) -> Recorder:
        content = [{"type": "text", "text": text}]
        self._waiting.append(Message({"role": "user", "content": content}, origin=Origin.USER))
        return self

    def call(self, tool: str, arguments: JsonObject, result: str | None) -> Recorder:
        """A reply with one call, and its result (None: it was interrupted)."""
        call_id = f"toolu_{self._calls}"
        self._calls += 1
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        self._reply([block])
        if result is not None:
            answer = {"type": "tool_result", "tool_use_id": call_id, "content": result}
            data = {"role": "user", "content": [answer]}
            self._waiting.append(Message(data, origin=Origin.TOOL))
        return self

    def say(self, text: str) -> Recorder:
        self._reply([{"type": "text", "text": text}])
        return self

    def _reply(self, content: list[JsonObject]) -> None:
        message = Message({"role": "assistant", "content": content}, origin=Origin.ASSISTANT)
        at = 1_000.0 + self.seconds * len(self.steps)
        usage = Usage(output=20)
        self.steps.append(Step(tuple(self._waiting), (message,), usage, at, MODEL))
        self._waiting = []

    def thread(self, name: str = "main") -> Thread:
        return Thread(name, "main", tuple(self.steps), tuple(self._waiting))

    def transcript(self) -> Transcript:
        transcript = Transcript(wire_for("anthropic_messages"))
        for message in self.thread().messages():
            transcript.append(message)
        return transcript


def trace_of(*threads: Thread) -> Trace:
    return Trace("a run", "run.jsonl", "claude-code", "anthropic_messages", MODEL, threads)


def recording_of(threads: Sequence[Thread], settings: Settings | None = None) -> Recording:
    wire = wire_for("anthropic_messages")
    return prepare(trace_of(*threads), settings or Settings(), wire, quarter)
