"""The stable part of a session's requests: volatile text in it is said late where that is safe, and
named where it stays.

Invariant: nothing is moved once something was sent that begins with it; every piece of volatile text
is in a note or in the words of an edit, with its place and bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tenure.core.edit import Reason, Replace
from tenure.core.fold import Opening
from tenure.core.message import Block, BlockKind, JsonObject, Origin, Path
from tenure.core.plan import Plan
from tenure.core.policy import Meter
from tenure.core.transcript import Transcript
from tenure.core.volatile import Volatile, find_volatile
from tenure.policies.tombstone import handle_for
from tenure.wire.layout import LaidOut, Late
from tenure.wire.layout_late import late_message
from tenure.wire.layout_text import Piece, cut_text
from tenure.wire.layout_tools import tool_name
from tenure.wire.meaning import MARKS
from tenure.wire.values import at_path, is_array, is_object

# An explanation names so many places that stay, and counts the others.
_MOST = 20
_PLAIN = frozenset({"type", "text", *MARKS})
# Keys of a tool's definition whose values are names and types, not words to the model.
_NAMES = frozenset({"name", "type", "cache_control", "required", "enum"})


def head_notes(laid: LaidOut) -> list[str]:
    """What was moved out of the head, and the volatile text that stays in it."""
    stays = [_stays(_dotted(path), found) for path, found in laid.left]
    tools = laid.head.get("tools")
    for tool in tools if is_array(tools) else ():
        for path, text in _texts(tool, ()):
            where = f"the tool {tool_name(tool)!r}, {_dotted(path)}"
            stays += [_stays(where, found) for found in find_volatile(text)]
    return [*(late.words for late in laid.late), *laid.notes, *_few(stays)]


def opening(transcript: Transcript, plan: Plan, meter: Meter, nonce: str) -> Opening:
    """What to do about the system messages that the conversation begins with, as those of the OpenAI
    APIs: edits that take volatile text out, the message that says it late, and notes of the rest.

    They are laid out once, and not when the model has said something: its provider may have them
    cached as they are.
    """
    blocks = list(_opening_blocks(transcript))
    sent = any(message.origin is Origin.ASSISTANT for message in transcript.messages)
    movable = not sent and not any(block.key in plan.by_key for block in blocks)
    edits: list[Replace] = []
    late: list[str] = []
    stays: list[str] = []
    for block in blocks:
        cut = cut_text(block.text)
        path = ("messages", block.index, *block.path)
        moves = movable and cut.pieces and cut.stable.strip() and _is_plain(transcript, block)
        if moves:
            pieces = [_late(block.text, piece, path) for piece in cut.pieces]
            late += [piece.text.strip() for piece in pieces]
            words = "; ".join(piece.words for piece in pieces)
            edits.append(_edit(transcript, meter, nonce, block, cut.stable, words))
        gone = moves or block.key in plan.by_key
        stays += [
            _stays(_dotted(path), found)
            for found in (cut.left if gone else find_volatile(block.text))
        ]
    said = late_message(transcript.wire.name, "\n".join(late)) if late else None
    return Opening(tuple(edits), said, tuple(_few(stays)))


def _late(text: str, piece: Piece, path: Path) -> Late:
    at = len(text[: piece.start].encode("utf-8", "surrogatepass"))
    return Late(text[piece.start : piece.end], path, at, piece.found)


def _opening_blocks(transcript: Transcript) -> Iterator[Block]:
    for message, blocks in zip(transcript.messages, transcript.blocks, strict=True):
        if message.origin is not Origin.SYSTEM:
            return
        yield from (block for block in blocks if block.kind is BlockKind.TEXT)


def _is_plain(transcript: Transcript, block: Block) -> bool:
    """Whether a block is nothing but its words: a string, or a part without other fields."""
    part = at_path(transcript.messages[block.index].data, block.path)
    return isinstance(part, str) or (is_object(part) and part.keys() <= _PLAIN)


def _edit(
    transcript: Transcript, meter: Meter, nonce: str, block: Block, stable: str, words: str
) -> Replace:
    body = transcript.wire.stand_in(block, transcript.messages[block.index], stable)
    # It frees nothing: what goes is said elsewhere.
    size = meter.stand_in(block, stable)
    reason = Reason("layout", words, "layout", size, size)
    return Replace(block.key, (body,), reason, handle_for(nonce, block.key))


def _stays(where: str, found: Volatile) -> str:
    return f"volatile text stays in {where}: {found.words}"


def _few(notes: Sequence[str]) -> list[str]:
    more = len(notes) - _MOST
    return [*notes[:_MOST], *([f"{more} more pieces of volatile text stay"] if more > 0 else [])]


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts of a tool's definition, each with its path; names and types are none."""
    waiting: list[tuple[Path, Any]] = [(path, value)]
    while waiting:
        at, one = waiting.pop(0)
        if isinstance(one, str):
            yield at, one
        elif is_object(one):
            waiting += [((*at, key), inner) for key, inner in one.items() if key not in _NAMES]
        elif is_array(one):
            waiting += [((*at, number), inner) for number, inner in enumerate(one)]


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


def late_of(laid: LaidOut, wire: str) -> JsonObject | None:
    """The message that says what was moved out of the head; None when nothing was."""
    if not laid.late:
        return None
    return late_message(wire, "\n".join(late.text for late in laid.late))
