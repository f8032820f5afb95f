"""Findings as JSON values, for programs.

Invariant: the shape is part of the command's interface (docs/commands.md): keys are added, never
renamed. What a finding does not have is null, not left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tenure.cli.lint import Checked
from tenure.cli.work import Failure
from tenure.replay.lint_rules import Finding, Severity


def as_json(
    checked: Sequence[Checked], findings: Sequence[Finding], failures: Sequence[Failure]
) -> dict[str, Any]:
    """All that was found, and what was checked."""
    counts = Counter(one.severity for one in findings)
    return {
        "files": len(checked),
        "requests": sum(one.requests for one in checked),
        "transcripts": sum(one.transcripts for one in checked),
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "infos": counts[Severity.INFO],
        "findings": [_finding(one) for one in findings],
        "fixed": [
            {"file": one.file, "written": one.fixed, "mends": list(one.mends), "note": one.note}
            for one in checked
            if one.fixed
        ],
        "failed": [{"path": one.path, "error": one.words} for one in failures],
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "severity": one.severity.value,
        "rule": one.rule,
        "file": one.file,
        "request": one.request,
        "thread": one.thread or None,
        "message": one.message,
        "path": one.path or None,
        "offset": one.offset,
        "words": one.words,
        "source": one.source,
        "mend": one.mend or None,
        "tokens": one.tokens,
        "cost": one.cost,
        "usd": one.usd,
        "times": one.times,
    }
