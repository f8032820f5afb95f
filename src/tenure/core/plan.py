"""A plan: every edit of a view, in the order they were made.

Invariant: targets are disjoint or nested (a span holds the block edits inside it and wins over
them; taking the span away restores them). A plan is a value: change means a new plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from tenure.core.edit import BlockEdit, Delegated, Drop, Edit, Insert, Replace, Span, SpanEdit
from tenure.core.message import message_id
from tenure.core.server_edit import COMPACT
from tenure.errors import PlanError


class Plan:
    """Ordered edits.

    >>> Plan().edits
    ()
    """

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        self.edits: tuple[Edit, ...] = tuple(edits)
        _check(self.edits, set(), set())

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.edits == other.edits

    def __hash__(self) -> int:
        return hash(self.edits)

    def add(self, *edits: Edit) -> Plan:
        """The plan with these edits at the end; PlanError when one overlaps another."""
        if not edits:
            return self
        _check(edits, set(self.by_key), {span[:2] for span in self._all_spans})
        grown = Plan()
        grown.edits = (*self.edits, *edits)
        # Long sessions have thousands of edits, and plans grow: carried over, not made anew.
        grown.by_key = {**self.by_key, **_by_key(edits)}
        grown._all_spans = [*self._all_spans, *_spans(edits)]
        grown.delegated = (*self.delegated, *(e for e in edits if isinstance(e, Delegated)))
        if not any(isinstance(e, Insert) for e in edits):
            grown.inserts = self.inserts
        return grown

    def superseded(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """The edits of this plan whose blocks these edits take over; of the provider's own, one of
        each type stands."""
        by_key, edits = self.by_key, tuple(edits)
        own = {e.edit for e in edits if isinstance(e, Delegated)}
        found = (by_key.get(t) for e in edits for t in e.targets if isinstance(t, str))
        taken = dict.fromkeys(e for e in found if isinstance(e, Replace | Delegated))
        return tuple(taken | dict.fromkeys(e for e in self.delegated if e.edit in own))

    def put(self, *edits: Edit) -> Plan:
        """The plan with these edits in the place of those that they supersede."""
        over = self.superseded(edits)
        return (self.without(*over) if over else self).add(*edits)

    def extends(self, earlier: Plan) -> bool:
        """True when this plan is the earlier one with edits (or none) added at its end."""
        return self.edits[: len(earlier.edits)] == earlier.edits

    def without(self, *edits: Edit) -> Plan:
        """The plan without these edits; PlanError when one is not in it."""
        gone = set(edits)
        for edit in gone - set(self.edits):
            raise PlanError(f"{edit!r} is not in the plan, so it can't be taken out", edit=edit)
        return Plan(e for e in self.edits if e not in gone)

    def diff(self, earlier: Plan) -> tuple[tuple[Edit, ...], tuple[Edit, ...]]:
        """What this plan has that `earlier` lacks, and the reverse."""
        if self.extends(earlier):
            return self.edits[len(earlier.edits) :], ()
        mine, theirs = set(self.edits), set(earlier.edits)
        added = tuple(e for e in self.edits if e not in theirs)
        return added, tuple(e for e in earlier.edits if e not in mine)

    @cached_property
    def by_key(self) -> Mapping[str, BlockEdit]:
        """The edit of each edited block, by block key."""
        return _by_key(self.edits)

    @cached_property
    def spans(self) -> tuple[tuple[int, int, SpanEdit], ...]:
        """The outermost spans by first message: (first, last, edit)."""
        outer: list[tuple[int, int, SpanEdit]] = []
        for span in sorted(self._all_spans, key=lambda s: (s[0], -s[1])):
            if not outer or span[0] > outer[-1][1]:
                outer.append(span)
        return tuple(outer)

    @cached_property
    def _all_spans(self) -> list[tuple[int, int, SpanEdit]]:
        return _spans(self.edits)

    @cached_property
    def inserts(self) -> Mapping[str, tuple[Insert, ...]]:
        """The inserts by the message id they follow, in order."""
        found: dict[str, tuple[Insert, ...]] = {}
        for edit in self.edits:
            if isinstance(edit, Insert):
                found[edit.after] = (*found.get(edit.after, ()), edit)
        return found

    @cached_property
    def delegated(self) -> tuple[Delegated, ...]:
        """The edits that the provider makes on its side."""
        return tuple(e for e in self.edits if isinstance(e, Delegated))

    @property
    def compaction(self) -> Delegated | None:
        """The provider's summary that the view begins with."""
        return next((e for e in self.delegated if e.edit == COMPACT), None)

    def shows(self, insert: Insert) -> bool:
        """False for an insert inside a span, which stands for it too."""
        at = int(insert.after[1:])
        return not any(first <= at < last for first, last, _ in self.spans)

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The keys of the blocks that are left out of the view."""
        return frozenset(k for k, e in self.by_key.items() if isinstance(e, Drop))

    def covered(self, index: int) -> bool:
        """True when message number `index` lies inside a span, so its block edits do not show."""
        return any(first <= index <= last for first, last, _ in self.spans)


def _spans(edits: Iterable[Edit]) -> list[tuple[int, int, SpanEdit]]:
    return [
        (*span.bounds, edit)
        for edit in edits
        if not isinstance(edit, Insert)
        for span in spans_of(edit)
    ]


def spans_of(edit: Edit) -> tuple[Span, ...]:
    """The runs of whole messages that an edit is of."""
    if isinstance(edit, Delegated):
        return (edit.span,) if edit.span else ()
    return tuple(target for target in edit.targets if isinstance(target, Span))


def _by_key(edits: Iterable[Edit]) -> dict[str, BlockEdit]:
    return {
        target: edit
        for edit in edits
        if not isinstance(edit, Insert)
        for target in edit.targets
        if isinstance(target, str)
    }


def _check(edits: tuple[Edit, ...], keys: set[str], spans: set[tuple[int, int]]) -> None:
    for edit in edits:
        for span in spans_of(edit):
            _check_span(span.bounds, spans, edit)
            spans.add(span.bounds)
        for target in edit.targets:
            if isinstance(target, Span):
                continue
            if target in keys:
                raise PlanError(
                    f"block {target!r} is edited twice; take the first edit out", edit=edit
                )
            keys.add(target)


def _check_span(bounds: tuple[int, int], spans: set[tuple[int, int]], edit: Edit) -> None:
    first, last = bounds
    for a, b in spans:
        crosses = a < first <= b < last or first < a <= last < b or (a, b) == bounds
        if crosses:
            raise PlanError(
                f"span {message_id(first)}..{message_id(last)} crosses span "
                f"{message_id(a)}..{message_id(b)}; spans must be disjoint or nested",
                edit=edit,
                message_id=message_id(first),
            )
