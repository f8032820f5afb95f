"""Tier 2: results of calls that were made again.

Invariant: two calls are the same when tool name and canonical arguments are; the newest result
is never a candidate here.
"""

from __future__ import annotations

from tenure.core.message import Block, BlockKind
from tenure.core.transcript import Transcript


class DuplicateResults:
    """A fold: for each older result, the key of the newer result of the same call."""

    def __init__(self) -> None:
        self.newer: dict[str, str] = {}
        self._latest: dict[tuple[str, str], str] = {}

    def see(self, transcript: Transcript, block: Block) -> None:
        """Takes in one more result."""
        call = transcript.partner(block)
        if block.kind is not BlockKind.TOOL_RESULT or call is None or block.is_error:
            return
        # The text of a call is its arguments as canonical JSON, so equal text is an equal call.
        name = (call.tool, call.text)
        older = self._latest.get(name)
        if older is not None:
            self.newer[older] = block.key
        self._latest[name] = block.key
