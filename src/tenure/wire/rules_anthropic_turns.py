"""The rules of Anthropic Messages that hold between messages: turns, pairs, server tools, order.

Invariant: consecutive messages of one role are one turn, as the API merges them. Each message is
judged once, as it joins its turn; what a turn breaks by its end is asked for when another begins, or
as often as wanted while nothing follows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from tenure.core.legal import Violation
from tenure.wire.rules_anthropic_facts import (
    CALL,
    RESULT,
    SERVED,
    SERVER,
    SUMMARY,
    THOUGHT,
    Facts,
    Item,
)


class Pending(NamedTuple):
    """What the turns so far leave for the next one.

    `calls` and `server`: id of an unanswered call -> number of its message. `role` is the role of
    the turn before; `served` says that it ended in a server tool's result.
    """

    calls: Mapping[str, int]
    server: Mapping[str, int]
    role: str = ""
    served: bool = False


NOTHING = Pending({}, {})


class Judge(NamedTuple):
    """What the judgement of a turn needs to know: waiting ids, the ids of earlier turns, and the
    list of what is found."""

    waiting: Collection[str]
    known: Collection[str]
    served: Collection[str]
    found: list[Violation]

    def broken(self, rule: str, number: int, words: str) -> None:
        """Takes note of a violation."""
        self.found.append(Violation(rule, number, words))


class Turn(Protocol):
    """A run of messages of one role. `number` is that of its first message, `opening` its first
    block; `calls` are the calls in it, `served` the ids of its server calls."""

    number: int
    role: str
    opening: Item | None
    calls: dict[str, int]
    served: set[str]

    def see(self, number: int, facts: Facts, judge: Judge) -> None:
        """Judges its next message."""

    def close(self, after: str, judge: Judge) -> Pending:
        """What it breaks now that a turn of role `after` follows, and what it leaves open."""

    def end(self, judge: Judge) -> None:
        """What it breaks as long as nothing follows."""


def turn_of(number: int, facts: Facts, before: Pending, judge: Judge) -> Turn:
    """The turn that begins with this message, which is not judged yet."""
    if facts.role == "assistant":
        _unanswered(before.calls, judge)
        return _Assistant(number, facts, before)
    if facts.role == "user":
        return _User(number, facts, before)
    return _System(number, facts, before)


class _Turn:
    """What turns of all roles have."""

    __slots__ = ("before", "calls", "number", "opening", "role", "served")

    def __init__(self, number: int, facts: Facts, before: Pending) -> None:
        self.number = number
        self.role = facts.role
        self.opening = facts.items[0] if facts.items else None
        self.before = before
        self.calls: dict[str, int] = {}
        self.served: set[str] = set()


class _Assistant(_Turn):
    __slots__ = ("last", "last_number", "server")

    def __init__(self, number: int, facts: Facts, before: Pending) -> None:
        super().__init__(number, facts, before)
        self.server = dict(before.server)
        self.last = ""
        self.last_number = number

    def see(self, number: int, facts: Facts, judge: Judge) -> None:
        """See `Turn.see`."""
        self.last_number = number
        for item in facts.items:
            self.last = item.what
            if item.what == CALL:
                self._call(item.id, number, judge)
            elif item.what == SERVER:
                if item.id in self.served or item.id in judge.served:
                    words = f"server call id {item.id!r} occurs twice"
                    judge.broken("server-call-repeated", number, words)
                self.served.add(item.id)
                self.server[item.id] = number
            elif item.what == SERVED:
                if self.server.pop(item.id, None) is None:
                    words = f"server tool result {item.id!r} has no call before it"
                    judge.broken("server-result-alone", number, words)
            elif item.what == RESULT:
                words = f"result {item.id!r} stands in an assistant message"
                judge.broken("orphan-result", number, words)

    def close(self, after: str, judge: Judge) -> Pending:  # noqa: ARG002
        """See `Turn.close`."""
        self._check_thinking(judge)
        return Pending(self.calls, self.server, "assistant", self.last == SERVED)

    def end(self, judge: Judge) -> None:
        """See `Turn.end`."""
        self._check_thinking(judge)
        if self.last not in {SERVER, SERVED}:
            _unfinished(self.server, judge)
        _open_loop(self.calls, judge)

    def _call(self, call: str, number: int, judge: Judge) -> None:
        if call in self.calls:
            judge.broken("duplicate-call", number, f"call id {call!r} occurs twice in one turn")
        elif call in judge.known:
            judge.broken("repeated-id", number, f"call id {call!r} occurs in an earlier turn")
        self.calls[call] = number

    def _check_thinking(self, judge: Judge) -> None:
        if self.last == THOUGHT:
            words = "the last block of an assistant turn is thinking"
            judge.broken("thinking-last", self.last_number, words)


class _User(_Turn):
    __slots__ = ("open", "other")

    def __init__(self, number: int, facts: Facts, before: Pending) -> None:
        super().__init__(number, facts, before)
        self.open = dict(before.calls)
        self.other = False

    def see(self, number: int, facts: Facts, judge: Judge) -> None:
        """See `Turn.see`."""
        for item in facts.items:
            if item.what != RESULT:
                self.other = True
            elif item.id not in self.before.calls:
                self.other = True
                words = f"result {item.id!r} has no call in the assistant turn before it"
                judge.broken("orphan-result", number, words)
            elif self.open.pop(item.id, None) is None:
                self.other = True
                judge.broken("duplicate-result", number, f"call {item.id!r} is answered twice")
            elif self.other:
                words = "a tool result stands behind other content of its turn"
                judge.broken("results-first", number, words)

    def close(self, after: str, judge: Judge) -> Pending:  # noqa: ARG002
        """See `Turn.close`."""
        if self.other:
            _unfinished(self.before.server, judge)
        _unanswered(self.open, judge)
        return Pending({}, {} if self.other else self.before.server, "user")

    def end(self, judge: Judge) -> None:
        """See `Turn.end`."""
        if self.other:
            self.close("", judge)
        else:
            _open_loop(self.open, judge)


class _System(_Turn):
    __slots__ = ("spoken",)

    def __init__(self, number: int, facts: Facts, before: Pending) -> None:
        super().__init__(number, facts, before)
        # The first message that speaks; the others only set the effort.
        self.spoken = -1

    def see(self, number: int, facts: Facts, judge: Judge) -> None:
        """See `Turn.see`."""
        for item in facts.items:
            if item.what == RESULT:
                words = f"result {item.id!r} stands in a system message"
                judge.broken("orphan-result", number, words)
        if facts.exempt:
            return
        if self.spoken >= 0:
            judge.broken("system-row", number, "a system message right behind another one")
        else:
            self.spoken = number

    def close(self, after: str, judge: Judge) -> Pending:
        """See `Turn.close`."""
        before, spoken = self.before, self.spoken
        waits = any(call in judge.waiting for call in before.calls)
        follows = before.role == "user" or before.served
        if spoken >= 0 and not waits and (not follows or after != "assistant"):
            words = "a system message must stand between a user's turn and an assistant's"
            judge.broken("system-place", spoken, words)
        elif spoken < 0 and not waits and before.calls and after == "user":
            # It may stand anywhere else, but nothing stands between calls and their results.
            words = "a system message stands between calls and their results"
            judge.broken("system-place", self.number, words)
        if spoken < 0:
            return before
        _unfinished(before.server, judge)
        return before._replace(server={})

    def end(self, judge: Judge) -> None:
        """See `Turn.end`."""
        self.close("assistant", judge)
        (_open_loop if self.spoken < 0 else _unanswered)(self.before.calls, judge)


def _unanswered(calls: Mapping[str, int], judge: Judge) -> None:
    for call, number in calls.items():
        rule = "pending-call" if call in judge.waiting else "unanswered-call"
        judge.broken(rule, number, f"call {call!r} is not answered in the turn right after it")


def _open_loop(calls: Mapping[str, int], judge: Judge) -> None:
    for call, number in calls.items():
        judge.broken("open-loop", number, f"call {call!r} waits for its result")


def _unfinished(calls: Mapping[str, int], judge: Judge) -> None:
    for call, number in calls.items():
        words = f"server call {call!r} is not finished, so only results may follow"
        judge.broken("server-call-pending", number, words)


def opens(facts: Facts) -> bool:
    """True for a message that may open a request."""
    alone = len(facts.items) == 1 and facts.items[0].what == SUMMARY
    return facts.role == "user" or (facts.role == "assistant" and alone)
