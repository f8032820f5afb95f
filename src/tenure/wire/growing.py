"""A check of a growing conversation that reads each message once.

Invariant: equal to a check from scratch, whatever was appended, taken away or replaced in between;
what a message is by itself is read once, and only a message that is another object is read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Generic, Protocol, TypeVar

from tenure.core.legal import Violation
from tenure.core.message import JsonObject

F = TypeVar("F")
F_contra = TypeVar("F_contra", contravariant=True)


class Walk(Protocol[F_contra]):
    """What a check carries from message to message."""

    def see(self, number: int, facts: F_contra) -> None:
        """Takes note of the next message."""

    def finish(self) -> list[Violation]:
        """The violations of what was seen, in order; it may be asked again after more."""


class Growing(Generic[F]):
    """A `Checker` made of a reading of one message and a walk over the readings.

    An append costs what was appended, and one comparison of pointers per earlier message. A message
    that gives way to one with the same reading (a tombstone in the place of a result) costs its own
    reading; any other change walks anew over the readings, which is cheap beside making them.
    """

    def __init__(
        self, read: Callable[[JsonObject], F], walk: Callable[[], Walk[F]], head: list[Violation]
    ) -> None:
        self._read = read
        self._new_walk = walk
        self._head = head
        self._seen: list[JsonObject] = []
        self._facts: list[F] = []
        self._walk = walk()

    def check(self, messages: Sequence[JsonObject], same: int = 0) -> list[Violation]:
        """See `Checker.check`."""
        keep = len(self._seen) if same >= len(self._seen) else self._replaced(messages)
        # What stands behind a change is mostly the same objects again, moved.
        gone, known = self._seen[keep:], {}
        if gone:
            known = {id(m): f for m, f in zip(gone, self._facts[keep:], strict=True)}
            self._back_to(keep)
        for number in range(keep, len(messages)):
            message = messages[number]
            facts = known[id(message)] if id(message) in known else self._read(message)
            self._walk.see(number, facts)
            self._seen.append(message)
            self._facts.append(facts)
        return [*self._head, *self._walk.finish()]

    def _replaced(self, messages: Sequence[JsonObject]) -> int:
        """How many messages at the beginning read as before; those that are others are taken in."""
        same = [*map(is_, self._seen, messages)]
        at = -1
        while True:
            try:
                at = same.index(False, at + 1)
            except ValueError:
                return len(same)
            new = messages[at]
            if self._read(new) != self._facts[at]:
                return at
            self._seen[at] = new

    def _back_to(self, keep: int) -> None:
        del self._seen[keep:], self._facts[keep:]
        self._walk = self._new_walk()
        for number, facts in enumerate(self._facts):
            self._walk.see(number, facts)
