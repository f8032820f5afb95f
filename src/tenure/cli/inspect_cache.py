"""The section of an inspection that shows the prompt cache: what was expected and what was seen.

Invariant: shows the diagnoses as they are; a session of which no usage is known has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from tenure.cli.output import count, heading, percent, span, start, step_number, table, tail, usd
from tenure.cost.diagnose import Outcome, score
from tenure.replay.cache_truth import CacheStep

_KINDS = ((Outcome.EXPIRY, "expired"), (Outcome.DROP, "dropped before it expired"))


def cache_section(steps: Sequence[CacheStep], top: int, *, many: bool) -> Iterator[RenderableType]:
    """How well misses were predicted, and the `top` dearest; `many` names their sessions."""
    if not steps:
        return
    misses = sorted(
        (step for step in steps if step.diagnosis.lost), key=lambda step: -step.diagnosis.lost
    )
    lost = usd(sum(step.usd for step in misses))
    note = f"{len(misses)} misses in {len(steps)} requests; they cost {lost} more than hits"
    yield heading("Prompt cache, expected and seen", note=note)
    titles = "seen,expected,precision,recall,tokens lost,USD"
    yield table(
        [("", "left"), *((title, "right") for title in titles.split(","))],
        [_kind(steps, kind, words) for kind, words in _KINDS],
    )
    if misses:
        yield Text("")
        yield _misses(misses[:top], many=many)


def _kind(steps: Sequence[CacheStep], kind: Outcome, words: str) -> list[str]:
    found = score([step.diagnosis for step in steps], kind)
    some = [step for step in steps if step.diagnosis.lost and step.diagnosis.observed is kind]
    return [
        words,
        str(found.hits + found.overlooked),
        str(found.hits + found.false_alarms),
        percent(found.precision),
        percent(found.recall),
        count(sum(step.diagnosis.lost for step in some)),
        usd(sum(step.usd for step in some)),
    ]


def _misses(misses: Sequence[CacheStep], *, many: bool) -> RenderableType:
    return table(
        [
            *([("session", "left")] if many else []),
            ("thread", "left"),
            ("step", "right"),
            ("after", "right"),
            ("lost", "right"),
            ("USD", "right"),
            ("expected", "left"),
            ("cause of the miss", "fold"),
        ],
        [
            [
                *([tail(step.session, 20)] if many else []),
                start(step.thread, 16),
                step_number(step.step),
                span(step.diagnosis.gap),
                count(step.diagnosis.lost),
                usd(step.usd),
                step.diagnosis.predicted.outcome.value,
                step.diagnosis.cause,
            ]
            for step in misses
        ],
    )
