"""Chat Completions: the legal copy of a list of messages.

Invariant: deterministic, linear, minimal, idempotent. Every message is first made sound by itself;
then results are paired with calls, each call gets one id for itself and its results, and every
group of tool messages stands right behind its calls. Later messages never change what an earlier
one became, but for a result that comes late and is moved to its call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenure.core.legal import Mend, Mended, Terms
from tenure.core.message import JsonObject
from tenure.wire.mend_common import (
    NO_RESULT,
    FreshIds,
    cleaned,
    duplicate_label,
    lost_json,
    orphan_label,
)
from tenure.wire.rules_chat import call_ids
from tenure.wire.rules_chat_shape import LONGEST_ID, shaped
from tenure.wire.rules_openai_ids import call_key, id_fault
from tenure.wire.rules_openai_parts import CHAT_PARTS, labelled_content
from tenure.wire.shape import head_faults, id_limit, takes_of
from tenure.wire.values import is_object


@dataclass(slots=True)
class _Call:
    """One call of a message: what it pairs by, the id it leaves with, the message that answers."""

    message: int
    at: int
    raw: Any
    key: str
    id: str = ""
    result: int = -1


def mend(messages: Sequence[JsonObject], terms: Terms) -> Mended:
    """See `Wire.mend`."""
    return _Mending(messages, terms).run()


class _Mending:
    """The state of one mending."""

    def __init__(self, messages: Sequence[JsonObject], terms: Terms) -> None:
        self._given = messages
        self._terms = terms
        self._pending = frozenset(map(call_key, terms.pending))
        self._sound: list[JsonObject] = []
        self._mends: defaultdict[int, list[Mend]] = defaultdict(list)
        self._calls: defaultdict[int, list[_Call]] = defaultdict(list)
        self._answers: dict[int, _Call] = {}
        self._second: dict[int, str] = {}
        self._groups: list[list[JsonObject]] = [[] for _ in messages]

    def run(self) -> Mended:
        """All steps, in order."""
        head, faults = head_faults(self._terms.head)
        self._mends[-1] += (fault.mend(-1) for fault in faults)
        takes = takes_of(self._terms, LONGEST_ID)
        for number, message in enumerate(self._given):
            sound, found, _ = shaped(message, takes)
            self._sound.append(sound)
            if found:
                self._mends[number] += (fault.mend(number) for fault in found)
        self._pair()
        self._give_ids()
        self._place()
        mends = [mend for number in sorted(self._mends) for mend in self._mends[number]]
        return Mended([tuple(group) for group in self._groups], mends, head)

    # -- pairs -------------------------------------------------------------------------------

    def _pair(self) -> None:
        """Finds for each result the call it answers: of the latest message with that id.

        A result without an id answers the first call without one, right before it only.
        """
        latest: dict[str, list[_Call]] = {}
        for number, message in enumerate(self._sound):
            if message.get("role") == "tool":
                self._pair_result(number, latest)
                continue
            latest.pop("", None)
            ids = call_ids(message)
            mine: dict[str, list[_Call]] = {}
            for at, raw in enumerate(ids):
                call = _Call(number, at, raw, call_key(raw))
                self._calls[number].append(call)
                mine.setdefault(call.key, []).append(call)
            latest.update(mine)

    def _pair_result(self, number: int, latest: dict[str, list[_Call]]) -> None:
        key = call_key(self._sound[number].get("tool_call_id"))
        calls = latest.get(key, [])
        waiting = next((call for call in calls if call.result < 0), None)
        if waiting is not None:
            waiting.result = number
            self._answers[number] = waiting
        elif calls:
            self._second[number] = calls[-1].key

    # -- ids ---------------------------------------------------------------------------------

    def _give_ids(self) -> None:
        used: set[str] = set()
        longest = id_limit(self._terms, LONGEST_ID)
        fresh = FreshIds(used, self._terms.id_pattern, longest)
        any_shape = FreshIds(used, longest=longest)
        for number, calls in self._calls.items():
            for call in calls:
                self._give_id(call, used, fresh, any_shape)
            self._sound[number] = _with_ids(self._sound[number], calls)
        for number, call in self._answers.items():
            self._respell_result(number, call, fresh)

    def _give_id(self, call: _Call, used: set[str], fresh: FreshIds, any_shape: FreshIds) -> None:
        raw, key = call.raw, call.key
        if key in self._pending:
            call.id = raw
            used.add(key)
            return
        fault = id_fault(raw, fresh.fits)
        call.id = key
        if not key or key in used or not fresh.fits(key):
            # Where the host wants a shape that none of ours has, an id of another is the best.
            free = bool(key) and key not in used
            fits = free and any_shape.fits(key)
            call.id = fresh.make(key) or (key if fits else any_shape.make(key))
        used.add(call.id)
        if call.id == raw:
            return
        rule = fault.rule if fault is not None else self._twice(call)
        lost = b"" if raw is None else lost_json(raw)
        words = f"call id {raw!r} sent as {call.id!r}, and so in its result"
        self._mends[call.message].append(Mend(rule, call.message, words, lost))

    def _twice(self, call: _Call) -> str:
        beside = self._calls[call.message][: call.at]
        again = any(other.key == call.key for other in beside)
        return "duplicate-call" if again else "reused-id"

    def _respell_result(self, number: int, call: _Call, fresh: FreshIds) -> None:
        message = self._sound[number]
        raw = message.get("tool_call_id")
        wanted = raw if call.key in self._pending else call.id
        if raw == wanted and isinstance(raw, str):
            return
        fault = id_fault(raw, fresh.fits)
        rule = fault.rule if fault is not None else self._twice(call)
        lost = b"" if raw is None else lost_json(raw)
        words = f"result of call id {raw!r} sent with its call's id {wanted!r}"
        self._mends[number].append(Mend(rule, number, words, lost))
        self._sound[number] = {**message, "tool_call_id": wanted}

    # -- places ------------------------------------------------------------------------------

    def _place(self) -> None:
        number = 0
        while number < len(self._sound):
            end = number + 1
            while end < len(self._sound) and self._sound[end].get("role") == "tool":
                end += 1
            if self._sound[number].get("role") == "tool":
                # Only at the very beginning: nothing was called yet.
                self._groups[number].append(self._labelled(number))
                end = number + 1
            else:
                self._place_turn(number, end)
            number = end

    def _place_turn(self, number: int, end: int) -> None:
        """Places a message and the tool messages up to `end`: answers, stand-ins, labelled text."""
        calls = self._calls.get(number, [])
        at_end = end == len(self._sound)
        is_open = at_end and any(call.result < 0 for call in calls)
        self._groups[number].append(self._sound[number])
        strange: list[JsonObject] = []
        for place in range(number + 1, end):
            call = self._answers.get(place)
            if call is None:
                strange.append(self._labelled(place))
            elif call.message == number:
                self._groups[place].append(self._sound[place])
        last = self._groups[end - 1]
        for call in calls:
            if call.result >= end:
                last.append(self._moved(call))
            elif call.result < 0 and not at_end and call.key not in self._pending:
                last.append(self._made_up(call))
        # Behind open calls only their results may follow, and those are still to come.
        if is_open:
            self._groups[number][:0] = strange
        else:
            last += strange

    def _moved(self, call: _Call) -> JsonObject:
        words = f"result of call {call.id!r} moved right behind its call"
        self._mends[call.result].append(Mend("orphan-result", call.result, words))
        return self._sound[call.result]

    def _made_up(self, call: _Call) -> JsonObject:
        words = f"call {call.id!r} got a result that says that none was recorded"
        self._mends[call.message].append(Mend("unanswered-call", call.message, words))
        return {"role": "tool", "tool_call_id": call.id, "content": NO_RESULT}

    def _labelled(self, number: int) -> JsonObject:
        # From what was given: a user's message may hold the media that a result may not.
        given = cleaned(self._given[number])
        key = call_key(given.get("tool_call_id"))
        second = number in self._second
        label = duplicate_label(key) if second else orphan_label(key)
        rule = "duplicate-result" if second else "orphan-result"
        words = f"result of call {key!r} sent as a user's labelled text"
        # One mend says it all: what was done to make it a sound tool message is not sent.
        self._mends[number] = [Mend(rule, number, words, lost_json(self._given[number]))]
        content = labelled_content(label, given.get("content"), CHAT_PARTS)
        return {"role": "user", "content": content}


def _with_ids(message: JsonObject, calls: Sequence[_Call]) -> JsonObject:
    if all(call.id == call.raw and type(call.raw) is type(call.id) for call in calls):
        return message
    spelled = [
        {**call, "id": given.id} if is_object(call) and call.get("id") != given.id else call
        for call, given in zip(message["tool_calls"], calls, strict=True)
    ]
    return {**message, "tool_calls": spelled}
