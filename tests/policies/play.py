"""Plays generated sessions through the real machine, step by step, and keeps what was seen.

Invariant: the laws are checked on what left the machine and with a count of their own; nothing here
asks the meter or the plan whether they were right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tenure.core.budget import Budget
from tenure.core.command import Command, CountExactly, SaveRecords
from tenure.core.drive import drive
from tenure.core.edit import Edit
from tenure.core.fold import Outgoing, Parts
from tenure.core.message import Block, JsonObject, Message
from tenure.core.policy import Ledger, Policy, Situation
from tenure.core.protocols import Count
from tenure.core.record import Appended, Record, Reported, Started
from tenure.core.session import SessionMachine
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.cost.price import price
from tenure.errors import BudgetError
from tenure.policies.default import Tenure
from tenure.storage.in_memory import InMemoryStore
from tenure.testing.strategies import Event, Result, Says, Step, reply, result, says
from tenure.tokens.meter import SessionMeter
from tenure.wire.detect import wire_for
from tests.replay.sample import Recorded

FRAME = 5
PROFILE = profile("claude-opus-4-5")
BOUND_THINKING = PROFILE.with_(preserved_thinking=True)


class Quarter:
    """A token is four characters; a block has `FRAME` more and each picture 100. The upper bound is
    a tenth above. `counted` says how many texts were read."""

    def __init__(self) -> None:
        self.counted = 0

    def bound(self, block: Block) -> int:
        return len(block.text) + FRAME + 100 * len(block.media)

    def count(self, block: Block) -> Count:
        self.counted += 1
        size = len(block.text) // 4 + FRAME + 100 * len(block.media)
        return Count(size, size + size // 10)

    def bound_text(self, text: str) -> int:
        return len(text)

    def count_text(self, text: str) -> Count:
        self.counted += 1
        return Count(len(text) // 4, len(text) // 4)


@dataclass(frozen=True)
class Decision:
    """One proposal of the policy under test: what it saw, and what it said."""

    situation: Situation
    ledger: Ledger
    edits: tuple[Edit, ...]


class Watched:
    """A policy that is looked at: every proposal is kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.decisions: list[Decision] = []
        self.look: Callable[[Decision], None] = lambda _: None

    @property
    def name(self) -> str:
        return self.policy.name

    def wakes_at(self, budget: Budget) -> int:
        return self.policy.wakes_at(budget)

    def propose(self, situation: Situation) -> Sequence[Edit]:
        edits = tuple(self.policy.propose(situation))
        decision = Decision(situation, replace(situation.ledger), edits)
        self.decisions.append(decision)
        self.look(decision)
        return edits


@dataclass
class Table:
    """The parts of a session on the table: the machine, its store and its clock."""

    wire_name: str
    window: int = 20_000
    max_tokens: int = 1_000
    make: Callable[[], Policy] = Tenure
    profile: ModelProfile = PROFILE
    system: str = ""
    tools: str = ""
    exact: Callable[[JsonObject], int | None] = lambda _: None
    recall: bool = True
    store: InMemoryStore = field(default_factory=InMemoryStore)
    now: float = 1_000.0

    def __post_init__(self) -> None:
        self.wire = wire_for(self.wire_name)
        self.watched = Watched(self.make())
        self.counter = Quarter()
        self.machine = SessionMachine(self.parts(self.watched), "s")
        self.run(self.machine.start(Started(self.wire_name, "m", {"model": "m"}, "nonce", 0.0)))

    def parts(self, policy: Policy | None = None) -> Parts:
        budget = Budget(window=self.window, max_tokens=self.max_tokens, min_output=256)
        return Parts(
            wire=self.wire,
            policy=policy or self.make(),
            meter=SessionMeter(
                self.counter if policy else Quarter(), system=self.system, tools=self.tools
            ),
            budget=budget,
            profile=self.profile,
            price=lambda usage: price(usage, self.profile),
            recall=self.recall,
        )

    def perform(self, command: Command) -> Any:
        match command:
            case SaveRecords(scope=scope, session=name, records=records, expected=expected):
                return self.store.append(scope, name, records, expected=expected)
            case CountExactly(request=request):
                return self.exact(request)

    def run(self, flow: Any) -> Any:
        return drive(flow, self.perform)

    # -- what happens --------------------------------------------------------------------------

    def say(self, event: Says) -> None:
        made = self.wire.user(says(self.wire_name, event))
        messages = [Message(m, origin=event.origin, pinned=event.pinned) for m in made]
        self.run(self.machine.append(messages, self.now))

    def user(self, text: str, *, pinned: bool = False) -> None:
        self.say(Says(text, pinned=pinned))

    def request(self) -> Outgoing:
        made: Outgoing = self.run(self.machine.request(self.now))
        return made

    def reply(self, step: Step) -> None:
        assert self.machine.outgoing is not None
        true = self.count(self.machine.outgoing.view.messages)
        prompt = None if step.drift is None else int(true * step.drift) + 1
        self.run(self.machine.reply(reply(self.wire_name, step, prompt), self.now))

    def results(self, given: Sequence[Result]) -> None:
        answers = {
            call.id: (result(self.wire_name, each), each.is_error)
            for call, each in zip(self.machine.calls, given, strict=True)
        }
        if answers:
            self.run(self.machine.results(answers, self.now))

    def play(self, events: Sequence[Event], look: Callable[[Outgoing], None]) -> bool:
        """Plays events, showing each request; False when the budget refused one."""
        for event in events:
            if isinstance(event, Says):
                self.say(event)
                continue
            self.now += event.pause
            try:
                outgoing = self.request()
            except BudgetError:
                return False
            look(outgoing)
            self.reply(event)
            self.results(event.results)
        return True

    def play_recorded(self, recorded: Recorded, look: Callable[[Outgoing], None]) -> bool:
        """Plays a recorded thread, its messages as they are; False when the budget refused one."""
        for each in recorded.replies:
            self.now = max(self.now, each.at)
            self.run(self.machine.append(each.arrivals, self.now))
            try:
                outgoing = self.request()
            except BudgetError:
                return False
            look(outgoing)
            usage = Usage(fresh=self.count(outgoing.view.messages), output=50)
            said: list[Record] = [Reported(usage, self.now)]
            said += [Appended(message, self.now) for message in each.messages]
            known = len(self.store.read(self.machine.scope, "s"))
            self.store.append(self.machine.scope, "s", said, expected=known)
            self.machine.load(said)
        return True

    def resumed(self) -> SessionMachine:
        """Another machine with the state that the stored log folds to."""
        machine = SessionMachine(self.parts(), "s")
        machine.load(self.store.read(machine.scope, "s"))
        return machine

    # -- what is true --------------------------------------------------------------------------

    def count(self, messages: Sequence[JsonObject]) -> int:
        """The tokens of messages, system and tools, counted from nothing."""
        other = Transcript(self.wire)
        for data in messages:
            other.append(Message(data, origin=self.wire.origin(data)))
        counter = Quarter()
        texts = counter.count_text(self.system).estimate + counter.count_text(self.tools).estimate
        return texts + sum(counter.count(b).estimate for b in other.all_blocks())


def raws(outgoing: Outgoing) -> list[bytes]:
    """The bytes of each message that is sent."""
    return [entry.message.raw for entry in outgoing.view.entries]
