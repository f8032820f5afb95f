"""What a thread fetched more than once: the same call again, and newer versions of the same thing.

Invariant: the finders are those of the policies, so that what is listed here is what tenure may
evict; the newest result of a call or a thing is never counted as older.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tenure.core.message import Block, BlockKind
from tenure.policies.superseded import Superseded, subject_of
from tenure.replay.dependencies import canonical
from tenure.replay.holdings import Held, Holdings


class Row(NamedTuple):
    """Where a row stands."""

    session: str
    thread: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """One call that was made `times` times: tokens of all its results, and of the older ones."""

    where: Row
    tool: str
    arguments: str
    subject: str
    times: int
    tokens: int
    older: int


@dataclass(frozen=True, slots=True)
class OldVersions:
    """One subject whose `superseded` older results a newer one covers; `older` is their tokens."""

    where: Row
    subject: str
    superseded: int
    older: int


def repeats(where: Row, holdings: Holdings) -> list[Repeat]:
    """The calls that were made more than once and got a result each time, failures included."""
    found: dict[tuple[str, str], list[Held]] = {}
    calls: dict[tuple[str, str], Block] = {}
    for held in holdings.results():
        call = holdings.thread.transcript.partner(held.block)
        if call is not None:
            name = (call.tool, canonical(call.text))
            found.setdefault(name, []).append(held)
            calls[name] = call
    rows = []
    for name, copies in found.items():
        if len(copies) > 1:
            sizes = [one.tokens for one in copies]
            tool, arguments = name
            subject = subject_of(calls[name]) or ""
            row = Repeat(where, tool, arguments, subject, len(copies), sum(sizes), sum(sizes[:-1]))
            rows.append(row)
    return rows


def old_versions(where: Row, holdings: Holdings) -> list[OldVersions]:
    """The subjects of which an older version stands in the thread beside the newer one."""
    finder = Superseded()
    transcript = holdings.thread.transcript
    sizes: dict[str, int] = {}
    for held in holdings.held:
        finder.see(transcript, held.block)
        if held.block.kind is BlockKind.TOOL_RESULT:
            sizes[held.block.key] = held.tokens
    found: dict[str, list[int]] = {}
    for key in finder.newer:
        call = transcript.partner(transcript.block(key))
        subject = subject_of(call) if call is not None else None
        if subject is not None:
            found.setdefault(subject, []).append(sizes[key])
    return [OldVersions(where, name, len(some), sum(some)) for name, some in found.items()]
