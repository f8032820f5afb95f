"""The head of a request laid out: what is stable first, what is volatile behind it, in words.

Invariant: new values that share what is unchanged; without volatile text in it a head is the very
object that was given; every character taken out of the head is in one `Late`, and every mark is still
there or its loss is told. Providers cache prefixes, in the order tools, system, messages (Anthropic)
or as the messages stand (OpenAI): providers.md 1.5 and 3.2.

`lay_out` does it for one request. `Layout` settles it over the requests of a conversation: the
system text is frozen as first sent, and what differs later only in volatile text or in the order of
its lines is said late instead of rewriting the prefix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from tenure.core.message import JsonObject, Path, json_bytes
from tenure.core.volatile import Volatile
from tenure.wire.layout_stays import changed_lines, stays
from tenure.wire.layout_text import cut_text
from tenure.wire.layout_tools import ToolList, ToolNote
from tenure.wire.meaning import MARKS
from tenure.wire.values import is_array, is_object, text_of

# Where the three APIs keep the system text beside the messages (`system` is a session's own name).
_FIELDS = ("system", "instructions")
_SYSTEM_ROLES = frozenset({"system", "developer"})
# A text block with other fields (citations, ...) is more than its words.
_PLAIN = frozenset({"type", "text", *MARKS})


class Late(NamedTuple):
    """Text taken out of the stable part, exactly: `path` leads into the request given, `at` is its
    byte offset in the text there."""

    text: str
    path: Path
    at: int
    found: tuple[Volatile, ...]

    @property
    def words(self) -> str:
        """`moved 18 bytes from system.0, byte 0 (clock), behind the stable part: 'Time is ...'`."""
        size = len(self.text.encode("utf-8", "surrogatepass"))
        kinds = ", ".join(dict.fromkeys(each.kind.value for each in self.found))
        return (
            f"moved {size} bytes from {_dotted(self.path)}, byte {self.at} ({kinds}), behind the "
            f"stable part: {self.text.strip()[:80]!r}"
        )


class LaidOut(NamedTuple):
    """A request with its stable part first; `left` is volatile text not safe to move, by place."""

    head: JsonObject
    messages: Sequence[JsonObject]
    late: tuple[Late, ...]
    left: tuple[tuple[Path, Volatile], ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Work:
    """What one pass collects."""

    late: list[Late] = field(default_factory=list)
    left: list[tuple[Path, Volatile]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def text(self, text: str, path: Path) -> str:
        """The text without what can be moved."""
        cut = cut_text(text)
        for piece in cut.pieces:
            at = len(text[: piece.start].encode("utf-8", "surrogatepass"))
            self.late.append(Late(text[piece.start : piece.end], path, at, piece.found))
        self.left += [(path, volatile) for volatile in cut.left]
        return cut.stable

    def content(self, content: Any, path: Path) -> Any:
        """A system text, or a list of text blocks; None when nothing is left of it."""
        if isinstance(content, str):
            found = self.text(content, path)
            return content if found == content else (found if found.strip() else None)
        if not is_array(content):
            return content
        kept: list[Any] = []
        changed = False
        for at, block in enumerate(content):
            new = self._block(block, (*path, at))
            changed |= new is not block
            if new is not None:
                kept.append(new)
            elif (mark := _mark_of(block)) is not None:
                self._carry(kept, mark, (*path, at))
        return (kept or None) if changed else content

    def _block(self, block: Any, path: Path) -> Any:
        if not is_object(block) or not isinstance(block.get("text"), str):
            return block
        if not block.keys() <= _PLAIN:
            return block
        found = self.text(block["text"], path)
        if found == block["text"]:
            return block
        return {**block, "text": found} if found.strip() else None

    def _carry(self, kept: list[Any], mark: tuple[str, Any], path: Path) -> None:
        """The mark of a block that went moves to the block before it."""
        key, value = mark
        if kept and is_object(kept[-1]) and text_of(kept[-1].get("text")).strip():
            if key not in kept[-1]:
                kept[-1] = {**kept[-1], key: value}
                self.notes.append(f"the cache mark of {_dotted(path)} moved to the block before it")
            return
        self.notes.append(f"the cache mark of {_dotted(path)} is gone: nothing stable is before it")


def lay_out(head: JsonObject, messages: Sequence[JsonObject] = ()) -> LaidOut:
    """The request with volatile lines, leading sentences and blocks of its system text taken out.

    For all three APIs: `system` or `instructions` of the head, and the system or developer messages
    that the conversation begins with. The caller says `late` at the end (`layout_late`), once, and
    leaves it there.
    """
    work = _Work()
    new_head: dict[str, Any] | None = None
    for name in _FIELDS:
        if name not in head:
            continue
        found = work.content(head[name], (name,))
        if found is not head[name]:
            new_head = {**(new_head or head), name: found}
            if found is None:
                del new_head[name]
    begins = _system_messages(messages)
    opening: list[JsonObject] = []
    for at in range(begins):
        content = messages[at].get("content")
        found = work.content(content, ("messages", at, "content"))
        if found is content:
            opening.append(messages[at])
        elif found is not None:
            opening.append({**messages[at], "content": found})
    unchanged = len(opening) == begins and all(
        a is b for a, b in zip(opening, messages, strict=False)
    )
    return LaidOut(
        new_head if new_head is not None else head,
        messages if unchanged else [*opening, *messages[begins:]],
        tuple(work.late),
        tuple(work.left),
        tuple(work.notes),
    )


class Settled(NamedTuple):
    """A request settled: what to send, the texts to say late, what was done, and whether the prefix
    is written anew. `missing` tools are listed and not there."""

    head: JsonObject
    messages: Sequence[JsonObject]
    late: tuple[str, ...]
    notes: tuple[str, ...]
    breaks: bool
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """The stable part of one conversation as it is sent: a value, `settle` gives the next one.

    `sent` are the tools of the last request, `said` its late texts; `key` is a digest of what it
    brought, and `as_given` says that it left untouched.
    """

    tools: ToolList = field(default_factory=ToolList)
    system: Mapping[str, Any] = field(default_factory=dict)
    opening: tuple[JsonObject, ...] = ()
    said: tuple[str, ...] = ()
    begun: bool = False
    sent: tuple[Any, ...] = ()
    key: bytes = b""
    as_given: bool = False

    def settle(
        self, head: JsonObject, messages: Sequence[JsonObject] = (), *, resident: int = 0
    ) -> tuple[Layout, Settled]:
        """The request as it should leave, given what left before; `resident` prices a rewrite.

        Late texts are said when they were not said with the request before.
        """
        begins = _system_messages(messages)
        key = _digest(head, messages[:begins])
        if self.begun and key == self.key:
            given = head if self.as_given else _with(head, self.system, self.sent, head)
            sent = messages if self.as_given else [*self.opening, *messages[begins:]]
            return self, Settled(given, sent, (), (), breaks=False, missing=self.tools.missing)
        laid = lay_out(head, messages)
        notes = [late.words for late in laid.late] + list(laid.notes)
        late = [one.text.strip() for one in laid.late]
        tools, told = self._tools(laid.head, resident)
        notes += [note.words for note in told]
        begins = _system_messages(laid.messages)
        system = _System(
            {name: laid.head[name] for name in _FIELDS if name in laid.head},
            tuple(laid.messages[:begins]),
        )
        frozen = self._frozen(system, late, notes, resident) if self.begun else system
        broken = any(note.breaks for note in told) or (self.begun and frozen is None)
        system = frozen or system
        sent_tools = tools.tools if laid.head.get("tools") else ()
        new_head = _with(laid.head, system.fields, sent_tools, head)
        shared = all(a is b for a, b in zip(system.opening, laid.messages, strict=False))
        sent = (
            laid.messages
            if shared and len(system.opening) == begins
            else [*system.opening, *laid.messages[begins:]]
        )
        layout = Layout(
            tools,
            system.fields,
            system.opening,
            tuple(late),
            begun=True,
            sent=sent_tools,
            key=key,
            as_given=new_head is head and sent is messages,
        )
        new = tuple(text for text in late if text not in self.said)
        return layout, Settled(new_head, sent, new, tuple(notes), broken, tools.missing)

    def _frozen(
        self, given: _System, late: list[str], notes: list[str], resident: int
    ) -> _System | None:
        """The system text to send: that of before where only volatile text differs, whose lines
        are late then; None where it really changed."""
        before = _System(self.system, self.opening)
        kept = stays(before, given)
        if kept is None:
            size = f": {resident:,} tokens" if resident else ""
            notes.append(f"the system text changed, so the prompt is written anew{size}")
        elif kept:
            late += [_NOW_READS + line for line in changed_lines(before, given)]
            notes.append(f"the system text stays as first sent: {'; '.join(kept)}")
            return before
        return None if kept is None else given

    def _tools(self, head: JsonObject, resident: int) -> tuple[ToolList, Sequence[ToolNote]]:
        given = head.get("tools")
        given = given if is_array(given) else ()
        if self.begun and self.sent and not given:
            words = "the request brings no tools at all, which is taken as meant"
            return self.tools, [ToolNote("", words, breaks=True)]
        if not given:
            return self.tools, ()
        tools, notes = self.tools.settle(given, resident=resident)
        if self.begun and not self.tools.begun:
            notes = (ToolNote("", "the request brings tools for the first time", breaks=True),)
        return tools, notes


class _System(NamedTuple):
    """The system text of a request: fields of the head, and the messages it begins with."""

    fields: Mapping[str, Any]
    opening: tuple[JsonObject, ...]


def _digest(head: JsonObject, opening: Sequence[JsonObject]) -> bytes:
    """What the stable part of a request is made of, as a digest: an unchanged one is the rule."""
    parts = [{name: head.get(name) for name in (*_FIELDS, "tools")}, list(opening)]
    return blake2b(json_bytes(parts), digest_size=16).digest()


_NOW_READS = "[tenure] These instructions have changed since they were sent; they now read: "


def _with(
    head: JsonObject, system: Mapping[str, Any], tools: Sequence[Any], given: JsonObject
) -> JsonObject:
    """The head with this system text and these tools; the head given when all is as it was."""
    new = {**head, **system}
    if tools:
        new["tools"] = list(tools)
    for name in _FIELDS:
        if name in new and name not in system:
            del new[name]
    return given if json_bytes(new) == json_bytes(dict(given)) else new


def _system_messages(messages: Sequence[JsonObject]) -> int:
    """How many system or developer messages the conversation begins with."""
    count = 0
    while count < len(messages) and text_of(messages[count].get("role")) in _SYSTEM_ROLES:
        count += 1
    return count


def _mark_of(block: Any) -> tuple[str, Any] | None:
    found = [(key, block[key]) for key in MARKS if is_object(block) and key in block]
    return found[0] if found else None


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
