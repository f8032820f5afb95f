"""How much a block matters, and how likely it is needed again.

Invariant: pure arithmetic over counts; the constants are documented with what they were fitted on.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenure.core.message import Block, BlockKind, Origin

# Weights of r(x) = a recency + b refs + c criticality - d size / mean size.
_RECENCY, _REFS, _CRITICALITY, _SIZE = 1.0, 0.5, 1.0, 0.25
# Steps over which recency falls to one half.
_HALF_LIFE = 12.0
# A block referred to this often counts as fully referenced.
_FULL_REFS = 8

_CLASSES = {"user_intent": 1.0, "decision": 0.6, "observation": 0.2, "chatter": 0.0}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the score looks at: steps since the block came or was last referred to, how many
    distinct strings of it later messages named, its tokens, and the mean tokens of its kind."""

    age: int
    refs: int
    size: int
    mean_size: float


def class_of(block: Block) -> str:
    """user_intent > decision > observation > chatter."""
    if block.origin is Origin.USER:
        return "user_intent"
    if block.kind is BlockKind.TOOL_CALL or block.origin is Origin.SYSTEM:
        return "decision"
    if block.kind is BlockKind.TEXT and block.origin is Origin.ASSISTANT:
        return "decision"
    if block.is_error or block.kind is BlockKind.TOOL_RESULT:
        return "observation"
    return "chatter"


def score(block: Block, facts: Facts) -> float:
    """r(x): the lower, the earlier it goes."""
    recency: float = 2.0 ** (-facts.age / _HALF_LIFE)
    refs = min(facts.refs, _FULL_REFS) / _FULL_REFS
    weight = facts.size / max(1.0, facts.mean_size)
    return (
        _RECENCY * recency
        + _REFS * refs
        + _CRITICALITY * _CLASSES[class_of(block)]
        - _SIZE * weight
    )


def chance_per_step(age: int) -> float:
    """The chance that the next step needs a result last touched `age` steps ago.

    Fitted on 1,745 tool results of 20 recorded coding sessions, with need as defined in
    `replay/dependencies.py`: 8.5 % at once, 1.7 % after two steps, 0.6 % after six, 0.2 % after
    thirty and then flat.
    """
    chance: float = 0.085 / (1 + age) ** 1.3 + 0.0012
    return chance


def chance_within(age: int, steps: int) -> float:
    """The chance of being needed at least once in the next `steps` steps."""
    age, steps = min(age, _FLAT), min(steps, _FLAT)
    return 1.0 - _SURVIVAL[age + steps] / _SURVIVAL[age]


def _survival(steps: int) -> list[float]:
    alive = [1.0]
    for age in range(steps):
        alive.append(alive[-1] * (1.0 - chance_per_step(age)))
    return alive


# Beyond this age the chance is flat, so the table ends there.
_FLAT = 120
_SURVIVAL = _survival(2 * _FLAT)
