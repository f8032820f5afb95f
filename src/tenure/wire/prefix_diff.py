"""Why a request no longer begins with the prompt of the request before it.

Invariant: pure and total over JSON bodies; a request that only appends has no difference, wherever
its cache marks stand (a moved mark is told, and is harmless). Differences come in the order in which
the provider's cache meets them: model, answer format, tools and system, settings, messages.

What is harmless is what the provider documents to be read alike: cache marks, a string for a list
with that one text block, a shorter history. All else counts as a difference of the prompt.
Sources: providers.md 1.5 and 3.1; cases 052, 057, 059.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from tenure.core.message import JsonObject, Path
from tenure.core.volatile_change import first_difference
from tenure.wire.prefix_lists import Change, alignment, tool_cause, tool_words
from tenure.wire.prefix_parts import (
    Part,
    Setting,
    answer_format,
    cache_marks,
    compact,
    is_system,
    parts,
    path_text,
    settings,
)
from tenure.wire.prefix_place import SHAPES, Place, Way, first_place
from tenure.wire.prefix_words import SHOWN, of_place, places, these
from tenure.wire.values import is_array, is_object


class Cause(StrEnum):
    """What a client did to the prefix."""

    MODEL = "model-changed"
    FORMAT = "answer-format-changed"
    TOOL_ADDED = "tool-added"
    TOOL_REMOVED = "tool-removed"
    TOOLS_REORDERED = "tools-reordered"
    TOOL_EDITED = "tool-edited"
    TOOL_KEYS = "tool-keys-reordered"
    SYSTEM = "system-changed"
    VOLATILE = "volatile-text"
    RANKED = "reranked-lines"
    SETTING = "setting-changed"
    EDITED = "message-edited"
    REMOVED = "message-removed"
    INSERTED = "message-inserted"
    REORDERED = "messages-reordered"
    TRUNCATED = "history-truncated"
    REPLACED = "history-replaced"
    REWOUND = "history-rewound"
    SHAPE = "shape-changed"
    MARKS = "mark-moved"


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a request departs from the one before it.

    `path` leads into the later body (into the earlier one for what is gone). `offset` is the number
    of UTF-8 bytes of the canonical prompt (`prefix_parts`) that both share; `part` the number of the
    earlier request's part in which it lies, and `share` how much of that part, 0 to 1, comes before
    it. `kind` names the kind of volatile text. `harmless` ones cost nothing by themselves.
    """

    cause: Cause
    path: Path
    words: str
    offset: int
    part: int
    share: float = 0.0
    before: str = ""
    after: str = ""
    kind: str = ""
    harmless: bool = False

    @property
    def rule(self) -> str:
        """The cause's name; for volatile text that of its kind, e.g. `volatile-clock`."""
        return f"volatile-{self.kind.lower().replace(' ', '-')}" if self.kind else self.cause.value

    @property
    def where(self) -> str:
        """The path in words, e.g. `messages[3].content[0].text`."""
        return path_text(self.path)


def diff(earlier: JsonObject, later: JsonObject, wire_name: str) -> Difference | None:
    """What the cache meets first: the first difference that costs, else the first harmless one.

    >>> old = {"messages": [{"role": "user", "content": "It is 10:15:20. Go."}]}
    >>> new = {"messages": [{"role": "user", "content": "It is 10:15:21. Go."}]}
    >>> diff(old, new, "openai_chat").rule
    'volatile-clock'
    """
    found = differences(earlier, later, wire_name)
    return next((one for one in found if not one.harmless), found[0] if found else None)


def differences(
    earlier: JsonObject,
    later: JsonObject,
    wire_name: str,
    *,
    old: Sequence[Part] | None = None,
    new: Sequence[Part] | None = None,
) -> list[Difference]:
    """All differences, one for each cause and part of the prompt, in the order of the cache.

    `wire_name` is anthropic_messages, openai_chat or openai_responses. Where the messages differ,
    the first difference that costs ends the comparison: what follows it is written again anyway.
    `old` and `new` are the parts of the two bodies where they are known already.
    """
    old = parts(earlier, wire_name) if old is None else old
    new = parts(later, wire_name) if new is None else new
    return list(_Comparison(earlier, later, wire_name, old, new).all())


class _Comparison:
    """Two requests side by side."""

    def __init__(
        self,
        earlier: JsonObject,
        later: JsonObject,
        wire: str,
        old: Sequence[Part],
        new: Sequence[Part],
    ) -> None:
        self._earlier, self._later, self._wire = earlier, later, wire
        self._old, self._new = old, new
        self._heads = sum(part.place != "messages" for part in self._old)

    def all(self) -> Iterator[Difference]:
        yield from self._model()
        yield from self._format()
        for place in ("instructions", "tools", "system"):
            old = [part for part in self._old if part.place == place]
            new = [part for part in self._new if part.place == place]
            yield from self._tools(old, new) if place == "tools" else self._system(old, new)
        yield from self._settings()
        yield from self._messages()
        yield from self._marks()

    def _model(self) -> Iterator[Difference]:
        old, new = self._earlier.get("model"), self._later.get("model")
        if old is not None and new is not None and old != new:
            words = f"the model was {old!r} and is {new!r}: no cache is shared between models"
            yield Difference(Cause.MODEL, ("model",), words, 0, 0, 0.0, str(old), str(new))

    def _format(self) -> Iterator[Difference]:
        old = answer_format(self._earlier, self._wire)
        new = answer_format(self._later, self._wire)
        shown = new or old
        if shown is None or _text(old) == _text(new):
            return
        words = "the schema for the answer changed, which stands in front of the whole prompt"
        yield Difference(
            Cause.FORMAT, shown.path, words, 0, 0, 0.0, _text(old)[:SHOWN], _text(new)[:SHOWN]
        )

    def _tools(self, old: Sequence[Part], new: Sequence[Part]) -> Iterator[Difference]:
        cause = tool_cause(old, new)
        if cause is None:
            return
        if cause.way is Change.SAME:
            place = first_place(old[cause.at].value, new[cause.at].value)
            assert place is not None
            yield self._placed(old[cause.at], new[cause.at], place)
            return
        shown = old[cause.at] if cause.way is Change.REMOVED else new[cause.at]
        first = next((part for part in old[cause.at : cause.at + 1]), None)
        yield self._difference(
            _TOOL_CAUSES[cause.way],
            shown.path,
            tool_words(old, new),
            first,
            new[cause.at] if cause.at < len(new) else None,
            place="tools",
        )

    def _system(self, old: Sequence[Part], new: Sequence[Part]) -> Iterator[Difference]:
        for before, after in zip_longest(old, new):
            if before is None or after is None:
                words = "the system text is " + ("new" if before is None else "gone")
                shown = before or after
                yield self._difference(
                    Cause.SYSTEM, shown.path, words, before, after, place=shown.place
                )
                continue
            place = first_place(before.value, after.value)
            if place is not None:
                yield self._placed(before, after, place)

    def _settings(self) -> Iterator[Difference]:
        old = {one.path: one for one in settings(self._earlier, self._wire)}
        new = {one.path: one for one in settings(self._later, self._wire)}
        for path in dict.fromkeys([*old, *new]):
            before, after = old.get(path), new.get(path)
            if _text(before) == _text(after):
                continue
            excerpts = _text(before)[:SHOWN], _text(after)[:SHOWN]
            words = (
                f"{path_text(path)} went from {excerpts[0] or 'unset'} to {excerpts[1] or 'unset'}, "
                "which invalidates the cached messages although they are the same"
            )
            # Speed is the one that does not even keep the system text.
            part = sum(one.place == "tools" for one in self._old) if path == ("speed",) else None
            at = self._heads if part is None else part
            yield Difference(Cause.SETTING, path, words, self._size(at), at, 0.0, *excerpts)

    def _messages(self) -> Iterator[Difference]:
        old, new = self._old[self._heads :], [p for p in self._new if p.place == "messages"]
        told = False
        for at, before in enumerate(old):
            if at >= len(new):
                words = (
                    f"the history ends after {at} of {len(old)} messages: what is left is cached"
                )
                yield self._difference(Cause.REWOUND, before.path, words, before, None)
                return
            after = new[at]
            if before.text == after.text or self._grew(before, after, last=at + 1 == len(old)):
                continue
            place = first_place(before.value, after.value)
            if place is None:
                continue
            if place.way is Way.FORM:
                if not told:
                    yield self._placed(before, after, place)
                told = True
                continue
            spelled = place.way in SHAPES
            yield (
                self._placed(before, after, place) if spelled else self._moved(old, new, at, place)
            )
            return

    def _grew(self, before: Part, after: Part, *, last: bool) -> bool:
        """Whether blocks were only added to the last message, which Anthropic caches by block."""
        if not last or self._wire != "anthropic_messages":
            return False
        if not (is_object(before.value) and is_object(after.value)):
            return False
        old, new = before.value.get("content"), after.value.get("content")
        if not (is_array(old) and is_array(new)) or len(new) <= len(old):
            return False
        others = {**before.value, "content": 0}, {**after.value, "content": 0}
        return compact(others[0]) == compact(others[1]) and compact(old) == compact(new[: len(old)])

    def _moved(self, old: Sequence[Part], new: Sequence[Part], at: int, place: Place) -> Difference:
        """The difference at message `at`, seen together with what follows."""
        found = alignment(old[at:], new[at:])
        before, after = old[at], new[at]
        gone, come = found.gone, found.come
        match found.way:
            case Change.REMOVED:
                lead = all(is_system(part) for part in old[:at])
                system = is_system(before) and lead
                cause = Cause.SYSTEM if system else Cause.TRUNCATED if lead else Cause.REMOVED
                words = f"{these(at, gone)} gone, what followed is still there"
                return self._difference(cause, before.path, words, before, after)
            case Change.ADDED:
                system = is_system(after) and all(is_system(part) for part in new[:at])
                cause = Cause.SYSTEM if system else Cause.INSERTED
                words = f"{these(at, come)} new, in front of what had been sent"
                return self._difference(cause, after.path, words, before, after)
            case Change.REORDERED:
                words = f"{gone} messages from number {at} on stand in another order"
                return self._difference(Cause.REORDERED, after.path, words, before, after)
            case Change.REPLACED:
                words = f"{gone} messages from number {at} on were replaced by {come}"
                return self._difference(Cause.REPLACED, after.path, words, before, after)
            case _:
                return self._placed(before, after, place)

    def _marks(self) -> Iterator[Difference]:
        old, new = dict(cache_marks(self._earlier)), dict(cache_marks(self._later))
        if old == new:
            return
        moved = [path for path in (*old, *new) if old.get(path) != new.get(path)]
        words = f"cache marks: {places(old)} before, {places(new)} now; marks are in no prompt"
        yield Difference(
            Cause.MARKS, moved[0], words, self._size(len(self._old)), len(self._old), harmless=True
        )

    def _placed(self, before: Part, after: Part, place: Place) -> Difference:
        """The difference at a place inside a part that stands where it stood."""
        cause = _cause(before, place.way)
        path = (*after.path, *place.path)
        words = f"{path_text(path)}: {of_place(place)}"
        return self._difference(cause, path, words, before, after, shown=place)

    def _difference(
        self,
        cause: Cause,
        path: Path,
        words: str,
        before: Part | None,
        after: Part | None,
        *,
        place: str = "messages",
        shown: Place | None = None,
    ) -> Difference:
        part = self._old.index(before) if before is not None else self._end_of(place)
        # What is gone or new stands against what now follows or followed there.
        stood, stands = before or _nth(self._old, part), after or _nth(self._new, part)
        shared = 0
        if stood is not None and stands is not None:
            shared = max(0, first_difference(stood.text, stands.text))
        size = stood.size if stood is not None else 1
        return Difference(
            cause,
            path,
            words,
            self._size(part) + shared,
            part,
            shared / size,
            shown.before if shown else (before.text[:SHOWN] if before else ""),
            shown.after if shown else (after.text[:SHOWN] if after else ""),
            shown.kind if shown else "",
            harmless=cause is Cause.REWOUND or (shown is not None and shown.way is Way.FORM),
        )

    def _end_of(self, place: str) -> int:
        """The number of the earlier part in front of which something of this place would stand."""
        order = {"instructions": 0, "tools": 1, "system": 2, "messages": 3}
        return sum(order[part.place] <= order[place] for part in self._old)

    def _size(self, part: int) -> int:
        """Bytes of the canonical prompt in front of a part."""
        return sum(one.size for one in self._old[:part])


_TOOL_CAUSES = {
    Change.ADDED: Cause.TOOL_ADDED,
    Change.REMOVED: Cause.TOOL_REMOVED,
    Change.REORDERED: Cause.TOOLS_REORDERED,
}


def _cause(part: Part, way: Way) -> Cause:
    if way is Way.VOLATILE:
        return Cause.VOLATILE
    if way is Way.RANKED:
        return Cause.RANKED
    if part.place == "tools" and way is Way.KEYS:
        return Cause.TOOL_KEYS
    if way in SHAPES:
        return Cause.SHAPE
    if part.place == "tools":
        return Cause.TOOL_EDITED
    return Cause.SYSTEM if is_system(part) else Cause.EDITED


def _nth(some: Sequence[Part], at: int) -> Part | None:
    return some[at] if at < len(some) else None


def _text(setting: Setting | None) -> str:
    return "" if setting is None else compact(setting.value)
