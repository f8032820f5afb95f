"""One session as a state machine: events in, commands and the next request out.

Invariant: every method that changes something is a flow that first has its records saved and then
applies them, so the state is always the fold of the log. No I/O, no clock, no randomness here:
times and the handle nonce come in by argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from tenure.core import delegation, recall, refusals
from tenure.core.budget import Budget
from tenure.core.command import CountExactly, Flow, SaveRecords
from tenure.core.edit import Delegated, Edit
from tenure.core.explain import Explanation, Occupancy
from tenure.core.legal import Terms
from tenure.core.lifetime import CacheCosts, Lifetime
from tenure.core.marks import Marks
from tenure.core.mending import Copy, Mender
from tenure.core.message import JsonObject, Message
from tenure.core.plan import Plan
from tenure.core.policy import Ledger, Policy, SessionMeter, Situation
from tenure.core.protocols import DEFAULT_SCOPE, Profile, Scope, SessionWire, ToolCall
from tenure.core.record import (
    Appended,
    Cancelled,
    PlanChanged,
    Recalled,
    Record,
    Reported,
    Requested,
    Started,
)
from tenure.core.server_edit import Wanted
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.core.view import View, apply
from tenure.errors import RecallError, RequestError, SessionError, UpstreamError

# The tokens of a recall call as the model writes it; the price of a re-fetch counts them.
RECALL_CALL_TOKENS = 60
# The result of a call that was given up.
CANCELLED = "no result: the call was cancelled before it was answered"
# A reported prompt with more bytes per token than any text has is not the whole prompt: some
# gateways leave out what came from the cache. It is not counted from.
_MOST_BYTES_A_TOKEN = 24


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


class _Size(NamedTuple):
    """A view's input tokens: the figure to go by, our own estimate, and an upper bound."""

    tokens: int
    estimate: int
    upper: int
    exact: bool = False


class SessionMachine:
    """The fold of a session's log, and the flows that extend the log."""

    def __init__(self, parts: Parts, name: str, scope: Scope = DEFAULT_SCOPE) -> None:
        self.parts = parts
        self.name = name
        self.scope = scope
        self.transcript = Transcript(parts.wire)
        self.plan = Plan()
        self.budget = parts.budget
        self.ledger = Ledger()
        self.steps: list[int] = []
        self.step = 0
        self.nonce = ""
        self.restored: frozenset[str] = frozenset()
        self.head: JsonObject = {}
        self.outgoing: Outgoing | None = None
        # The last request, until the plan changes: given up, it may be made again.
        self._asked: Requested | None = None
        self._view = View(self.plan, [], 0)
        self._mender = Mender(parts.wire, parts.terms)
        self._marks = Marks()
        self._lifetime = Lifetime(parts.costs) if parts.costs else None
        # The records of the log that are folded.
        self.length = 0
        self._freed = 0
        self.last_at: float | None = None
        self._sent_tokens = 0
        # Tokens in front of the first change since the last request, and what of it was cached.
        self._changed_at = 0
        self._intact = 0
        self._unreported = 0

    # -- what can be asked ---------------------------------------------------------------------

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a result, in the order the model made them."""
        return tuple(
            self.parts.wire.call(block, self.transcript.messages[block.index])
            for block in self.transcript.open_calls.values()
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Those of them that the user's own tools must answer."""
        return tuple(c for c in self.pending if not self._ours(c))

    def explain(self) -> Explanation:
        """The current plan in words and numbers."""
        meter = self.parts.meter
        self._sync()
        used = meter.resident(self.plan)
        b = self.budget
        occupancy = Occupancy(b.system, b.tools, max(0, used - b.overhead), b.limit)
        return Explanation(
            policy=self.parts.policy.name,
            model=self.parts.profile.name,
            steps=self.step,
            unreported=self._unreported,
            occupancy=occupancy,
            ledger=replace(self.ledger),
            edits=self.plan.edits,
            mends=self._mender.mends,
        )

    def fetch(self, handle: str, *, lines: str = "", pattern: str = "") -> str:
        """The original behind a handle, for a person; raises RecallError."""
        lost = self._mender.lost(handle)
        if lost is None:
            text = recall.original(self.transcript, self.plan, handle)
        else:
            text = lost.decode()
        return recall.select(text, lines=lines, pattern=pattern)

    # -- flows ---------------------------------------------------------------------------------

    def start(self, started: Started) -> Flow[None]:
        """Opens the log."""
        yield from self.commit(started)

    def append(self, messages: Sequence[Message], at: float) -> Flow[None]:
        """Adds messages to the transcript.

        Raises SessionError when calls wait for results and a message is not an answer to them: no
        provider takes other words in between.
        """
        refusals.while_open(self.outgoing, "append")
        refusals.in_between(self.transcript, messages)
        refusals.unreadable(self.parts.wire, messages, RequestError)
        yield from self.commit(*(Appended(m, at) for m in messages))

    def request(self, at: float) -> Flow[Outgoing]:
        """Decides the plan and makes the next request; the same one until something is appended,
        also when it is given up in between: it may have reached the provider and be cached there.

        Raises SessionError while calls wait for results, BudgetError when what must stay does
        not fit.
        """
        if self.outgoing is not None:
            return self.outgoing
        refusals.unready(self.transcript)
        asked = self._asked
        if asked and asked.length == len(self.transcript) and asked.tokens <= self.budget.limit:
            yield from self.commit(replace(asked, at=at))
        else:
            yield from self.commit(*(yield from self._planned(at)))
        assert self.outgoing is not None, "the record just applied opens the request"
        return self.outgoing

    def _planned(self, at: float) -> Flow[Sequence[Record]]:
        """The records of a new request: the edits it needs, and itself."""
        cold = self._is_cold(at)
        edits = tuple(self._decide(cold=cold))
        size = yield from self._measure(self.plan.put(*edits))
        if size.tokens > self.budget.limit >= size.estimate:
            edits += tuple(self._decide_again(edits, size, cold=cold))
            size = yield from self._measure(self.plan.put(*edits))
        refusals.too_large(size.tokens, self.budget)
        self._mender.update(apply(self.transcript, self.plan.put(*edits), self._view))
        refusals.illegal(self.parts.wire, self._mender.violations())
        output = self.budget.output_between(size.tokens, size.upper)
        requested = Requested(len(self.transcript), size.tokens, at, output, size.exact)
        if not edits:
            return (requested,)
        return PlanChanged(edits, self.plan.superseded(edits), at), requested

    def reply(self, data: JsonObject, at: float) -> Flow[None]:
        """Takes in the provider's reply to the open request."""
        if self.outgoing is None:
            raise SessionError(
                "there is no open request to reply to; call request() first", state="idle"
            )
        messages, usage = self.parts.wire.reply(data)
        origin = self.parts.wire.origin
        said = [Message(m, origin=origin(m)) for m in messages]
        refusals.unreadable(self.parts.wire, said, UpstreamError)
        appended = [Appended(m, at) for m in said]
        done = delegation.confirmed(self.plan, self.transcript, self.parts.wire.applied(data))
        # The usage is of the prompt after these edits, so they are settled first.
        settled = [PlanChanged((new,), (old,), at) for old, new in done]
        yield from self.commit(*settled, Reported(usage, at), *appended)

    def results(self, given: Mapping[str, tuple[Any, bool]], at: float) -> Flow[None]:
        """Answers all pending calls: the given results (content, is_error) by call id, and ours.

        Raises SessionError when a result is missing or answers no pending call.
        """
        refusals.while_open(self.outgoing, "results")
        refusals.wrong_results(given, {c.id for c in self.calls})
        answers: list[tuple[ToolCall, Any, bool]] = []
        records: list[Record] = []
        for call in self.pending:
            if self._ours(call):
                text, failed, cost = self._answer(call)
                answers.append((call, text, failed))
                if not failed:
                    records.append(Recalled(str(call.input["handle"]), cost, at))
            else:
                answers.append((call, *given[call.id]))
        wire = self.parts.wire
        messages = [Message(m, origin=wire.origin(m)) for m in wire.results(answers)]
        refusals.unreadable(wire, messages, RequestError)
        yield from self.commit(*records, *(Appended(m, at) for m in messages))

    def cancel(self, at: float) -> Flow[None]:
        """Gives up the open request, and the calls that wait: they get a result that says so."""
        records: list[Record] = [Cancelled(at)] if self.outgoing is not None else []
        wire = self.parts.wire
        made = wire.results([(call, CANCELLED, True) for call in self.pending])
        records += [Appended(Message(m, origin=wire.origin(m)), at) for m in made]
        yield from self.commit(*records)

    def undo(self, edits: Sequence[Edit], at: float) -> Flow[None]:
        """Takes edits out of the plan: their originals are back in the next view."""
        refusals.while_open(self.outgoing, "undo")
        plan = self.plan.without(*edits)
        if self.parts.profile.preserved_thinking:
            refusals.undo_behind_thinking(self.transcript, plan, edits)
        yield from self.commit(PlanChanged((), tuple(edits), at))

    # -- the fold ------------------------------------------------------------------------------

    def load(self, records: Iterable[Record]) -> None:
        """Applies records that are already saved: resume, audit, time travel."""
        for record in records:
            self.apply(record)

    def apply(self, record: Record) -> None:
        """One step of the fold."""
        match record:
            case Started(head=head, nonce=nonce):
                self.head, self.nonce = head, nonce
                terms = replace(self.parts.terms, head=head)
                self._mender = Mender(self.parts.wire, terms, nonce)
            case Appended(message=message):
                self.transcript.append(message)
            case PlanChanged():
                self._change_plan(record)
            case Requested():
                self._count_request(record)
            case Reported(usage=usage):
                self._count_usage(usage)
            case Recalled(price=price):
                self.ledger.refetched += price
            case Cancelled():
                self.outgoing = None
        self.length += 1

    def _change_plan(self, record: PlanChanged) -> None:
        self._sync()
        self._asked = None
        if record.removed:
            self.plan = self.plan.without(*record.removed)
        self.plan = self.plan.add(*record.added)
        for edit in record.added:
            self._freed += edit.reason.tokens_before - edit.reason.tokens_after
            if edit.reason.when == "forced":
                self.ledger.forced += edit.reason.price
            else:
                self.ledger.unforced += edit.reason.price
        edited = self.plan.by_key
        for edit in record.removed:
            if not (isinstance(edit, Delegated) and record.added):
                self.restored |= {t for t in edit.targets if isinstance(t, str) and t not in edited}
            self._freed -= edit.reason.tokens_before - edit.reason.tokens_after
        self.parts.meter.replan(self.plan)
        view = apply(self.transcript, self.plan, self._view)
        first = view.first_change(self._view)
        if first < len(view.entries):
            index = self.transcript.index_of(view.entries[first].sources[0])
            self._changed_at = min(self._changed_at, self.parts.meter.before(index, self.plan))
        for edit in record.added:
            if isinstance(edit, Delegated):
                first = min(self.transcript.block(t).index for t in edit.targets)
                self._changed_at = min(self._changed_at, self.parts.meter.before(first, self.plan))
        self._view = view

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
        if record.exact:
            self.parts.meter.report(Usage(record.tokens), record.length, self.plan)
        marks = self._marks.places(self._view)
        copy = self._mender.update(self._view)
        self._mender.sent()
        wanted = delegation.wanted(self.plan, self.transcript)
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
        bound = self.parts.meter.bound(self.transcript)
        if usage is None:
            self._unreported += 1
            usage = self._likely_usage()
        elif usage.prompt * _MOST_BYTES_A_TOKEN >= bound:
            self.parts.meter.report(usage, len(self.transcript), self.plan)
        self.ledger.spent += self.parts.price(usage)

    def _likely_usage(self) -> Usage:
        """The open request's usage where nothing is reported: what stood in front of the first
        change was read from the cache, the rest was written. The reply's tokens are not known."""
        read = min(self._sent_tokens, self._intact)
        return Usage(cache_read=read, cache_write=self._sent_tokens - read)

    # -- deciding ------------------------------------------------------------------------------

    def _decide(self, *, cold: bool) -> Sequence[Edit]:
        meter, policy = self.parts.meter, self.parts.policy
        if meter.bound(self.transcript) < policy.wakes_at(self.budget):
            return ()
        self._sync()
        if meter.resident(self.plan) < policy.wakes_at(self.budget):
            return ()
        return policy.propose(self.situation(cold=cold))

    def _decide_again(self, edits: Sequence[Edit], size: _Size, *, cold: bool) -> Sequence[Edit]:
        """The provider counts more than we do: decides as if the window were smaller by that."""
        less = size.tokens - size.estimate
        tight = replace(self.budget, usable_window=max(1, self.budget.limit - less))
        situation = self.situation(cold=cold)
        plan = self.plan.put(*edits)
        return self.parts.policy.propose(replace(situation, plan=plan, budget=tight))

    def _sync(self) -> None:
        largest = self.parts.meter.sync(self.transcript)
        system, tools = self.parts.meter.overhead
        self.budget = replace(self.budget.seen(largest), system=system, tools=tools)

    def situation(self, *, cold: bool) -> Situation:
        """What a policy sees now."""
        p = self.parts
        return Situation(
            self.transcript, self.plan, p.meter, self.budget, self._profile, self.ledger,
            self.steps, self.step, cold, self.nonce, p.recall, self.restored, p.delegates,
        )  # fmt: skip

    def _measure(self, plan: Plan) -> Flow[_Size]:
        """How large the view under a plan is: counted no closer than the decision needs."""
        meter, limit = self.parts.meter, self.budget.limit
        bound = meter.bound(self.transcript)
        if bound <= limit and self.budget.leaves_all(bound):
            counted = meter.counted == len(self.transcript)
            tokens = meter.resident(plan) if counted else bound
            return _Size(tokens, tokens, bound)
        self._sync()
        estimate, upper = meter.resident(plan), meter.upper(plan)
        if estimate <= limit < upper:
            # The counting endpoints check the rules as well, so the legal copy is counted.
            copy = self._mender.update(apply(self.transcript, plan, self._view))
            wanted = delegation.wanted(plan, self.transcript)
            head = self.parts.wire.delegating(copy.head, wanted)
            exact = yield CountExactly(self.parts.wire.request(head, copy.data))
            if exact is not None:
                return _Size(exact, estimate, exact, exact=True)
        return _Size(estimate, estimate, upper)

    def _is_cold(self, at: float) -> bool:
        return self.last_at is not None and at - self.last_at > self._profile.cache_ttl

    @property
    def _profile(self) -> Profile:
        """The model's profile at the lifetime that the marks ask for."""
        long = self.parts.long_profile
        return long if long and self._lifetime and self._lifetime.long else self.parts.profile

    # -- small helpers -------------------------------------------------------------------------

    def commit(self, *records: Record) -> Flow[None]:
        """Has records saved, then applies them."""
        if not records:
            return
        yield SaveRecords(self.scope, self.name, records, self.length)
        for record in records:
            self.apply(record)

    def _ours(self, call: ToolCall) -> bool:
        return self.parts.recall and call.name == recall.NAME

    def _answer(self, call: ToolCall) -> tuple[Any, bool, float]:
        try:
            content = recall.answer(self.transcript, self.plan, call.input, self._mender.lost)
        except RecallError as error:
            return str(error), True, 0.0
        meter, profile = self.parts.meter, self.parts.profile
        tokens = meter.text(content if isinstance(content, str) else str(content[0].get("text")))
        cost = profile.read * self._sent_tokens + profile.output * RECALL_CALL_TOKENS
        return content, False, cost + profile.write * tokens
