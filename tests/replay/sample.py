"""Recorded sessions in each of the three wire formats, small enough for `make test`.

Invariant: messages are those of the files, repaired as a replay repairs them (a call without a
result gets one). Claude Code wrote Anthropic Messages, Codex wrote Responses, tau-bench wrote Chat;
the Chat recordings are short and know neither reasoning nor parallel calls, so that Claude Code
sessions spelled as Chat join them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from pathlib import Path

from tenure.core.message import BlockKind, JsonObject, Message, Origin
from tenure.core.protocols import SessionWire, ToolCall
from tenure.core.transcript import Transcript
from tenure.replay.compare import recording_of
from tenure.replay.recording import RecordedThread, Recording, Reply, Settings
from tenure.testing.strategies import Step, reply
from tenure.traces.reading import read
from tenure.wire.detect import wire_for
from tests.shared import find_shared

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
FOLDERS = {
    "claude-code": "anthropic_messages",
    "codex": "openai_responses",
    "tau-bench": "openai_chat",
}
FILES = {
    "anthropic_messages": (
        "claude-code/cli-c82caf81a9.jsonl.gz",
        "claude-code/cli-20c95f4913.jsonl.gz",
        "claude-code/cli-651c1d1061.jsonl.gz",
    ),
    "openai_chat": ("tau-bench/gpt-4o-airline-even-tasks.jsonl.gz",),
    "openai_responses": (
        "codex/gitsync-9f1c0c59c7.jsonl.gz",
        "codex/gitsync-3c3eb71688.jsonl.gz",
    ),
}
# A tau-bench file holds many short sessions: so many of them are read.
SESSIONS = 4


@dataclass(frozen=True)
class Recorded:
    """One thread: what arrived and what was answered, step by step."""

    name: str
    wire_name: str
    replies: tuple[Reply, ...]

    @property
    def wire(self) -> SessionWire:
        """The spelling of its messages."""
        return wire_for(self.wire_name)

    def messages(self) -> list[Message]:
        """All messages in wire order."""
        return [m for each in self.replies for m in (*each.arrivals, *each.messages)]

    def transcript(self, length: int | None = None) -> Transcript:
        """The transcript of its first `length` messages, of all when None."""
        made = Transcript(self.wire)
        for message in self.messages()[:length]:
            made.append(message)
        return made

    def holds(self) -> Counter[str]:
        """How many blocks of each kind there are, of the user's own, and of steps with several
        calls."""
        blocks = list(self.transcript().all_blocks())
        found = Counter(block.kind.value for block in blocks)
        found["user"] = sum(block.origin is Origin.USER for block in blocks)
        for each in self.replies:
            lenses = [lens for m in each.messages for lens in self.wire.lenses(m.data)]
            found["parallel"] += sum(x.kind is BlockKind.TOOL_CALL for x in lenses) > 1
        return found


def threads(root: Path, wire_name: str) -> tuple[Recorded, ...]:
    """The sample of a format; those spelled anew come last."""
    return _threads(root, wire_name)


@cache
def _threads(root: Path, wire_name: str) -> tuple[Recorded, ...]:
    found = [
        recorded
        for file in FILES[wire_name]
        for recording in recordings(root / file)[:SESSIONS]
        for recorded in recorded_threads(recording)
        if len(recorded.replies) > 1
    ]
    if wire_name == "openai_chat":
        found += [spelled_as(wire_name, one) for one in threads(root, "anthropic_messages")]
    return tuple(found)


def recordings(file: Path, settings: Settings | None = None) -> list[Recording]:
    """The sessions of a file, made ready to be replayed."""
    return [recording_of(trace, settings or Settings()) for trace in read(file)]


def recorded_threads(recording: Recording) -> list[Recorded]:
    """The threads of a session, each by itself."""
    return [_recorded(recording, thread) for thread in recording.threads]


def _recorded(recording: Recording, thread: RecordedThread) -> Recorded:
    """Every other message is held as bytes, as a proxy holds it, the rest as the caller's dicts."""
    name = f"{recording.trace.name} {thread.thread.name}"
    turn = cycle([False, True])

    def held(message: Message) -> Message:
        if not next(turn):
            return message
        return Message(None, message.raw, origin=message.origin, pinned=message.pinned)

    replies = tuple(
        replace(r, arrivals=tuple(map(held, r.arrivals)), messages=tuple(map(held, r.messages)))
        for r in thread.replies
    )
    return Recorded(name, recording.trace.wire, replies)


def kinds(sample: Sequence[Recorded]) -> Counter[str]:
    """What a sample holds, so that a law about parallel calls is not tried where there are none."""
    return sum((one.holds() for one in sample), Counter())


def sample_of(shared_data: Callable[..., Path], wire_name: str) -> tuple[Recorded, ...]:
    """The sample of a format for a test: it skips where the recordings are absent, and holds what
    the laws are about."""
    sample = threads(shared_data("data", "agent-sessions-dev"), wire_name)
    held = kinds(sample)
    for kind in ("text", "thinking", "tool_call", "tool_result", "parallel", "user"):
        assert held[kind] >= 2, f"the sample of {wire_name} holds {held[kind]} of {kind}"
    return sample


def all_files() -> list[Path] | None:
    """Every recorded file of the three formats; None where the recordings are absent."""
    root = find_shared("data", "agent-sessions-dev")
    if root is None:
        return None
    return [path for folder in FOLDERS for path in sorted((root / folder).glob("*.gz"))]


# -- spelled as another API spells ---------------------------------------------------------------


def spelled_as(wire_name: str, recorded: Recorded) -> Recorded:
    """The same session in another API's spelling; a block that one API alone has is left out."""
    wire, source = wire_for(wire_name), recorded.wire
    replies: list[Reply] = []
    calls: dict[str, ToolCall] = {}
    for each in recorded.replies:
        arrivals = [m for message in each.arrivals for m in _arrival(message, source, wire, calls)]
        step = _step(source, each.messages, calls)
        data, _ = wire.reply(reply(wire_name, step, None))
        said = tuple(Message(one, origin=Origin.ASSISTANT) for one in data)
        replies.append(replace(each, arrivals=tuple(arrivals), messages=said))
    return Recorded(f"{recorded.name} as {wire_name}", wire_name, tuple(replies))


def _arrival(
    message: Message, source: SessionWire, wire: SessionWire, calls: dict[str, ToolCall]
) -> Iterator[Message]:
    lenses = source.lenses(message.data)
    results = [lens for lens in lenses if lens.kind is BlockKind.TOOL_RESULT]
    answers = [(calls[lens.call_id], lens.text, lens.is_error) for lens in results]
    made: list[JsonObject] = wire.results(answers) if answers else []
    yield from (Message(data, origin=Origin.TOOL) for data in made)
    for lens in lenses:
        if lens.kind is BlockKind.TEXT and lens.text.strip():
            origin = lens.origin or message.origin
            yield from (Message(data, origin=origin) for data in wire.user(lens.text))


def _step(source: SessionWire, messages: Sequence[Message], calls: dict[str, ToolCall]) -> Step:
    transcript = Transcript(source)
    for message in messages:
        transcript.append(message)
    said: dict[BlockKind, list[str]] = {}
    made: list[ToolCall] = []
    for block in transcript.all_blocks():
        said.setdefault(block.kind, []).append(block.text)
        if block.kind is BlockKind.TOOL_CALL:
            made.append(source.call(block, transcript.messages[block.index]))
    calls.update((call.id, call) for call in made)
    thinking, text = ("\n".join(said.get(k, [])) for k in (BlockKind.THINKING, BlockKind.TEXT))
    return Step(thinking=thinking, text=text, calls=tuple(made))
