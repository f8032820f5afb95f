"""Token counts of one session, kept incrementally and anchored on what the provider reports.

Invariant: a block is counted once in its life; the incremental totals equal those counted from
scratch; nothing here raises, whatever the text. Without a report the total is a sum of estimates;
with one it is the reported prompt plus what came since, in the provider's measure as far as that is
known (`calibrate`), less what edits freed of it: of a prompt that our estimate does not explain they
free their share, or a report from before a compaction would outlive it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from tenure.core.edit import Delegated, Drop, Edit, Insert, Span
from tenure.core.message import Block
from tenure.core.plan import Plan, spans_of
from tenure.core.protocols import Count, Counter
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.tokens.calibrate import SANE, Calibration


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A reported prompt: for how many messages, with how much freed."""

    prompt: int
    length: int
    freed: int


class SessionMeter:
    """Implements `core.policy.SessionMeter` over a `Counter` of one model family.

    `system` and `tools` are the texts sent with every request (tools as JSON), counted when the
    first decision needs them.
    """

    def __init__(self, counter: Counter, *, system: str = "", tools: str = "") -> None:
        self._counter = counter
        self._texts = (system, tools)
        self._overhead: tuple[Count, Count] | None = None
        self._transcript: Transcript | None = None
        self._counts: dict[str, Count] = {}
        self._sums = [0]
        self._uppers = [0]
        # Bounds of the texts in front of each message, unedited, and of all of them.
        self._bytes = [sum(counter.bound_text(t) for t in self._texts)]
        self._restored = 0
        self._anchor: _Anchor | None = None
        self._calibration = Calibration()
        # Reports whose messages were not all counted when the calibration was last asked.
        self._unread: list[_Anchor] = []
        self._plan = Plan()
        self._freed_pairs: list[tuple[int, int]] = []
        self._freed_at: list[int] = []
        self._freed_sums: list[int] = [0]

    # -- asked by the session ------------------------------------------------------------------

    def bound(self, transcript: Transcript) -> int:
        """Last reported prompt plus byte bounds of what was appended since; no text is read.

        A report that what was counted has shown to be too low is not built on.
        """
        for blocks in transcript.blocks[len(self._bytes) - 1 :]:
            self._bytes.append(self._bytes[-1] + sum(map(self._counter.bound, blocks)))
        whole, anchor = self._bytes[-1], self._anchor
        if anchor is None or self._disproved():
            return whole
        return anchor.prompt + self._restored + whole - self._bytes[anchor.length]

    def sync(self, transcript: Transcript) -> int:
        """Counts the new blocks; the size of the largest new message, tokens."""
        self._transcript = transcript
        largest = 0
        for blocks in transcript.blocks[len(self._sums) - 1 :]:
            estimate = upper = 0
            for block in blocks:
                count = self.size(block)
                estimate += count.estimate
                upper += count.upper
            self._sums.append(self._sums[-1] + estimate)
            self._uppers.append(self._uppers[-1] + upper)
            largest = max(largest, estimate)
        return largest

    @property
    def counted(self) -> int:
        """How many messages were counted so far."""
        return len(self._sums) - 1

    @property
    def overhead(self) -> tuple[int, int]:
        """Estimated tokens of the system text and of the tools."""
        system, tools = self._overhead_counts()
        return system.estimate, tools.estimate

    def report(self, usage: Usage, length: int, plan: Plan) -> None:
        """Anchors on a reported prompt for the first `length` messages under `plan`."""
        self._anchor = _Anchor(usage.prompt, length, sum(self._freed(plan, length)))
        self._unread.append(self._anchor)
        self._restored = 0

    def replan(self, plan: Plan) -> None:
        """Takes note of a new plan; what an undone edit brings back joins the bound."""
        added, restored = plan.diff(self._plan)
        self._restored += ceil(sum(self._upper_of(edit) for edit in restored) * self._growth())
        self._plan = plan
        if restored or plan.spans:
            self._freed_pairs = self._freed_by_index(plan, plan)
        else:
            self._freed_pairs += self._freed_by_index(added, plan)
        self._freed_pairs.sort()
        pairs = self._freed_pairs
        self._freed_at = [index for index, _ in pairs]
        self._freed_sums = [0, *accumulate(f for _, f in pairs)]

    # -- asked by policies ---------------------------------------------------------------------

    def size(self, block: Block) -> Count:
        """The count of one block, unedited."""
        known = self._counts.get(block.key)
        if known is None:
            known = self._counts[block.key] = self._counter.count(block)
        return known

    def text(self, text: str) -> int:
        """The estimate of a text of ours."""
        return self._counter.count_text(text).estimate

    def stand_in(self, block: Block, text: str) -> int:
        """The estimate of a block that says `text` instead of what it says."""
        return self._counter.count(replace(block, text=text, media=())).estimate

    def before(self, index: int, plan: Plan) -> int:
        """Estimated tokens in front of message `index` (its length: the whole view)."""
        if plan is not self._plan:
            self.replan(plan)
        at = bisect_left(self._freed_at, index)
        index = min(index, len(self._sums) - 1)
        return sum(self.overhead) + self._sums[index] - self._freed_sums[at]

    def likely_before(self, index: int, plan: Plan) -> int:
        """`before` where that was counted. Where no text was read yet: the share of the last report
        that the bytes in front of the message have, or without a report their bound."""
        if index < len(self._sums) and self._overhead is not None:
            return self.before(index, plan)
        bound = self._bytes[min(index, len(self._bytes) - 1)]
        anchor = self._anchor
        if anchor is None or self._disproved():
            return bound
        return round(anchor.prompt * bound / max(1, self._bytes[anchor.length]))

    def resident(self, plan: Plan) -> int:
        """Estimated tokens of the whole view, anchored on the last report."""
        anchor = self._known()
        if anchor is None:
            return sum(self.overhead) + self._sums[-1] - sum(self._freed(plan, 0))
        freed, freed_since = self._freed(plan, anchor.length)
        since = self._sums[-1] - self._sums[anchor.length] - freed_since
        gone = freed - anchor.freed
        rate = self._rate(anchor) if gone > 0 else self._calibration.factor
        return max(0, anchor.prompt + round(self._calibration.factor * since - rate * gone))

    def upper(self, plan: Plan) -> int:
        """An upper bound of `resident`, from the upper bounds of the texts."""
        anchor = self._known()
        if anchor is None:
            texts = sum(c.upper for c in self._overhead_counts())
            return texts + self._uppers[-1] - sum(self._freed(plan, 0))
        freed, freed_since = self._freed(plan, anchor.length)
        since = self._uppers[-1] - self._uppers[anchor.length] - freed_since
        gone = freed - anchor.freed
        # What grows may grow by more than its estimate, what shrinks may shrink by less.
        factor = self._calibration.factor
        rate = min(1.0, factor, self._rate(anchor)) if gone > 0 else max(1.0, factor)
        most = anchor.prompt + ceil(max(1.0, factor) * since - rate * gone)
        return max(self.resident(plan), most)

    # -- small helpers -------------------------------------------------------------------------

    def _known(self) -> _Anchor | None:
        """The last report; None without a usable one, and before what it is of was counted.

        What it says is worked out only then, so it does not matter when the texts were counted.
        """
        anchor = self._anchor
        if anchor is None or anchor.length >= len(self._sums):
            return None
        for each in self._unread:
            self._calibration.add(each.prompt, self._estimate(each), each.freed)
        self._unread.clear()
        return None if anchor.prompt * SANE <= self._estimate(anchor) else anchor

    def _estimate(self, anchor: _Anchor) -> int:
        """Our own estimate of the view that was reported on."""
        return max(1, sum(self.overhead) + self._sums[anchor.length] - anchor.freed)

    def _rate(self, anchor: _Anchor) -> float:
        """The provider's tokens that go with each of ours that an edit takes out of a reported view.

        What the factor does not explain of the report is a hidden addition, which stays, as far as
        that is certain, or else text that we count badly, which goes in its proportion.
        """
        factor, estimate = self._calibration.factor, self._estimate(anchor)
        unexplained = anchor.prompt - factor * estimate
        added = self._calibration.certainty if unexplained > 0 else 0.0
        return factor + (1 - added) * unexplained / estimate

    def _disproved(self) -> bool:
        anchor = self._anchor
        return anchor is not None and anchor.length < len(self._sums) and self._known() is None

    def _growth(self) -> float:
        """How much more than our count the provider may find in new text, as far as is known."""
        return max(1.0, self._calibration.factor) if self._known() else 1.0

    def _overhead_counts(self) -> tuple[Count, Count]:
        if self._overhead is None:
            system, tools = (self._counter.count_text(t) for t in self._texts)
            self._overhead = (system, tools)
        return self._overhead

    def _freed(self, plan: Plan, length: int) -> tuple[int, int]:
        """What a plan's edits free of the first `length` messages, and of those behind them."""
        pairs: Iterable[tuple[int, int]] = ()
        before, total = self._freed_sums[bisect_left(self._freed_at, length)], self._freed_sums[-1]
        if plan is not self._plan:
            added, removed = plan.diff(self._plan)
            if removed or plan.spans:
                pairs, before, total = self._freed_by_index(plan, plan), 0, 0
            else:
                pairs = self._freed_by_index(added, plan)
        for index, freed in pairs:
            total += freed
            before += freed if index < length else 0
        return before, total - before

    def _freed_by_index(self, edits: Iterable[Edit], plan: Plan) -> list[tuple[int, int]]:
        """What each of a plan's edits frees, by message number; a stand-in counts with the first."""
        return [pair for edit in edits for pair in self._edit_freed(edit, plan)]

    def _edit_freed(self, edit: Edit, plan: Plan) -> list[tuple[int, int]]:
        assert self._transcript is not None, "edits exist only after something was counted"
        if isinstance(edit, Insert):
            index = self._transcript.index_of(edit.after)
            return [(index, -edit.reason.tokens_after)] if plan.shows(edit) else []
        after = 0 if isinstance(edit, Drop) else edit.reason.tokens_after
        pairs: list[tuple[int, int]] = []
        for span in spans_of(edit):
            first, last = span.bounds
            if any((first, last) == (a, b) for a, b, _ in plan.spans):
                # Message by message: a report may be of the first ones only.
                inside = range(first, last + 1)
                pairs += ((i, self._sums[i + 1] - self._sums[i]) for i in inside)
                pairs.append((first, -after))
        if isinstance(edit, Delegated):
            after //= max(1, len(edit.cleared))
        for key in edit.along if isinstance(edit, Delegated) else ():
            other = plan.by_key.get(key)
            index = self._transcript.block(key).index
            if other is not None and not plan.covered(index):
                pairs.append((index, other.reason.tokens_after - after))
        for target in edit.targets:
            if isinstance(target, Span):
                continue
            block = self._transcript.block(target)
            if not (plan.spans and plan.covered(block.index)):
                pairs.append((block.index, self.size(block).estimate - after))
        return pairs

    def _upper_of(self, edit: Edit) -> int:
        assert self._transcript is not None, "edits exist only after something was counted"
        total = 0
        for span in spans_of(edit):
            first, last = span.bounds
            total += self._uppers[last + 1] - self._uppers[first]
        for target in edit.targets:
            if not isinstance(target, Span):
                total += self.size(self._transcript.block(target)).upper
        return total
