"""Counts blocks for one model: text by its family, media by size, and the frame around both.

Invariant: pure and stateless; `bound` reads no text, `count` reads it once.
"""

from __future__ import annotations

from tenure.core.message import Block, BlockKind
from tenure.core.protocols import Count
from tenure.tokens.families import byte_bound, family_of
from tenure.tokens.media import media_tokens

# What a provider wraps around a block (ids, tool name, role), tokens. Calls and results carry
# an id of about 30 characters; the figures were read off reported usage of recorded sessions.
_FRAME = {
    BlockKind.TEXT: 4,
    BlockKind.TOOL_CALL: 30,
    BlockKind.TOOL_RESULT: 25,
    BlockKind.THINKING: 4,
    BlockKind.MEDIA: 4,
    BlockKind.OTHER: 8,
}
# A bound for a picture or document of unknown size, and per base64 byte beyond it: no provider
# charges more for a part than its bytes.
_MEDIA_BOUND = 5_000


class BlockCounter:
    """Implements `core.protocols.Counter` for a model name and its provider."""

    def __init__(self, model: str, provider: str) -> None:
        self._family = family_of(model)
        self._provider = provider

    def bound(self, block: Block) -> int:
        """Never exceeded; constant time."""
        total = self.bound_text(block.text) + 2 * _FRAME[block.kind] + len(block.tool)
        for part in block.media:
            total += max(_MEDIA_BOUND, media_tokens(self._provider, part, family=self._family))
        return total

    def count(self, block: Block) -> Count:
        """Estimate and upper bound."""
        estimate, upper = self.count_text(block.text)
        frame = _FRAME[block.kind]
        media = sum(media_tokens(self._provider, p, family=self._family) for p in block.media)
        return Count(estimate + frame + media, upper + 2 * frame + media)

    def bound_text(self, text: str) -> int:
        """Never exceeded; constant time for ASCII text, else one pass for its UTF-8 length."""
        if text.isascii():
            return byte_bound(len(text), self._family, ascii=True)
        return byte_bound(len(text.encode("utf-8", "surrogatepass")), self._family)

    def count_text(self, text: str) -> Count:
        """Estimate and upper bound of bare text, neither above the byte bound."""
        estimate, upper = self._family.count(text)
        bound = self.bound_text(text)
        return Count(min(estimate, bound), min(upper, bound))
