"""The check of Anthropic Messages: which rules a request breaks, message by message.

Invariant: the check of a growing list equals the check from scratch; each message is read once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tenure.core.legal import Checker, Terms, Violation
from tenure.core.message import JsonObject
from tenure.wire.growing import Growing
from tenure.wire.mend_anthropic_head import head_faults, head_marks
from tenure.wire.rules_anthropic_facts import (
    OTHER,
    SERVED,
    SERVER,
    SUMMARY,
    THOUGHT,
    Facts,
    Mark,
)
from tenure.wire.rules_anthropic_message import Reader
from tenure.wire.rules_anthropic_turns import NOTHING, Judge, Pending, Turn, opens, turn_of
from tenure.wire.values import is_object, text_of

# Claude 4.6 and later: platform docs, prefill.
_NO_PREFILL = re.compile(r"claude-(?:fable|mythos|[a-z]+-(?:4-[6-9]|[5-9]))")


def violations(messages: Sequence[JsonObject], terms: Terms) -> list[Violation]:
    """The rules that these messages break as a request, in order of the messages."""
    return checker(terms).check(messages)


def checker(terms: Terms) -> Checker:
    """A check that remembers, for one growing conversation."""
    head = [Violation(fault.rule, -1, fault.words, fault.path) for fault in head_faults(terms)]
    return Growing(Reader(terms).read, lambda: Walk(terms), head)


class Walk:
    """What the check carries from message to message."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._found: list[Violation] = []
        self._before: Pending = NOTHING
        self._turn: Turn | None = None
        self._calls: set[str] = set()
        self._served: set[str] = set()
        self._first = True
        self._marks: list[tuple[int, Mark]] = []
        self._pictures: list[tuple[int, tuple[str | int, ...], int]] = []
        self._summaries: list[tuple[int, int, str]] = []
        # The last assistant turn that calls a tool: its number, and what it begins with.
        self._loop: tuple[int, str] | None = None
        self._last: tuple[int, Facts] | None = None
        self._head_marks = head_marks(terms.head)
        self._cut = foreign_numbers(terms)

    def see(self, number: int, facts: Facts) -> None:
        """See `growing.Walk.see`."""
        for fault in facts.faults:
            self._found.append(Violation(fault.rule, number, fault.words, fault.path))
        if facts.gone:
            return
        if self._first:
            self._first = False
            if not opens(facts):
                words = "the first message must be the user's"
                self._found.append(Violation("first-message", number, words))
        turn, judge = self._turn, self._judge(self._found)
        if turn is not None and facts.role != turn.role:
            self._close(turn, facts.role)
            turn = None
        elif turn is not None and self._terms.strict_alternation and not facts.exempt:
            self._check_alternation(number, facts)
        if turn is None:
            turn = self._turn = turn_of(number, facts, self._before, judge)
        turn.see(number, facts, judge)
        for mark in facts.marks:
            self._marks.append((number, mark))
        for path, side in facts.pictures:
            self._pictures.append((number, path, side))
        for at, item in enumerate(facts.items):
            if item.what == SUMMARY:
                self._summaries.append((number if self._last else 0, at, item.id))
        if number in self._cut and any(item.what == THOUGHT for item in facts.items):
            words = f"thinking of {self._terms.made_by[number]!r}, which this model cannot read"
            self._found.append(Violation("foreign-thinking", number, words))
        self._last = (number, facts)

    def finish(self) -> list[Violation]:
        """See `growing.Walk.finish`."""
        found: list[Violation] = []
        if self._turn is not None:
            self._turn.end(self._judge(found))
        self._check_end(found)
        self._check_thinking(found)
        self._check_marks(found)
        self._check_pictures(found)
        self._check_summaries(found)
        if not found and not self._found:
            return []
        return sorted([*self._found, *found], key=lambda violation: violation.message)

    def _judge(self, found: list[Violation]) -> Judge:
        return Judge(self._terms.pending, self._calls, self._served, found)

    def _close(self, turn: Turn, after: str) -> None:
        self._before = turn.close(after, self._judge(self._found))
        if turn.role == "assistant":
            self._calls.update(turn.calls)
            self._served.update(turn.served)
            self._loop = _loop(turn)

    def _check_alternation(self, number: int, facts: Facts) -> None:
        before = self._last[1].items if self._last is not None else ()
        summaries = any(item.what == SUMMARY for item in (*before, *facts.items))
        if facts.role != "system" and not summaries:
            words = f"two messages of role {facts.role} in a row"
            self._found.append(Violation("alternation", number, words))

    def _check_end(self, found: list[Violation]) -> None:
        if self._last is None or self._last[1].role != "assistant":
            return
        number, facts = self._last
        what = facts.items[-1].what if facts.items else OTHER
        calls = self._turn is not None and self._turn.calls
        # A summary at the end is what the provider paused after: it goes on from there.
        if calls or what in {SERVER, SERVED, SUMMARY} or self._terms.head.get("compaction"):
            return
        if facts.blank_end:
            words = "the assistant message at the end ends in blanks"
            found.append(Violation("trailing-space", number, words))
        if _NO_PREFILL.search(self._terms.model):
            words = f"{self._terms.model} takes no assistant message at the end"
            found.append(Violation("prefill", number, words))

    def _check_thinking(self, found: list[Violation]) -> None:
        thinking = self._terms.head.get("thinking")
        if not is_object(thinking) or thinking.get("type") != "enabled":
            return
        turn = self._turn
        loop = self._loop if turn is None or turn.role != "assistant" else _loop(turn)
        if loop is not None and loop[1] != THOUGHT:
            words = "thinking is on, and the turn of the last tool loop begins without any"
            found.append(Violation("thinking-first", loop[0], words, ("content", 0)))

    def _check_marks(self, found: list[Violation]) -> None:
        top = self._terms.head.get("cache_control")
        total = len(self._head_marks) + len(self._marks) + (top is not None)
        if total > self._terms.most_marks:
            number = self._marks[-1][0] if self._marks else -1
            words = f"{total} cache marks, of {self._terms.most_marks} allowed"
            found.append(Violation("too-many-marks", number, words))
        self._check_automatic(top, found)
        short = False
        placed = [*((-1, mark) for mark in self._head_marks), *self._marks]
        if top is not None:
            placed.append((-1, Mark(("cache_control",), is_object(top) and top.get("ttl") == "1h")))
        for number, mark in placed:
            if mark.long and short:
                words = "a mark of 1h stands behind one of 5m"
                found.append(Violation("mark-order", number, words, mark.path))
            short = short or not mark.long

    def _check_automatic(self, top: Any, found: list[Violation]) -> None:
        """The top-level mark is one of the last block, which may have its own."""
        if not is_object(top) or self._last is None or not self._marks:
            return
        number, mark = self._marks[-1]
        last = ("content", len(self._last[1].items) - 1)
        if (number, mark.path) == (self._last[0], last) and mark.long != (top.get("ttl") == "1h"):
            words = "the last block's mark has another lifetime than the automatic one"
            found.append(Violation("automatic-mark", number, words, mark.path))

    def _check_pictures(self, found: list[Violation]) -> None:
        terms, pictures = self._terms, self._pictures
        if len(pictures) > terms.pictures:
            words = f"{len(pictures)} pictures, of {terms.pictures} allowed"
            found.append(Violation("too-many-pictures", pictures[0][0], words))
        if len(pictures) <= terms.wide_pictures:
            return
        for number, path, side in pictures:
            if side > terms.wide_side:
                words = f"a side of {side} pixels among {len(pictures)} pictures"
                found.append(Violation("wide-picture", number, words, path))

    def _check_summaries(self, found: list[Violation]) -> None:
        signed = [one for one in self._summaries if one[2] == "signed"]
        for number, at, _ in signed:
            if number or at:
                words = "a signed compaction block that is not the first of the conversation"
                found.append(Violation("compaction-place", number, words, ("content", at)))
        full = [one for one in self._summaries if one[2]]
        if signed and len(full) > 1:
            number, at, _ = full[1]
            words = f"{len(full)} compaction blocks, one of them signed"
            found.append(Violation("compaction-single", number, words, ("content", at)))


def _loop(turn: Turn) -> tuple[int, str] | None:
    """Number and first block of a turn that calls tools."""
    opening = turn.opening.what if turn.opening is not None else OTHER
    return (turn.number, opening) if turn.calls else None


def foreign_numbers(terms: Terms) -> frozenset[int]:
    """The messages whose thinking this model cannot read.

    Claude models are left to the API: it knows which of them reads which, and drops the rest.
    """
    model = terms.model
    if not model:
        return frozenset()
    return frozenset(
        number
        for number, maker in terms.made_by.items()
        if text_of(maker) not in ("", model) and not ("claude" in maker and "claude" in model)
    )
