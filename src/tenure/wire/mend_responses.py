"""OpenAI Responses: the legal copy of a list of items.

Invariant: deterministic, linear, minimal, idempotent. Items are made sound one by one, outputs are
paired with calls by `call_id`, every call gets one id for itself and its output, what has no partner
gets one or becomes labelled text; at last reasoning and item ids are made to fit what stands there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tenure.core.legal import Mend, Mended, Terms
from tenure.core.message import JsonObject, json_bytes
from tenure.wire.mend_common import (
    BEGINNING,
    NO_RESULT,
    FreshIds,
    cleaned,
    duplicate_label,
    lost_json,
    orphan_label,
)
from tenure.wire.mend_responses_runs import fit_runs
from tenure.wire.rules_openai_ids import call_key, id_fault
from tenure.wire.rules_openai_parts import INPUT_PARTS, labelled_content
from tenure.wire.rules_responses import Key, made_by_model, on_server, pair_key
from tenure.wire.rules_responses_shape import (
    CLIENT_CALLS,
    LONGEST_ID,
    as_words,
    call_of,
    kind_of,
    shaped,
)
from tenure.wire.shape import head_faults, id_limit, takes_of
from tenure.wire.values import is_object

# Faults of items that have no sound copy.
_GOES = frozenset({"reasoning-size", "empty-item"})


@dataclass(slots=True)
class _Call:
    """One call item: what it pairs by, the id it leaves with, the output that answers it."""

    number: int
    key: Key
    raw: Any
    kind: str
    run: int
    id: Any = ""
    output: int = -1
    # An item reference behind it may stand for its output.
    perhaps: bool = False
    twice: bool = False
    claimed: bool = False


@dataclass(slots=True)
class _Found:
    """What the pairing found out about the outputs, by their numbers."""

    answers: dict[int, _Call] = field(default_factory=dict)
    second: set[int] = field(default_factory=set)
    orphan: set[int] = field(default_factory=set)
    unjudged: set[int] = field(default_factory=set)
    called: set[Key] = field(default_factory=set)
    # Ids of outputs whose calls a reference stands for.
    claimed: set[Key] = field(default_factory=set)


def mend(messages: Sequence[JsonObject], terms: Terms) -> Mended:
    """See `Wire.mend`."""
    return _Mending(messages, terms).run()


class _Mending:
    """The state of one mending."""

    def __init__(self, items: Sequence[JsonObject], terms: Terms) -> None:
        self._given = items
        self._terms = terms
        self._pending = frozenset(map(call_key, terms.pending))
        self._judged = not on_server(terms)
        self._items: list[JsonObject | None] = []
        self._mends: defaultdict[int, list[Mend]] = defaultdict(list)
        self._calls: list[_Call] = []
        self._found = _Found()
        # Where an open call's run begins, if one is open at the end: nothing may follow it.
        self._open_from = len(items)
        self._boundary = -1
        self._run_ends: list[int] = []

    def run(self) -> Mended:
        """All steps, in order."""
        head, faults = head_faults(self._terms.head)
        self._mends[-1] += (fault.mend(-1) for fault in faults)
        self._shape()
        if self._judged:
            self._pair()
            self._give_ids()
        groups = (
            self._place() if self._judged else [[i] if i is not None else [] for i in self._items]
        )
        fit_runs(groups, self._mends, judged=self._judged)
        if groups and self._judged and not any(groups):
            words = "nothing is left to send, and a labelled user message says so"
            self._say("empty-content", len(groups) - 1, words)
            groups[-1] = [{"role": "user", "content": BEGINNING}]
        mends = [mend for number in sorted(self._mends) for mend in self._mends[number]]
        return Mended([tuple(group) for group in groups], mends, head)

    def _say(self, rule: str, number: int, words: str, lost: bytes = b"") -> None:
        self._mends[number].append(Mend(rule, number, words, lost))

    # -- items by themselves -----------------------------------------------------------------

    def _shape(self) -> None:
        last = len(self._given) - 1
        takes = takes_of(self._terms, LONGEST_ID)
        for number, item in enumerate(self._given):
            sound, faults, _ = shaped(item, takes)
            kept: JsonObject | None = sound
            self._mends[number] += (fault.mend(number) for fault in faults)
            if any(fault.rule in _GOES for fault in faults):
                kept = None
            if kind_of(sound) == "compaction_trigger" and number < last:
                words = "compaction trigger that was not last left out"
                self._say("trigger-not-last", number, words, lost_json(item))
                kept = None
            self._items.append(kept)

    # -- pairs -------------------------------------------------------------------------------

    def _pair(self) -> None:
        """Finds for each output the call it answers: of the latest run with that id."""
        latest: dict[Key, list[_Call]] = {}
        run, referred, last_by_model, reference = 0, 0, False, False
        self._run_ends = [*range(1, len(self._items) + 1)]
        for number, item in enumerate(self._items):
            if item is None:
                continue
            kind = kind_of(item)
            by_model = made_by_model(item, kind)
            if by_model and not last_by_model:
                run = self._boundary = number
            last_by_model = by_model
            if by_model:
                self._run_ends[run] = number + 1
            key = pair_key(item, kind)
            if kind == "item_reference":
                reference = True
                for call in self._calls[referred:]:
                    call.perhaps = True
                referred = len(self._calls)
            elif key is None:
                self._boundary = self._boundary if by_model or kind.endswith("_output") else number
            elif kind in CLIENT_CALLS:
                self._open(_Call(number, key, call_of(item, kind), kind, run), latest)
            else:
                self._close(number, key, latest, reference=reference)

    def _open(self, call: _Call, latest: dict[Key, list[_Call]]) -> None:
        others = latest.get(call.key, [])
        call.claimed = call.key in self._found.claimed
        call.twice = any(other.output < 0 and not other.perhaps for other in others)
        same_run = others and others[-1].run == call.run
        latest[call.key] = [*others, call] if same_run else [call]
        self._calls.append(call)
        self._found.called.add(call.key)

    def _close(
        self, number: int, key: Key, latest: dict[Key, list[_Call]], *, reference: bool
    ) -> None:
        calls = latest.get(key, [])
        waiting = next((call for call in calls if call.output < 0), None)
        if waiting is not None:
            waiting.output = number
            self._found.answers[number] = waiting
        elif calls:
            self._found.second.add(number)
        elif reference:
            self._found.unjudged.add(number)
            self._found.claimed.add(key)
        else:
            self._found.orphan.add(number)

    # -- ids ---------------------------------------------------------------------------------

    def _give_ids(self) -> None:
        used: set[Key] = set()
        taken: set[str] = set()
        longest = id_limit(self._terms, LONGEST_ID)
        fresh = FreshIds(taken, self._terms.id_pattern, longest)
        any_shape = FreshIds(taken, longest=longest)
        for call in self._calls:
            item = self._items[call.number]
            assert item is not None
            text = call.key[1]
            taken_before = call.key in used or call.claimed
            if text in self._pending:
                call.id = call.raw
            elif not text or taken_before or not fresh.fits(text):
                free = bool(text) and not taken_before and any_shape.fits(text)
                call.id = fresh.make(text) or (text if free else any_shape.make(text))
            else:
                call.id = text
            used.add((call.key[0], call_key(call.id)))
            taken.add(call_key(call.id))
            self._items[call.number] = self._respelled(call.number, item, call.id, call, fresh)
        for number, answered in self._found.answers.items():
            item = self._items[number]
            assert item is not None
            if answered.key[1] in self._pending:
                continue  # Its calls keep their id, so which of them it answers is not known.
            item = self._respelled(number, item, answered.id, answered, fresh)
            kind = f"{answered.kind}_output"
            if item["type"] != kind:
                words = f"type {item['type']!r} of an output set to that of its call"
                self._say("output-type", number, words, json_bytes(item["type"]))
                item = {**item, "type": kind}
            self._items[number] = item
        for number in self._found.unjudged:
            self._trim(number, fresh)

    def _respelled(
        self, number: int, item: JsonObject, wanted: Any, call: _Call, fresh: FreshIds
    ) -> JsonObject:
        kind = kind_of(item)
        raw = call_of(item, kind)
        if raw == wanted and type(raw) is type(wanted):
            return item
        fault = id_fault(raw, fresh.fits)
        rule = "duplicate-call" if call.twice else "reused-id"
        words = f"call id {raw!r} sent as {wanted!r}, the same in call and output"
        lost = b"" if raw is None else lost_json(raw)
        self._say(fault.rule if fault is not None else rule, number, words, lost)
        return _with_call(item, kind, wanted)

    def _trim(self, number: int, fresh: FreshIds) -> None:
        """The id of an output whose call an item reference stands for, perhaps."""
        item = self._items[number]
        assert item is not None
        raw = call_of(item, kind_of(item))
        fault = id_fault(raw, fresh.fits)
        key = call_key(raw)
        if fault is None or key in self._pending:
            return
        wanted = key if key and fresh.fits(key) else fresh.make(key) or key
        words = f"call id {raw!r} sent as {wanted!r}"
        self._say(fault.rule, number, words, b"" if raw is None else lost_json(raw))
        self._items[number] = _with_call(item, kind_of(item), wanted)

    # -- places ------------------------------------------------------------------------------

    def _place(self) -> list[list[JsonObject]]:
        groups: list[list[JsonObject]] = [[] if i is None else [i] for i in self._items]
        unanswered = [c for c in self._calls if c.output < 0 and not c.perhaps]
        still_open = [c for c in unanswered if c.number >= self._boundary]
        open_from = still_open[0].run if still_open else len(groups)
        before: list[JsonObject] = []
        for number in sorted(self._found.second | self._found.orphan):
            text = self._labelled(number)
            groups[number] = []
            (before if number >= open_from else groups[number]).append(text)
        if before:
            # Behind open calls only their outputs may follow, and those are still to come.
            groups[open_from][:0] = before
        for call in unanswered:
            if call.number < self._boundary and call.key[1] not in self._pending:
                self._answer(call, groups)
        return groups

    def _answer(self, call: _Call, groups: list[list[JsonObject]]) -> None:
        item = self._items[call.number]
        assert item is not None
        made = _made_up(call)
        if made is None:
            # Its output would have to claim an exit status or show a screen.
            what = f"the model made this {call.kind}; {NO_RESULT[len('[tenure: ') : -1]}"
            # What answers another call of its run may stand behind it already.
            groups[call.number][0] = as_words(item, what)
            words = f"{call.kind} without an output sent as labelled text"
            self._say("unanswered-call", call.number, words, lost_json(item))
            return
        groups[self._run_ends[call.run] - 1].append(made)
        words = f"call {call.id!r} got an output that says that none was recorded"
        self._say("unanswered-call", call.number, words)

    def _labelled(self, number: int) -> JsonObject:
        given = cleaned(self._given[number])
        kind = kind_of(given)
        key = pair_key(given, kind)
        assert key is not None
        second = number in self._found.second
        label = duplicate_label(key[1]) if second else orphan_label(key[1])
        early = not second and key in self._found.called
        rule = "duplicate-result" if second else "result-before-call" if early else "orphan-result"
        words = f"output of call {key[1]!r} sent as a user's labelled text"
        # One mend says it all: what was done to make it a sound output is not sent.
        self._mends[number] = [Mend(rule, number, words, lost_json(self._given[number]))]
        said = given.get("output")
        if is_object(said) and said.get("type") == "computer_screenshot":
            said = [{**said, "type": "input_image"}]
        elif said is None or kind not in {"function_call_output", "custom_tool_call_output"}:
            said = {k: v for k, v in given.items() if k not in {"type", "call_id", "id"}}
        return {"role": "user", "content": labelled_content(label, said, INPUT_PARTS)}


def _with_call(item: JsonObject, kind: str, call: Any) -> JsonObject:
    old = kind == "local_shell_call_output" and item.get("call_id") is None
    return {**item, "id" if old else "call_id": call}


def _made_up(call: _Call) -> JsonObject | None:
    """An output that claims nothing; None for types whose outputs can't be empty of claims."""
    if call.kind in {"function_call", "custom_tool_call"}:
        return {"type": f"{call.kind}_output", "call_id": call.id, "output": NO_RESULT}
    if call.kind == "local_shell_call":
        text = json_bytes(NO_RESULT).decode()
        return {"type": "local_shell_call_output", "id": call.id, "output": text}
    return None
