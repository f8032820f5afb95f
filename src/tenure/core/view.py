"""What is sent this time: `view = apply(transcript, plan)`.

Invariant: nothing is mutated. Under one plan an appended message only extends the view; the empty
plan is the identity; a message that no edit touches is the very object that was appended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from tenure.core.edit import BlockEdit, Delegated, Drop, Edit, Replace, SpanEdit
from tenure.core.message import JsonObject, Message, Origin, Path, message_id
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.errors import PlanError


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a view, the transcript messages it comes from, and the edits that made it."""

    message: Message
    sources: tuple[str, ...]
    edits: tuple[Edit, ...] = ()


class View:
    """The entries of one view. `extend` grows it in place of the last one under the same plan."""

    def __init__(self, plan: Plan, entries: list[Entry], seen: int) -> None:
        self.plan = plan
        self.entries = entries
        self.seen = seen
        self._data: list[JsonObject] = []
        self._raws: list[bytes] = []

    @property
    def raws(self) -> list[bytes]:
        """The JSON text of each message, made once; a list that grows with the view: read only."""
        self._raws.extend(e.message.raw for e in self.entries[len(self._raws) :])
        return self._raws

    @property
    def messages(self) -> list[JsonObject]:
        """The wire messages, unchanged ones shared with the transcript; a list that grows with the
        view: read only."""
        self._data.extend(e.message.data for e in self.entries[len(self._data) :])
        return self._data

    def extend(self, transcript: Transcript) -> View:
        """The view under the same plan with what was appended since; costs only the new ones."""
        for index in range(self.seen, len(transcript)):
            self.entries.extend(_entries_at(transcript, self.plan, index, {}))
        self.seen = len(transcript)
        return self

    def first_change(self, earlier: View) -> int:
        """The first entry at which this view differs from an earlier one; its length if none."""
        return same_entries(self.entries, earlier.entries)


def same_entries(mine: Sequence[Entry], theirs: Sequence[Entry]) -> int:
    """How many entries at the beginning are the same messages. Most are the very same objects, which
    is compared at the speed of C: views are long."""
    same = [*map(is_, mine, theirs)]
    at = -1
    while True:
        try:
            at = same.index(False, at + 1)
        except ValueError:
            return len(same)
        one, other = mine[at].message, theirs[at].message
        if one is not other and one.raw != other.raw:
            return at


def apply(transcript: Transcript, plan: Plan, previous: View | None = None) -> View:
    """The view of a transcript under a plan.

    `previous` only saves work: edited messages whose edits are the same are taken from it.
    Raises PlanError when an edit names what is not in the transcript.
    """
    grown = _regrown(transcript, plan, previous) if previous else None
    if grown is not None:
        return grown
    _check_targets(transcript, plan)
    touched = _touched(transcript, plan.by_key)
    for source in plan.inserts:
        touched.setdefault(transcript.index_of(source), {})
    made: dict[str, Entry] = {}
    for entry in previous.entries if previous else ():
        # Inserts share the source of the message before them, which comes first.
        made.setdefault(entry.sources[0], entry)
    entries: list[Entry] = []
    spans = {first: (last, edit) for first, last, edit in plan.spans}
    index = 0
    while index < len(transcript):
        if index in spans:
            last, edit = spans[index]
            entries.extend(_span_entries(index, last, edit))
            entries.extend(_inserted(plan, last))
            index = last + 1
            continue
        if index in touched:
            entries.extend(_edited(transcript, touched[index], index, made))
            entries.extend(_inserted(plan, index))
        else:
            entries.append(_plain(transcript, index, made))
        index += 1
    return View(plan, entries, len(transcript))


def _plain(transcript: Transcript, index: int, made: Mapping[str, Entry]) -> Entry:
    source = message_id(index)
    known = made.get(source)
    if known is not None and not known.edits:
        return known
    return Entry(transcript.messages[index], (source,))


def _entries_at(
    transcript: Transcript, plan: Plan, index: int, made: Mapping[str, Entry]
) -> list[Entry]:
    found = ((block.path, plan.by_key.get(block.key)) for block in transcript.blocks[index])
    edits = {path: edit for path, edit in found if isinstance(edit, Drop | Replace)}
    return [*_edited(transcript, edits, index, made), *_inserted(plan, index)]


def _edited(
    transcript: Transcript,
    edits: Mapping[Path, Drop | Replace],
    index: int,
    made: Mapping[str, Entry],
) -> list[Entry]:
    message, source = transcript.messages[index], message_id(index)
    if not edits:
        return [Entry(message, (source,))]
    why = tuple(dict.fromkeys(edits.values()))
    known = made.get(source)
    if known is not None and known.edits == why:
        return [known]
    changes = {p: e.body[0] if isinstance(e, Replace) else None for p, e in edits.items()}
    new = transcript.wire.splice(message, changes)
    return [Entry(new, (source,), why)] if new is not None else []


def _span_entries(first: int, last: int, edit: SpanEdit) -> list[Entry]:
    if isinstance(edit, Drop):
        return []
    sources = tuple(message_id(i) for i in range(first, last + 1))
    # What the provider gave is signed by it, and speaks as its model.
    origin = Origin.ASSISTANT if isinstance(edit, Delegated) else Origin.HARNESS
    return [Entry(Message(None, raw, origin=origin), sources, (edit,)) for raw in edit.body]


def _inserted(plan: Plan, index: int) -> list[Entry]:
    source = message_id(index)
    return [Entry(i.message, (source,), (i,)) for i in plan.inserts.get(source, ())]


def _touched(
    transcript: Transcript, by_key: Mapping[str, BlockEdit]
) -> dict[int, dict[Path, Drop | Replace]]:
    touched: dict[int, dict[Path, Drop | Replace]] = {}
    for key, edit in by_key.items():
        block = transcript.block(key)
        if isinstance(edit, Delegated):
            continue  # Done on the provider's side.
        touched.setdefault(block.index, {})[block.path] = edit
    return touched


def _regrown(transcript: Transcript, plan: Plan, previous: View) -> View | None:
    """The view when the plan only grew by block edits and no entry came or went: the usual case,
    in which a long view is copied and only the newly touched messages are made."""
    if not plan.extends(previous.plan) or plan.spans or plan.inserts:
        return None
    if len(previous.entries) != previous.seen:
        return None
    new = [e for e in plan.edits[len(previous.plan) :] if not isinstance(e, Delegated)]
    indexes = {transcript.block(str(t)).index for edit in new for t in edit.targets}
    entries = previous.entries.copy()
    for index in sorted(indexes | set(range(previous.seen, len(transcript)))):
        made = _entries_at(transcript, plan, index, {})
        if len(made) != 1:
            return None
        entries[index : index + 1] = made
    return View(plan, entries, len(transcript))


def _check_targets(transcript: Transcript, plan: Plan) -> None:
    for first, last, edit in plan.spans:
        if last >= len(transcript):
            raise PlanError(
                f"span {message_id(first)}..{message_id(last)} ends behind the transcript's last "
                f"message, {message_id(len(transcript) - 1)}",
                edit=edit,
                message_id=message_id(last),
            )
