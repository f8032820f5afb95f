"""One session as a state machine: events in, commands and the next request out.

Invariant: every method that changes something is a flow that first has its records saved and then
applies them, so the state is always the fold of the log. No I/O, no clock, no randomness here:
times and the handle nonce come in by argument.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tenure.core import compaction, delegation, recall, refusals
from tenure.core.answers import SessionAnswers
from tenure.core.command import (
    CountExactly,
    Flow,
    SaveRecords,
    Summarize,
    Summarized,
    Uncounted,
)
from tenure.core.edit import Delegated, Edit, Span
from tenure.core.fold import Outgoing
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.plan import Plan
from tenure.core.protocols import ToolCall
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
from tenure.core.server_edit import CLEAR_RESULTS, Applied
from tenure.core.usage import Usage
from tenure.errors import RecallError, RequestError, SessionError, UpstreamError

# The tokens of a recall call as the model writes it; the price of a re-fetch counts them.
RECALL_CALL_TOKENS = 60
# The result of a call that was given up.
CANCELLED = "no result: the call was cancelled before it was answered"


# An exact count under the estimate by more than this factor is not of the whole request (the meter
# would not count from it either): gateways that only play the endpoint say 0 or 1.
_SANE = 3


class _Size(NamedTuple):
    """A view's input tokens: the figure to go by, our own estimate, an upper bound, and what came
    of asking the provider."""

    tokens: int
    estimate: int
    upper: int
    exact: bool = False
    counting: str = ""


class _Asked(NamedTuple):
    """The last view that the provider was asked to count, and its answer."""

    plan: Plan
    length: int
    answer: int | Uncounted


class SessionMachine(SessionAnswers):
    """The fold of a session's log, and the flows that extend the log."""

    # Kept so that no view is counted twice; what came of it is in the records.
    _count: _Asked | None = None
    # The last summary, of which span under which plan.
    _made: tuple[Span, Plan, Summarized] | None = None

    # -- flows ---------------------------------------------------------------------------------

    def start(self, started: Started) -> Flow[None]:
        """Opens the log."""
        yield from self.commit(started)

    def append(self, messages: Sequence[Message], at: float) -> Flow[None]:
        """Adds messages to the transcript: a stored history as it is, whatever is wrong with it.

        Raises SessionError when calls of a reply wait for results and a message is not an answer to
        them: no provider takes other words in between.
        """
        refusals.while_open(self.outgoing, "append")
        refusals.in_between(self.transcript, messages, self._replied_at)
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
        if not self._delegates and self._cleared_there():
            # Resumed where the provider is not to be asked.
            yield from self.commit(PlanChanged((), self._cleared_there(), at, ignored=True))
        yield from self._say_late(at)
        asked = self._asked
        if asked and asked.length == len(self.transcript) and asked.tokens <= self.budget.most:
            yield from self.commit(replace(asked, at=at))
        else:
            yield from self.commit(*(yield from self._planned(at)))
        assert self.outgoing is not None, "the record just applied opens the request"
        return self.outgoing

    def _say_late(self, at: float) -> Flow[None]:
        """Says once, behind what was said so far, what was moved out of the stable part."""
        if self.step:
            return
        records: list[Record] = []
        late = self.settings.get("late")
        if late and not any(m.data == late for m in self.transcript.messages):
            records.append(Appended(Message(late, origin=Origin.HARNESS), at))
        laid = self._opening()
        if laid.late:
            records.append(PlanChanged(laid.edits, (), at))
            records.append(Appended(Message(laid.late, origin=Origin.HARNESS), at))
        yield from self.commit(*records)

    def _planned(self, at: float) -> Flow[Sequence[Record]]:
        """The records of a new request: the edits it needs, and itself."""
        cold = self._is_cold(at)
        edits = tuple(self._decide(cold=cold))
        asked = compaction.asked_for(edits)
        if asked is not None:
            yield from self._compact(asked, edits, at)
            edits = tuple(self._decide(cold=cold))
        size = yield from self._measure(self.plan.put(*edits))
        if size.tokens > self.budget.limit >= size.estimate:
            again = tuple(self._decide_again(edits, size, cold=cold))
            over = Plan(edits).superseded(again)
            edits = (*(e for e in edits if e not in over), *again)
            size = yield from self._measure(self.plan.put(*edits), size)
        if size.tokens > self.budget.most >= 2 * size.estimate - size.upper:
            # The estimate may err in this direction as well, and nothing more may go.
            size = yield from self._counted(self.plan.put(*edits), size)
        refusals.too_large(size.tokens, self.budget)
        self._mender.update(self._drafted(self.plan.put(*edits)))
        refusals.illegal(self.parts.wire, self._mender.violations)
        output = self.budget.output_between(size.tokens, size.upper)
        length = len(self.transcript)
        requested = Requested(length, size.tokens, at, output, size.exact, size.counting)
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
        # The usage is of the prompt after these edits, so they are settled first.
        settled = self._settled(self.parts.wire.applied(data), usage, at)
        yield from self.commit(*settled, Reported(usage, at), *appended)

    def _settled(
        self, applied: Sequence[Applied], usage: Usage | None, at: float
    ) -> Sequence[PlanChanged]:
        """What the provider's report, or its silence, makes of the edits that it was asked for."""
        if not self.plan.delegated:
            return ()
        self._sync()
        meter, plan = self.parts.meter, self.plan
        done = delegation.confirmed(
            plan, self.transcript, applied, lambda block: meter.size(block).estimate
        )
        settled = [PlanChanged((new,), (old,), at) for old, new in done]
        prompt = usage.prompt if usage and self._whole(usage) else None
        asked = {one.edit for one in self.outgoing.wanted} if self.outgoing else set[str]()
        gone = delegation.ignored(plan, asked, applied, prompt, meter.resident)
        return [*settled, PlanChanged((), gone, at, ignored=True)] if gone else settled

    def results(self, given: Mapping[str, tuple[Any, bool]], at: float) -> Flow[None]:
        """Answers all pending calls: the given results (content, is_error) by call id, and ours.

        Raises SessionError when a result is missing or answers no pending call.
        """
        refusals.while_open(self.outgoing, "results")
        refusals.wrong_results(given, {c.id for c in self.calls})
        answers: list[tuple[ToolCall, Any, bool]] = []
        records: list[Record] = []
        for name, call in self._named():
            if self._ours(call):
                text, failed, cost = self._answer(call)
                answers.append((call, text, failed))
                if not failed:
                    records.append(Recalled(str(call.input["handle"]), cost, at))
            else:
                answers.append((call, *given[name]))
        wire = self.parts.wire
        messages = [Message(m, origin=wire.origin(m)) for m in wire.results(answers)]
        refusals.unreadable(wire, messages, RequestError)
        yield from self.commit(*records, *(Appended(m, at) for m in messages))

    def cancel(self, at: float, *, delegate: bool = True) -> Flow[None]:
        """Gives up the open request, and the calls that wait: they get a result that says so.

        Without `delegate` also what the provider was asked to clear: from here on the session edits
        itself.
        """
        records: list[Record] = [Cancelled(at)] if self.outgoing is not None else []
        if not delegate:
            records.append(PlanChanged((), self._cleared_there(), at, ignored=True))
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
        # No time to ask for a summary: the edits before were not made yet.
        situation = replace(self.situation(cold=cold), compacts=False)
        plan = self.plan.put(*edits)
        return self.parts.policy.propose(replace(situation, plan=plan, budget=tight))

    def _compact(self, asked: Delegated, edits: Sequence[Edit], at: float) -> Flow[None]:
        """Has the provider summarise the asked span of what was sent, and puts that in its place."""
        answer = yield from self._summary(asked)
        tokens = self.parts.meter.text(answer.text)
        why = compaction.unfit(self.parts.wire, asked, answer, tokens)
        if why:
            words = f"the provider made no summary: {why}"
            yield from self.commit(Compacted(words, answer.usage, at, made=False))
            return
        done = compaction.realised(asked, answer.message, tokens)
        added = tuple(done if e is asked else e for e in edits)
        words = f"the provider summarised {done.reason.about}"
        over = self.plan.superseded(added)
        yield from self.commit(
            Compacted(words, answer.usage, at, made=True), PlanChanged(added, over, at)
        )

    def _summary(self, asked: Delegated) -> Flow[Summarized]:
        """The provider's summary of the asked span; one that could not be saved is not paid twice."""
        assert asked.span is not None
        known = self._made
        if known is not None and known[:2] == (asked.span, self.plan):
            return known[2]
        last = asked.span.bounds[1]
        view = self._drafted(self.plan)
        entries = bisect_right(view.entries, last, key=lambda e: int(e.sources[-1][1:]))
        copy = self._mender.update(view)
        count = copy.ends[entries - 1]
        wanted = delegation.wanted(self.plan, self.transcript)
        wire = self.parts.wire
        room = json.loads(asked.options)["max_tokens"]
        head = wire.summarizing(wire.delegating(copy.head, wanted), room)
        marked = self._marks.written(view, entries)
        places = tuple(copy.ends[n - 1] for n in marked)
        long = self._lifetime is not None and self._lifetime.long
        answer: Summarized | None = yield Summarize(head, (*copy.data[:count],), places, long)
        if answer is None:
            return Summarized(why="there is nobody to ask for a summary")
        if answer.message:
            self._made = (asked.span, self.plan, answer)
        return answer

    def _measure(self, plan: Plan, before: _Size | None = None) -> Flow[_Size]:
        """How large the view under a plan is: counted no closer than the decision needs. `before`
        is the exact size of the view that was too large, which this one was made from."""
        meter, limit, most = self.parts.meter, self.budget.limit, self.budget.most
        bound = meter.bound(self.transcript)
        if bound <= limit and self.budget.leaves_all(bound):
            counted = meter.counted == len(self.transcript)
            tokens = meter.resident(plan) if counted else bound
            return _Size(tokens, tokens, bound)
        self._sync()
        estimate, upper = meter.resident(plan), meter.upper(plan)
        counting, tokens = "", estimate
        if before is not None:
            # What the provider found beyond our estimate is in this view too, or most of it.
            tokens = max(estimate, min(estimate + before.tokens - before.estimate, limit, upper))
            counting = before.counting
        size = _Size(tokens, estimate, upper, counting=counting)
        near = estimate <= limit < upper or estimate <= most < upper
        return (yield from self._counted(plan, size)) if near else size

    def _counted(self, plan: Plan, size: _Size) -> Flow[_Size]:
        """The size of a view as the provider counts it, or as it was where it does not."""
        answer = yield from self._exactly(plan, size.estimate)
        words = f"{size.estimate:,} estimated, {size.upper:,} at most"
        if isinstance(answer, int):
            counting = f"the provider counted {answer:,} input tokens ({words})"
            return _Size(answer, size.estimate, answer, exact=True, counting=counting)
        if answer is not None:
            counting = f"no exact count, so the bound holds ({words}): {answer.why}"
            return size._replace(counting=counting)
        return size

    def _exactly(self, plan: Plan, estimate: int) -> Flow[int | Uncounted | None]:
        """The provider's count of the view under a plan, asked for once."""
        known, length = self._count, len(self.transcript)
        if known is not None and known.length == length and known.plan == plan:
            return known.answer
        # The counting endpoints check the rules as well, so the legal copy is counted.
        copy = self._mender.update(self._drafted(plan))
        wanted = delegation.wanted(plan, self.transcript)
        head = self.parts.wire.delegating(copy.head, wanted)
        request = self.parts.wire.request(head, copy.data)
        answer: int | Uncounted | None = yield CountExactly(request)
        if isinstance(answer, int) and answer * _SANE <= estimate:
            answer = Uncounted(f"{answer:,} tokens can't be the whole request")
        if answer is not None:
            self._count = _Asked(plan, length, answer)
        return answer

    # -- small helpers -------------------------------------------------------------------------

    def _cleared_there(self) -> tuple[Delegated, ...]:
        """The clearings that the provider is asked for."""
        return tuple(e for e in self.plan.delegated if e.edit == CLEAR_RESULTS)

    def commit(self, *records: Record) -> Flow[None]:
        """Has records saved, then applies them."""
        if not records:
            return
        yield SaveRecords(self.scope, self.name, records, self.length)
        for record in records:
            self.apply(record)

    def _answer(self, call: ToolCall) -> tuple[Any, bool, float]:
        try:
            content = recall.answer(self.transcript, self.handles, call.input, self._mender.lost)
        except RecallError as error:
            return str(error), True, 0.0
        meter, profile = self.parts.meter, self.parts.profile
        tokens = meter.text(content if isinstance(content, str) else str(content[0].get("text")))
        cost = profile.read * self._sent_tokens + profile.output * RECALL_CALL_TOKENS
        return content, False, cost + profile.write * tokens
