"""The outgoing copy of a growing view: legal, and what it took to make it so.

Invariant: what was sent stays. Mending works on what already left plus what is new, and a legal
list is mended to itself, so the copy only changes where the view changed or where a rule over the
whole request (pictures, cache marks) demands it. The transcript and the plan are never touched.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from tenure.core.legal import Mend, Terms, Violation
from tenure.core.message import JsonObject, Message, Origin, message_id
from tenure.core.protocols import SessionWire
from tenure.core.view import Entry, View, same_entries


class Kept(NamedTuple):
    """A mend of the copy: the transcript message it concerns ("" for the head), what was done, and
    the handle under which what it took away is kept ("" when nothing went)."""

    source: str
    mend: Mend
    handle: str


class Copy:
    """A legal copy of a view. `messages[: ends[n]]` stand for the first n + 1 entries.

    The lists grow in place with the view and are replaced, never changed, by a mend: read only, and
    only up to the `count` of messages that there were when the copy was handed out.
    """

    __slots__ = ("_raws", "data", "ends", "head", "mends", "messages")

    def __init__(
        self,
        head: JsonObject,
        messages: list[Message],
        ends: list[int],
        mends: tuple[Kept, ...] = (),
    ) -> None:
        self.head = head
        self.messages = messages
        self.ends = ends
        self.mends = mends
        self.data: list[JsonObject] = [message.data for message in messages]
        self._raws: list[bytes] = []

    def first(self, entries: int, mends: tuple[Kept, ...]) -> Copy:
        """The copy of the first so many entries, with lists of its own."""
        end = self.ends[entries - 1] if entries else 0
        made = Copy(self.head, [], self.ends[:entries], mends)
        made.messages, made.data = self.messages[:end], self.data[:end]
        made._raws = self._raws[:end]
        return made

    @property
    def count(self) -> int:
        """How many messages there are now."""
        return len(self.messages)

    def sent(self, count: int) -> Sequence[JsonObject]:
        """The first `count` messages as JSON values; the list itself while there are no more."""
        return self.data if count == len(self.data) else self.data[:count]

    @property
    def raws(self) -> list[bytes]:
        """The JSON text of each message, made once."""
        self._raws.extend(m.raw for m in self.messages[len(self._raws) :])
        return self._raws

    def grow(self, entry: Entry) -> None:
        """Takes in the next entry as it is."""
        self.messages.append(entry.message)
        self.data.append(entry.message.data)
        self.ends.append(len(self.messages))


class _Sent(NamedTuple):
    """What left last: the view, how many entries it had, they, and the copy."""

    view: View | None
    length: int
    entries: list[Entry]
    copy: Copy


class Mender:
    """Makes the copies of one session's views, one after the other."""

    def __init__(self, wire: SessionWire, terms: Terms, nonce: str = "") -> None:
        self._wire = wire
        self._terms = terms
        self._nonce = nonce
        # Who made which message, by its id in the transcript, and by its number in the copy.
        self._makers = {message_id(number): maker for number, maker in terms.made_by.items()}
        self._made_by: dict[int, str] = {}
        self._checker = wire.checker(self._numbered())
        # The rules that the last copy breaks: those that have no mend.
        self.violations: list[Violation] = []
        # What the checker saw last; it only grows at its end.
        self._checked: list[JsonObject] | None = None
        self._view: View | None = None
        self._entries: list[Entry] = []
        self._copy = Copy(terms.head, [], [])
        self._sent = _Sent(None, 0, self._entries, self._copy)
        # What mends of copies that left took away: their handles outlive the copies.
        self._lost: dict[str, bytes] = {}

    @property
    def mends(self) -> tuple[Kept, ...]:
        """What was mended in the last copy, in order."""
        return self._copy.mends

    def update(self, view: View) -> Copy:
        """The copy of a view that follows the one that was last sent."""
        if view is self._view and len(view.entries) == len(self._entries):
            return self._copy
        self._back_to_sent()
        known = len(self._entries)
        # A view under the same plan only grows.
        keep = known if view is self._view else same_entries(self._entries, view.entries)
        self._view = view
        self._truncate(keep)
        fresh = view.entries[keep:]
        same = self._copy.count if self._checked is self._copy.data else 0
        self._entries += fresh
        for entry in fresh:
            self._copy.grow(entry)
        rules = self._wire.rules
        self._renumber()
        self.violations = self._checker.check(self._copy.data, same)
        if any(rules[v.rule].mend for v in self.violations):
            self._mend()
            self._renumber()
            self.violations = self._checker.check(self._copy.data)
        self._checked = self._copy.data
        return self._copy

    def sent(self) -> None:
        """Takes note that the last copy leaves: later copies begin with it."""
        known = self._sent.copy.mends
        self._sent = _Sent(self._view, len(self._entries), self._entries, self._copy)
        if self.mends is not known:
            self._lost |= {kept.handle: kept.mend.lost for kept in self.mends if kept.handle}

    def lost(self, handle: str) -> bytes | None:
        """The JSON text of what a mend took away; None when it is not one of its handles."""
        fresh = (kept.mend.lost for kept in self.mends if kept.handle == handle)
        return self._lost.get(handle) or next(fresh, None)

    def _mend(self) -> None:
        old = self._copy
        mended = self._wire.mend(old.data, replace(self._numbered(), head=old.head))
        known = {id(message.data): message for message in old.messages}
        messages: list[Message] = []
        ends_of: list[int] = []
        for message, group in zip(old.messages, mended.groups, strict=True):
            for new in group:
                # One that was moved stands in the group of another.
                same = message if new is message.data else known.get(id(new))
                messages.append(same or self._respelled(message, new))
            ends_of.append(len(messages))
        ends = [ends_of[end - 1] if end else 0 for end in old.ends]
        kept = tuple(self._keep(mend, old.ends) for mend in mended.mends)
        self._copy = Copy(mended.head, messages, ends, (*old.mends, *kept))

    def _respelled(self, message: Message, data: JsonObject) -> Message:
        """What stands for a message: by the same hand, unless it is another's or was made up."""
        given, seems = message.data, self._wire.origin(data)
        alike = all(data.get(name) == given.get(name) for name in ("role", "type"))
        if alike and (seems is message.origin or seems is not Origin.TOOL):
            return Message(data, origin=message.origin, pinned=message.pinned)
        return Message(data, origin=seems)

    def _numbered(self) -> Terms:
        """The terms of the copy: its messages have other numbers than those of the transcript."""
        return replace(self._terms, made_by=dict(self._made_by)) if self._makers else self._terms

    def _renumber(self) -> None:
        """Sees to it that the check knows who made which message of the copy."""
        if not self._makers:
            return
        made_by: dict[int, str] = {}
        begin = 0
        for entry, end in zip(self._entries, self._copy.ends, strict=True):
            maker = next((self._makers[s] for s in entry.sources if s in self._makers), None)
            if maker is not None:
                made_by.update(dict.fromkeys(range(begin, end), maker))
            begin = end
        if made_by != self._made_by:
            self._made_by = made_by
            self._checker, self._checked = self._wire.checker(self._numbered()), None

    def _keep(self, mend: Mend, ends: Sequence[int]) -> Kept:
        source = "" if mend.message < 0 else self._source(mend.message, ends)
        if not mend.lost:
            return Kept(source, mend, "")
        name = b"\0".join((self._nonce.encode(), source.encode(), mend.lost))
        return Kept(source, mend, "r-" + blake2b(name, digest_size=5).hexdigest())

    def _source(self, number: int, ends: Sequence[int]) -> str:
        return self._entries[bisect_right(ends, number)].sources[0]

    def _back_to_sent(self) -> None:
        """Forgets a copy that was made but never left."""
        self._view, count, self._entries, self._copy = self._sent
        # What was added to it since grew in place.
        self._truncate(count)
        self._sent = _Sent(self._view, count, self._entries, self._copy)

    def _truncate(self, count: int) -> None:
        """Forgets what stands for the entries from number `count` on."""
        if count >= len(self._entries):
            return
        gone = {source for entry in self._entries[count:] for source in entry.sources}
        mends = tuple(kept for kept in self._copy.mends if kept.source not in gone)
        self._copy = self._copy.first(count, mends)
        self._entries = self._entries[:count]
