"""One session as a state machine: events in, commands and the next request out.

Invariant: every method that changes something is a flow that first has its records saved and then
applies them, so the state is always the fold of the log. No I/O, no clock, no randomness here:
times and the handle nonce come in by argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tenure.core import recall
from tenure.core.budget import Budget
from tenure.core.command import CountExactly, Flow, SaveRecords
from tenure.core.edit import Edit
from tenure.core.explain import Explanation, Occupancy
from tenure.core.marks import Marks
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
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.core.view import View, apply
from tenure.errors import BudgetError, SessionError

# The tokens of a recall call as the model writes it; the price of a re-fetch counts them.
RECALL_CALL_TOKENS = 60
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


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request to send now: its view, its estimated input tokens, its max_tokens, and where its
    cache marks go (`core.marks`)."""

    view: View
    tokens: int
    max_tokens: int
    marks: tuple[int, ...]


class _Size(NamedTuple):
    """A view's input tokens: the figure to go by, our own estimate, and an upper bound."""

    tokens: int
    estimate: int
    upper: int


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
        self._view = View(self.plan, [], 0)
        self._marks = Marks()
        self._length = 0
        self._freed = 0
        self.last_at: float | None = None
        self._sent_tokens = 0

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
            self.parts.policy.name, self.step, occupancy, replace(self.ledger), self.plan.edits
        )

    def fetch(self, handle: str, *, lines: str = "", pattern: str = "") -> str:
        """The original behind a handle, for a person; raises RecallError."""
        return recall.select(
            recall.original(self.transcript, self.plan, handle), lines=lines, pattern=pattern
        )

    # -- flows ---------------------------------------------------------------------------------

    def start(self, started: Started) -> Flow[None]:
        """Opens the log."""
        yield from self.commit(started)

    def append(self, messages: Sequence[Message], at: float) -> Flow[None]:
        """Adds messages to the transcript."""
        self._refuse_while_open("append")
        yield from self.commit(*(Appended(m, at) for m in messages))

    def request(self, at: float) -> Flow[Outgoing]:
        """Decides the plan and makes the next request; the same one until something is appended.

        Raises SessionError while calls wait for results, BudgetError when what must stay does
        not fit.
        """
        if self.outgoing is not None:
            return self.outgoing
        self._refuse_unready()
        cold = self._is_cold(at)
        edits = tuple(self._decide(cold=cold))
        size = yield from self._measure(self.plan.add(*edits))
        if size.tokens > self.budget.limit >= size.estimate:
            edits += tuple(self._decide_again(edits, size, cold=cold))
            size = yield from self._measure(self.plan.add(*edits))
        self._refuse_too_large(size.tokens)
        requested = Requested(len(self.transcript), size.tokens, at, self._output_for(size))
        records: list[Record] = [PlanChanged(edits, (), at)] if edits else []
        yield from self.commit(*records, requested)
        assert self.outgoing is not None, "the record just applied opens the request"
        return self.outgoing

    def reply(self, data: JsonObject, at: float) -> Flow[None]:
        """Takes in the provider's reply to the open request."""
        if self.outgoing is None:
            raise SessionError(
                "there is no open request to reply to; call request() first", state="idle"
            )
        messages, usage = self.parts.wire.reply(data)
        origin = self.parts.wire.origin
        appended = [Appended(Message(m, origin=origin(m)), at) for m in messages]
        yield from self.commit(Reported(usage, at), *appended)

    def results(self, given: Mapping[str, tuple[Any, bool]], at: float) -> Flow[None]:
        """Answers all pending calls: the given results (content, is_error) by call id, and ours.

        Raises SessionError when a result is missing or answers no pending call.
        """
        self._refuse_while_open("results")
        pending = self.pending
        self._check_results(given, pending)
        answers: list[tuple[ToolCall, Any, bool]] = []
        records: list[Record] = []
        for call in pending:
            if self._ours(call):
                text, failed, cost = self._answer(call)
                answers.append((call, text, failed))
                if not failed:
                    records.append(Recalled(str(call.input["handle"]), cost, at))
            else:
                answers.append((call, *given[call.id]))
        wire = self.parts.wire
        messages = [Message(m, origin=wire.origin(m)) for m in wire.results(answers)]
        yield from self.commit(*records, *(Appended(m, at) for m in messages))

    def cancel(self, at: float) -> Flow[None]:
        """Gives the open request up, so that the transcript can be appended to again."""
        if self.outgoing is not None:
            yield from self.commit(Cancelled(at))

    def undo(self, edits: Sequence[Edit], at: float) -> Flow[None]:
        """Takes edits out of the plan: their originals are back in the next view."""
        self._refuse_while_open("undo")
        self.plan.without(*edits)
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
        self._length += 1

    def _change_plan(self, record: PlanChanged) -> None:
        self._sync()
        self.plan = self.plan.add(*record.added)
        if record.removed:
            self.plan = self.plan.without(*record.removed)
        for edit in record.added:
            self._freed += edit.reason.tokens_before - edit.reason.tokens_after
            if edit.reason.when == "forced":
                self.ledger.forced += edit.reason.price
            else:
                self.ledger.unforced += edit.reason.price
        for edit in record.removed:
            self.restored |= {t for t in edit.targets if isinstance(t, str)}
            self._freed -= edit.reason.tokens_before - edit.reason.tokens_after
        self.parts.meter.replan(self.plan)
        self._view = apply(self.transcript, self.plan, self._view)

    def _count_request(self, record: Requested) -> None:
        self.steps.extend([self.step] * (record.length - len(self.steps)))
        self.step += 1
        self._view.extend(self.transcript)
        if self.step > 1 and not self._is_cold(record.at):
            self.ledger.saved += self.parts.profile.read * self._freed
        self._sent_tokens = record.tokens
        self.last_at = record.at
        marks = self._marks.places(self._view)
        self.outgoing = Outgoing(self._view, record.tokens, record.max_tokens, marks)

    def _count_usage(self, usage: Usage | None) -> None:
        self.outgoing = None
        bound = self.parts.meter.bound(self.transcript)
        if usage is None:
            usage = Usage(cache_read=self._sent_tokens)
        elif usage.prompt * _MOST_BYTES_A_TOKEN >= bound:
            self.parts.meter.report(usage, len(self.transcript), self.plan)
        self.ledger.spent += self.parts.price(usage)

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
        plan = self.plan.add(*edits)
        return self.parts.policy.propose(replace(situation, plan=plan, budget=tight))

    def _sync(self) -> None:
        largest = self.parts.meter.sync(self.transcript)
        system, tools = self.parts.meter.overhead
        self.budget = replace(self.budget.seen(largest), system=system, tools=tools)

    def situation(self, *, cold: bool) -> Situation:
        """What a policy sees now."""
        p = self.parts
        return Situation(
            self.transcript, self.plan, p.meter, self.budget, p.profile, self.ledger,
            self.steps, self.step, cold, self.nonce, p.recall, self.restored,
        )  # fmt: skip

    def _measure(self, plan: Plan) -> Flow[_Size]:
        """How large the view under a plan is: counted no closer than the decision needs."""
        meter, limit = self.parts.meter, self.budget.limit
        bound = meter.bound(self.transcript)
        if bound <= limit and self.budget.leaves_all(bound):
            return _Size(bound, bound, bound)
        self._sync()
        estimate, upper = meter.resident(plan), meter.upper(plan)
        if estimate <= limit < upper:
            exact = yield CountExactly(self._request_for(plan))
            if exact is not None:
                return _Size(exact, estimate, exact)
        return _Size(estimate, estimate, upper)

    def _refuse_too_large(self, tokens: int) -> None:
        if tokens > self.budget.limit:
            raise BudgetError(
                f"the request needs about {tokens} input tokens and the budget allows "
                f"{self.budget.limit}; what is left may not be evicted: compact it, shorten the "
                "pinned text, or use a larger window",
                needed=tokens,
                available=self.budget.limit,
            )

    def _output_for(self, size: _Size) -> int:
        """max_tokens that fit beside the request even if it is as large as its upper bound; the
        smallest acceptable reply is asked for when only the estimate leaves room for it."""
        least = self.budget.least_output
        if self.budget.leaves(size.upper) < least:
            return min(least, self.budget.output_for(size.tokens))
        return self.budget.output_for(size.upper)

    def _request_for(self, plan: Plan) -> JsonObject:
        messages = apply(self.transcript, plan, self._view).messages
        return self.parts.wire.request(self.head, messages)

    def _is_cold(self, at: float) -> bool:
        return self.last_at is not None and at - self.last_at > self.parts.profile.cache_ttl

    # -- small helpers -------------------------------------------------------------------------

    def commit(self, *records: Record) -> Flow[None]:
        """Has records saved, then applies them."""
        if not records:
            return
        yield SaveRecords(self.scope, self.name, records, self._length)
        for record in records:
            self.apply(record)

    def _ours(self, call: ToolCall) -> bool:
        return self.parts.recall and call.name == recall.NAME

    def _answer(self, call: ToolCall) -> tuple[Any, bool, float]:
        try:
            content = recall.answer(self.transcript, self.plan, call.input)
        except recall.RecallError as error:
            return str(error), True, 0.0
        meter, profile = self.parts.meter, self.parts.profile
        tokens = meter.text(content if isinstance(content, str) else str(content[0].get("text")))
        cost = profile.read * self._sent_tokens + profile.output * RECALL_CALL_TOKENS
        return content, False, cost + profile.write * tokens

    def _check_results(self, given: Mapping[str, Any], pending: tuple[ToolCall, ...]) -> None:
        wanted = {c.id for c in pending if not self._ours(c)}
        missing, strange = sorted(wanted - given.keys()), sorted(given.keys() - wanted)
        if missing:
            raise SessionError(
                f"no result for the calls {missing}; every call of a reply needs one, an error "
                "text will do",
                state="calls pending",
            )
        if strange:
            raise SessionError(
                f"results {strange} answer no pending call; pending are {sorted(wanted)}",
                state="calls pending",
            )

    def _refuse_while_open(self, what: str) -> None:
        if self.outgoing is not None:
            raise SessionError(
                f"{what} while a request is open: give its reply, or cancel() it", state="open"
            )

    def _refuse_unready(self) -> None:
        if not len(self.transcript):
            raise SessionError("nothing was said yet; call user() first", state="empty")
        if self.transcript.open_calls:
            waiting = [c.id for c in self.pending]
            raise SessionError(
                f"the calls {waiting} wait for results; call results() first",
                state="calls pending",
            )
