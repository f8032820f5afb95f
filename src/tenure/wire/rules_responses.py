"""The rules of OpenAI Responses: by name, and the check of a growing list of items.

Invariant: linear in the number of items, the names of the rules are stable, and a check after an
append equals one from scratch. Calls and outputs pair on `call_id`, never on `id`.

When is an item id legal? The API refuses an item whose id it remembers as led to by a reasoning item
that is not there; whether it was, nobody can see in the request. So an id on a model's item without a
reasoning item in the same run of model items breaks `item-id-alone`, which is not fatal: taking the
id off is always safe, since `call_id` is what pairs, and clients that keep no ids never meet the rule.
Types that must have an id (searches, images, ...) keep it, and so does everything behind an item
reference, which may stand for the reasoning. With `previous_response_id` or `conversation` the
history is on the server: pairs and ids are then not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tenure.core.legal import Terms, Violation
from tenure.core.message import JsonObject
from tenure.wire.growing import Growing
from tenure.wire.rules_openai_ids import call_key, id_fault
from tenure.wire.rules_responses_shape import (
    CALL_OUTPUTS,
    CLIENT_CALLS,
    FREE_IDS,
    LONGEST_ID,
    call_of,
    kind_of,
    shaped,
)
from tenure.wire.rules_responses_table import RULES
from tenure.wire.shape import Fault, Takes, head_faults, takes_of
from tenure.wire.values import text_of

# What a call and its output pair by: the family of their types, and the call id.
Key: TypeAlias = tuple[str, str]

# Items that a client writes; none of them is what a reasoning item led to.
_CLIENT_ITEMS = frozenset(
    {"additional_tools", "configuration_update", "compaction_trigger", "mcp_approval_response"}
)
# Its id is that of the call which it answers.
OLD_OUTPUT = "local_shell_call_output"

__all__ = ["RULES", "Reading", "checker", "made_by_model", "on_server", "reading", "violations"]


class Reading(NamedTuple):
    """What the walk needs to know of an item, whatever stands around it.

    `item_id` is its id where no other item may have the same; `loose_id` says that it is one which
    needs the reasoning before it.
    """

    kind: str
    by_model: bool
    key: Key | None
    item_id: str
    loose_id: bool
    faults: tuple[Fault, ...]
    id_fault: Fault | None


def violations(messages: Sequence[JsonObject], terms: Terms | None = None) -> list[Violation]:
    """The rules that these items break as the input of a request, in order."""
    return checker(terms or Terms()).check(messages)


def checker(terms: Terms) -> Growing[Reading]:
    """See `Wire.checker`."""
    takes = takes_of(terms, LONGEST_ID)
    _, faults = head_faults(terms.head)

    def read(item: JsonObject) -> Reading:
        return reading(item, takes)

    return Growing(read, lambda: _Walk(terms), [fault.violation(-1) for fault in faults])


def on_server(terms: Terms) -> bool:
    """True when the request continues a history that the server keeps."""
    return bool(terms.head.get("previous_response_id") or terms.head.get("conversation"))


def made_by_model(item: JsonObject, kind: str) -> bool:
    """True for an item that came out of the model, so that reasoning may lead to it."""
    if kind == "message":
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind not in _CLIENT_ITEMS


def pair_key(item: JsonObject, kind: str) -> Key | None:
    """What a call or output pairs by; None for any other item."""
    if kind not in CLIENT_CALLS and kind not in CALL_OUTPUTS:
        return None
    family = kind.removesuffix("_output").replace("custom_tool_call", "function_call")
    return family, call_key(call_of(item, kind))


def reading(item: Any, takes: Takes) -> Reading:
    """The reading of one item, of its sound copy where it is not sound."""
    sound, mended, left = shaped(item, takes)
    faults = (*mended, *left)
    kind = kind_of(sound)
    by_model = made_by_model(sound, kind)
    key = pair_key(sound, kind)
    fault = id_fault(call_of(sound, kind), takes.fits) if key is not None else None
    item_id = text_of(sound.get("id")) if kind != OLD_OUTPUT else ""
    loose = by_model and bool(sound.get("id")) and kind in FREE_IDS
    return Reading(kind, by_model, key, item_id, loose, faults, fault)


class _Walk:
    """Calls and outputs by call id, reasoning and what it led to, while the items go by."""

    def __init__(self, terms: Terms) -> None:
        self._pending = frozenset(map(call_key, terms.pending))
        self._judged = not on_server(terms)
        self._found: list[Violation] = []
        self._waiting: dict[Key, tuple[int, str]] = {}
        self._kinds: dict[Key, str] = {}
        self._early: list[tuple[int, Key]] = []
        # Calls that an item reference may have answered; after one, no output is an orphan for sure.
        self._perhaps: set[Key] = set()
        self._reference = False
        # Ids of outputs whose calls a reference stands for: another call may not have them.
        self._claimed: set[Key] = set()
        self._ids: set[str] = set()
        # The reasoning at the end so far, and whether the run of model items has some.
        self._reasoning: list[int] = []
        self._reasoned = False
        self._last_by_model = False
        # Calls before this item were part of an earlier request.
        self._boundary = -1
        self._trigger = -1

    def see(self, number: int, facts: Reading) -> None:
        """See `Walk.see`."""
        kind, by_model, key = facts.kind, facts.by_model, facts.key
        if facts.faults:
            self._found += (fault.violation(number) for fault in facts.faults)
        if self._trigger >= 0:
            words = "a compaction trigger must be the last item"
            self._found.append(Violation("trigger-not-last", self._trigger, words))
        self._trigger = number if kind == "compaction_trigger" else -1
        self._run(number, facts)
        if facts.item_id:
            self._name(number, facts.item_id)
        if kind == "item_reference":
            self._refer()
        elif key is not None and self._judged:
            self._pair(number, key, facts)
        elif not by_model and not kind.endswith("_output"):
            self._boundary = number

    def finish(self) -> list[Violation]:
        """See `Walk.finish`."""
        found = [*self._found, *map(_alone, self._reasoning)]
        for number, key in self._early:
            before = key in self._kinds
            rule = "result-before-call" if before else "orphan-result"
            words = f"output {key[1]!r} " + ("stands before its call" if before else "has no call")
            found.append(Violation(rule, number, words))
        for (_, call), (number, kind) in self._waiting.items():
            found.append(self._unanswered(call, number, kind))
        return sorted(found, key=lambda v: v.message) if len(found) > 1 else found

    def _unanswered(self, call: str, number: int, kind: str) -> Violation:
        if number >= self._boundary:
            return Violation("open-loop", number, f"{kind} {call!r} has no output yet")
        if call in self._pending:
            words = f"{kind} {call!r} waits on purpose, and others speak behind it"
            return Violation("pending-call", number, words)
        return Violation("unanswered-call", number, f"{kind} {call!r} has no output")

    def _run(self, number: int, facts: Reading) -> None:
        """Keeps track of runs of model items, and of the reasoning in them."""
        if facts.by_model and not self._last_by_model and number:
            self._boundary = number
        if not facts.by_model or not self._last_by_model:
            self._reasoned = False
        self._last_by_model = facts.by_model
        if facts.kind == "reasoning":
            self._reasoning.append(number)
            self._reasoned = True
            return
        if self._reasoning:
            if not facts.by_model:
                self._found += map(_alone, self._reasoning)
            self._reasoning = []
        if facts.kind == "item_reference":
            self._reasoned = True
        if facts.loose_id and not self._reasoned and self._judged:
            words = f"{facts.kind} has an id but no reasoning item before it"
            self._found.append(Violation("item-id-alone", number, words, ("id",)))

    def _name(self, number: int, item_id: str) -> None:
        if item_id in self._ids:
            words = f"item id {item_id!r} occurs twice"
            self._found.append(Violation("duplicate-item", number, words, ("id",)))
        self._ids.add(item_id)

    def _refer(self) -> None:
        """A reference may stand for any call or output."""
        self._reference = True
        self._perhaps.update(self._waiting)
        self._waiting.clear()

    def _pair(self, number: int, key: Key, facts: Reading) -> None:
        kept = key[1] in self._pending
        if facts.id_fault is not None and not kept:
            self._found.append(facts.id_fault.violation(number))
        if facts.kind in CLIENT_CALLS:
            if (key in self._kinds or key in self._claimed) and key[1] and not kept:
                twice = key in self._waiting
                words = f"call id {key[1]!r} was used by an earlier call"
                rule = "duplicate-call" if twice else "reused-id"
                self._found.append(Violation(rule, number, words))
            self._perhaps.discard(key)
            self._waiting[key] = (number, facts.kind)
            self._kinds[key] = facts.kind
            return
        kind = self._kinds.get(key)
        if self._waiting.pop(key, None) is not None or key in self._perhaps:
            self._perhaps.discard(key)
            if facts.kind != f"{kind}_output" and not kept:
                words = f"{facts.kind} answers a {kind}"
                self._found.append(Violation("output-type", number, words, ("type",)))
        elif kind is not None:
            words = f"call {key[1]!r} is answered twice"
            self._found.append(Violation("duplicate-result", number, words))
        elif self._reference:
            self._claimed.add(key)
        else:
            self._early.append((number, key))


def _alone(number: int) -> Violation:
    words = "a reasoning item is not followed by the item that it led to"
    return Violation("reasoning-alone", number, words)
