"""The edits of a view: what stands in for what, and why.

Invariant: an edit names its target by key or id, never by position, and carries its replacement
bytes, so that applying it again gives the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tenure.core.message import Message


@dataclass(frozen=True, slots=True)
class Span:
    """A run of whole messages, both ends included, by message id."""

    first: str
    last: str

    def __post_init__(self) -> None:
        if self.bounds[0] > self.bounds[1]:
            raise ValueError(f"span runs backwards: {self.first!r} to {self.last!r}")

    @property
    def bounds(self) -> tuple[int, int]:
        """First and last message number."""
        return int(self.first[1:]), int(self.last[1:])


CHOSEN = "chosen"
"""The note of the way that was taken."""


class Weighed(NamedTuple):
    """One way that was weighed against the others: what it costs once and what it saves per later
    step, in units of the base input price of one token. `note` says why it can't be taken, or that
    it was."""

    way: str
    price: float
    saves: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an edit was made, in words and numbers.

    `about` says what went, e.g. "result of Read src/app.py".
    `when` is one of "forced", "pays", "cold", "arrival", "layout" (volatile text that is said late).
    Tokens are estimates; `price` is what
    the edit costs once and `saves` what it saves per later step, both in units of the base input
    price of one token. `weighed` are the ways to do it among which was chosen, where there were
    several; of a batch, its first edit tells.
    """

    policy: str
    words: str
    when: str = "forced"
    tokens_before: int = 0
    tokens_after: int = 0
    price: float = 0.0
    saves: float = 0.0
    step: int = 0
    about: str = ""
    weighed: tuple[Weighed, ...] = ()


Target: TypeAlias = str | Span


@dataclass(frozen=True, slots=True)
class Drop:
    """Leaves its targets (block keys or spans) out of the view, as one unit."""

    targets: tuple[Target, ...]
    reason: Reason
    handle: str = ""


@dataclass(frozen=True, slots=True)
class Replace:
    """Puts `body` in the place of a block (one JSON value) or a span (one per message)."""

    target: Target
    body: tuple[bytes, ...]
    reason: Reason
    handle: str = ""

    @property
    def targets(self) -> tuple[Target, ...]:
        """The one target, spelled as `Drop` spells its own."""
        return (self.target,)


@dataclass(frozen=True, slots=True)
class Insert:
    """Puts a message of ours into the view right after a message, and it stays there."""

    after: str
    message: Message
    reason: Reason
    handle: str = ""

    @property
    def targets(self) -> tuple[Target, ...]:
        """An insert touches nothing that was there."""
        return ()


@dataclass(frozen=True, slots=True)
class Delegated:
    """The provider's own edit: it clears these blocks on its side, and the view stays as it is.

    `edit` is its type (see `core.server_edit`) and `options` its parameters as JSON text, but
    for those that say where it ends: they are worked out for each request, so that the same blocks
    stay cleared: those up to `upto`, the key of a result. `targets` are the blocks it must have
    touched; `along` those that an edit of ours stands for in the view and that went with them.
    `applied` says that the provider confirmed it; until then they are what was asked for.

    A compaction is of whole messages instead, the first ones: their `span`; what the provider gave to
    stand for them is its `body`, one message.
    """

    edit: str
    targets: tuple[str, ...]
    reason: Reason
    handle: str = ""
    options: bytes = b"{}"
    applied: bool = False
    upto: str = ""
    along: tuple[str, ...] = ()
    span: Span | None = None
    body: tuple[bytes, ...] = ()

    @property
    def cleared(self) -> tuple[str, ...]:
        """Every block that it takes, the keys of both kinds."""
        return (*self.targets, *self.along)


# An edit of whole messages.
SpanEdit: TypeAlias = Drop | Replace | Delegated
# An edit of single blocks.
BlockEdit: TypeAlias = Drop | Replace | Delegated
Edit: TypeAlias = Drop | Replace | Insert | Delegated
