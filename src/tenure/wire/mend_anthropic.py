"""A legal copy of an Anthropic conversation.

Invariant: deterministic; a list that breaks no rule with a mend comes back as the very objects given,
so mending twice is mending once. Passes run in one order, and again while one opened a rule of
another, at most `_ROUNDS` times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenure.core.legal import Mended, Terms, Violation
from tenure.core.message import JsonObject
from tenure.wire.mend_anthropic_draft import Entry, Notes
from tenure.wire.mend_anthropic_head import sound_head
from tenure.wire.mend_anthropic_pairs import mend_pairs
from tenure.wire.mend_anthropic_places import (
    mend_alternation,
    mend_first,
    mend_systems,
    mend_thinking_last,
)
from tenure.wire.mend_anthropic_server import mend_server_calls
from tenure.wire.mend_anthropic_whole import (
    mend_end,
    mend_marks,
    mend_pictures,
    mend_thinking_first,
)
from tenure.wire.mend_common import BEGINNING
from tenure.wire.rules_anthropic import foreign_numbers, violations
from tenure.wire.rules_anthropic_block import THINKING, kind_of
from tenure.wire.rules_anthropic_message import Reader
from tenure.wire.rules_anthropic_table import RULES

_ROUNDS = 6


def mend(messages: Sequence[JsonObject], terms: Terms) -> Mended:
    """See `Wire.mend`."""
    found = violations(messages, terms)
    if not _mendable(found):
        return Mended([(message,) for message in messages], (), terms.head)
    notes = Notes()
    draft = [Entry(number, message) for number, message in enumerate(messages)]
    head = terms.head
    for _ in range(_ROUNDS):
        now = _terms_of(draft, head, terms)
        draft, head = _round(draft, head, now, notes)
        if not draft and messages:
            words = "nothing is left to send, and a labelled user message says so"
            notes.add("empty-content", len(messages) - 1, words)
            draft = [Entry(len(messages) - 1, {"role": "user", "content": BEGINNING})]
        found = violations([e.message for e in draft], _terms_of(draft, head, terms))
        if not _mendable(found):
            break
    groups: list[list[JsonObject]] = [[] for _ in messages]
    for entry in draft:
        groups[entry.source].append(entry.message)
    return Mended([tuple(group) for group in groups], tuple(notes.mends), head)


def _mendable(found: Sequence[Violation]) -> bool:
    return any(RULES[violation.rule].mend for violation in found)


def _terms_of(draft: Sequence[Entry], head: JsonObject, terms: Terms) -> Terms:
    """The terms of the draft: who made a message goes by its number."""
    made_by = {
        number: terms.made_by[entry.source]
        for number, entry in enumerate(draft)
        if entry.source in terms.made_by
    }
    return replace(terms, head=head, made_by=made_by)


def _round(
    draft: list[Entry], head: JsonObject, terms: Terms, notes: Notes
) -> tuple[list[Entry], JsonObject]:
    head = _mend_head(head, notes)
    draft = _mend_messages(draft, terms, notes)
    draft = mend_server_calls(draft, notes)
    draft = mend_pairs(draft, terms, notes)
    draft = mend_thinking_last(draft, notes)
    draft = mend_first(draft, notes)
    draft = mend_systems(draft, terms, notes)
    if terms.strict_alternation:
        draft = mend_alternation(draft, notes)
    draft = mend_pictures(draft, terms, notes)
    draft, head = mend_marks(draft, head, terms, notes)
    # What stands at the end is known once the rest is settled.
    left = violations([e.message for e in draft], _terms_of(draft, head, terms))
    return mend_end(draft, left, notes), mend_thinking_first(head, left, notes)


def _mend_head(head: JsonObject, notes: Notes) -> JsonObject:
    new, faults = sound_head(head)
    for fault in faults:
        notes.keep(fault, -1)
    return new


def _mend_messages(draft: Sequence[Entry], terms: Terms, notes: Notes) -> list[Entry]:
    """Every message sound by itself, and without thinking that the model cannot read."""
    reader = Reader(terms)
    foreign = foreign_numbers(terms)
    new: list[Entry] = []
    for number, entry in enumerate(draft):
        message, faults = reader.sound(entry.message)
        for fault in faults:
            if RULES[fault.rule].mend:
                notes.keep(fault, entry.source)
        if message is None:
            continue
        kept = Entry(entry.source, message)
        if number in foreign:
            thoughts = [block for block in kept.blocks if kind_of(block) in THINKING]
            for block in thoughts:
                words = f"thinking of {terms.made_by[number]!r} was left out"
                notes.add("foreign-thinking", entry.source, words, block)
            if thoughts:
                rest = [block for block in kept.blocks if kind_of(block) not in THINKING]
                if not rest:
                    continue
                kept = kept.saying(rest)
        new.append(kept)
    return new
