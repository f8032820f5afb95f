"""Whether the marks of a request reach back to what earlier requests of its conversation cached.

Invariant: what the cache would do is said by `cost.prefix_cache`, which knows the rule; nothing
expires here, since requests have no times. Only for APIs that cache at marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tenure.core.message import JsonObject
from tenure.core.protocols import Counter
from tenure.cost.models import ModelProfile
from tenure.cost.prefix_cache import CauseKind, Mark, PrefixCache
from tenure.cost.prefix_tree import Segment
from tenure.wire.prefix_parts import bare, compact
from tenure.wire.values import is_array, is_object, text_of

_MARK = "cache_control"
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


class Block(NamedTuple):
    """One block of a prompt: its text, its kind, and its cache mark."""

    text: str
    kind: str
    mark: Any


@dataclass(slots=True)
class Reach:
    """The cache of one conversation."""

    profile: ModelProfile
    counter: Counter
    _cache: PrefixCache = field(init=False)
    _sizes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cache = PrefixCache(self.profile)

    def missed(self, body: JsonObject) -> int:
        """Tokens that are cached, unchanged, and out of reach for the marks of the next request; 0
        when the marks reach them, or when the provider would refuse the marks."""
        node = self._cache.root
        marks: list[Mark] = []
        for block in blocks(body):
            node = self._cache.extend(node, [Segment(block.text, self._size(block), block.kind)])
            if block.mark is not None:
                ttl = text_of(block.mark.get("ttl")) if is_object(block.mark) else ""
                marks.append(Mark(node, long=ttl == "1h" and bool(self.profile.ttl_long)))
        held = self._cache.warm(node, 0)
        try:
            outcome = self._cache.request(node, marks, at=0)
        except ValueError:
            return 0  # Too many marks, or in a wrong order: the rules say so.
        beyond = outcome.cause is not None and outcome.cause.kind is CauseKind.LOOKBACK
        return max(0, held - outcome.usage.cache_read) if beyond else 0

    def _size(self, block: Block) -> int:
        known = self._sizes.get(block.text)
        if known is None:
            known = self._sizes[block.text] = self.counter.count_text(block.text).estimate
        return known


def blocks(body: JsonObject) -> list[Block]:
    """The blocks of an Anthropic request in prompt order; the automatic mark is on the last that may
    have one."""
    found = list(_blocks(body))
    automatic = body.get(_MARK)
    for at in range(len(found) - 1, -1, -1) if automatic is not None else ():
        if found[at].kind not in _UNMARKABLE:
            found[at] = found[at]._replace(mark=found[at].mark or automatic)
            break
    return found


def _blocks(body: JsonObject) -> Iterator[Block]:
    for tool in _listed(body.get("tools")):
        yield _block("tool", tool)
    for block in _listed(body.get("system")):
        yield _block("system", block)
    for message in _listed(body.get("messages")):
        role = text_of(message.get("role")) if is_object(message) else ""
        for block in _listed(message.get("content") if is_object(message) else message):
            yield _block(role, block)


def _block(role: str, block: Any) -> Block:
    kept = {"type": "text", "text": block} if isinstance(block, str) else bare(block)
    kind = text_of(kept.get("type")) if is_object(kept) else ""
    return Block(f"{role}:{compact(kept)}", kind or "text", _mark(block))


def _mark(block: Any) -> Any:
    """The mark of a block, or the last one inside a result, which stands at the result's end."""
    if not is_object(block):
        return None
    inner = block.get("content")
    marks = [one.get(_MARK) for one in (inner if is_array(inner) else ()) if is_object(one)]
    return next((one for one in (block.get(_MARK), *reversed(marks)) if one is not None), None)


def _listed(value: Any) -> list[Any]:
    if is_array(value):
        return list(value)
    return [] if value is None else [value]
