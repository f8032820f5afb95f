"""Injected memory that stays as it was put: a list of texts that grows by late pieces.

Invariant: what was put is never changed, so the pieces of one request begin the pieces of every
later one; another order of the same texts adds nothing; what the pieces say, read in their order, is
the set of texts given last.

Why: memory that is ranked anew for each request rewrites the prefix each time (BYK/loreai#42).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_GONE = "[tenure] No longer held, disregard it: "


@dataclass(frozen=True, slots=True)
class Frozen:
    """The pieces put so far, each a tuple of texts, and the texts that hold now.

    >>> memory, piece = Frozen().put(["fact A", "fact B"])
    >>> memory, late = memory.put(["fact B", "fact A"])
    >>> piece, late
    (('fact A', 'fact B'), ())
    >>> memory.put(["fact B", "fact C"])[1]
    ('[tenure] No longer held, disregard it: fact A', 'fact C')
    """

    pieces: tuple[tuple[str, ...], ...] = ()
    held: tuple[str, ...] = ()

    def put(self, texts: Sequence[str]) -> tuple[Frozen, tuple[str, ...]]:
        """The list after a request that brings these texts, and the piece to say late: empty when
        nothing was written or taken out. Texts given twice count once."""
        given = tuple(dict.fromkeys(texts))
        now, before = frozenset(given), frozenset(self.held)
        gone = [text for text in self.held if text not in now]
        new = [text for text in given if text not in before]
        if not gone and not new:
            return self, ()
        piece = (*(_GONE + text for text in gone), *new)
        held = (*(text for text in self.held if text in now), *new)
        return Frozen((*self.pieces, piece), held), piece
