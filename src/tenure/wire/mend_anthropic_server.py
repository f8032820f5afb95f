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
        if entry.role == "user" and waiting and not _only_results(entry):
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
    if waiting and draft and not _may_wait(draft[-1]):
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
    new = list(draft)
    for (number, place), block, field in spots:
        given = block.get(field)
        name = names[pair_id(given)]
        if name != given:
            notes.add("server-call-id", new[number].source, f"its id is {name!r} here", given)
            blocks = list(new[number].blocks)
            blocks[place] = {**block, field: name}
            new[number] = new[number].saying(blocks)
    return new


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


def _only_results(entry: Entry) -> bool:
    return bool(entry.blocks) and all(kind_of(b) == "tool_result" for b in entry.blocks)


def _may_wait(entry: Entry) -> bool:
    if entry.role != "assistant":
        return entry.role == "system" or _only_results(entry)
    kind = kind_of(entry.blocks[-1]) if entry.blocks else ""
    return kind in SERVER_CALLS or (is_server_result(kind) and kind != "tool_result")
