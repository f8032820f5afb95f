"""Which earlier tool results each reply of a recorded thread uses: the definition of a re-fetch.

Invariant: a function of the recording alone, the same for every policy, fixed before any policy was
tuned (`DEFINITION` changes when the rule does). Time is linear in the text.

Decisions:

- A *reply* is a run of consecutive messages with origin assistant: the Responses API writes one
  answer as several items. What a reply says is looked up before anything of it is noted, so that
  its own reasoning does not hide where a string came from.
- *Repeat*: a call whose tool name and canonical arguments (JSON with sorted keys; other text as it
  is) equal those of an earlier reply's call uses the result of the newest such call. A call that
  never got a result is not used.
- *String*: a telling string (`core.strings.rare_strings`) of a reply's text or call arguments uses a
  result when that result is the only earlier block that holds it. Every other block counts as
  another place: user and harness text, assistant text, arguments and visible reasoning, other
  results, and the system text where the recording has it. So a string is used at most once, by the
  reply that first says it: from then on it stands in that reply too.
- Reasoning uses nothing: whether the provider shows it differs by model.
- Strings are compared as whole words, not as parts: `src/app.py` in a result is not the
  `/home/me/src/app.py` of a call.
- Media have no strings; only a repeated call uses them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tenure.core.message import Block, BlockKind, Origin
from tenure.core.strings import rare_strings
from tenure.core.transcript import Transcript

DEFINITION = 1
"""The version of the rule above; figures of different versions can't be compared."""

_SAYS = (BlockKind.TEXT, BlockKind.TOOL_CALL)


class Use(NamedTuple):
    """A reply's use of one earlier result: the result's block key, the strings that came from it
    alone, and whether the reply repeats the call that gave it."""

    result: str
    strings: frozenset[str]
    repeat: bool


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The uses of one thread, by the number of the reply's first message."""

    uses: Mapping[int, tuple[Use, ...]]

    @staticmethod
    def of(transcript: Transcript, system: str = "") -> Dependencies:
        """The uses in a whole recorded thread; `system` is the text of its system prompt."""
        index = _Index(transcript, system)
        uses: dict[int, tuple[Use, ...]] = {}
        for first, last in _runs(transcript):
            blocks = [b for i in range(first, last + 1) for b in transcript.blocks[i]]
            if transcript.messages[first].origin is Origin.ASSISTANT:
                found = index.uses(blocks)
                if found:
                    uses[first] = found
            index.note(blocks)
        return Dependencies(uses)

    def at(self, first: int, last: int) -> tuple[Use, ...]:
        """The uses of the replies that begin at messages `first` to `last`, both included."""
        return tuple(use for i in range(first, last + 1) for use in self.uses.get(i, ()))

    def last_uses(self) -> dict[str, int]:
        """The number of the last message that uses each used result."""
        return {use.result: index for index, uses in self.uses.items() for use in uses}


def canonical(arguments: str) -> str:
    """The arguments of a call in one spelling: JSON with sorted keys, other text as it is.

    >>> canonical('{"b": 1, "a": 2}') == canonical('{"a":2,"b":1}')
    True
    """
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments.strip()
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(slots=True)
class _Index:
    """What was said so far: where each string stands, and the last result of each call."""

    transcript: Transcript
    system: str
    # The one result that holds a string, or None when it stands elsewhere or in several.
    _owner: dict[str, str | None] = field(default_factory=dict)
    _calls: dict[tuple[str, str], Block] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._owner.update(dict.fromkeys(rare_strings(self.system)))

    def uses(self, blocks: Sequence[Block]) -> tuple[Use, ...]:
        """What a reply uses, in the order it says so."""
        strings: dict[str, set[str]] = {}
        repeated: set[str] = set()
        for block in blocks:
            if block.kind not in _SAYS:
                continue
            for string in sorted(rare_strings(block.text)):
                owner = self._owner.get(string)
                if owner is not None:
                    strings.setdefault(owner, set()).add(string)
            result = self._repeats(block)
            if result is not None:
                strings.setdefault(result.key, set())
                repeated.add(result.key)
        return tuple(Use(key, frozenset(found), key in repeated) for key, found in strings.items())

    def note(self, blocks: Sequence[Block]) -> None:
        """Takes in what a reply said or what arrived."""
        for block in blocks:
            result = block.key if block.kind is BlockKind.TOOL_RESULT else None
            for string in rare_strings(block.text):
                known = self._owner.setdefault(string, result)
                if known is not None and known != result:
                    self._owner[string] = None
            if block.kind is BlockKind.TOOL_CALL:
                self._calls[block.tool, canonical(block.text)] = block

    def _repeats(self, block: Block) -> Block | None:
        if block.kind is not BlockKind.TOOL_CALL:
            return None
        earlier = self._calls.get((block.tool, canonical(block.text)))
        if earlier is None:
            return None
        result = self.transcript.partner(earlier)
        # The recording is read whole: a result that came later than this reply is no earlier one.
        return result if result is not None and result.index < block.index else None


def _runs(transcript: Transcript) -> Iterator[tuple[int, int]]:
    """The messages in order, consecutive assistant ones together: (first, last)."""
    first = 0
    while first < len(transcript):
        last = first
        if transcript.messages[first].origin is Origin.ASSISTANT:
            while (
                last + 1 < len(transcript)
                and transcript.messages[last + 1].origin is Origin.ASSISTANT
            ):
                last += 1
        yield first, last
        first = last + 1
