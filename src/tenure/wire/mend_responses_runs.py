"""Reasoning items and item ids in the legal copy of a Responses input.

Invariant: works on what leaves, after everything else has its place. Reasoning stays only before
an item of the model's; an id stays only once, and only where reasoning stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.core.legal import Mend
from tenure.core.message import JsonObject
from tenure.wire.mend_common import FreshIds, lost_json
from tenure.wire.rules_responses import OLD_OUTPUT, made_by_model
from tenure.wire.rules_responses_shape import FREE_IDS, kind_of
from tenure.wire.values import text_of


def fit_runs(
    groups: list[list[JsonObject]], mends: Mapping[int, list[Mend]], *, judged: bool
) -> None:
    """Takes out reasoning that leads to nothing, and ids that nothing backs; in place."""
    _drop_alone(groups, mends)
    _Names(groups, mends, judged=judged).run()


def _drop_alone(groups: list[list[JsonObject]], mends: Mapping[int, list[Mend]]) -> None:
    followed = False
    for number in range(len(groups) - 1, -1, -1):
        kept: list[JsonObject] = []
        for item in reversed(groups[number]):
            kind = kind_of(item)
            if kind == "reasoning" and not followed:
                words = "reasoning without the item that it led to left out"
                mends[number].append(Mend("reasoning-alone", number, words, lost_json(item)))
                continue
            followed = made_by_model(item, kind)
            kept.append(item)
        if len(kept) < len(groups[number]):
            groups[number] = kept[::-1]


class _Names:
    """Item ids, while the items go by."""

    def __init__(
        self, groups: list[list[JsonObject]], mends: Mapping[int, list[Mend]], *, judged: bool
    ) -> None:
        self._groups = groups
        self._mends = mends
        self._judged = judged
        self._seen: set[str] = set()
        # Items whose id is part of them, by it: a second one is a copy.
        self._first: dict[str, JsonObject] = {}
        self._fresh = FreshIds(self._seen)
        self._reasoned = False
        self._last_by_model = False

    def run(self) -> None:
        """All items, in order."""
        for number, group in enumerate(self._groups):
            new = [self._item(item, number) for item in group]
            if any(a is not b for a, b in zip(new, group, strict=True)):
                self._groups[number] = [item for item in new if item is not None]

    def _item(self, item: JsonObject, number: int) -> JsonObject | None:
        kind = kind_of(item)
        name = text_of(item.get("id")) if kind != OLD_OUTPUT else ""
        by_model = made_by_model(item, kind)
        twice = name in self._seen
        if twice and (kind in {"reasoning", "item_reference"} or item == self._first.get(name)):
            words = f"{kind} {name!r} that stands there already left out"
            self._say("duplicate-item", number, words, item)
            return None
        if not by_model or not self._last_by_model:
            self._reasoned = False
        self._last_by_model = by_model
        if kind in {"reasoning", "item_reference"}:
            self._reasoned = True
        free = kind in FREE_IDS or kind == "compaction"
        alone = by_model and kind in FREE_IDS and not self._reasoned and self._judged
        if free and name and (alone or twice):
            rule = "item-id-alone" if alone else "duplicate-item"
            self._say(rule, number, f"id {name!r} of a {kind} left out", name)
            return {key: value for key, value in item.items() if key != "id"}
        if twice:
            fresh = self._fresh.make(name)
            self._seen.add(fresh)
            self._say("duplicate-item", number, f"id {name!r} of a {kind} sent as {fresh!r}", name)
            return {**item, "id": fresh}
        if name:
            self._seen.add(name)
            if kind not in FREE_IDS:
                self._first[name] = item
        return item

    def _say(self, rule: str, number: int, words: str, lost: Any) -> None:
        self._mends[number].append(Mend(rule, number, words, lost_json(lost)))
