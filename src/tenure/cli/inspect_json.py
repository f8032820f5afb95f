"""An inspection as JSON values, for programs.

Invariant: the shape is part of the command's interface (docs/commands.md): keys are added, never
renamed. Tokens are whole numbers, money is in USD, times in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tenure.cli.histogram import ages, positions
from tenure.cost.diagnose import Outcome, score
from tenure.replay.bill import Bill
from tenure.replay.cache_truth import CacheStep
from tenure.replay.holdings import Share
from tenure.replay.inspection import Inspection


def as_json(one: Inspection, top: int) -> dict[str, Any]:
    """One session or the total; lists are cut after `top` rows, except the damage."""
    return {
        "name": one.name,
        "sources": list(one.sources),
        "formats": list(one.formats),
        "models": list(one.models),
        "window": one.window,
        "sessions": one.sessions,
        "steps": one.steps,
        "peak_tokens": one.peak,
        "compactions": one.compactions,
        "bill": _bill(one.bill),
        "main": _bill(one.bill_of("main")),
        "sub_agents": _bill(one.bill_of("sidechain")),
        "threads": [{**asdict(row), "bill": _bill(row.bill)} for row in one.threads],
        "classes": _shares(one.classes),
        "tools": _shares(one.tools[:top]),
        "files": _shares(one.files[:top]),
        "results": [asdict(row) for row in one.results[:top]],
        "result_use": {
            fate: {"results": results, "tokens": tokens}
            for fate, (results, tokens) in one.fates().items()
        },
        "repeats": [
            {
                "session": row.where.session,
                "thread": row.where.thread,
                "tool": row.tool,
                "arguments": row.arguments,
                "subject": row.subject,
                "times": row.times,
                "tokens": row.tokens,
                "older_tokens": row.older,
            }
            for row in one.repeats[:top]
        ],
        "superseded": [
            {
                "session": row.where.session,
                "thread": row.where.thread,
                "subject": row.subject,
                "versions": row.superseded,
                "older_tokens": row.older,
            }
            for row in one.versions[:top]
        ],
        "used_later": {
            "positions": [asdict(bin_) for bin_ in positions(one.uses)],
            "ages": [asdict(bin_) for bin_ in ages(one.uses)],
        },
        "cache": _cache(one.cache),
        "damage": [
            {"session": row.session, "source": row.source, **asdict(row.damage)}
            for row in one.damage
        ],
        "skipped": dict(one.skipped),
    }


def _bill(bill: Bill) -> dict[str, Any]:
    return {
        "requests": bill.requests,
        "without_usage": bill.unreported,
        **asdict(bill.usage),
        "prompt": bill.usage.prompt,
        "usd": bill.usd,
        "prompt_usd": bill.prompt_usd,
        "output_usd": bill.output_usd,
        "partial_output": {
            "requests": bill.partial,
            "tokens": bill.held_back,
            "usd": bill.held_back_usd,
        },
    }


def _shares(shares: Sequence[Share]) -> list[dict[str, Any]]:
    return [asdict(one) for one in shares]


def _cache(steps: Sequence[CacheStep]) -> dict[str, Any]:
    diagnoses = [one.diagnosis for one in steps]
    found: dict[str, Any] = {"requests": len(steps)}
    for kind in (Outcome.EXPIRY, Outcome.DROP):
        one = score(diagnoses, kind)
        found[kind.value] = {
            "happened": one.hits + one.overlooked,
            "predicted": one.hits + one.false_alarms,
            "precision": one.precision,
            "recall": one.recall,
        }
    found["misses"] = [_miss(step) for step in steps if step.diagnosis.lost]
    return found


def _miss(step: CacheStep) -> dict[str, Any]:
    one = step.diagnosis
    return {
        "session": step.session,
        "thread": step.thread,
        "step": step.step,
        "kind": one.observed.value,
        "predicted": one.predicted.outcome.value,
        "cause": one.cause,
        "seconds_since": one.gap,
        "read": one.read,
        "lost": one.lost,
        "usd": step.usd,
    }
