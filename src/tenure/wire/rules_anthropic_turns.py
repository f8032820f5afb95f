"""The rules of Anthropic Messages that hold between messages: turns, pairs, server tools, order.

Invariant: a walk over facts in order. Consecutive messages of one role are one turn, as the API
merges them; what a turn leaves open goes on in a `Pending`, and a turn that is still growing is
judged without being closed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

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

Numbered = tuple[int, Facts]


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
    """What the judgement of a turn needs to know: waiting ids, the ids of earlier turns, the list
    of what is found; `last` says that nothing follows, `after` which role does."""

    waiting: Collection[str]
    known: Collection[str]
    served: Collection[str]
    found: list[Violation]
    last: bool
    after: str

    def broken(self, rule: str, number: int, words: str) -> None:
        """Takes note of a violation."""
        self.found.append(Violation(rule, number, words))


def judge_turn(turn: Sequence[Numbered], before: Pending, judge: Judge) -> Pending:
    """The violations of a turn, and what it leaves open."""
    role = turn[0][1].role
    if role == "assistant":
        return _assistant(turn, before, judge)
    if role == "user":
        return _user(turn, before, judge)
    return _system(turn, before, judge)


def _assistant(turn: Sequence[Numbered], before: Pending, judge: Judge) -> Pending:
    _unanswered(before.calls, judge)
    calls: dict[str, int] = {}
    server = dict(before.server)
    own: set[str] = set()
    last: Item | None = None
    for number, facts in turn:
        for item in facts.items:
            last = item
            if item.what == CALL:
                _call(item.id, number, calls, judge)
            elif item.what == SERVER:
                if item.id in own or item.id in judge.served:
                    words = f"server call id {item.id!r} occurs twice"
                    judge.broken("server-call-repeated", number, words)
                own.add(item.id)
                server[item.id] = number
            elif item.what == SERVED:
                if server.pop(item.id, None) is None:
                    words = f"server tool result {item.id!r} has no call before it"
                    judge.broken("server-result-alone", number, words)
            elif item.what == RESULT:
                words = f"result {item.id!r} stands in an assistant message"
                judge.broken("orphan-result", number, words)
    number = turn[-1][0]
    what = last.what if last else ""
    if what == THOUGHT:
        words = "the last block of an assistant turn is thinking"
        judge.broken("thinking-last", number, words)
    if judge.last:
        if what not in {SERVER, SERVED}:
            _unfinished(server, judge)
        _open_loop(calls, judge)
    return Pending(calls, server, "assistant", what == SERVED)


def _call(call: str, number: int, calls: dict[str, int], judge: Judge) -> None:
    if call in calls:
        judge.broken("duplicate-call", number, f"call id {call!r} occurs twice in one turn")
    elif call in judge.known:
        judge.broken("repeated-id", number, f"call id {call!r} occurs in an earlier turn")
    calls[call] = number


def _user(turn: Sequence[Numbered], before: Pending, judge: Judge) -> Pending:
    open_calls = dict(before.calls)
    other = False
    for number, facts in turn:
        for item in facts.items:
            if item.what != RESULT:
                other = True
            elif item.id not in before.calls:
                other = True
                words = f"result {item.id!r} has no call in the assistant turn before it"
                judge.broken("orphan-result", number, words)
            elif open_calls.pop(item.id, None) is None:
                other = True
                judge.broken("duplicate-result", number, f"call {item.id!r} is answered twice")
            elif other:
                words = "a tool result stands behind other content of its turn"
                judge.broken("results-first", number, words)
    if other:
        _unfinished(before.server, judge)
    if other or not judge.last:
        _unanswered(open_calls, judge)
    else:
        _open_loop(open_calls, judge)
    return Pending({}, {} if other else before.server, "user")


def _system(turn: Sequence[Numbered], before: Pending, judge: Judge) -> Pending:
    waits = any(call in judge.waiting for call in before.calls)
    for number, facts in turn:
        for item in facts.items:
            if item.what == RESULT:
                words = f"result {item.id!r} stands in a system message"
                judge.broken("orphan-result", number, words)
    spoken = [number for number, facts in turn if not facts.exempt]
    for number in spoken[1:]:
        judge.broken("system-row", number, "a system message right behind another one")
    follows = before.role == "user" or before.served
    if spoken and not waits and (not follows or judge.after != "assistant"):
        words = "a system message must stand between a user's turn and an assistant's"
        judge.broken("system-place", spoken[0], words)
    elif not spoken and not waits and before.calls and judge.after == "user":
        # It may stand anywhere else, but nothing stands between calls and their results.
        words = "a system message stands between calls and their results"
        judge.broken("system-place", turn[0][0], words)
    if judge.last:
        (_unanswered if spoken else _open_loop)(before.calls, judge)
    return before


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
