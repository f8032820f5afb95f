"""Calls of tools that the provider runs, and their results, in a copy of an Anthropic conversation.

Invariant: a call and its result stay together or go together, under one id that the API takes.
"""

from __future__ import annotations

import re
from collections.abc import Container

from tenure.core.message import JsonObject
from tenure.wire.mend_anthropic_draft import Entry, Gone, Notes, without
from tenure.wire.mend_common import FreshIds
from tenure.wire.rules_anthropic_block import SERVER_CALLS, is_server_result, kind_of
from tenure.wire.rules_anthropic_facts import SERVER_ID, is_server_id, pair_id

At = tuple[int, int]  # The number of an entry, and of a block in it.

_UNSPELLED = re.compile(r"[^a-zA-Z0-9_]")


def mend_server_calls(draft: list[Entry], notes: Notes) -> list[Entry]:
    """Leaves out server tool calls that never end, results without a call, and repeated pairs; ids
    are spelled as the API takes them."""
    gone = _partless(draft)
    return without(_respelled(draft, gone, notes), gone, notes)


def _partless(draft: list[Entry]) -> Gone:
    """The blocks that have no partner, or were there before."""
    gone: Gone = {}
    waiting: dict[str, At] = {}
    known: set[str] = set()
    repeated: set[str] = set()
    for number, entry in enumerate(draft):
        if waiting and _interrupts(entry):
            _leave_out(waiting, gone)
        for place, block in enumerate(entry.blocks if entry.role == "assistant" else ()):
            kind, at = kind_of(block), (number, place)
            if kind in SERVER_CALLS:
                call = pair_id(block.get("id"))
                if call in known:
                    gone[at] = ("server-call-repeated", f"server call {call!r} stood there twice")
                    repeated.add(call)
                    continue
                known.add(call)
                waiting[call] = at
            elif is_server_result(kind) and kind != "tool_result":
                call = pair_id(block.get("tool_use_id"))
                if waiting.pop(call, None) is None:
                    words = f"a result of server call {call!r}, which is not before it"
                    again = call in repeated
                    gone[at] = ("server-call-repeated" if again else "server-result-alone", words)
    last = next((each for each in reversed(draft) if each.message["content"]), None)
    if waiting and last is not None and last.role == "assistant" and not _is_paused(last):
        _leave_out(waiting, gone)
    return gone


def _respelled(draft: list[Entry], gone: Container[At], notes: Notes) -> list[Entry]:
    """The draft with ids of server tools that the API takes; blocks that go keep theirs."""
    spots: list[tuple[At, JsonObject, str]] = []
    for number, entry in enumerate(draft):
        for place, block in enumerate(entry.blocks if entry.role == "assistant" else ()):
            kind = kind_of(block)
            is_result = is_server_result(kind) and kind != "tool_result"
            if (kind in SERVER_CALLS or is_result) and (number, place) not in gone:
                field = "tool_use_id" if is_result else "id"
                spots.append(((number, place), block, field))
    if all(is_server_id(block, pair_id(block.get(field))) for _, block, field in spots):
        return draft
    names = _names(spots)
    changed: dict[int, list[JsonObject]] = {}
    for (number, place), block, field in spots:
        given = block.get(field)
        name = names[pair_id(given)]
        if name != given:
            notes.add("server-call-id", draft[number].source, f"its id is {name!r} here", given)
            if number not in changed:
                changed[number] = list(draft[number].blocks)
            changed[number][place] = {**block, field: name}
    return [
        entry.saying(changed[number]) if number in changed else entry
        for number, entry in enumerate(draft)
    ]


def _names(spots: list[tuple[At, JsonObject, str]]) -> dict[str, str]:
    """The id to send for each id that pairs."""
    names: dict[str, str] = {}
    strict: dict[str, bool] = {}
    for _, block, field in spots:
        call = pair_id(block.get(field))
        strict[call] = strict.get(call, False) or kind_of(block) == "server_tool_use"
    fits = {c for c, is_strict in strict.items() if c and (not is_strict or SERVER_ID.fullmatch(c))}
    fresh = FreshIds(fits)
    for call, is_strict in strict.items():
        wanted = f"srvtoolu_{_UNSPELLED.sub('_', call)[:30] or 'call'}" if is_strict else call
        names[call] = call if call in fits else fresh.make(wanted)
    return names


def _leave_out(waiting: dict[str, At], gone: Gone) -> None:
    for call, at in waiting.items():
        gone[at] = ("server-call-pending", f"server call {call!r} never got its result")
    waiting.clear()


def _interrupts(entry: Entry) -> bool:
    """True for words in between; a system message that only sets the effort says nothing."""
    if entry.role == "assistant" or not entry.message["content"]:
        return False
    return not entry.blocks or any(kind_of(block) != "tool_result" for block in entry.blocks)


def _is_paused(entry: Entry) -> bool:
    kind = kind_of(entry.blocks[-1]) if entry.blocks else ""
    return kind in SERVER_CALLS or (is_server_result(kind) and kind != "tool_result")
