"""Tier 4: older versions of a file, a plan or a diff.

Invariant: no key is asked of the caller. What a call is about is read from its arguments (the
path-like ones, else the tool itself when it rewrites one list), and a version counts as
superseded only when the newer text really covers most of it.
"""

from __future__ import annotations

import json
from typing import Any

from tenure.core.message import Block, BlockKind
from tenure.core.strings import rare_strings
from tenure.core.transcript import Transcript

# The share of an older version's telling strings that a newer one must hold to supersede it.
_COVERS = 0.7
_PATH_KEYS = ("path", "file", "filename", "url", "uri", "document", "notebook")
_MOST_ARGUMENTS = 20_000
# Versions of one subject that a new one is compared with: the newest. A file read in many disjoint
# parts has no older version.
_MOST_VERSIONS = 8


class Superseded:
    """A fold: for each older version, the key of the result that covers it."""

    def __init__(self) -> None:
        self.newer: dict[str, str] = {}
        # The results of each subject that nothing covers yet; read when the next one comes.
        self._versions: dict[str, dict[str, set[str]]] = {}

    def see(self, transcript: Transcript, block: Block) -> None:
        """Takes in one more result."""
        call = transcript.partner(block)
        if block.kind is not BlockKind.TOOL_RESULT or call is None or block.is_error:
            return
        subject = subject_of(call)
        if subject is None:
            return
        versions = self._versions.setdefault(subject, {})
        if versions:
            strings = rare_strings(block.text)
            for key in [*versions][-_MOST_VERSIONS:]:
                held = versions[key] or rare_strings(transcript.block(key).text)
                versions[key] = held
                if held and len(held & strings) >= _COVERS * len(held):
                    self.newer[key] = block.key
                    del versions[key]
            versions[block.key] = strings
        else:
            versions[block.key] = set()


def subject_of(call: Block) -> str | None:
    """What a call is about: the value of its path-like argument, else None."""
    if len(call.text) > _MOST_ARGUMENTS:
        return None
    try:
        arguments = json.loads(call.text)
    except (ValueError, RecursionError):  # RecursionError: nested deeper than Python reads
        return None
    if not isinstance(arguments, dict):
        return None
    for name, value in arguments.items():
        if _is_path(name, value):
            return str(value)
    if any(isinstance(v, list) for v in arguments.values()) and len(arguments) == 1:
        # A tool that rewrites one list each time: a plan, a set of todos.
        return f"tool:{call.tool}"
    return None


def _is_path(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not value or "\n" in value or len(value) > 400:
        return False
    return name.lower().endswith(_PATH_KEYS)
