"""One recorded thread replayed under a policy, through the session's real state machine.

Invariant: the policy sees what it would have seen live: arrivals as they came, the usage of its own
views (never the recorded one), the recorded times. The model says what it said in the recording.

At each step the machine takes the arrivals and makes its request, which is priced. When the recorded
reply uses a result that this view lacks (`replay.dependencies`), the model is made to ask for it: the
request is answered by a recall call, the original comes back as a tool result, and the next request
carries both. One re-fetch per result and step, each a request of its own: the definition's price (the
resident prefix read once more, a short call, the result written again) is what it adds to the bill,
unless the policy takes the extra request as an occasion for edits, as it would live. What was fetched
stays resident, and may be evicted in its turn.

A request over budget is recorded as such and then sent all the same, under the plan as it stood: the
model of an agent that ignores the error. What the policy proposed for that request is not applied,
since the machine refused the whole decision; it proposes anew at the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tenure.core.budget import Budget
from tenure.core.command import Command, CountExactly, SaveRecords, Summarize
from tenure.core.drive import drive
from tenure.core.edit import Edit
from tenure.core.fold import Parts
from tenure.core.fork import fork
from tenure.core.message import Message, Origin
from tenure.core.policy import Policy, SessionMeter
from tenure.core.protocols import Counter as TokenCounter
from tenure.core.record import Appended, Recalled, Record, Reported, Requested, Started
from tenure.core.session import RECALL_CALL_TOKENS, SessionMachine
from tenure.core.usage import Usage
from tenure.core.view import View
from tenure.cost.prefix_cache import PrefixCache
from tenure.cost.price import price
from tenure.errors import BudgetError
from tenure.replay.dependencies import Use
from tenure.replay.needs import Needs, edit_of
from tenure.replay.outcome import Cost, Refetch, StepRow, cost_of, eviction
from tenure.replay.pricing import PricedView
from tenure.replay.recalls import call_message, recall_call
from tenure.replay.recording import RecordedThread, Recording, Reply
from tenure.replay.sizes import HIDDEN

NONCE = "replay"
"""Handles must be the same in every replay of the same recording."""

_FEWEST_SHARED = 2
"""A first message alone may be equal by chance; a branch shares what was answered too."""

MeterFor = Callable[[TokenCounter, str], SessionMeter]
"""Makes a session's meter from a counter and the text that is sent with every request."""

Watch: TypeAlias = "Callable[[ThreadRun, Usage], None]"
"""Looks at each request that a replay sends; the usage has no output yet."""


class ThreadRun:
    """One thread under one policy, step by step.

    `view` is what was sent last, `over_budget` whether what must stay did not fit at this step;
    `watch` is called after every request, those of re-fetches included, before its reply is known.
    """

    def __init__(
        self,
        recording: Recording,
        thread: RecordedThread,
        policy: Policy,
        cache: PrefixCache,
        meter_for: MeterFor,
        *,
        watch: Watch | None = None,
    ) -> None:
        self._recording = recording
        self._thread = thread
        self._profile = thread.profile
        # Rows are in the main model's unit, the session's own ledger in that of its model.
        main = recording.profile.input_price
        self._rate = thread.profile.input_price / main if main else 1.0
        self.machine = SessionMachine(
            _parts(recording, thread, policy, meter_for), thread.thread.name
        )
        self._priced = PricedView(cache, thread.sizes, thread.thread.kind)
        self.needs = Needs(self.machine.transcript)
        self._watch = watch
        self._number = 0
        self._shared = 0
        # The recorded messages so far, and the machine's length after each: re-fetches add some.
        self.recorded: list[Message] = []
        self.lengths: list[int] = []
        self.over_budget = False
        self.view = View(self.machine.plan, [], 0)
        started = Started(
            recording.trace.wire, self._profile.name, recording.trace.head, NONCE, self.next_at
        )
        drive(self.machine.start(started), _perform)

    @property
    def done(self) -> bool:
        """True when the recording has no further call."""
        return self._number >= len(self._thread.replies)

    @property
    def begun(self) -> bool:
        """True when its first call was replayed."""
        return self._number > 0

    @property
    def next_at(self) -> float:
        """The time of the next step."""
        replies = self._thread.replies
        return replies[min(self._number, len(replies) - 1)].at

    def step(self) -> StepRow:
        """Replays the next recorded call, and the re-fetches it needs in front of it."""
        reply = self._thread.replies[self._number]
        arrivals = reply.arrivals if self._number else reply.arrivals[self._shared :]
        drive(self.machine.append(arrivals, reply.at), _perform)
        self._note(arrivals)
        before = len(self.machine.plan)
        self.over_budget = False
        sent = [self._send(reply.at)]
        fetched: list[Refetch] = []
        for use in self._thread.dependencies.at(reply.first, reply.last):
            missing = self.needs.lacking(use, self.machine.plan)
            if missing is not None:
                sent[-1] = replace(sent[-1], output=RECALL_CALL_TOKENS)
                fetched.append(self._fetch(use, missing, sent[-1], reply.at))
                sent.append(self._send(reply.at))
        sent[-1] = replace(sent[-1], output=reply.output)
        row = self._row(reply, sent, fetched, self.machine.plan.edits[before:])
        self._report(sent[-1], reply.messages, reply.at)
        self._note(reply.messages)
        self._number += 1
        return row

    def branch_from(self, runs: Iterable[ThreadRun]) -> None:
        """Begins as a fork of the run that shares most messages with this thread's first request:
        a rewound conversation goes on under the plan it had."""
        arrivals = self._thread.replies[0].arrivals
        parent, shared = None, 0
        for run in runs:
            same = run.shares(arrivals)
            if same > shared:
                parent, shared = run, same
        if parent is None or shared < _FEWEST_SHARED:
            return
        length = parent.lengths[shared - 1]
        flow = fork(
            parent.machine, self.machine.parts, self.machine.name, length=length, at=self.next_at
        )
        self.machine, _ = drive(flow, _perform)
        self.needs = parent.needs.inherited(self.machine.transcript)
        self.recorded, self.lengths = parent.recorded[:shared], parent.lengths[:shared]
        self._shared = shared

    def shares(self, messages: Sequence[Message]) -> int:
        """How many of these messages this thread began with, so far."""
        same = 0
        for mine, theirs in zip(self.recorded, messages, strict=False):
            if mine != theirs:
                break
            same += 1
        return same

    def _note(self, messages: Sequence[Message]) -> None:
        end = len(self.machine.transcript)
        self.recorded.extend(messages)
        self.lengths.extend(range(end - len(messages) + 1, end + 1))

    def _send(self, at: float) -> Usage:
        """Makes the machine's next request and prices it; the output is still to come."""
        try:
            outgoing = drive(self.machine.request(at), _perform)
        except BudgetError as error:
            self.over_budget = True
            length = len(self.machine.transcript)
            self.machine.load([Requested(length, error.needed, at)])
            assert self.machine.outgoing is not None
            outgoing = self.machine.outgoing
        self.view = outgoing.view
        usage = self._priced.send(outgoing.view, outgoing.marks, at)
        if self._watch is not None:
            self._watch(self, usage)
        return usage

    def _fetch(self, use: Use, missing: tuple[str, ...], usage: Usage, at: float) -> Refetch:
        """Answers the open request by a recall call, and the call by the original."""
        transcript, wire = self.machine.transcript, self._recording.wire
        original = transcript.block(use.result)
        edit = edit_of(original, self.machine.plan)
        handle = edit.handle if edit is not None else ""
        call = recall_call(len(transcript), handle)
        asked = Message(call_message(wire.name, call), origin=Origin.ASSISTANT)
        self._report(usage, (asked,), at)
        made = wire.results([(call, original.text, False)])
        answers = [Message(data, origin=wire.origin(data)) for data in made]
        tokens = sum(map(self._thread.sizes.message, answers))
        profile = self._profile
        cost = profile.read * usage.prompt + profile.output * RECALL_CALL_TOKENS
        cost += profile.write * tokens
        self.machine.load([Recalled(handle, cost, at)])
        drive(self.machine.append(answers, at), _perform)
        for index in range(len(transcript) - len(answers), len(transcript)):
            for block in transcript.blocks[index]:
                if block.call_id == call.id:
                    self.needs.fetched(use.result, block.key)
        return Refetch(
            use.result, original.tool, tokens, missing, use.repeat, cost * self._rate, handle
        )

    def _report(self, usage: Usage, messages: Sequence[Message], at: float) -> None:
        """Closes the open request as if the provider had answered it so."""
        records: list[Record] = [Reported(usage, at)]
        records += [Appended(message, at) for message in messages]
        self.machine.load(records)

    def _row(
        self,
        reply: Reply,
        sent: Sequence[Usage],
        fetched: Sequence[Refetch],
        edits: Sequence[Edit],
    ) -> StepRow:
        rate = self._rate
        cost = sum(
            (cost_of(usage, self._profile).times(rate) for usage in sent),
            Cost(refetch=sum(one.cost for one in fetched)),
        )
        last = self._number + 1 == len(self._thread.replies)
        checked = edits or last
        return StepRow(
            self._thread.thread.name,
            self._number,
            reply.at,
            sent[-1].prompt,
            sum(sent, Usage()),
            cost,
            tuple(eviction(edit, self.machine.transcript, rate) for edit in edits),
            tuple(fetched),
            self._violations() if checked else (),
            self.over_budget,
        )

    def _violations(self) -> tuple[str, ...]:
        """The rules that the view breaks more often than the unedited messages do."""
        check = self._recording.wire.violations
        broken = Counter(one.rule for one in check(self.view.messages))
        if broken:
            messages = [message.data for message in self.machine.transcript.messages]
            broken -= Counter(one.rule for one in check(messages))
        return tuple(sorted(broken.elements()))


def _parts(
    recording: Recording, thread: RecordedThread, policy: Policy, meter_for: MeterFor
) -> Parts:
    profile, settings = thread.profile, recording.settings
    budget = Budget(
        window=profile.context_window,
        max_tokens=settings.max_tokens or profile.max_output,
        system=thread.sizes.hidden,
    )
    return Parts(
        wire=recording.wire,
        policy=policy,
        meter=meter_for(thread.sizes, HIDDEN),
        budget=budget,
        profile=profile,
        price=lambda usage: price(usage, profile),
        recall=settings.recall,
    )


def _perform(command: Command) -> int | None:
    """Nothing is stored, and there is no provider to ask."""
    match command:
        case SaveRecords(records=records, expected=expected):
            return expected + len(records)
        case CountExactly() | Summarize():
            return None
