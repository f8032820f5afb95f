"""How far consecutive requests of one conversation share their prompt.

Invariant: a request that only appends to the one before it breaks no prefix, wherever its cache
marks stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tenure.testing.prompt import HEAD, PromptBlock
from tenure.testing.refusal import Refusal


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived, and how it was answered.

    `time` is the server's clock when it arrived, in seconds; `step` is the script step that
    answered it, or None for a count, a listing and whatever was refused; `refusal` is why.
    Header names are in lower case.
    """

    index: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Any
    time: float
    status: int
    step: int | None = None
    refusal: Refusal | None = None
    prompt: Sequence[PromptBlock] = field(default=(), repr=False)

    @property
    def generates(self) -> bool:
        """Whether the model read this request: only such a request fills the provider's cache."""
        return self.status == 200 and self.step is not None


class PrefixBreak(NamedTuple):
    """`request` changed `message` of what its predecessor sent; `HEAD` (-1): tools or system."""

    request: int
    message: int


class SharedPrefix(NamedTuple):
    """What a request has in common with its predecessor, from the start.

    `messages` are whole equal messages, `bytes` the UTF-8 length of the equal blocks, `whole`
    says that nothing of the predecessor is missing.
    """

    messages: int
    bytes: int
    whole: bool


def shared_prefix(before: Sequence[PromptBlock], after: Sequence[PromptBlock]) -> SharedPrefix:
    """Compares block by block; cache marks play no part."""
    equal = _equal_blocks(before, after)
    size = sum(len(block.text.encode("utf-8", "surrogatepass")) for block in after[:equal])
    whole = equal == len(before) and not _grew_inside(before, after)
    return SharedPrefix(_first_unequal(before, after, equal), size, whole)


def prefix_break(before: RecordedRequest, after: RecordedRequest) -> PrefixBreak | None:
    """Where `after` departs from `before`, or None when it only appends."""
    equal = _equal_blocks(before.prompt, after.prompt)
    if equal < len(before.prompt):
        differing = [side.prompt[equal] for side in (before, after) if equal < len(side.prompt)]
        return PrefixBreak(after.index, min(block.message for block in differing))
    if _grew_inside(before.prompt, after.prompt):
        return PrefixBreak(after.index, before.prompt[-1].message)
    return None


def _equal_blocks(before: Sequence[PromptBlock], after: Sequence[PromptBlock]) -> int:
    for position, (old, new) in enumerate(zip(before, after, strict=False)):
        if (old.text, old.message) != (new.text, new.message):
            return position
    return min(len(before), len(after))


def _grew_inside(before: Sequence[PromptBlock], after: Sequence[PromptBlock]) -> bool:
    """Whether the last message of `before` has more blocks in `after` than it had."""
    longer = len(after) > len(before) > 0
    return longer and after[len(before)].message == before[-1].message


def _first_unequal(before: Sequence[PromptBlock], after: Sequence[PromptBlock], equal: int) -> int:
    """The number of messages that are equal as a whole."""
    open_messages = [side[equal].message for side in (before, after) if equal < len(side)]
    if not open_messages:
        return after[-1].message + 1 if after else 0
    return max(min(open_messages), HEAD + 1)
