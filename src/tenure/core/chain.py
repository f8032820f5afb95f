"""Chain ids: which branch of which conversation a list of messages is.

Invariant: two lists have the same id exactly when their messages mean the same, one by one, from
the start. A rewritten history is another branch, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Generic, NamedTuple, TypeAlias, TypeVar

ChainId: TypeAlias = str
Name = TypeVar("Name")

ROOT: ChainId = ""
"""The parent of a conversation's first message."""


def chain_id(parent: ChainId, meaning: bytes) -> ChainId:
    """The id of a message by its meaning (`Wire.meaning`) and its parent's id; 32 hex digits."""
    digest = blake2b(parent.encode(), digest_size=16)
    digest.update(b"\n")
    digest.update(meaning)
    return digest.hexdigest()


def chain(meanings: Iterable[bytes], parent: ChainId = ROOT) -> list[ChainId]:
    """The ids of messages in a row.

    >>> chain([b"a", b"b"])[0] == chain([b"a", b"c"])[0]
    True
    """
    return list(accumulate(meanings, chain_id, initial=parent))[1:]


class BranchPoint(NamedTuple, Generic[Name]):
    """The known conversation that shares most, and how many messages it shares."""

    name: Name
    shared: int


class Branches(Generic[Name]):
    """Known conversations by the chain ids of their messages."""

    def __init__(self) -> None:
        self._names: dict[ChainId, Name] = {}

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: Name, ids: Iterable[ChainId]) -> None:
        """Makes the messages of a conversation known; where several share one, the first is found."""
        for each in ids:
            self._names.setdefault(each, name)

    def find(self, ids: Sequence[ChainId]) -> BranchPoint[Name] | None:
        """Where a list of messages leaves what is known; None when not even the first is known.

        An id stands for all messages up to it, so the last known one is the branch point.
        """
        for at in range(len(ids) - 1, -1, -1):
            if ids[at] in self._names:
                return BranchPoint(self._names[ids[at]], at + 1)
        return None
