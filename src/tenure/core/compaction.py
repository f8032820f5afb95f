"""Compaction by the provider, asked for in a request of its own.

Invariant: a policy asks for it as a `Delegated` edit over a span that has no body yet; only with the
provider's answer does it join the plan. What came of asking is in the log, so a summary that was paid
for is never lost, and one that failed is not asked for again at once.

Source: providers.md 2.3 (Anthropic, header compact-2026-09-04).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tenure.core.command import Summarized
from tenure.core.edit import Delegated, Edit
from tenure.core.protocols import SessionWire
from tenure.core.record import Compacted
from tenure.core.server_edit import COMPACT

# After n failures in a row it is asked again after 2 ** n steps, at most after these.
_LONGEST_WAIT = 32


class Attempts:
    """How asking went so far."""

    def __init__(self) -> None:
        self.words = ""
        self._step = -1
        self._failed = 0

    def add(self, record: Compacted, step: int) -> None:
        """Takes in what came of asking before the request of that step."""
        self._failed = 0 if record.made else self._failed + 1
        self._step = step
        self.words = f"step {step + 1}: {record.words}"

    def may_ask(self, step: int) -> bool:
        """Once a step; after failures less and less often."""
        wait = min(_LONGEST_WAIT, 2**self._failed) if self._failed else 1
        return self._step < 0 or step >= self._step + wait


def asked_for(edits: Sequence[Edit]) -> Delegated | None:
    """The compaction among new edits that waits for the provider's answer."""
    waits = (e for e in edits if isinstance(e, Delegated) and e.edit == COMPACT)
    return next((e for e in waits if e.span and not e.body), None)


def unfit(wire: SessionWire, edit: Delegated, answer: Summarized, tokens: int) -> str:
    """Why the provider's answer, a text of that size, cannot stand for the asked span; "" when it
    can. Once it stands there it leaves with every request, so that is asked before."""
    if not answer.message:
        return answer.why
    if tokens * 2 > edit.reason.tokens_before:
        return f"its {tokens:,} tokens save less than half of the {edit.reason.tokens_before:,}"
    made = [json.loads(answer.message), *wire.user("go on")]
    broken = next(iter(wire.violations(made)), None)
    return f"what came breaks the rule {broken.rule}: {broken.words}" if broken else ""


def realised(edit: Delegated, message: bytes, tokens: int) -> Delegated:
    """The edit with the message that the provider gave, of that size."""
    reason = replace(edit.reason, tokens_after=tokens)
    return replace(edit, body=(message,), applied=True, reason=reason)
