"""What a policy sees and what it gives back.

Invariant: a policy is deterministic in its situation; whatever state it keeps is a fold over the
append-only transcript and could be rebuilt from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from tenure.core.budget import Budget
from tenure.core.edit import Edit, Weighed
from tenure.core.message import Block
from tenure.core.plan import Plan
from tenure.core.protocols import Count, Profile
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage

DropBlock: TypeAlias = Literal["no", "ask", "given"]
"""Whether the provider may be asked to leave out thinking whose prefix has changed, or is already."""


class Meter(Protocol):
    """Token counts of one session, incremental."""

    def size(self, block: Block) -> Count:
        """The count of one block, without any edit; counted once in its life."""

    def text(self, text: str) -> int:
        """The estimate of a text of ours, e.g. an answer to a recall."""

    def stand_in(self, block: Block, text: str) -> int:
        """The estimate of a block that says `text` instead, its frame included."""

    def before(self, index: int, plan: Plan) -> int:
        """Estimated tokens of the view in front of message number `index`, overhead included."""

    def resident(self, plan: Plan) -> int:
        """Estimated tokens of the whole view, overhead included, anchored on reported usage."""


class SessionMeter(Meter, Protocol):
    """What the session itself asks of its meter."""

    @property
    def overhead(self) -> tuple[int, int]:
        """Estimated tokens of the system text and of the tools."""

    @property
    def counted(self) -> int:
        """How many messages were counted so far."""

    def bound(self, transcript: Transcript) -> int:
        """An upper bound on the view's tokens without counting any text: the last reported usage
        plus the byte bounds of what was appended since."""

    def likely_before(self, index: int, plan: Plan) -> int:
        """The size of the view in front of message `index`, counted or not: no text is read."""

    def sync(self, transcript: Transcript) -> int:
        """Counts what was appended since the last call; the largest arrival among it, tokens."""

    def upper(self, plan: Plan) -> int:
        """An upper bound from counted texts: exceeded by at most 0.1 % of pieces."""

    def replan(self, plan: Plan) -> None:
        """Takes note of a new plan."""

    def report(self, usage: Usage, length: int, plan: Plan) -> None:
        """Anchors the counts on what the provider reported for the first `length` messages."""


@dataclass(slots=True)
class Ledger:
    """What the session has paid and saved, in units of the base input price of one token.

    `unforced` is the rewrite price of edits the budget did not force; `refetched` what bringing
    evicted text back has cost; `saved` the carrying cost that edits have spared so far.
    """

    spent: float = 0.0
    saved: float = 0.0
    unforced: float = 0.0
    forced: float = 0.0
    refetched: float = 0.0

    def allows(self, price: float, share: float) -> bool:
        """The cost bound: an unforced edit's price is at most `share` of what was spent plus the
        net saving so far, re-fetches deducted (architecture.md section 1)."""
        net = self.saved - self.unforced - self.refetched
        return price <= share * self.spent + net


@dataclass(frozen=True, slots=True)
class Situation:
    """All a policy may look at when it decides.

    `steps[i]` is the number of the request that first carried message i; `step` the number of
    the request being made; `cold` says that the prompt cache has expired; `nonce` makes handles
    unguessable outside the session and the same inside it; `restored`
    are the blocks whose edits were undone: they stay. `delegates` says that the provider's own
    edits may be asked for, `drop_block` whether it can leave out thinking that edits unbind,
    `compacts` that it may be asked for a summary now.
    """

    transcript: Transcript
    plan: Plan
    meter: Meter
    budget: Budget
    profile: Profile
    ledger: Ledger
    steps: Sequence[int]
    step: int
    cold: bool
    nonce: str
    recall: bool = True
    restored: frozenset[str] = frozenset()
    delegates: bool = False
    drop_block: DropBlock = "no"
    compacts: bool = False

    def step_of(self, index: int) -> int:
        """The number of the request that carries message `index` first: this one for new ones."""
        return self.steps[index] if index < len(self.steps) else self.step


@dataclass(frozen=True, slots=True)
class Candidate:
    """A block that may go: its tier (1 to 5, the milder first), how far keeping it matters
    (`score`), the tokens it would free, the chance that it is needed again, and the step it came
    with."""

    block: Block
    tier: int
    score: float
    frees: int
    need: float
    since: int
    words: str


class Policy(Protocol):
    """Proposes edits for a situation. One object serves one session."""

    @property
    def name(self) -> str:
        """The name users choose it by."""

    def wakes_at(self, budget: Budget) -> int:
        """Below this many resident tokens `propose` would do nothing, so it is not asked."""

    def propose(self, situation: Situation) -> Sequence[Edit]:
        """The edits to add to the plan now; empty to wait."""


@runtime_checkable
class Weighs(Protocol):
    """A policy that can tell what its ways would cost now."""

    def ways(self, situation: Situation) -> Sequence[Weighed]:
        """Each way to make room with its price, waiting among them; empty where there is no choice."""
