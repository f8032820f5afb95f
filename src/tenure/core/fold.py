"""The state of a session: the fold of its log.

Invariant: nothing but a record changes it, so that the same log gives the same state: resume, fork,
audit and time travel. What the records are made of is `core.session`'s.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tenure.core import delegation
from tenure.core.budget import Budget
from tenure.core.compaction import Attempts
from tenure.core.delegation import ToolUses
from tenure.core.edit import Delegated, Edit
from tenure.core.legal import Terms
from tenure.core.lifetime import CacheCosts, Lifetime
from tenure.core.marks import Marks
from tenure.core.mending import Copy, Mender
from tenure.core.message import JsonObject
from tenure.core.plan import Plan
from tenure.core.policy import DropBlock, Ledger, Policy, SessionMeter, Situation
from tenure.core.protocols import DEFAULT_SCOPE, Profile, Scope, SessionWire
from tenure.core.record import (
    Appended,
    Cancelled,
    Compacted,
    PlanChanged,
    Recalled,
    Record,
    Reported,
    Requested,
    Started,
)
from tenure.core.server_edit import CLEAR_RESULTS, Wanted
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.core.view import View, apply

# A reported prompt with more bytes per token than any text has is not the whole prompt: some
# gateways leave out what came from the cache. It is not counted from.
_MOST_BYTES_A_TOKEN = 24


class Opening(NamedTuple):
    """What becomes of the system messages that a conversation begins with: edits that take volatile
    text out, the message that says it late, and notes of what stays."""

    edits: tuple[Edit, ...] = ()
    late: JsonObject | None = None
    stays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a session is made of; the composition root fills it in."""

    wire: SessionWire
    policy: Policy
    meter: SessionMeter
    budget: Budget
    profile: Profile
    price: Callable[[Usage], float]
    recall: bool = True
    # What the rules of the wire depend on, but for the head, which the log begins with.
    terms: Terms = field(default_factory=Terms)
    # Whether the provider's own edits may be asked for.
    delegates: bool = False
    # Whether the provider can be asked for a summary.
    compacts: bool = False
    # Whether the provider can leave out thinking whose prefix has changed.
    drop_block: DropBlock = "no"
    # Lays out the system messages that the conversation begins with.
    opening: Callable[[Transcript, Plan, SessionMeter, str], Opening] | None = None
    # What a cached token costs, where the lifetime of cache marks can be chosen.
    costs: CacheCosts | None = None
    # The profile while marks ask for the long lifetime.
    long_profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request to send now: its view and the legal copy of it that leaves (its first `count`
    messages), its estimated input tokens, its max_tokens, where its cache marks go (`core.marks`),
    with the long lifetime or not, and the provider's own edits to ask for."""

    view: View
    tokens: int
    max_tokens: int
    marks: tuple[int, ...]
    copy: Copy
    count: int
    wanted: tuple[Wanted, ...] = ()
    long: bool = False


class SessionFold:
    """All that is known of one session, record by record."""

    def __init__(self, parts: Parts, name: str, scope: Scope = DEFAULT_SCOPE) -> None:
        self.parts = parts
        self.name = name
        self.scope = scope
        self.transcript = Transcript(parts.wire)
        self.plan = Plan()
        # How the plan came to be, and the last edit of each handle ever given: it stays good when
        # the edit is undone or gives way to another, because the model may have noted it.
        self.changes: list[PlanChanged] = []
        self.handles: dict[str, Edit] = {}
        self.budget = parts.budget
        self.ledger = Ledger()
        self.steps: list[int] = []
        self.step = 0
        self.nonce = ""
        self.restored: frozenset[str] = frozenset()
        self.head: JsonObject = {}
        self.settings: JsonObject = {}
        self.outgoing: Outgoing | None = None
        # The last request, until the plan changes: given up, it may be made again.
        self._asked: Requested | None = None
        self._view = View(self.plan, [], 0)
        self._draft: View | None = None
        self._delegates = parts.delegates
        self._tool_uses = ToolUses()
        self._compaction = Attempts()
        self._mender = Mender(parts.wire, parts.terms)
        self._marks = Marks()
        self._lifetime = Lifetime(parts.costs) if parts.costs else None
        # What came of the last exact count.
        self._counting = ""
        # The records of the log that are folded.
        self.length = 0
        self._freed = 0
        self.last_at: float | None = None
        self._sent_tokens = 0
        # Tokens in front of the first change since the last request, and what of it was cached.
        self._changed_at = 0
        self._intact = 0
        self._unreported = 0
        # The number of the first message of the last reply: calls from there on are live.
        self._replied_at = sys.maxsize

    def load(self, records: Iterable[Record]) -> None:
        """Applies records that are already saved: resume, audit, time travel."""
        for record in records:
            self.apply(record)

    def apply(self, record: Record) -> None:
        """One step of the fold."""
        match record:
            case Started(head=head, nonce=nonce, settings=settings):
                self.head, self.nonce, self.settings = head, nonce, settings
                terms = replace(self.parts.terms, head=head)
                self._mender = Mender(self.parts.wire, terms, nonce)
            case Appended(message=message):
                self.transcript.append(message)
            case PlanChanged():
                self._change_plan(record)
            case Compacted(usage=usage):
                self._compaction.add(record, self.step)
                self.ledger.spent += self.parts.price(usage) if usage else 0.0
            case Requested():
                self._count_request(record)
            case Reported(usage=usage):
                self._replied_at = len(self.transcript)
                self._count_usage(usage)
            case Recalled(price=price):
                self.ledger.refetched += price
            case Cancelled():
                self.outgoing = None
        self.length += 1

    def _change_plan(self, record: PlanChanged) -> None:
        self._sync()
        self._asked = None
        self.changes.append(record)
        self.handles |= {edit.handle: edit for edit in record.added if edit.handle}
        self._delegates = self._delegates and not record.ignored
        if record.removed:
            self.plan = self.plan.without(*record.removed)
        self.plan = self.plan.add(*record.added)
        for edit in record.added:
            self._freed += edit.reason.tokens_before - edit.reason.tokens_after
            if isinstance(edit, Delegated) and edit.applied and not edit.span:
                continue  # Its price was counted when it was asked for.
            if edit.reason.when == "forced":
                self.ledger.forced += edit.reason.price
            else:
                self.ledger.unforced += edit.reason.price
        edited = self.plan.by_key
        for edit in record.removed:
            if not (isinstance(edit, Delegated) and (record.added or record.ignored)):
                self.restored |= {t for t in edit.targets if isinstance(t, str) and t not in edited}
            if isinstance(edit, Delegated) and edit.span and not record.added:
                first, last = edit.span.bounds
                inside = self.transcript.blocks[first : last + 1]
                self.restored |= {block.key for blocks in inside for block in blocks}
            self._freed -= edit.reason.tokens_before - edit.reason.tokens_after
        self.parts.meter.replan(self.plan)
        view = self._drafted(self.plan)
        first = view.first_change(self._view)
        if first < len(view.entries):
            index = self.transcript.index_of(view.entries[first].sources[0])
            self._changed_at = min(self._changed_at, self.parts.meter.before(index, self.plan))
        self._clear_marks(view, record)
        self._view, self._draft = view, None

    def _clear_marks(self, view: View, record: PlanChanged) -> None:
        """What the provider takes changes the prompt as an edit of ours does, though the view stays."""
        fresh = _delegated(record.added) - _delegated(record.removed)
        first = min((self.transcript.block(k).index for k in fresh), default=None)
        if first is not None:
            self._changed_at = min(self._changed_at, self.parts.meter.before(first, self.plan))
            self._marks.changed(_entries_before(view, first))
        cleared = (e for e in self.plan.delegated if e.edit == CLEAR_RESULTS)
        ends = [self.transcript.block(k).index for e in cleared for k in e.cleared]
        self._marks.cleared_to(_entries_before(view, max(ends) + 1) if ends else 0)

    def _drafted(self, plan: Plan) -> View:
        """The view under a plan, made once for deciding and for the record of the decision."""
        if plan is self._view.plan or plan == self._view.plan:
            self._view.plan = plan  # Told apart by identity from now on, which is quick.
            return self._view.extend(self.transcript)
        known = self._draft
        if known is None or known.plan != plan or known.seen != len(self.transcript):
            self._draft = known = apply(self.transcript, plan, self._view)
        return known

    def _count_request(self, record: Requested) -> None:
        self.steps.extend([self.step] * (record.length - len(self.steps)))
        self.step += 1
        self._view.extend(self.transcript)
        warm = self.step > 1 and not self._is_cold(record.at)
        if warm:
            self.ledger.saved += self.parts.profile.read * self._freed
        self._intact = min(self._sent_tokens, self._changed_at) if warm else 0
        self._sent_tokens, self._changed_at = record.tokens, record.tokens
        self.last_at = record.at
        # What is asked again is asked with the same marks.
        again = self._asked is not None and replace(self._asked, at=record.at) == record
        if self._lifetime and not again:
            self._lifetime.request(record.at, tokens=record.tokens)
        self._asked = record if record.max_tokens else None
        if record.counting:
            self._counting = f"step {self.step - 1}: {record.counting}"
        if record.exact:
            self.parts.meter.report(Usage(record.tokens), record.length, self.plan)
        marks = self._marks.places(self._view)
        copy = self._mender.update(self._view)
        self._mender.sent()
        wanted = delegation.wanted(self.plan, self.transcript, self._tool_uses)
        self.outgoing = Outgoing(
            self._view,
            record.tokens,
            record.max_tokens,
            marks,
            copy,
            copy.count,
            wanted,
            long=self._lifetime is not None and self._lifetime.long,
        )

    def _count_usage(self, usage: Usage | None) -> None:
        self.outgoing = None
        if usage is None:
            self._unreported += 1
            usage = self._likely_usage()
        elif self._whole(usage):
            self.parts.meter.report(usage, len(self.transcript), self.plan)
        self.ledger.spent += self.parts.price(usage)

    def _whole(self, usage: Usage) -> bool:
        """Whether a reported prompt can be all of it."""
        meter = self.parts.meter
        most = meter.bound(self.transcript)
        if self.plan.edits:
            # The bound knows nothing of what edits freed, and is of the report before them.
            self._sync()
            most = min(most, meter.before(len(self.transcript), self.plan))
        return usage.prompt * _MOST_BYTES_A_TOKEN >= most

    def _likely_usage(self) -> Usage:
        """The open request's usage where nothing is reported: what stood in front of the first
        change was read from the cache, the rest was written. The reply's tokens are not known."""
        read = min(self._sent_tokens, self._intact)
        return Usage(cache_read=read, cache_write=self._sent_tokens - read)

    def _is_cold(self, at: float) -> bool:
        return self.last_at is not None and at - self.last_at > self._profile.cache_ttl

    @property
    def _profile(self) -> Profile:
        """The model's profile at the lifetime that the marks ask for."""
        long = self.parts.long_profile
        return long if long and self._lifetime and self._lifetime.long else self.parts.profile

    def _sync(self) -> None:
        largest = self.parts.meter.sync(self.transcript)
        system, tools = self.parts.meter.overhead
        self.budget = replace(self.budget.seen(largest), system=system, tools=tools)

    def situation(self, *, cold: bool) -> Situation:
        """What a policy sees now."""
        p = self.parts
        return Situation(
            self.transcript, self.plan, p.meter, self.budget, self._profile, self.ledger,
            self.steps, self.step, cold, self.nonce, p.recall, self.restored, self._delegates,
            p.drop_block, p.compacts and self._compaction.may_ask(self.step),
        )  # fmt: skip


def _delegated(edits: Iterable[Edit]) -> set[str]:
    return {key for e in edits if isinstance(e, Delegated) for key in e.cleared}


def _entries_before(view: View, index: int) -> int:
    """How many entries of a view come from messages in front of that number."""
    return bisect_left(view.entries, index, key=lambda entry: int(entry.sources[-1][1:]))
