"""Where the prompt-cache marks of a request go.

Invariant: four places at most, named by the number of view entries in front of them, in order; the
same views in the same order give the same places, and a view that is sent again, as after a request
that was given up, gives the places it had.

1. after the system text and the tools (0 entries);
2. at the longest marked prefix of earlier requests that this view still begins with: behind an edit
   a provider's lookback (20 positions on Anthropic's API) would often not reach back to it;
3. after the last edited message, since the next edits will most likely begin behind it;
4. at the end.

Where the provider clears old results on its side, the third place is behind the last of them: the
view does not change there, but the prompt does, and the next clearing begins behind it.

So an edit at offset a loses what follows a and little more, which is what the economics suppose.
"""

from __future__ import annotations

from bisect import bisect_left

from tenure.core.view import View


class Marks:
    """The marked prefixes of one session so far."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._marked: list[int] = []
        self._edited = 0
        self._length = -1
        self._places: tuple[int, ...] = ()
        # Entries in front of what the provider clears from the next view on, and up to its end.
        self._whole: int | None = None
        self._cleared = 0

    def changed(self, entries: int) -> None:
        """Behind so many entries the provider shows the next view's prompt otherwise."""
        self._whole = entries if self._whole is None else min(entries, self._whole)

    def cleared_to(self, entries: int) -> None:
        """So many entries reach up to the last one that the provider clears; 0 when none."""
        self._cleared = entries

    def written(self, view: View, entries: int) -> tuple[int, ...]:
        """The places up to so many entries that a request of these alone has: those where it can be
        read from the cache, and its end."""
        keep = entries if self._view is None else min(entries, view.first_change(self._view))
        read = [count for count in self._marked if 0 < count <= keep]
        return tuple(sorted({*read[-2:], entries}))

    def places(self, view: View) -> tuple[int, ...]:
        """The places for a request with this view, which count as written from now on."""
        length = len(view.entries)
        if self._view is not None and view is not self._view:
            keep = view.first_change(self._view)
            keep = keep if self._whole is None else min(keep, self._whole)
            again = keep == length == self._length
            self._marked = [count for count in self._marked if count <= keep]
            places = range(length, 0, -1)
            last = next((n for n in places if view.entries[n - 1].edits), 0)
            self._edited = self._cleared or last
        else:
            again = length == self._length
        self._view, self._length, self._whole = view, length, None
        if again:
            return self._places
        longest = self._marked[-1] if self._marked else 0
        self._places = tuple(sorted({0, longest, self._edited, length}))
        for place in self._places:
            at = bisect_left(self._marked, place)
            if self._marked[at : at + 1] != [place]:
                self._marked.insert(at, place)
        return self._places
