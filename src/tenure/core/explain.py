"""A plan in words and numbers, for logs, headers, the command line and people.

Invariant: every figure comes from the edits' own reasons and the session's ledger; nothing is
computed anew, so the explanation cannot disagree with the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tenure.core.edit import CHOSEN, Delegated, Edit, Weighed
from tenure.core.mending import Kept
from tenure.core.plan import spans_of
from tenure.core.policy import Ledger


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Where the tokens of the next request are: estimates, by part."""

    system: int
    tools: int
    messages: int
    limit: int

    @property
    def used(self) -> int:
        """All of it."""
        return self.system + self.tools + self.messages


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was left out of a view, why, what it saved, and how to get it back.

    `model` names the profile that prices and limits were taken from; `unreported` counts replies
    that came without usage, whose cost is estimated from the prompt alone; `mends` are what was set
    right in the copy that leaves, so that the provider takes it; `notes` what else a reader should
    know; `ways` what each way to make room would cost now, where the policy has several.
    """

    policy: str
    model: str
    steps: int
    unreported: int
    occupancy: Occupancy
    ledger: Ledger
    edits: tuple[Edit, ...]
    mends: tuple[Kept, ...] = ()
    notes: tuple[str, ...] = ()
    ways: tuple[Weighed, ...] = ()

    def __str__(self) -> str:
        o = self.occupancy
        head = (
            f"{self.model}, policy {self.policy}, {self.steps} requests; resident {o.used:,} of {o.limit:,} "
            f"tokens (system {o.system:,}, tools {o.tools:,}, messages {o.messages:,})"
        )
        lines = [head]
        if self.unreported:
            lines.append(f"{self.unreported} replies came without usage: their cost is estimated")
        lines += self.notes
        if self.ways:
            lines.append(f"to make room now: {weighed_line(self.ways)}")
        if self.mends:
            lines.append(f"{len(self.mends)} mends of the outgoing copy keep it legal")
            lines += [f"  {mend_line(m)}" for m in self.mends]
        if not self.edits:
            return "\n".join([*lines, "nothing was left out"])
        freed = sum(e.reason.tokens_before - e.reason.tokens_after for e in self.edits)
        when = ", ".join(f"{n} {w}" for w, n in Counter(e.reason.when for e in self.edits).items())
        lines.append(f"{len(self.edits)} edits ({when}) keep {freed:,} tokens out of the view")
        lines.append(
            f"spent {self.ledger.spent:,.0f}, saved {self.ledger.saved:,.0f}, rewrites "
            f"{self.ledger.unforced + self.ledger.forced:,.0f}, re-fetches "
            f"{self.ledger.refetched:,.0f} (in base input tokens)"
        )
        lines += [f"  {line(e)}" for e in self.edits]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "policy": self.policy,
            "model": self.model,
            "unreported": self.unreported,
            "steps": self.steps,
            "occupancy": asdict(self.occupancy),
            "ledger": asdict(self.ledger),
            "edits": [as_dict(e) for e in self.edits],
            "notes": list(self.notes),
            "ways": [way._asdict() for way in self.ways],
            "mends": [mend_as_dict(m) for m in self.mends],
        }


def line(edit: Edit) -> str:
    """One edit as a line of text; steps count from 1 here, from 0 in `Reason.step`."""
    r = edit.reason
    where = f" [{edit.handle}]" if edit.handle else ""
    what = f"{r.about}: " if r.about else ""
    return (
        f"step {r.step + 1}, {r.when}: {what}{r.words}; "
        f"{r.tokens_before:,} to {r.tokens_after:,} tokens, {_price(edit)}{where}{_asked(edit)}"
        + (f"; weighed: {weighed_line(r.weighed)}" if r.weighed else "")
    )


def _price(edit: Edit) -> str:
    """What it cost once. A clearing of the provider's grows: the price is that of its last growth."""
    price = f"price {edit.reason.price:,.0f}"
    grows = isinstance(edit, Delegated) and not edit.span
    return f"{price} when it last grew" if grows else price


def _asked(edit: Edit) -> str:
    waits = isinstance(edit, Delegated) and not edit.applied
    return " (asked of the provider, not confirmed yet)" if waits else ""


def weighed_line(weighed: Sequence[Weighed]) -> str:
    """The ways that were weighed, each with its price, what it saves and its note."""
    return "; ".join(_way(one) for one in weighed)


def _way(one: Weighed) -> str:
    if not one.price and not one.saves and one.note and one.note != CHOSEN:
        return f"{one.way} is no way: {one.note}"
    note = f" ({one.note})" if one.note else ""
    return f"{one.way} costs {one.price:,.0f} and saves {one.saves:,.0f} a step{note}"


def mend_line(kept: Kept) -> str:
    """One mend as a line of text."""
    where = f" [{kept.handle}]" if kept.handle else ""
    return f"{kept.mend.rule}, {kept.source or 'the head'}: {kept.mend.words}{where}"


def mend_as_dict(kept: Kept) -> dict[str, Any]:
    """One mend as JSON values."""
    return {
        "rule": kept.mend.rule,
        "message": kept.source,
        "words": kept.mend.words,
        "handle": kept.handle,
    }


def as_dict(edit: Edit) -> dict[str, Any]:
    """One edit as JSON values."""
    targets: list[Any] = [t for t in edit.targets if isinstance(t, str)]
    targets += [[span.first, span.last] for span in spans_of(edit)]
    return {
        "edit": type(edit).__name__.lower(),
        "targets": targets,
        "handle": edit.handle,
        "reason": {**asdict(edit.reason), "weighed": [w._asdict() for w in edit.reason.weighed]},
    }
