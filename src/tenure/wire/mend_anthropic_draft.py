"""The outgoing copy while it is being mended.

Invariant: entries stand in the order in which they leave, and their sources never decrease; a
message that no pass touches is the very object given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.legal import Mend
from tenure.core.message import JsonObject
from tenure.wire.mend_common import lost_json
from tenure.wire.rules_anthropic_block import Fault
from tenure.wire.rules_anthropic_table import RULES
from tenure.wire.values import is_array


class Entry(NamedTuple):
    """A message that leaves, and the number of the given message in whose place it does."""

    source: int
    message: JsonObject

    @property
    def role(self) -> str:
        """Its role; entries are sound messages."""
        return str(self.message["role"])

    @property
    def blocks(self) -> Sequence[JsonObject]:
        """Its blocks; none for text."""
        content = self.message["content"]
        return content if is_array(content) else ()

    def saying(self, content: Sequence[JsonObject]) -> Entry:
        """The same message with other blocks."""
        return Entry(self.source, {**self.message, "content": list(content)})


class Notes:
    """What was mended, in the order of the passes."""

    def __init__(self) -> None:
        self.mends: list[Mend] = []

    def add(self, rule: str, source: int, words: str, lost: Any = None) -> None:
        """Takes note of a mend; `lost` is the value that is no longer there as it was."""
        self.mends.append(Mend(rule, source, words, b"" if lost is None else lost_json(lost)))

    def keep(self, fault: Fault, source: int) -> None:
        """Takes note of the mend of what a message broke by itself."""
        words = f"{fault.words}; {RULES[fault.rule].mend}"
        self.mends.append(Mend(fault.rule, source, words, fault.lost))


def turns_of(draft: Sequence[Entry]) -> list[list[int]]:
    """Runs of one role, as lists of entry numbers. System messages between two runs of the user's
    make no break; they belong to no turn."""
    turns: list[list[int]] = []
    role, broken = "", False
    for number, entry in enumerate(draft):
        if entry.role == "system":
            broken = broken or role == "assistant"
            continue
        if turns and entry.role == role and not broken:
            turns[-1].append(number)
        else:
            turns.append([number])
        role, broken = entry.role, False
    return turns


# Blocks that go, by entry and place: the rule, and why.
Gone = dict[tuple[int, int], tuple[str, str]]


def without(draft: list[Entry], gone: Gone, notes: Notes) -> list[Entry]:
    """The draft without these blocks, for these reasons."""
    if not gone:
        return draft
    places: dict[int, set[int]] = {}
    for (number, place), (rule, words) in sorted(gone.items()):
        places.setdefault(number, set()).add(place)
        notes.add(rule, draft[number].source, words, draft[number].blocks[place])
    new: list[Entry] = []
    for number, entry in enumerate(draft):
        if number not in places:
            new.append(entry)
            continue
        kept = [block for at, block in enumerate(entry.blocks) if at not in places[number]]
        new += [entry.saying(kept)] if kept else []
    return new
