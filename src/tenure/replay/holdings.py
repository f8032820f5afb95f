"""What a recorded thread carries: each block with its size, its class, and how often it was sent.

Invariant: sums are exact over the blocks; sizes are those that replaying uses too. A block that no
request carried any more (the last reply, an unanswered tail) was carried 0 times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenure.core.message import Block, BlockKind, Origin
from tenure.replay.recording import RecordedThread

HIDDEN_CLASS = "hidden overhead"
CLASSES = (
    "user words",
    "assistant text",
    "reasoning",
    "tool calls",
    "tool results",
    "harness",
    "system",
    HIDDEN_CLASS,
)
"""Every token of a prompt is in one of these; hidden overhead is system prompt and tools that the
file leaves out."""

_BY_KIND = {
    BlockKind.THINKING: "reasoning",
    BlockKind.TOOL_CALL: "tool calls",
    BlockKind.TOOL_RESULT: "tool results",
}
_BY_ORIGIN = {
    Origin.USER: "user words",
    Origin.ASSISTANT: "assistant text",
    Origin.TOOL: "tool results",
    Origin.SYSTEM: "system",
    Origin.HARNESS: "harness",
}


def class_of(block: Block) -> str:
    """The class of a block: by its kind where that decides, else by who wrote it."""
    return _BY_KIND.get(block.kind) or _BY_ORIGIN[block.origin]


@dataclass(frozen=True, slots=True)
class Held:
    """One block of a thread.

    `start` is the tokens in front of it in an unedited prompt, hidden overhead included; `since`
    the number of the step whose request first carried it, and `carried` how many requests did.
    """

    block: Block
    tokens: int
    start: int
    since: int
    carried: int


@dataclass(frozen=True, slots=True)
class Holdings:
    """A thread's blocks in order, and the prompt's estimated tokens at each of its steps."""

    thread: RecordedThread
    held: tuple[Held, ...]
    prompts: tuple[int, ...]

    @staticmethod
    def of(thread: RecordedThread) -> Holdings:
        """Walks the thread once."""
        starts = [reply.first for reply in thread.replies]
        held: list[Held] = []
        at = thread.sizes.hidden
        ends: list[int] = []
        since = 0
        for index, blocks in enumerate(thread.transcript.blocks):
            while since < len(starts) and starts[since] <= index:
                since += 1
                ends.append(at)
            for block in blocks:
                tokens = thread.sizes.count(block).estimate
                held.append(Held(block, tokens, at, since, len(starts) - since))
                at += tokens
        ends += [at] * (len(starts) - len(ends))
        return Holdings(thread, tuple(held), tuple(ends))

    def results(self) -> Iterator[Held]:
        """The tool results."""
        return (one for one in self.held if one.block.kind is BlockKind.TOOL_RESULT)


@dataclass(frozen=True, slots=True)
class Share:
    """What one class, tool or file takes of the prompts.

    `tokens` counts each block once; `carried` once per request that sent it; `usd` is its part of
    what the prompts cost, spread by tokens carried.
    """

    name: str
    blocks: int = 0
    tokens: int = 0
    carried: int = 0
    usd: float = 0.0

    def plus(self, other: Share) -> Share:
        """Both together, under this name."""
        return Share(
            self.name,
            self.blocks + other.blocks,
            self.tokens + other.tokens,
            self.carried + other.carried,
            self.usd + other.usd,
        )


def merged(shares: Sequence[Share]) -> tuple[Share, ...]:
    """One share per name, those that were carried most first."""
    found: dict[str, Share] = {}
    for share in shares:
        found[share.name] = found[share.name].plus(share) if share.name in found else share
    return tuple(sorted(found.values(), key=lambda one: (-one.carried, -one.tokens, one.name)))
