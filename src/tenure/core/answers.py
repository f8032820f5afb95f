"""What can be asked of a session: its calls, its plan in words, its originals.

Invariant: nothing here changes what is known; at most texts are counted that no decision has needed
yet.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tenure.core import recall
from tenure.core.edit import Weighed
from tenure.core.explain import Explanation, Occupancy
from tenure.core.fold import Opening, SessionFold
from tenure.core.policy import Weighs
from tenure.core.protocols import ToolCall


class SessionAnswers(SessionFold):
    """The fold of a session's log, and what it tells."""

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that wait for a result, in the order the model made them."""
        return tuple(
            self.parts.wire.call(block, self.transcript.messages[block.index])
            for block in self.transcript.open_calls.values()
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Those of them that the user's own tools must answer; each has an id of its own."""
        return tuple(c._replace(id=name) for name, c in self._named() if not self._ours(c))

    def _named(self) -> list[tuple[str, ToolCall]]:
        """The calls that wait, by the ids that they are answered under: some gateways give parallel
        calls one id."""
        named: dict[str, ToolCall] = {}
        seen: Counter[str] = Counter()
        for call in self.pending:
            seen[call.id] += 1
            name = call.id if seen[call.id] == 1 else f"{call.id}_{seen[call.id]}"
            while name in named:
                name += "_"
            named[name] = call
        return [*named.items()]

    def explain(self) -> Explanation:
        """The current plan in words and numbers."""
        self._sync()
        return Explanation(
            policy=self.parts.policy.name,
            model=self.parts.profile.name,
            steps=self.step,
            unreported=self._unreported,
            occupancy=self._occupancy(),
            ledger=replace(self.ledger),
            edits=self.plan.edits,
            mends=self._mender.mends,
            notes=self._notes(),
            ways=self._ways(),
        )

    def _occupancy(self) -> Occupancy:
        """The parts of the view. What the provider reported of the whole is shared out as the
        estimates of the parts stand to each other: it says nothing of the parts."""
        meter, b = self.parts.meter, self.budget
        used = meter.resident(self.plan)
        estimated = max(1, meter.before(len(self.transcript), self.plan))
        system, tools = (part * used // estimated for part in (b.system, b.tools))
        return Occupancy(system, tools, used - system - tools, b.limit)

    def _ways(self) -> tuple[Weighed, ...]:
        policy = self.parts.policy
        if not len(self.transcript) or not isinstance(policy, Weighs):
            return ()
        return tuple(policy.ways(self.situation(cold=False)))

    def _notes(self) -> tuple[str, ...]:
        moved = tuple(map(str, self.settings.get("notes") or ())) + self._opening().stays
        if self._delegates != self.parts.delegates:
            ignored = "the provider did not clear what it was asked to, so the session edits itself"
            moved = (*moved, ignored)
        told = (self._counting, self._compaction.words)
        return (*moved, *(words for words in told if words))

    def fetch(self, handle: str, *, lines: str = "", pattern: str = "") -> str:
        """The original behind a handle, for a person; raises RecallError."""
        lost = self._mender.lost(handle)
        if lost is None:
            text = recall.original(self.transcript, self.handles, handle)
        else:
            text = lost.decode()
        return recall.select(text, lines=lines, pattern=pattern)

    def _ours(self, call: ToolCall) -> bool:
        return self.parts.recall and call.name == recall.NAME

    def _opening(self) -> Opening:
        lay = self.parts.opening
        return lay(self.transcript, self.plan, self.parts.meter, self.nonce) if lay else Opening()
