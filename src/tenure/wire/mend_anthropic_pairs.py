"""Calls and results brought together again, in a copy of an Anthropic conversation.

Invariant: a result that was recorded is never replaced by made-up words; a call is answered with
made-up words only where other words follow it and it does not wait on purpose. No words are lost.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.mend_anthropic_draft import Entry, Notes, turns_of
from tenure.wire.mend_common import (
    NO_RESULT,
    FreshIds,
    duplicate_label,
    lost_json,
    named,
    orphan_label,
)
from tenure.wire.rules_anthropic_block import KEY, kind_of, text_block
from tenure.wire.rules_anthropic_facts import is_call_id, pair_id
from tenure.wire.values import is_array

At = tuple[int, int]  # The number of an entry, and of a block in it.

# Blocks of a result that may stand in a user message by themselves.
_STANDS_ALONE = frozenset({"text", "image", "document", "search_result"})


@dataclass
class _Call:
    """A call: where it stands, its turn, and the result that answers it."""

    at: At
    id: str
    turn: int
    block: JsonObject
    result: At | None = None
    name: str = ""


class _Found(NamedTuple):
    """All calls and results, in order; `repeats` are calls that stand there twice."""

    calls: list[_Call]
    results: dict[At, str]
    repeats: list[At]


@dataclass
class _Changes:
    """What becomes of blocks, and what is put in front of turns or behind entries."""

    blocks: dict[At, Sequence[JsonObject]] = field(default_factory=dict)
    front: dict[int, list[JsonObject]] = field(default_factory=dict)
    behind: dict[int, list[JsonObject]] = field(default_factory=dict)


def mend_pairs(draft: list[Entry], terms: Terms, notes: Notes) -> list[Entry]:
    """The draft with every call answered once, right after it, under an id that is its own."""
    turns = turns_of(draft)
    found = _find(draft, turns)
    _match(draft, turns, found)
    changes = _Changes()
    for at in found.repeats:
        changes.blocks[at] = ()
        block = draft[at[0]].blocks[at[1]]
        words = f"{named(pair_id(block.get('id')))} stood there twice in one turn"
        notes.add("duplicate-call", draft[at[0]].source, words, block)
    _name(draft, found, terms, changes, notes)
    _leftovers(draft, found, changes, notes)
    _answer_all(draft, turns, found, terms, changes, notes)
    return _rebuilt(draft, changes)


def _find(draft: Sequence[Entry], turns: Sequence[Sequence[int]]) -> _Found:
    turn_of = _turn_of(turns)
    calls: list[_Call] = []
    results: dict[At, str] = {}
    for number, entry in enumerate(draft):
        for place, block in enumerate(entry.blocks):
            kind = kind_of(block)
            if kind == "tool_result":
                results[number, place] = pair_id(block.get("tool_use_id"))
            elif kind == "tool_use" and entry.role == "assistant":
                call = pair_id(block.get("id"))
                calls.append(_Call((number, place), call, turn_of[number], block))
    repeats = _repeats(calls, Counter((turn_of.get(at[0]), id_) for at, id_ in results.items()))
    return _Found([call for call in calls if call.at not in repeats], results, sorted(repeats))


def _repeats(calls: Sequence[_Call], results: Mapping[tuple[int | None, str], int]) -> set[At]:
    """Calls that stand there twice in their turn: the same to the letter, and not answered as often.

    A host that gives parallel calls one id may make two alike, and then there are two results.
    """
    groups: dict[tuple[int, str], list[_Call]] = {}
    for call in calls:
        groups.setdefault((call.turn, call.id), []).append(call)
    found: set[At] = set()
    for (turn, id_), group in groups.items():
        spare = max(0, len(group) - max(1, results.get((turn + 1, id_), 0)))
        seen: set[bytes] = set()
        for call in group if spare else ():
            text = lost_json(call.block)
            if text in seen and spare:
                found.add(call.at)
                spare -= 1
            seen.add(text)
    return found


def _turn_of(turns: Sequence[Sequence[int]]) -> dict[int, int]:
    """The number of the turn of each entry; system messages have none."""
    return {number: turn for turn, numbers in enumerate(turns) for number in numbers}


def _match(draft: Sequence[Entry], turns: Sequence[Sequence[int]], found: _Found) -> None:
    """Gives every call its result: the one in the turn behind it, else the nearest that is free."""
    turn_of = _turn_of(turns)
    here: dict[tuple[int, str], list[At]] = {}
    for at, id_ in found.results.items():
        if at[0] in turn_of and draft[at[0]].role == "user":
            here.setdefault((turn_of[at[0]], id_), []).append(at)
    for queue in here.values():
        queue.reverse()
    taken: set[At] = set()
    for call in found.calls:
        queue = here.get((call.turn + 1, call.id), [])
        if queue:
            call.result = queue.pop()
            taken.add(call.result)
    loose: dict[str, list[At]] = {}
    for at, id_ in found.results.items():
        if at not in taken:
            loose.setdefault(id_, []).append(at)
    places: dict[str, list[At]] = {}
    for call in found.calls:
        places.setdefault(call.id, []).append(call.at)
    used: set[At] = set()
    for call in found.calls:
        if call.result is None and call.id in loose:
            call.result = _nearest(call.at, loose[call.id], places[call.id], used)
            used |= {call.result} if call.result else set()


def _nearest(
    call: At, loose: Sequence[At], calls: Sequence[At], used: set[At]
) -> At | None:  # fmt: skip
    """The first free result behind the call, or the last before it; never beyond a call of the
    same id, whose result it would be."""
    behind = bisect_right(loose, call)
    following = bisect_right(calls, call)
    limit = calls[following] if following < len(calls) else None
    is_own = behind < len(loose) and (limit is None or loose[behind] < limit)
    if is_own and loose[behind] not in used:
        return loose[behind]
    before = bisect_left(loose, call) - 1
    own = bisect_left(calls, call)
    floor = calls[own - 1] if own else (-1, -1)
    if before >= 0 and loose[before] > floor and loose[before] not in used:
        return loose[before]
    return None


def _name(
    draft: Sequence[Entry], found: _Found, terms: Terms, changes: _Changes, notes: Notes
) -> None:
    """Gives every call an id that the API takes and no other call has, and its result the same."""
    spelled = [c.block.get("id") for c in found.calls]
    fits = FreshIds((), terms.id_pattern).fits
    good = [
        is_call_id(raw, c.id) and fits(c.id) for raw, c in zip(spelled, found.calls, strict=True)
    ]
    fresh = FreshIds(
        {c.id for c, is_good in zip(found.calls, good, strict=True) if is_good}, terms.id_pattern
    )
    used: set[str] = set()
    turn_ids: set[tuple[int, str]] = set()
    for call, is_good in zip(found.calls, good, strict=True):
        again = (call.turn, call.id) in turn_ids
        turn_ids.add((call.turn, call.id))
        call.name = call.id
        if not (is_good and call.id not in used):
            call.name = fresh.make(call.id)
            if not call.name:  # No id of that shape is known: left to the violation.
                call.name = call.id
                continue
            rule = ("duplicate-call" if again else "repeated-id") if is_good else "call-id"
            words = f"{named(call.id)} is called {call.name!r} here"
            notes.add(rule, draft[call.at[0]].source, words, call.block.get("id"))
            changes.blocks[call.at] = ({**call.block, "id": call.name},)
        used.add(call.name)
        if call.result is not None:
            block = draft[call.result[0]].blocks[call.result[1]]
            given = block.get("tool_use_id")
            if given != call.name:
                changes.blocks[call.result] = ({**block, "tool_use_id": call.name},)
                if call.name == call.id:
                    words = f"the result of {named(call.id)} had its id spelled otherwise"
                    notes.add("call-id", draft[call.result[0]].source, words, given)


def _leftovers(draft: Sequence[Entry], found: _Found, changes: _Changes, notes: Notes) -> None:
    """Results without a call of theirs become labelled text that keeps their words and media."""
    taken = {call.result for call in found.calls}
    answered = {(call.turn + 1, call.id) for call in found.calls if call.result}
    turn_of = _turn_of(turns_of(draft))
    for at, id_ in found.results.items():
        if at in taken:
            continue
        entry = draft[at[0]]
        block = entry.blocks[at[1]]
        twice = (turn_of.get(at[0]), id_) in answered
        rule = "duplicate-result" if twice else "orphan-result"
        label = duplicate_label if twice else orphan_label
        first = label(id_, is_error=block.get("is_error") is True)
        changes.blocks[at] = _as_words(block, first, by_user=entry.role == "user")
        words = f"a result of {named(id_)} became text: " + (
            "the call has one" if twice else "its call is not in the turn before it"
        )
        notes.add(rule, entry.source, words, block)


def _as_words(block: JsonObject, label: str, *, by_user: bool) -> Sequence[JsonObject]:
    content = block.get("content")
    if isinstance(content, str) or content is None:
        said = f"{label}\n{content}" if content and content.strip() else label
        return (text_block(said, block),)
    new: list[JsonObject] = [text_block(label)]
    for part in content if is_array(content) else (content,):
        if kind_of(part) == "text" or (by_user and kind_of(part) in _STANDS_ALONE):
            bare = {key: value for key, value in part.items() if key != "citations"}
            new.append(bare)
        else:
            new.append(text_block(lost_json(part).decode(), part))
    mark = block.get(KEY)
    if mark is not None and new[-1].get(KEY) is None:
        new[-1] = {**new[-1], KEY: mark}
    return new


def _answer(
    draft: Sequence[Entry],
    behind: Sequence[int],
    calls: Sequence[_Call],
    owners: Mapping[At, _Call],
    *,
    ends: bool,
) -> tuple[list[tuple[str, _Call]], bool]:
    """Moves the results of one assistant turn to the front of the turn behind it.

    Gives what was moved, by rule, and whether the calls left are an open loop at the end.
    """
    moved: list[tuple[str, _Call]] = []
    other = False
    for number in behind:
        blocks = draft[number].blocks
        other = other or not blocks
        for place in range(len(blocks)):
            owner = owners.get((number, place))
            if owner is None:
                other = True
            elif other and owner.turn == calls[0].turn:
                moved.append(("results-first", owner))
    standing = set(behind)
    moved += [
        ("unanswered-call", call)
        for call in calls
        if call.result is not None and call.result[0] not in standing
    ]
    return moved, ends and not other


def _answer_all(
    draft: Sequence[Entry],
    turns: Sequence[Sequence[int]],
    found: _Found,
    terms: Terms,
    changes: _Changes,
    notes: Notes,
) -> None:
    """Sees to the results of every assistant turn: all there, in front of the turn behind it."""
    owners = {call.result: call for call in found.calls if call.result is not None}
    by_turn: dict[int, list[_Call]] = {}
    for call in found.calls:
        by_turn.setdefault(call.turn, []).append(call)
    for turn, calls in by_turn.items():
        after = turn + 1
        behind = turns[after] if after < len(turns) and _by_user(draft, turns[after]) else []
        last = (behind or turns[turn])[-1]
        moved, is_open = _answer(draft, behind, calls, owners, ends=last == len(draft) - 1)
        front = [_take(draft, changes, call) for _, call in moved]
        for rule, call in moved:
            words = f"the result of {named(call.id)} was moved to where the API wants it"
            notes.add(rule, draft[call.at[0]].source, words)
        for call in calls:
            if call.result is None and not is_open and call.id not in terms.pending:
                front.append(_stand_in(call))
                words = f"no result of {named(call.id)} was recorded, and one says so"
                notes.add("unanswered-call", draft[call.at[0]].source, words)
        if front and behind:
            changes.front[behind[0]] = front
        elif front:
            changes.behind[turns[turn][-1]] = front


def _by_user(draft: Sequence[Entry], numbers: Sequence[int]) -> bool:
    return draft[numbers[0]].role == "user"


def _take(draft: Sequence[Entry], changes: _Changes, call: _Call) -> JsonObject:
    assert call.result is not None
    number, place = call.result
    (block,) = changes.blocks.get(call.result, (draft[number].blocks[place],))
    changes.blocks[call.result] = ()
    return block


def _stand_in(call: _Call) -> JsonObject:
    return {
        "type": "tool_result",
        "tool_use_id": call.name,
        "content": NO_RESULT,
        "is_error": True,
    }


def _rebuilt(draft: Sequence[Entry], changes: _Changes) -> list[Entry]:
    by_entry: dict[int, dict[int, Sequence[JsonObject]]] = {}
    for (number, place), blocks in changes.blocks.items():
        by_entry.setdefault(number, {})[place] = blocks
    new: list[Entry] = []
    for number, entry in enumerate(draft):
        swaps, front = by_entry.get(number), changes.front.get(number)
        if swaps or (front and entry.blocks):
            kept = [
                each
                for place, block in enumerate(entry.blocks)
                for each in (swaps or {}).get(place, (block,))
            ]
            lead = next(
                (at for at, block in enumerate(kept) if kind_of(block) != "tool_result"), len(kept)
            )
            kept[lead:lead] = front or ()
            new += [entry.saying(kept)] if kept else []
        else:
            if front:
                new.append(Entry(entry.source, {"role": "user", "content": front}))
            new.append(entry)
        if number in changes.behind:
            answers = {"role": "user", "content": changes.behind[number]}
            new.append(Entry(entry.source, answers))
    return new
