"""The synthetic session that the speed benchmarks measure: a model that reads file after file.

Invariant: the same length gives the same session; sizes are per message, so that 10,000 messages
are a million tokens.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tenure import ModelProfile, Options, Session, profile
from tenure.policies import Settings, Tenure

TOKENS_PER_MESSAGE = 100
MODEL = "claude-opus-4-8"
_WORDS = (
    "the quick brown fox jumps over a lazy dog while value_{0} in src/mod_{0}.py line {1} of " * 2
).split()


def text(rng: random.Random, tokens: int) -> str:
    """Text with names, paths and numbers of its own, about that many tokens."""
    words: list[str] = []
    size = 0
    while size < tokens * 3:
        word = rng.choice(_WORDS).format(rng.randrange(1_000_000), rng.randrange(999))
        words.append(word)
        size += len(word) + 1
    return " ".join(words)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class GrowingSession:
    """A session that was driven step by step to a length, and can be driven on.

    The policy is awake from the first token on (no lower threshold), so that short and long
    sessions do the same kind of work.
    """

    def __init__(self, messages: int) -> None:
        self.clock = Clock()
        self._rng = random.Random(7)
        self._step = 0
        options = Options(
            policy=Tenure(Settings(from_share=0.0)), profile=_roomy(), clock=self.clock
        )
        tools = [{"name": "read", "description": "reads", "input_schema": {"type": "object"}}]
        self.session = Session(
            MODEL, system="You mend builds.", tools=tools, options=options, max_tokens=8_000
        )
        self.session.user("find why the nightly build broke")
        while self.length < messages:
            self.session.request()
            self.reply()
            self.result(2 * TOKENS_PER_MESSAGE - 40)

    @property
    def length(self) -> int:
        """Messages in the transcript."""
        return len(self.session._built.machine.transcript)

    @property
    def tokens(self) -> int:
        """Tokens in the transcript, evicted or not."""
        machine = self.session._built.machine
        return sum(machine.parts.meter.size(b).estimate for b in machine.transcript.all_blocks())

    @property
    def edits(self) -> int:
        """Edits in the plan."""
        return len(self.session._built.machine.plan)

    def reply(self) -> None:
        """The model calls its tool; the provider reports what tenure estimated."""
        self._step += 1
        self.clock.now += 5
        machine = self.session._built.machine
        prompt = machine.parts.meter.resident(machine.plan)
        call = {
            "type": "tool_use",
            "id": f"toolu_{self._step:08d}",
            "name": "read",
            "input": {"path": f"src/part_{self._step}.py"},
        }
        usage = {"input_tokens": 0, "cache_creation_input_tokens": prompt, "output_tokens": 30}
        self.session.reply({"content": [{"type": "text", "text": "next"}, call], "usage": usage})

    def result(self, tokens: int) -> None:
        """The tool answers with text of about that size."""
        self.answer(self.text(tokens))

    def text(self, tokens: int) -> str:
        """A text of about that size."""
        return text(self._rng, tokens)

    def answer(self, content: str) -> None:
        """The tool answers with this text."""
        self.session.results({c.id: content for c in self.session.calls})

    def hundred_kilobytes(self) -> str:
        """A text of 100 KB."""
        return text(self._rng, 40_000)[:100_000]


def _roomy() -> ModelProfile:
    return profile(MODEL).with_(context_window=4_000_000)


def lengths() -> Iterator[int]:
    """The lengths to measure at, messages."""
    yield from (100, 1_000, 10_000)
