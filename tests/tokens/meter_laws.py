"""The laws of the meter as checks of one recorded thread, for samples and for whole sets.

Invariant: what a meter should say is asked of another one that read everything at once; a broken
law is an AssertionError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from tenure.core.edit import Insert, Replace
from tenure.core.message import Block, JsonObject, Message
from tenure.core.plan import Plan
from tenure.core.protocols import Counter
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.tokens.meter import SessionMeter
from tests.replay.plan_laws import shorter, some_edits
from tests.replay.sample import Recorded
from tests.tokens.texts import HOSTILE

SYSTEM, TOOLS = "Be brief. " * 40, '[{"name": "read"}]'


@dataclass
class Incremental:
    """A meter that is fed a thread step by step, with plans that grow and shrink, beside one made
    anew at each step. Counts what it saw."""

    counter: Counter
    steps: int = 0
    edited: int = 0
    undone: int = 0
    anchored: int = 0
    _reports: list[tuple[Usage, int, Plan]] = field(default_factory=list)

    def play(self, recorded: Recorded, mix: Random) -> None:
        growing, plan = Transcript(recorded.wire), Plan()
        meter, self._reports = SessionMeter(self.counter, system=SYSTEM, tools=TOOLS), []
        for each in recorded.replies:
            _append(growing, each.arrivals)
            if mix.random() < 0.5:
                meter.bound(growing)
            if mix.random() < 0.8:
                meter.sync(growing)
                plan = self._replanned(plan, growing, meter, mix)
            self._compare(meter, growing, plan)
            if mix.random() < 0.6:
                # Mostly near the count, at times far above (a client hides text) or absurd.
                drift = mix.choice([0.9, 1.0, 1.2, 2.0, 0.01])
                usage = Usage(fresh=int(meter.before(len(growing), plan) * drift) + 1)
                self._reports.append((usage, len(growing), plan))
                meter.report(*self._reports[-1])
                self.anchored += 1
            _append(growing, each.messages)

    def _replanned(
        self, plan: Plan, transcript: Transcript, meter: SessionMeter, mix: Random
    ) -> Plan:
        if plan.edits and mix.random() < 0.2:
            gone = [edit for edit in plan if mix.random() < 0.4]
            self.undone += len(gone)
            plan = plan.without(*gone)
        elif mix.random() < 0.3:
            new = [
                replace(e, reason=replace(e.reason, tokens_after=_after(e, transcript, meter)))
                for e in some_edits(transcript, mix)
                if isinstance(e, Replace) and isinstance(e.target, str)
                if e.target not in plan.by_key and mix.random() < 0.4
            ]
            self.edited += len(new)
            plan = plan.add(*new)
        meter.replan(plan)
        return plan

    def _compare(self, meter: SessionMeter, transcript: Transcript, plan: Plan) -> None:
        meter.sync(transcript)
        copy = shorter(transcript, len(transcript))
        other = SessionMeter(self.counter, system=SYSTEM, tools=TOOLS)
        other.sync(copy)
        for report in self._reports:
            other.report(*report)
        other.replan(plan)
        for index in range(len(transcript) + 1):
            assert meter.before(index, plan) == other.before(index, plan)
        assert meter.resident(plan) == other.resident(plan)
        assert meter.upper(plan) == other.upper(plan)
        assert meter.resident(plan) <= meter.upper(plan)
        assert meter.resident(plan) <= meter.bound(transcript)
        for block in transcript.all_blocks():
            assert meter.size(block) == self.counter.count(block)
        true = sum(self.counter.count_text(text).estimate for text in (SYSTEM, TOOLS))
        for block in transcript.all_blocks():
            edit = plan.by_key.get(block.key)
            true += edit.reason.tokens_after if edit else self.counter.count(block).estimate
        assert meter.before(len(transcript), plan) == true
        self.steps += 1


def _after(edit: Replace | Insert, transcript: Transcript, meter: SessionMeter) -> int:
    assert isinstance(edit, Replace)
    return meter.stand_in(transcript.block(str(edit.target)), f"[{edit.target}]")


def _append(transcript: Transcript, messages: tuple[Message, ...]) -> None:
    for message in messages:
        transcript.append(message)


def nothing_raises(recorded: Recorded, counter: Counter, mix: Random) -> int:
    """Counts a thread whose every string was broken; how many blocks there were."""
    transcript = Transcript(recorded.wire)
    for message in recorded.messages():
        transcript.append(Message(_broken(message.data, mix), origin=message.origin))
    meter = SessionMeter(counter, system=broken(SYSTEM, mix), tools=broken(TOOLS, mix))
    bound = meter.bound(transcript)
    assert meter.sync(transcript) >= 0
    assert 0 < meter.resident(Plan()) <= meter.upper(Plan()) <= bound
    for block in transcript.all_blocks():
        in_order(counter, block)
    return sum(1 for _ in transcript.all_blocks())


def in_order(counter: Counter, block: Block) -> None:
    """Estimate, upper bound and byte bound of a block."""
    estimate, upper = counter.count(block)
    assert 0 < estimate <= upper <= counter.bound(block)


def broken(text: str, mix: Random) -> str:
    """The text with something in it that breaks tokenizers, cut where nobody would."""
    at = mix.randrange(len(text) + 1)
    junk = mix.choice(list(HOSTILE.values()))
    return text[:at] + junk + text[at + mix.choice([0, 1, 30]) :]


def _broken(data: JsonObject, mix: Random) -> JsonObject:
    """What a model or a tool wrote, broken; ids, types and names stay, or it were no message."""

    def walk(value: object, key: str) -> object:
        if isinstance(value, dict):
            return {name: walk(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [walk(item, key) for item in value]
        if isinstance(value, str) and key in _SAID:
            return broken(value, mix)
        return value

    return {name: walk(item, name) for name, item in data.items()}


_SAID = frozenset(
    "text thinking content arguments output input reasoning_content command file_path".split()
)


def pieces(recorded: Recorded, mix: Random) -> Iterator[str]:
    """The texts of a thread's blocks, long ones cut into pieces of 1 to 4,000 characters."""
    for block in recorded.transcript().all_blocks():
        at = 0
        while at < len(block.text):
            size = int(10 ** mix.uniform(0, 3.6)) if len(block.text) > 200 else len(block.text)
            yield block.text[at : at + size]
            at += size
