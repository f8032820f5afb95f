"""The laws of policies, checked on each request that leaves a machine and on each proposal.

Invariant: sizes are counted here from nothing, legality is asked of the wire's rules, originals are
read off the messages that were appended.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace

from tenure.core.edit import Drop, Edit, Replace
from tenure.core.fold import Outgoing
from tenure.core.message import Block, BlockKind, Lens, Origin
from tenure.core.view import Entry
from tenure.errors import BudgetError
from tenure.policies.protect import PASTE_TOKENS, shortened_result, tail_starts
from tests.policies.play import FRAME, Decision, Quarter, Table, raws

SHARE = 0.10
# What a stand-in may hold at most: label, digest, a shortened text's least, a paste's least; tokens.
TOMBSTONE, PASTE = 230, 2_200
# A call spells the text that stands in as a JSON object.
CALL_SPELLING = 12


@dataclass
class CommonLaws:
    """The laws of every policy, whichever: looks at every request of one table; a broken law is an
    AssertionError that names it. `batches` counts the proposals that had edits."""

    table: Table
    sent: list[Outgoing] = field(default_factory=list)
    bytes_of: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    batches: int = 0
    # The bytes of the last request, as they were then: its view grows with the session.
    last: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.table.watched.look = self.look_at_decision

    # -- each request --------------------------------------------------------------------------

    def look(self, outgoing: Outgoing) -> None:
        self.sent.append(outgoing)
        self.is_legal(outgoing)
        self.keeps_the_user(outgoing)
        self.stays(outgoing)
        self.figures_agree(outgoing)

    def is_legal(self, outgoing: Outgoing) -> None:
        transcript = self.table.machine.transcript
        check = self.table.wire.violations
        broken = Counter(v.rule for v in check(outgoing.view.messages))
        whole = Counter(v.rule for v in check([m.data for m in transcript.messages]))
        assert not broken - whole, f"the view breaks {broken - whole}"

    def keeps_the_user(self, outgoing: Outgoing) -> None:
        transcript = self.table.machine.transcript
        sent = {e.sources[0]: e for e in reversed(outgoing.view.entries)}
        for index, message in enumerate(transcript.messages):
            entry = sent.get(f"m{index}")
            if message.pinned:
                assert entry is not None
                assert entry.message is message
            for block in transcript.blocks[index]:
                if block.origin is Origin.USER and block.kind in (BlockKind.TEXT, BlockKind.MEDIA):
                    self._kept(block, entry)

    def _kept(self, block: Block, entry: Entry | None) -> None:
        assert entry is not None, f"{block.key} of the user is gone"
        lenses = self.table.wire.lenses(entry.message.data)
        if any((o.text, o.media) == (block.text, block.media) for o in lenses):
            return
        assert Quarter().count(block).estimate > PASTE_TOKENS, f"{block.key} was touched"
        (text,) = (o.text for o in lenses if o.kind is BlockKind.TEXT)
        handle = entry.edits[0].handle
        assert text.startswith(block.text[:60])
        assert text.endswith(block.text[-60:])
        assert handle
        assert handle in text
        for sentence in block.text.split("\n"):
            if sentence.startswith(("You must", "Please")):
                assert sentence in text, f"asked for and lost: {sentence}"

    def stays(self, outgoing: Outgoing) -> None:
        edits = outgoing.view.plan.edits
        left = tuple(e for e in self.edits if e in edits)
        assert edits[: len(left)] == left, "an edit that was sent changed or moved"
        for went in set(self.edits) - set(left):
            # What was shortened on arrival may go altogether when the budget forces it.
            assert went.reason.when == "arrival", "an edit that was sent went"
            assert any(e.targets == went.targets and e.reason.when == "forced" for e in edits)
        self.edits = edits
        made: dict[str, list[bytes]] = {}
        self.last = raws(outgoing)
        for entry, raw in zip(outgoing.view.entries, self.last, strict=True):
            name = repr((entry.sources, [(e.handle, e.reason.when) for e in entry.edits]))
            made.setdefault(name, []).append(raw)
        for name, known in self.bytes_of.items():
            if name in made:
                assert tuple(made[name]) == known, f"{name} was spelled anew"
        self.bytes_of |= {name: tuple(found) for name, found in made.items()}

    def figures_agree(self, outgoing: Outgoing) -> None:
        machine = self.table.machine
        if not outgoing.view.plan.edits:
            return
        machine.explain()  # Counts what no decision has needed yet.
        true = self.table.count(outgoing.view.messages)
        counted = machine.parts.meter.before(len(machine.transcript), machine.plan)
        calls = sum(
            machine.transcript.block(str(t)).kind is BlockKind.TOOL_CALL
            for e in outgoing.view.plan.edits
            for t in e.targets
        )
        assert abs(true - counted) <= CALL_SPELLING * calls, "the edits' figures are not true"

    # -- each proposal -------------------------------------------------------------------------

    def look_at_decision(self, decision: Decision) -> None:
        situation, edits = decision.situation, decision.edits
        self.batches += bool(edits)
        again = tuple(self.table.make().propose(situation))
        assert again == edits, "the same situation gave other edits"
        open_calls = {b.key for b in situation.transcript.open_calls.values()}
        for edit in edits:
            self.is_reasoned(decision, edit)
            for block in (situation.transcript.block(str(t)) for t in edit.targets):
                assert not situation.transcript.messages[block.index].pinned
                assert block.key not in situation.restored
                assert block.key not in open_calls
        plan = situation.plan.put(*edits)
        second = self.table.make().propose(replace(situation, plan=plan))
        assert not second, f"a second run adds {second}"

    def is_reasoned(self, decision: Decision, edit: Edit) -> None:
        reason, meter = edit.reason, decision.situation.meter
        assert reason.words
        assert reason.policy
        assert edit.handle
        assert reason.step == decision.situation.step
        assert reason.when in {"forced", "pays", "cold", "arrival"}
        (key,) = edit.targets
        block = decision.situation.transcript.block(str(key))
        assert reason.tokens_before == meter.size(block).estimate
        assert reason.tokens_after < reason.tokens_before
        if isinstance(edit, Drop):
            assert reason.tokens_after == 0

    # -- now and then --------------------------------------------------------------------------

    def handles_answer(self) -> None:
        machine = self.table.machine
        for edit in machine.plan.edits:
            block = machine.transcript.block(str(edit.targets[0]))
            assert self.original(block) == block.text
            assert machine.fetch(edit.handle).startswith(block.text)
            lines = block.text.splitlines()
            if not lines:
                continue
            last = len(lines)
            assert machine.fetch(edit.handle, lines=f"{last}") == f"{last}: {lines[-1]}"
            # A pattern of many repeats is searched for as it stands: what would need them is cut.
            start = re.split(r"[+*?{]", lines[0][:40])[0]
            if isinstance(edit, Replace) and start and lines[0].isascii():
                found = machine.fetch(edit.handle, pattern=_literal(start))
                assert f"1: {lines[0]}" in found.split("\n")

    def original(self, block: Block) -> str:
        message = self.table.machine.transcript.messages[block.index]
        lenses: list[Lens] = list(self.table.wire.lenses(message.data))
        return next(o.text for o in lenses if o.path == block.path)


@dataclass
class Laws(CommonLaws):
    """The laws of the default policy: every one of `CommonLaws`, and what it promises besides."""

    def look(self, outgoing: Outgoing) -> None:
        super().look(outgoing)
        self.fits(outgoing)

    def fits(self, outgoing: Outgoing) -> None:
        machine = self.table.machine
        resident = machine.parts.meter.resident(machine.plan)
        assert outgoing.tokens <= machine.budget.most
        assert resident <= machine.budget.most
        if max(outgoing.tokens, resident) > machine.budget.limit:
            # The reply's share is touched only when all that may go is gone; the request that was
            # decided then is a step by now.
            assert least(self.table, tail_steps=3) * 1.25 > machine.budget.limit
        assert 0 < outgoing.max_tokens <= self.table.max_tokens
        assert outgoing.tokens + outgoing.max_tokens <= self.table.window

    def look_at_decision(self, decision: Decision) -> None:
        super().look_at_decision(decision)
        for edit in decision.edits:
            self.touches_only_what_may_go(decision, edit)
        self.respects_the_bound(decision)
        self.binds_thinking(decision)

    def touches_only_what_may_go(self, decision: Decision, edit: Edit) -> None:
        situation = decision.situation
        block = situation.transcript.block(str(edit.targets[0]))
        when = edit.reason.when
        if block.origin is Origin.USER:
            assert block.kind is BlockKind.TEXT
            assert edit.reason.tokens_before > PASTE_TOKENS
        tail = tail_starts(situation, 3)
        stripped = situation.profile.preserved_thinking and block.kind is BlockKind.THINKING
        if when in {"pays", "cold"} and not stripped:
            assert block.index < tail, "an unforced edit touched the tail"
        if when == "arrival" and not stripped:
            assert block.index >= len(situation.steps), "an arrival that had been sent before"
        if when == "forced" and block.index >= tail_starts(situation, 2) and not stripped:
            assert block.kind is BlockKind.TOOL_RESULT or block.origin is Origin.USER
        if block.kind is BlockKind.THINKING and block.signed and not stripped:
            assert block.index < situation.transcript.user_turns[-1], "latest signed thinking"

    def respects_the_bound(self, decision: Decision) -> None:
        ledger = decision.ledger
        price = sum(e.reason.price for e in decision.edits if e.reason.when in {"pays", "cold"})
        net = ledger.saved - ledger.unforced - ledger.refetched
        if price > 0:
            assert price <= SHARE * ledger.spent + net + 1e-6, "the cost bound was broken"

    def binds_thinking(self, decision: Decision) -> None:
        situation = decision.situation
        if not situation.profile.preserved_thinking or not decision.edits:
            return
        transcript = situation.transcript
        gone = {t for e in (*situation.plan.edits, *decision.edits) for t in e.targets}
        first = min(transcript.block(str(e.targets[0])).index for e in decision.edits)
        behind = [b for bs in transcript.blocks[first:] for b in bs]
        left = [b for b in behind if b.kind is BlockKind.THINKING and b.signed]
        assert not [b.key for b in left if b.key not in gone]


def _literal(text: str) -> str:
    return "".join(f"[{c}]" if c in ".(){}+*?$|" else "." if c in "\\[]^" else c for c in text)


def least(table: Table, tail_steps: int = 2) -> int:
    """The fewest tokens a view can have without touching what must stay, from above: each block
    that may be edited counts with what may be left of it."""
    machine = table.machine
    situation = machine.situation(cold=False)
    tail = tail_starts(situation, tail_steps)
    total = table.count([])
    for block in machine.transcript.all_blocks():
        size = Quarter().count(block).estimate
        edit = machine.plan.by_key.get(block.key)
        if edit is not None:
            shortened = shortened_result(situation, block) is not None
            total += min(edit.reason.tokens_after, TOMBSTONE if shortened else size)
        elif machine.transcript.messages[block.index].pinned or block.origin is Origin.SYSTEM:
            total += size
        else:
            total += min(size, _floor(block, size, in_tail=block.index >= tail))
    return total


def _floor(block: Block, size: int, *, in_tail: bool) -> int:
    if size <= 120 + FRAME:
        return size
    if block.kind is BlockKind.TOOL_RESULT:
        return TOMBSTONE
    if block.origin is Origin.USER:
        return PASTE if block.kind is BlockKind.TEXT and size > PASTE_TOKENS else size
    if in_tail or block.kind not in (BlockKind.TEXT, BlockKind.TOOL_CALL):
        return size
    return TOMBSTONE


def refused_rightly(table: Table, error: BudgetError) -> None:
    """The law of BudgetError: what must stay really exceeds the limit."""
    drift = error.needed / max(1, table.count([]))
    assert drift > 0
    assert least(table) * 1.25 > table.machine.budget.most, "what may go would have been enough"
