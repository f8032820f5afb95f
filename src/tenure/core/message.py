"""A wire message exactly as received, and the blocks one can see in it.

Invariant: neither the bytes nor the caller's own dict is ever changed; everything here is a view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str | int, ...]


class Origin(StrEnum):
    """Who wrote it. The role alone does not say: a harness also speaks with role user."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"
    HARNESS = "harness"


class BlockKind(StrEnum):
    """What a block is, whichever API spells it."""

    TEXT = "text"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    THINKING = "thinking"
    MEDIA = "media"
    OTHER = "other"


class Lens(NamedTuple):
    """What a wire format sees at one place of a message.

    `path` leads from the message to the block; `text` is what a reader of the block reads (the
    arguments of a call as JSON, the text parts of a result joined); `media` holds the provider's
    own parts that are counted by size. `signed` marks reasoning the provider checks on return.
    A call and its result are paired by `call_id`, the empty one like any other, unless `paired` is
    False: calls of Chat's past name a function and have no id.
    """

    path: Path
    kind: BlockKind
    text: str = ""
    call_id: str = ""
    tool: str = ""
    media: tuple[JsonObject, ...] = ()
    is_error: bool = False
    signed: bool = False
    origin: Origin | None = None
    paired: bool = True


@dataclass(frozen=True, slots=True)
class Block:
    """One block of one message of a transcript.

    `key` is unique in its transcript and survives edits elsewhere: the tool-call id, else a hash
    of the content with an occurrence number. `index` is the place of its message.
    """

    key: str
    index: int
    path: Path
    kind: BlockKind
    origin: Origin
    text: str
    call_id: str = ""
    tool: str = ""
    media: tuple[JsonObject, ...] = field(default=(), hash=False)
    is_error: bool = False
    signed: bool = False

    @property
    def message_id(self) -> str:
        """The id of the message it stands in."""
        return message_id(self.index)


class Message:
    """One wire message: raw bytes or the caller's dict, whichever came; the other made on demand.

    `held_raw` says that the bytes are what came in, so edits must splice them. `pinned` messages
    are never touched by a policy.
    """

    __slots__ = ("_data", "_raw", "held_raw", "origin", "pinned")

    def __init__(
        self,
        data: JsonObject | None,
        raw: bytes | None = None,
        *,
        origin: Origin,
        pinned: bool = False,
    ) -> None:
        assert data is not None or raw is not None
        self._data = data
        self._raw = raw
        self.held_raw = raw is not None
        self.origin = origin
        self.pinned = pinned

    @property
    def data(self) -> JsonObject:
        """The message as JSON values; treat it as read-only."""
        if self._data is None:
            assert self._raw is not None
            self._data = json.loads(self._raw.decode("utf-8", "surrogateescape"))
        return self._data

    @property
    def raw(self) -> bytes:
        """The message as JSON text: the bytes that came in, else made once from the dict."""
        if self._raw is None:
            self._raw = json_bytes(self._data)
        return self._raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.origin, self.pinned, self.data) == (
            other.origin,
            other.pinned,
            other.data,
        )

    def __hash__(self) -> int:
        # Equal messages may be spelled differently, so neither bytes nor numbers take part.
        return hash((self.origin, self.pinned, frozenset(self.data)))

    def __repr__(self) -> str:
        return f"Message({self.raw[:60]!r}, origin={self.origin.value!r})"


def json_bytes(value: Any) -> bytes:
    """JSON text of a value, compact; lone surrogates leave as escapes, since UTF-8 has none."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def message_id(index: int) -> str:
    """The id of the message appended as number `index`, counted from 0."""
    return f"m{index}"
