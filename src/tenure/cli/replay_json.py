"""A comparison as JSON values, for programs.

Invariant: the shape is part of the command's interface (docs/commands.md): keys are added, never
renamed. Costs are in units of the base input price of one token of each session's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tenure.cli.work import Failure
from tenure.replay.compare import Comparison, SessionResult
from tenure.replay.outcome import SimulatedSession


def as_json(
    comparison: Comparison, failures: Sequence[Failure] = (), *, edits: bool = False
) -> dict[str, Any]:
    """`total.<policy>` and `sessions[].policies.<policy>`; `edits` adds every eviction."""
    found = comparison.as_json()
    for policy, row in found["total"].items():
        row["usd"] = sum(_usd(one, policy) for one in comparison.results)
    for one, session in zip(comparison.results, found["sessions"], strict=True):
        for policy, row in session["policies"].items():
            row["usd"] = _usd(one, policy)
            row["window"] = one.sessions[policy].window
            if edits:
                row["edits"] = _edits(one.sessions[policy])
    found["failed"] = [{"path": one.path, "error": one.words} for one in failures]
    return found


def _usd(one: SessionResult, policy: str) -> float:
    return one.sessions[policy].cost.total * one.profile.input_price


def _edits(session: SimulatedSession) -> list[dict[str, Any]]:
    """The evictions in order, without the texts (the report has those)."""
    found = []
    for row in session.rows:
        for one in row.evictions:
            values = asdict(one)
            del values["original"], values["stand_in"]
            found.append({"thread": row.thread, "step": row.number, **values})
    return found
