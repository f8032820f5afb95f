"""Order in the copy of an Anthropic conversation: who begins, who ends, what stands between.

Invariant: each pass leaves a draft that keeps its rule as the very entries it was given.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.mend_anthropic_draft import Entry, Gone, Notes, without
from tenure.wire.mend_common import BEGINNING, SILENCE
from tenure.wire.rules_anthropic_block import THINKING, is_server_result, kind_of
from tenure.wire.rules_anthropic_facts import pair_id
from tenure.wire.values import is_array


def mend_thinking_last(draft: list[Entry], notes: Notes) -> list[Entry]:
    """Leaves out thinking at the end of assistant turns: it led to nothing that is still there."""
    gone: Gone = {}
    ending = True  # Whether only thinking follows in this turn.
    for number in range(len(draft) - 1, -1, -1):
        entry = draft[number]
        if entry.role != "assistant":
            ending = True
            continue
        ending = ending and bool(entry.blocks)
        for place in range(len(entry.blocks) - 1, -1, -1):
            ending = ending and kind_of(entry.blocks[place]) in THINKING
            if ending:
                gone[number, place] = ("thinking-last", "an assistant turn ended in thinking")
    return without(draft, gone, notes)


def mend_first(draft: list[Entry], notes: Notes) -> list[Entry]:
    """Puts a labelled user message in front of a conversation that the user does not begin."""
    if not draft or draft[0].role == "user":
        return draft
    first = draft[0]
    if first.role == "assistant" and first.blocks and kind_of(first.blocks[0]) == "compaction":
        if len(first.blocks) == 1:
            return draft
        notes.add("first-message", first.source, "the summary became a message of its own")
        return [first.saying(first.blocks[:1]), first.saying(first.blocks[1:]), *draft[1:]]
    notes.add("first-message", first.source, "a labelled user message now begins the request")
    return [Entry(first.source, {"role": "user", "content": BEGINNING}), *draft]


def mend_systems(draft: list[Entry], terms: Terms, notes: Notes) -> list[Entry]:
    """Moves system messages behind the next user turn, or puts a labelled one in front of them; two
    in a row become one."""
    new: list[Entry] = []
    held: list[Entry] = []  # System messages on their way behind a user turn.
    run: list[Entry] = []  # A run of system messages that may yet be in place.
    for entry in draft:
        if entry.role == "system":
            (run if run or _speaks(entry) or _calls(new) else new).append(entry)
            continue
        if entry.role == "assistant":
            _settle(new, held, run, terms, notes)
            held, run = [], []
        elif run:
            # Behind a call that waits nobody may speak at all: that is another rule's.
            (new if _waits(new, terms) else held).extend(run)
            run = []
        new.append(entry)
    _settle(new, held, run, terms, notes)
    return _in_one(new, notes)


def _settle(
    new: list[Entry], held: Sequence[Entry], run: Sequence[Entry], terms: Terms, notes: Notes
) -> None:
    """Places system messages in front of an assistant's turn, or at the end."""
    if held:
        new += [*_moved(held, new[-1].source, notes), *run]
    elif any(map(_speaks, run)) and not (_takes_system(new) or _waits(new, terms)):
        new += _introduced(run, notes)
    else:
        new += run


def _in_one(draft: list[Entry], notes: Notes) -> list[Entry]:
    """The draft with runs of system messages as one; those that only set the effort are no break."""
    new: list[Entry] = []
    at = -1  # Where the last message stands that spoke, if it is a system message.
    for entry in draft:
        if entry.role != "system":
            at = -1
        elif _speaks(entry):
            if at >= 0:
                notes.add("system-row", entry.source, "it was joined to the one before it")
                new[at] = _joined(new[at], entry, notes)
                continue
            at = len(new)
        new.append(entry)
    return new


def _joined(one: Entry, other: Entry, notes: Notes) -> Entry:
    """Both in one, shown as long as the longer of the two."""
    content = [*_as_blocks(one.message), *_as_blocks(other.message)]
    fields = {**one.message, **other.message}
    if one.message.get("clear_at") != other.message.get("clear_at"):
        fields.pop("clear_at", None)
        lost = [each.message.get("clear_at") for each in (one, other)]
        notes.add("system-row", other.source, "what was to be cleared of the two stays", lost)
    if {**other.message, **one.message}.get("output_config") != fields.get("output_config"):
        words = "of two efforts the later one holds"
        notes.add("system-row", one.source, words, one.message["output_config"])
    return Entry(one.source, {**fields, "content": content})


def _calls(before: Sequence[Entry]) -> bool:
    """True behind an assistant's message that calls tools: only results may follow it."""
    last = before[-1] if before else None
    return (
        last is not None
        and last.role == "assistant"
        and any(kind_of(block) == "tool_use" for block in last.blocks)
    )


def _speaks(entry: Entry) -> bool:
    return bool(entry.message["content"])


def _takes_system(before: Sequence[Entry]) -> bool:
    last = next((e for e in reversed(before) if e.role != "system" or _speaks(e)), None)
    if last is None or last.role == "system":
        return False
    kind = kind_of(last.blocks[-1]) if last.blocks else ""
    return last.role == "user" or (is_server_result(kind) and kind != "tool_result")


def _waits(before: Sequence[Entry], terms: Terms) -> bool:
    """True behind an assistant turn with a call that waits on purpose."""
    if not terms.pending or not before or before[-1].role != "assistant":
        return False
    return any(
        kind_of(block) == "tool_use" and pair_id(block.get("id")) in terms.pending
        for block in before[-1].blocks
    )


def _introduced(run: Sequence[Entry], notes: Notes) -> list[Entry]:
    for entry in run:
        notes.add("system-place", entry.source, "a labelled user message was put before it")
    return [Entry(run[0].source, {"role": "user", "content": SILENCE}), *run]


def _moved(held: Sequence[Entry], source: int, notes: Notes) -> list[Entry]:
    for entry in held:
        notes.add("system-place", entry.source, "it was moved behind the user's turn")
    return [Entry(max(source, entry.source), entry.message) for entry in held]


def mend_alternation(draft: list[Entry], notes: Notes) -> list[Entry]:
    """Merges neighbours of one role, for hosts that want user and assistant in turn."""
    new: list[Entry] = []
    for entry in draft:
        before = new[-1] if new else None
        if before is None or not _may_merge(before, entry):
            new.append(entry)
            continue
        notes.add("alternation", entry.source, "it was merged with the message before it")
        content = [*_as_blocks(before.message), *_as_blocks(entry.message)]
        new[-1] = before.saying(content)
    return new


def _may_merge(one: Entry, other: Entry) -> bool:
    return (
        one.role == other.role
        and one.role != "system"
        and not any(kind_of(block) == "compaction" for block in (*one.blocks, *other.blocks))
    )


def _as_blocks(message: JsonObject) -> Sequence[JsonObject]:
    content = message["content"]
    return content if is_array(content) else [{"type": "text", "text": content}]
