"""The labelled stand-in for an evicted block.

Invariant: a tombstone is a function of the block, the step and the session's nonce alone, so the
same eviction always gives the same bytes; it names what went, from where, when, and the handle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from hashlib import blake2b

from tenure.core.edit import Reason, Replace
from tenure.core.message import Block, BlockKind
from tenure.core.policy import Situation
from tenure.core.strings import rare_strings_in_order
from tenure.policies.superseded import subject_of

# The lengths of a string that a digest may hold, characters.
_SHORTEST, _LONGEST = 8, 80
# Head and tail of a shortened text keep at least this many characters.
_LEAST_ROOM = 200
_IMPERATIVE = re.compile(
    r"\b(must|never|always|do not|don't|should|only|make sure|ensure|please|keep|avoid|use|fix|"
    r"add|remove|write|need)\b",
    re.IGNORECASE,
)


def handle_for(nonce: str, key: str) -> str:
    """The handle of a block in the session with that nonce: unguessable outside, stable inside."""
    name = f"{nonce}\0{key}".encode("utf-8", "surrogatepass")
    return "t-" + blake2b(name, digest_size=5).hexdigest()


def digest(text: str, *, known: Callable[[str], bool], limit: int) -> list[str]:
    """The few strings of a text most worth keeping: telling, and not `known` from elsewhere.

    Paths first, then what has a dot (file names, versions, numbers), then names; of equals the
    first in the text. `limit` is in characters.
    """
    if limit < _SHORTEST:
        return []
    ranked = sorted(
        (s for s in rare_strings_in_order(text) if len(s) <= _LONGEST and not known(s)),
        key=_worth,
        reverse=True,
    )
    kept: list[str] = []
    for s in ranked:
        if limit < len(s) + 2:
            break
        kept.append(s)
        limit -= len(s) + 2
    return kept


def _worth(s: str) -> int:
    if "/" in s:
        return 3 if "." in s else 2
    return 2 if "." in s else 1


def tombstone(
    situation: Situation, block: Block, words: str, *, when: str, policy: str, kept: Iterable[str]
) -> Replace:
    """The edit that puts a tombstone in a block's place. Its price is filled in by the batch."""
    handle = handle_for(situation.nonce, block.key)
    before = situation.meter.size(block).estimate
    text = _label(situation, block, words, handle, before, list(kept))
    message = situation.transcript.messages[block.index]
    body = situation.transcript.wire.stand_in(block, message, text)
    after = situation.meter.stand_in(block, text)
    reason = Reason(
        policy, words, when, before, after, step=situation.step, about=about(situation, block)
    )
    return Replace(block.key, (body,), reason, handle)


def _label(
    situation: Situation, block: Block, words: str, handle: str, size: int, kept: list[str]
) -> str:
    what = _NAMES[block.kind].format(tool=block.tool or "a tool")
    step = situation.step_of(block.index) + 1  # for readers, who count from 1
    again = "recall it by this handle" if situation.recall else "make the call again"
    held = f" It held: {', '.join(kept)}" if kept else ""
    return (
        f"[tenure {handle}: {what} of step {step}, {size} tokens, left out ({words}); "
        f"{again} if needed.{held}]"
    )


def about(situation: Situation, block: Block) -> str:
    """What a block is, for a person: its kind, tool, and the file or command of its call."""
    call = block
    if block.kind is BlockKind.TOOL_RESULT:
        call = situation.transcript.partner(block) or block
    subject = (subject_of(call) or "") if call.kind is BlockKind.TOOL_CALL else ""
    return f"{_NAMES[block.kind].format(tool=block.tool or 'a tool')} {subject}".strip()


_NAMES = {
    BlockKind.TOOL_RESULT: "result of {tool}",
    BlockKind.TOOL_CALL: "arguments of {tool}",
    BlockKind.THINKING: "finished reasoning",
    BlockKind.TEXT: "text",
    BlockKind.MEDIA: "picture or document",
    BlockKind.OTHER: "content",
}


def shortened(
    situation: Situation, block: Block, keep: int, words: str, *, when: str, policy: str
) -> Replace:
    """The edit that keeps head and tail of a block, about `keep` tokens, and says what is missing.

    A user's paste also keeps its imperative sentences.
    """
    before = situation.meter.size(block).estimate
    room = max(_LEAST_ROOM, int(keep * len(block.text) / max(1, before)) - 300)
    text = _shorter(situation, block, room, words)
    after = situation.meter.stand_in(block, text)
    # What is kept may be denser than the whole: less of it, then.
    while after > keep and room > _LEAST_ROOM:
        room = max(_LEAST_ROOM, min(room * 3 // 4, room * keep // after))
        text = _shorter(situation, block, room, words)
        after = situation.meter.stand_in(block, text)
    message = situation.transcript.messages[block.index]
    body = situation.transcript.wire.stand_in(block, message, text)
    reason = Reason(
        policy, words, when, before, after, step=situation.step, about=about(situation, block)
    )
    return Replace(block.key, (body,), reason, handle_for(situation.nonce, block.key))


def _shorter(situation: Situation, block: Block, room: int, words: str) -> str:
    handle = handle_for(situation.nonce, block.key)
    head, tail = cut_points(block.text, room)
    middle = block.text[head:tail]
    again = f"recall it with handle {handle}" if situation.recall else f"its handle is {handle}"
    note = (
        f"\n[tenure {handle}: {len(middle)} characters of {len(block.text)} left out here "
        f"({words}); {again}.]\n"
    )
    if block.kind is BlockKind.TEXT:
        note += "".join(f"{s}\n" for s in imperatives(middle, room // 4))
    return block.text[:head] + note + block.text[tail:]


def cut_points(text: str, room: int) -> tuple[int, int]:
    """Where the head ends and the tail begins: two thirds head, at line ends where one is near,
    never inside a surrogate pair or a combining sequence."""
    if len(text) <= room:
        return len(text), len(text)
    head = _at_line(text, room * 2 // 3)
    tail = max(head, _at_line(text, len(text) - (room - room * 2 // 3)))
    return head, tail


def _at_line(text: str, at: int) -> int:
    near = text.rfind("\n", max(0, at - 200), at)
    if near >= 0:
        return near + 1
    while 0 < at < len(text) and _joins(text[at - 1], text[at]):
        at -= 1
    return at


def _joins(left: str, right: str) -> bool:
    """True when a cut between these characters would break one a reader sees."""
    return (
        "\udc00" <= right <= "\udfff"
        or right in "\u200d\ufe0f\ufe0e"
        or left == "\u200d"
        or "\u0300" <= right <= "\u036f"
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or ("\U0001f1e6" <= left <= "\U0001f1ff" and "\U0001f1e6" <= right <= "\U0001f1ff")
    )


def imperatives(text: str, room: int) -> list[str]:
    """The sentences of a text that ask for something, in order, up to `room` characters."""
    kept: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        s = sentence.strip()
        if 10 <= len(s) <= 400 and _IMPERATIVE.search(s):
            if len(s) > room:
                break
            kept.append(s)
            room -= len(s)
    return kept
