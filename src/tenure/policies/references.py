"""Who refers to what: an inverted index of telling strings, kept incrementally.

Invariant: a fold over the transcript. Assistant and user texts are read when they arrive (they
are small); a result is read once, when it first becomes a candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenure.core.message import Block, BlockKind
from tenure.core.strings import rare_strings
from tenure.core.transcript import Transcript


@dataclass(slots=True)
class Referred:
    """How later messages referred to one result: distinct strings, and the last such message."""

    strings: int = 0
    last: int = -1


class References:
    """The index of one transcript. What it says does not depend on when it was read, as long as
    results are read in the order of the transcript."""

    def __init__(self) -> None:
        self._seen = 0
        self._mentioned: dict[str, int] = {}
        self._first_mention: dict[str, int] = {}
        self._owner: dict[str, str] = {}
        self._referred: dict[str, Referred] = {}

    def catch_up(self, transcript: Transcript) -> None:
        """Reads the calls and texts appended since."""
        for index in range(self._seen, len(transcript)):
            for block in transcript.blocks[index]:
                if block.kind in (BlockKind.TEXT, BlockKind.TOOL_CALL):
                    self._mention(rare_strings(block.text), index)
        self._seen = len(transcript)

    def of(self, block: Block) -> Referred:
        """How a result was referred to since; reads the result on first asking."""
        known = self._referred.get(block.key)
        return known if known is not None else self._read(block)

    def known_elsewhere(self, string: str) -> bool:
        """True when a text or call that stays in the view names the string too."""
        return string in self._mentioned

    def _mention(self, strings: set[str], index: int) -> None:
        for s in strings:
            fresh = s not in self._mentioned
            self._mentioned[s] = index
            if fresh:
                self._first_mention[s] = index
            owner = self._owner.get(s)
            if owner is not None:
                referred = self._referred[owner]
                referred.strings += fresh
                referred.last = index

    def _read(self, block: Block) -> Referred:
        referred = self._referred[block.key] = Referred()
        for s in rare_strings(block.text):
            first = self._first_mention.get(s)
            # Named before the result came: it is not from here.
            if first is not None and first < block.index:
                continue
            owner = self._owner.setdefault(s, block.key)
            if owner == block.key and first is not None:
                referred.strings += 1
                referred.last = max(referred.last, self._mentioned[s])
        return referred
