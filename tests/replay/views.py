"""What every view of a replay must hold, looked at request by request.

Invariant: nothing here trusts the plan or the meter of the session it looks at: legality is asked of
the wire's rules, the user's words are looked up in the messages that were sent, and the size is the
one the prompt was priced at.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tenure.core.edit import Edit
from tenure.core.message import Block, BlockKind, Origin
from tenure.core.usage import Usage
from tenure.core.view import Entry
from tenure.policies.protect import PASTE_TOKENS
from tenure.replay.thread_run import ThreadRun

ENDS = 100
"""Characters at both ends of a long paste that must be there."""


@dataclass(frozen=True)
class Sent:
    """What a thread's requests so far held: its edits, and the bytes of each edited entry."""

    edits: tuple[Edit, ...] = ()
    raws: dict[tuple[tuple[str, ...], tuple[Edit, ...]], bytes] = field(default_factory=dict)


@dataclass
class ViewLaws:
    """Pass `look` as a replay's `watch`; then read what was found.

    `refused` are the views that BudgetError was raised for; `too_large` those that were not and do
    not fit the window beside the reply asked for, `overshoot` the largest such excess in tokens;
    `broken` counts rules that a view breaks more often than the unedited messages; `lost` names
    user texts; `unstable` names edits that were sent once and are gone or spelled anew.
    """

    views: int = 0
    edited: int = 0
    refused: int = 0
    too_large: int = 0
    overshoot: int = 0
    user_texts: int = 0
    shortened: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)
    _sent: dict[str, Sent] = field(default_factory=dict)

    def figures(self) -> dict[str, object]:
        """What was found, by name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def look(self, run: ThreadRun, usage: Usage) -> None:
        self.views += 1
        self.edited += bool(run.machine.plan.edits)
        self._fits(run, usage)
        self._legal(run)
        self._user(run)
        self._stays(run)

    def add(self, other: ViewLaws) -> None:
        """The sum of two."""
        self.views += other.views
        self.edited += other.edited
        self.refused += other.refused
        self.too_large += other.too_large
        self.overshoot = max(self.overshoot, other.overshoot)
        self.user_texts += other.user_texts
        self.shortened += other.shortened
        self.broken += other.broken
        self.lost += other.lost
        self.unstable += other.unstable

    def _fits(self, run: ThreadRun, usage: Usage) -> None:
        if run.over_budget:
            self.refused += 1
            return
        # The limit keeps a margin for what estimates miss; what must hold is the window itself.
        asked = run.machine.outgoing
        assert asked is not None
        excess = usage.prompt + asked.max_tokens - run.machine.budget.window
        self.too_large += excess > 0
        self.overshoot = max(self.overshoot, excess)

    def _legal(self, run: ThreadRun) -> None:
        transcript = run.machine.transcript
        check = transcript.wire.violations
        broken = Counter(one.rule for one in check(run.view.messages))
        if broken:
            whole = [message.data for message in transcript.messages]
            self.broken += broken - Counter(one.rule for one in check(whole))

    def _stays(self, run: ThreadRun) -> None:
        known = self._sent.get(run.machine.name, Sent())
        mine = set(run.machine.plan.edits)
        retaken = {t for edit in mine for t in edit.targets if edit.reason.when == "forced"}
        for edit in known.edits:
            # A result that was shortened on arrival may go altogether when the budget forces it.
            over = edit.reason.when == "arrival" and set(edit.targets) <= retaken
            if edit not in mine and not over:
                self.unstable.append(f"{run.machine.name} {edit.targets} went")
        edited = {(e.sources, e.edits): e.message.raw for e in run.view.entries if e.edits}
        for key, raw in edited.items():
            if known.raws.get(key, raw) != raw:
                self.unstable.append(f"{run.machine.name} {key[0]} spelled anew")
        self._sent[run.machine.name] = Sent(run.machine.plan.edits, {**known.raws, **edited})

    def _user(self, run: ThreadRun) -> None:
        transcript = run.machine.transcript
        sent: dict[str, Entry] = {}
        for entry in run.view.entries:
            for source in entry.sources:
                sent.setdefault(source, entry)
        for index in transcript.user_turns:
            for block in transcript.blocks[index]:
                if block.kind is BlockKind.TEXT and block.origin is Origin.USER and block.text:
                    self.user_texts += 1
                    self._kept(run, block, sent.get(block.message_id))

    def _kept(self, run: ThreadRun, block: Block, entry: Entry | None) -> None:
        transcript = run.machine.transcript
        if entry is not None and entry.message is transcript.messages[block.index]:
            return
        lenses = transcript.wire.lenses(entry.message.data) if entry is not None else ()
        texts = [lens.text for lens in lenses]
        if block.text in texts:
            return
        handle = entry.edits[0].handle if entry is not None and entry.edits else ""
        is_paste = run.machine.parts.meter.size(block).estimate > PASTE_TOKENS
        ends = (block.text[:ENDS], block.text[-ENDS:])
        if is_paste and handle and any(_holds(text, ends, handle) for text in texts):
            self.shortened += 1
        else:
            self.lost.append(f"{run.machine.name} {block.key}")


def _holds(text: str, ends: tuple[str, str], handle: str) -> bool:
    return text.startswith(ends[0]) and text.endswith(ends[1]) and handle in text
