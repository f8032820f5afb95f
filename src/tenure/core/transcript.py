"""All that was said, append-only.

Invariant: a message once appended stays, with its number, its blocks and their keys. The indexes
beside the list are folds over it and cost constant time per block.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b

from tenure.core.message import Block, BlockKind, Lens, Message, Origin, json_bytes, message_id
from tenure.core.protocols import Wire
from tenure.errors import PlanError


class Transcript:
    """The messages of one session, their blocks, and who answers whom."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.messages: list[Message] = []
        self.blocks: list[tuple[Block, ...]] = []
        self.user_turns: list[int] = []
        self.tool_calls: list[Block] = []
        # Calls that wait for a result, by block key in their order, and which of them have an id.
        self.open_calls: dict[str, Block] = {}
        self._open_ids: dict[str, deque[Block]] = {}
        # Calls that other words have passed by: the newest of an id.
        self._passed_ids: dict[str, deque[Block]] = {}
        self._last_other = -1
        self._by_key: dict[str, Block] = {}
        self._occurrences: dict[str, int] = {}
        self._calls: dict[str, Block] = {}
        self._partner: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, message: Message) -> tuple[Block, ...]:
        """Adds a message at the end and returns its blocks."""
        index = len(self.messages)
        blocks = tuple(self._block(lens, index, message) for lens in self.wire.lenses(message.data))
        self.messages.append(message)
        self.blocks.append(blocks)
        if message.origin is Origin.USER and any(b.origin is Origin.USER for b in blocks):
            self.user_turns.append(index)
        if message.origin is not Origin.ASSISTANT:
            self._last_other = index
            if self.open_calls and any(b.kind is not BlockKind.TOOL_RESULT for b in blocks):
                self._passed_ids.update(self._open_ids)
                self._open_ids = {}
                self.open_calls.clear()
        return blocks

    def block(self, key: str) -> Block:
        """The block of that key; PlanError when there is none."""
        try:
            return self._by_key[key]
        except KeyError:
            raise PlanError(f"block {key!r} is not in the transcript") from None

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def partner(self, block: Block) -> Block | None:
        """The result of a call, or the call of a result; None when it has none (yet)."""
        key = self._partner.get(block.key)
        return self._by_key[key] if key else None

    def index_of(self, wanted: str) -> int:
        """The number of a message id; PlanError when the id is not in the transcript."""
        digits = wanted[1:]
        known = wanted[:1] == "m" and len(digits) < 10 and digits.isascii() and digits.isdigit()
        index = int(digits) if known else -1
        if not 0 <= index < len(self.messages) or message_id(index) != wanted:
            raise PlanError(f"message {wanted!r} is not in the transcript", message_id=wanted)
        return index

    def all_blocks(self) -> Iterator[Block]:
        """Every block, in order."""
        for blocks in self.blocks:
            yield from blocks

    def _block(self, lens: Lens, index: int, message: Message) -> Block:
        origin = lens.origin or message.origin
        if lens.kind is BlockKind.TOOL_CALL and lens.paired:
            return self._register(self._make(lens, index, origin, f"call:{lens.call_id}"), lens)
        if lens.kind is BlockKind.TOOL_RESULT and lens.paired:
            return self._register(self._make(lens, index, origin, f"result:{lens.call_id}"), lens)
        digest = blake2b(lens.text.encode("utf-8", "surrogatepass"), digest_size=8)
        for part in lens.media:
            digest.update(json_bytes(part))
        base = f"{lens.kind}:{digest.hexdigest()}"
        return self._register(self._make(lens, index, origin, base), lens)

    def _make(self, lens: Lens, index: int, origin: Origin, base: str) -> Block:
        seen = self._occurrences.get(base, 0)
        self._occurrences[base] = seen + 1
        key = f"{base}#{seen}" if seen else base
        while key in self._by_key:  # A call id may itself end like an occurrence number.
            key += "'"
        tool = lens.tool
        if lens.kind is BlockKind.TOOL_RESULT and lens.paired and not tool:
            call = self._calls.get(lens.call_id)
            tool = call.tool if call else ""
        return Block(
            key, index, lens.path, lens.kind, origin, lens.text, lens.call_id, tool,
            lens.media, lens.is_error, lens.signed,
        )  # fmt: skip

    def _register(self, block: Block, lens: Lens) -> Block:
        self._by_key[block.key] = block
        if block.kind is BlockKind.TOOL_CALL:
            self.tool_calls.append(block)
        if not lens.paired:
            return block
        if block.kind is BlockKind.TOOL_CALL:
            self._calls[lens.call_id] = block
            self._open(block)
        elif block.kind is BlockKind.TOOL_RESULT:
            call = self._answered(lens.call_id)
            if call is not None:
                self._partner[call.key], self._partner[block.key] = block.key, call.key
        return block

    def _open(self, call: Block) -> None:
        """Parallel calls of one id are answered in their order; one of an earlier turn no more."""
        waiting = self._open_ids.setdefault(call.call_id, deque())
        while waiting and waiting[-1].index <= self._last_other:
            del self.open_calls[waiting.pop().key]
        waiting.append(call)
        self.open_calls[call.key] = call

    def _answered(self, call_id: str) -> Block | None:
        """The call that a result of this id answers."""
        waiting = self._open_ids.get(call_id)
        if waiting:
            call = waiting.popleft()
            del self.open_calls[call.key]
            if not waiting:
                del self._open_ids[call_id]
            return call
        passed = self._passed_ids.get(call_id)
        return passed.popleft() if passed else None
