"""What a replay found, as rows.

Invariant: plain values, made once, that travel between processes; every sum is over the rows.
Tokens are in the recorded model's tokens, costs in units of the base input price of one token of the
trace's main model: those of a sub-agent with another model are converted, so that units add up.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from tenure.core.edit import Delegated, Drop, Edit, Insert, Replace
from tenure.core.message import Block, BlockKind
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile
from tenure.cost.price import cliff_factors
from tenure.policies.superseded import subject_of


@dataclass(frozen=True, slots=True)
class Cost:
    """What requests cost, by part. `refetch` is what re-fetches took of it, at the definition's
    price."""

    read: float = 0.0
    written: float = 0.0
    fresh: float = 0.0
    output: float = 0.0
    refetch: float = 0.0

    @property
    def total(self) -> float:
        """All of it; the share of re-fetches is in the parts."""
        return self.prompt + self.output

    @property
    def prompt(self) -> float:
        """The part of the input."""
        return self.read + self.written + self.fresh

    def times(self, rate: float) -> Cost:
        """Each part times a rate: from the units of one model to those of another."""
        return Cost(
            self.read * rate,
            self.written * rate,
            self.fresh * rate,
            self.output * rate,
            self.refetch * rate,
        )

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.read + other.read,
            self.written + other.written,
            self.fresh + other.fresh,
            self.output + other.output,
            self.refetch + other.refetch,
        )


def cost_of(usage: Usage, profile: ModelProfile) -> Cost:
    """The parts of what `cost.price.price` charges for a request."""
    on_input, on_output = cliff_factors(usage.prompt, profile)
    long_factor = profile.write if profile.write_long is None else profile.write_long
    short = usage.cache_write - usage.cache_write_1h
    written = short * profile.write + usage.cache_write_1h * long_factor
    return Cost(
        usage.cache_read * profile.read * on_input,
        written * on_input,
        usage.fresh * on_input,
        usage.output * profile.output * on_output,
    )


@dataclass(frozen=True, slots=True)
class Eviction:
    """One edit of a policy: why it was made, in the numbers of its reason, and what went.

    `original` is the text of its targets; `tool` the tool that gave it; `edit` drop, replace or
    insert; `stand_in` is the text now in their place, empty after a drop; `about` is the subject of the
    call whose result went, else the beginning of its arguments.
    """

    edit: str
    handle: str
    targets: tuple[str, ...]
    tool: str
    original: str
    policy: str
    words: str
    when: str
    tokens_before: int
    tokens_after: int
    price: float
    saves: float
    stand_in: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Refetch:
    """An evicted result that was needed and fetched again.

    `missing` are the strings that its tombstone lacked, `repeat` says that its call was repeated;
    `cost` is the read of the resident prefix, the short call and the writing of the result;
    `handle` is that of the edit that had taken it out.
    """

    result: str
    tool: str
    tokens: int
    missing: tuple[str, ...]
    repeat: bool
    cost: float
    handle: str = ""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One recorded model call, replayed, with the re-fetches in front of it.

    `number` counts the recorded calls of its thread from 0; `resident` is the prompt that the
    recorded reply answers; `usage` and `cost` sum over that request and those of the re-fetches.
    `violations` are the rules that the view breaks more often than the unedited messages do.
    `over_budget` says that what must stay did not fit.
    """

    thread: str
    number: int
    at: float
    resident: int
    usage: Usage
    cost: Cost
    evictions: tuple[Eviction, ...] = ()
    refetches: tuple[Refetch, ...] = ()
    violations: tuple[str, ...] = ()
    over_budget: bool = False


@dataclass(frozen=True, slots=True)
class SimulatedSession:
    """A trace replayed under one policy. `factor` is what token estimates were multiplied by."""

    name: str
    policy: str
    model: str
    window: int
    factor: float
    rows: tuple[StepRow, ...]

    @property
    def cost(self) -> Cost:
        """The whole session's."""
        return sum((row.cost for row in self.rows), Cost())

    @property
    def usage(self) -> Usage:
        """The whole session's tokens."""
        return sum((row.usage for row in self.rows), Usage())

    @property
    def evictions(self) -> int:
        """How many edits were made."""
        return sum(len(row.evictions) for row in self.rows)

    @property
    def refetches(self) -> int:
        """How many evicted results were needed again."""
        return sum(len(row.refetches) for row in self.rows)

    @property
    def violations(self) -> Counter[str]:
        """How often each rule was broken by an edit."""
        return Counter(rule for row in self.rows for rule in row.violations)

    @property
    def over_budget(self) -> int:
        """At how many steps what must stay did not fit."""
        return sum(row.over_budget for row in self.rows)

    @property
    def peak_tokens(self) -> int:
        """The largest prompt of a recorded step."""
        return max((row.resident for row in self.rows), default=0)


def eviction(edit: Edit, transcript: Transcript, rate: float = 1.0) -> Eviction:
    """An edit as a row, with the text of its targets; its price and saving times `rate`."""
    blocks = [
        block
        for target in edit.targets
        for block in (
            [transcript.block(target)]
            if isinstance(target, str)
            else [
                b
                for i in range(target.bounds[0], target.bounds[1] + 1)
                for b in transcript.blocks[i]
            ]
        )
    ]
    reason = edit.reason
    return Eviction(
        type(edit).__name__.lower(),
        edit.handle,
        tuple(t if isinstance(t, str) else f"{t.first}..{t.last}" for t in edit.targets),
        next((block.tool for block in blocks if block.tool), ""),
        "\n".join(block.text for block in blocks),
        reason.policy,
        reason.words,
        reason.when,
        reason.tokens_before,
        reason.tokens_after,
        reason.price * rate,
        reason.saves * rate,
        "\n".join(filter(None, map(_spoken, _bodies(edit)))),
        next(filter(None, (_about(block, transcript) for block in blocks)), ""),
    )


def _about(block: Block, transcript: Transcript) -> str:
    call = block if block.kind is BlockKind.TOOL_CALL else transcript.partner(block)
    return (subject_of(call) or call.text[:200]) if call is not None else ""


def _bodies(edit: Edit) -> list[Any]:
    match edit:
        case Replace(body=body):
            return [json.loads(one) for one in body]
        case Insert(message=message):
            return [message.data]
        case Drop() | Delegated():
            return []


def _spoken(value: Any) -> str:
    """The text that a block or message says, in any of the wire formats."""
    match value:
        case str():
            return value
        case list():
            return "\n".join(filter(None, map(_spoken, value)))
        case dict():
            said = [value[key] for key in _SAYING if value.get(key)]
            return _spoken(said[0] if said else [v for k, v in value.items() if k != "type"])
        case _:
            return ""


_SAYING = ("text", "content", "output", "input", "arguments")
"""Where blocks keep what they say: texts, results, and calls, the most telling first."""
