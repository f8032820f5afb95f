"""Which used results a view lacks, so that the model would have to fetch them again.

Invariant: judged by the plan of the request alone, the same way for every policy.

A used result is there when it, or a copy that was fetched since, stands in the view unedited. Else a
repeated call needs it again, and so does a string that is in none of: what stands in for the result
and its copies (tombstone, shortened text, the summary of a span), and what was inserted since. By the
definition of a use no other place of the recording holds the string.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tenure.core.edit import BlockEdit, Delegated, Drop, Edit, Insert, Replace
from tenure.core.message import Block
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.replay.dependencies import Use


@dataclass(slots=True)
class Needs:
    """The copies of one replayed session, by the key of the original's block."""

    transcript: Transcript
    _copies: dict[str, list[str]] = field(default_factory=dict)

    def fetched(self, result: str, copy: str) -> None:
        """Notes that a copy of a result was appended under the key `copy`."""
        self._copies.setdefault(result, []).append(copy)

    def inherited(self, transcript: Transcript) -> Needs:
        """The same for a fork of the session: the copies that its transcript holds."""
        copies = {
            result: [key for key in keys if key in transcript]
            for result, keys in self._copies.items()
        }
        return Needs(transcript, copies)

    def lacking(self, use: Use, plan: Plan) -> tuple[str, ...] | None:
        """The strings of a use that the view lacks; None when nothing has to be fetched.

        Empty when only the repeated call needs the result.
        """
        blocks = [self.transcript.block(k) for k in (use.result, *self._copies.get(use.result, ()))]
        edits = [edit_of(block, plan) for block in blocks]
        if None in edits:
            return None
        texts = [text for edit in edits if edit is not None for text in _stand_ins(edit)]
        texts += [i.message.raw for some in plan.inserts.values() for i in some]
        missing = tuple(sorted(s for s in use.strings if not _in_any(s, texts)))
        return missing if missing or use.repeat else None


def edit_of(block: Block, plan: Plan) -> BlockEdit | None:
    """The edit that hides a block: its span's, else its own; None when the block is in the view."""
    for first, last, edit in plan.spans:
        if first <= block.index <= last:
            return edit
    return plan.by_key.get(block.key)


def _stand_ins(edit: Edit) -> Iterator[bytes]:
    match edit:
        case Replace(body=body):
            yield from body
        case Insert(message=message):
            yield message.raw
        case Drop() | Delegated():
            pass  # What the provider puts in a result's place says nothing of it.


def _in_any(string: str, texts: list[bytes]) -> bool:
    # Telling strings are plain ASCII without anything that JSON escapes.
    wanted = string.encode()
    return any(wanted in text for text in texts)
