"""What a block of Anthropic Messages must be by itself, and the nearest blocks that are so.

Invariant: total; a sound block comes back as the very object given. What others became says the
same words, or the fault holds what was lost. Compaction blocks are never touched.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tenure.core.legal import Terms
from tenure.core.message import JsonObject, Path
from tenure.core.picture_size import Base64Bytes, picture_size
from tenure.wire.mend_common import cleaned, foreign_label, is_clean, lost_json, picture_label
from tenure.wire.values import is_array, is_object

STRICT_SINCE = "2026-10-21"
THINKING = frozenset({"thinking", "redacted_thinking"})
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
KEY = "cache_control"

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
# What the API may call a type of block that is not known here.
_TYPE = re.compile(r"[A-Za-z0-9_.:-]+")
_UNNAMED = re.compile(r"[^a-zA-Z0-9_-]")
_COMPACTION = frozenset(
    {"type", "content", "signature", "encrypted_content", "tool_changes", KEY}
)  # fmt: skip
# Base64 characters of one picture: platform docs, vision (10 MB).
_LARGEST_PICTURE = 10 * 1024 * 1024
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


class Fault(NamedTuple):
    """A rule that a message breaks by itself. `lost`: JSON of what the mend takes away."""

    rule: str
    words: str
    path: Path = ()
    lost: bytes = b""


class Place(NamedTuple):
    """Where a block stands: its path, the role, the call of the result around it, the terms."""

    path: Path
    role: str
    terms: Terms
    faults: list[Fault]
    call: str = ""

    def fault(self, rule: str, words: str, lost: Any = None) -> None:
        """Takes note of a fault of this block; `lost` is what the mend takes away."""
        self.faults.append(
            Fault(rule, words, self.path, b"" if lost is None else lost_json(lost))
        )  # fmt: skip

    @property
    def strict(self) -> bool:
        """True from the API version on that refuses assistant documents and user citations."""
        return self.terms.api_version >= STRICT_SINCE


def kind_of(block: Any) -> str:
    """The type of a block, "" for what has none."""
    # The hot line of the rules: the first test is the one that json.loads makes true.
    kind = block.get("type") if type(block) is dict or is_object(block) else None
    return kind if type(kind) is str else ""


def is_server_result(kind: str) -> bool:
    """True for the results of tools that the provider runs."""
    return kind.endswith("_tool_result")


def text_block(text: str, like: JsonObject | None = None) -> JsonObject:
    """A text block, with the cache mark of the block it stands for."""
    mark = like.get(KEY) if like is not None else None
    block = {"type": "text", "text": text}
    return {**block, KEY: mark} if mark is not None else block


def sound_block(block: Any, place: Place) -> Sequence[JsonObject]:
    """The blocks that stand for a block: it itself, alone, when it is sound."""
    kind = kind_of(block)
    if kind == "compaction":
        _check_compaction(block, place)
        return (block,)
    if not kind:
        place.fault("block-shape", "a block has no type", block)
        if isinstance(block, str):
            return _text({"type": "text", "text": block}, place)
        said = block.get("text") if is_object(block) else None
        return _text(text_block(said if isinstance(said, str) else _json(block)), place)
    if not is_clean(block):
        place.fault("unsendable-text", "the block holds what JSON in UTF-8 cannot", block)
        block = cleaned(block)
    kind = kind_of(block)
    if not _TYPE.fullmatch(kind):
        place.fault("block-shape", f"a block of the type {_brief(kind)}", block)
        return _text(text_block(_json(block), block), place)
    role = _ROLE.get(kind, "")
    if not role and kind != "tool_result" and is_server_result(kind):
        role = "assistant"
    if (role and role != place.role) or (place.role == "system" and kind not in _IN_SYSTEM):
        return _misplaced(block, kind, place)
    check = _BY_KIND.get(kind)
    return check(block, place) if check else (block,)


def _misplaced(block: JsonObject, kind: str, place: Place) -> Sequence[JsonObject]:
    words = f"a {kind} block in a message of role {place.role}"
    place.fault("misplaced-block", words, block)
    if kind in THINKING:
        return ()
    if kind in {"image", "document"}:
        return (text_block(picture_label("it stood in a message that takes none"), block),)
    bare = {key: value for key, value in block.items() if key != KEY}
    return (text_block(f"{foreign_label(words)}\n{_json(bare)}", block),)


def _text(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    text = block.get("text")
    if text is not None and not isinstance(text, str):
        place.fault("block-shape", "the text of a text block is no string", block)
        text = _json(text)
        block = {**block, "text": text}
    if not text or text.isspace():
        place.fault("empty-text", "a text block has no text", block)
        return ()
    if not is_clean(text):  # Only for what was no block before.
        block = cleaned(block)
    # What stands inside a result is the tool's.
    direct = place.role == "user" and len(place.path) <= 2
    if direct and place.strict and block.get("citations"):
        return (_uncited(block, place),)
    return (block,)


def _uncited(block: JsonObject, place: Place) -> JsonObject:
    place.fault("citations-place", "text in a user message has citations", block)
    return {key: value for key, value in block.items() if key != "citations"}


def _call(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    name = block.get("name")
    if type(name) is not str or not _NAME.fullmatch(name):
        place.fault("call-name", f"the tool name {_brief(name)} is none", block)
        spelled = name if isinstance(name, str) else "" if name is None else _json(name)
        block = {**block, "name": _UNNAMED.sub("_", spelled)[:128] or "unknown"}
    return (_with_object(block, place),)


def _with_object(block: JsonObject, place: Place) -> JsonObject:
    given = block.get("input")
    if type(given) is dict or is_object(given):
        return block
    place.fault("tool-input", "the input of a call is no object", block)
    return {**block, "input": _as_object(given)}


def _as_object(given: Any) -> JsonObject:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            found: JsonObject = cleaned(value)
            return found
    return {"_raw": given}


def _server_call(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    if not isinstance(block.get("id"), str) or not block["id"]:
        place.fault("block-shape", "a server tool call has no id", block)
        return ()
    return (_with_object(block, place),)


def _result(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    content = block.get("content")
    if type(content) is str or content is None:
        return (block,)
    if not is_array(content):
        place.fault("block-shape", "the content of a result is neither text nor blocks", block)
        parts = [content] if kind_of(content) else [text_block(_json(content))]
        block, content = {**block, "content": parts}, parts
    call = block.get("tool_use_id")
    inside = place._replace(call=call if isinstance(call, str) else "")
    new = _parts(content, inside)
    return (block if new is content else {**block, "content": new},)


def _search_result(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    content = block.get("content")
    named = isinstance(block.get("source"), str) and isinstance(block.get("title"), str)
    if not named or not content or not (isinstance(content, str) or is_array(content)):
        place.fault("block-shape", "a search result lacks its source, title or content", block)
        bare = {key: value for key, value in block.items() if key != KEY}
        return (text_block(_json(bare), block),)
    if isinstance(content, str):
        place.fault("block-shape", "the content of a search result is no list of blocks", block)
        content = [text_block(content)]
    new = [_found_text(part, place) for part in content]
    if all(map(_same, new, content)) and content is block["content"]:
        return (block,)
    return ({**block, "content": new},)


def _found_text(part: Any, place: Place) -> Any:
    """A part of what a search found: text, without citations in a user's message."""
    if kind_of(part) != "text" or not isinstance(part.get("text"), str):
        place.fault("block-shape", "a search result holds what is no text", part)
        return text_block(part if isinstance(part, str) else _json(part))
    cited = place.strict and place.role == "user" and part.get("citations")
    return _uncited(part, place) if cited else part


def _parts(content: Sequence[Any], place: Place) -> Sequence[Any]:
    """The parts of a result, the list itself when all are sound."""
    new: list[Any] = []
    for at, part in enumerate(content):
        there = place._replace(path=(*place.path, "content", at))
        kind = kind_of(part)
        if not kind:
            there.fault("block-shape", "a part of a result has no type", part)
            said = part if isinstance(part, str) else _json(part)
            new += _text(text_block(said), there)
            continue
        check = _IN_RESULT.get(kind)
        new += check(part, there) if check else (part,)
    return content if len(new) == len(content) and all(map(_same, new, content)) else new


def _same(one: Any, other: Any) -> bool:
    return one is other


def _thinking(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    signature = block.get("signature")
    if type(signature) is not str or not signature:
        place.fault("unsigned-thinking", "a thinking block has no signature", block)
        return ()
    # An empty text is the rule on newer models, where thinking is not shown.
    if not isinstance(block.get("thinking"), str) or not is_base64(signature):
        place.fault("bad-signature", f"the signature {_brief(signature)} can be none", block)
        return ()
    return _unmarked(block, place)


def _redacted(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    data = block.get("data")
    if type(data) is not str or not data or not is_base64(data):
        place.fault("bad-signature", "redacted thinking holds no base64", block)
        return ()
    return _unmarked(block, place)


def _unmarked(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    if block.get(KEY) is None:
        return (block,)
    place.fault("mark-place", f"a cache mark on a {block['type']} block", block[KEY])
    return ({key: value for key, value in block.items() if key != KEY},)


def is_base64(text: str) -> bool:
    """True for strict base64."""
    try:
        binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # Not ASCII, or not base64.
        return False
    return True


def _document(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    if place.role != "assistant" or not place.strict:
        return (block,)
    place.fault("document-place", "a document in an assistant message", block)
    source = block.get("source")
    said = source.get("data") if is_object(source) and source.get("type") == "text" else None
    if isinstance(said, str) and said.strip():
        return (text_block(f"{foreign_label('the text of a document')}\n{said}", block),)
    why = "this API version takes none from the assistant"
    return (text_block(picture_label(why, name="a document"), block),)


def _image(block: JsonObject, place: Place) -> Sequence[JsonObject]:
    source = block.get("source")
    if not is_object(source):
        place.fault("picture-data", "a picture has no source", block)
        return (text_block(picture_label("it has no source", place.call), block),)
    if source.get("type") != "base64":
        return (block,)
    data = source.get("data")
    size = side_of(block)
    if not size or not isinstance(data, str) or not is_base64(data):
        place.fault("picture-data", "base64 that is no picture", block)
        return (text_block(picture_label("its data is no picture", place.call), block),)
    side, most = size, place.terms.largest_side
    if side > most or len(data) > _LARGEST_PICTURE:
        why = (
            f"a side of {side} pixels, of {most} allowed"
            if side > most
            else f"{len(data)} bytes of base64, of {_LARGEST_PICTURE} allowed"
        )
        place.fault("picture-size", f"a picture has {why}", block)
        return (text_block(picture_label(why, place.call), block),)
    return (_of_its_type(block, source, data, place),)


def _of_its_type(
    block: JsonObject, source: JsonObject, data: str, place: Place
) -> JsonObject:  # fmt: skip
    head = Base64Bytes(data).read(0, 4)
    found = next(name for magic, name in _MAGIC if head.startswith(magic))
    if source.get("media_type") == found:
        return block
    claimed = _brief(source.get("media_type"))
    place.fault("picture-data", f"a picture of type {found} claims {claimed}", block)
    return {**block, "source": {**source, "media_type": found}}


def side_of(block: JsonObject) -> int:
    """The longest side of a base64 picture in pixels; 0 for what cannot be looked into."""
    source = block.get("source")
    if not is_object(source) or source.get("type") != "base64":
        return 0
    data = source.get("data")
    return max(picture_size(data) or (0,)) if isinstance(data, str) else 0


def _check_compaction(block: JsonObject, place: Place) -> None:
    content = block.get("content")
    extra = sorted(str(key) for key in block if key not in _COMPACTION)
    if extra or not (content is None or (isinstance(content, str) and content)):
        what = f"the fields {extra}" if extra else "content that is neither text nor null"
        place.fault("compaction-shape", f"a compaction block has {what}")
    if not is_clean(block) and not _is_sendable(block):
        place.fault("compaction-shape", "a compaction block holds what JSON in UTF-8 cannot")
    if place.role == "system":
        place.fault("compaction-place", "a compaction block in a system message")


def _is_sendable(block: JsonObject) -> bool:
    """True for what JSON in UTF-8 can carry, NUL included: what came with it must go back with it."""
    try:
        json.dumps(dict(block), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _json(value: Any) -> str:
    return lost_json(cleaned(value)).decode()


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else _json(value)
    return repr(text if len(text) <= 40 else text[:37] + "...")


_Check = Callable[[JsonObject, Place], Sequence[JsonObject]]
_ROLE: Mapping[str, str] = dict.fromkeys(("tool_use", *THINKING, *SERVER_CALLS), "assistant")
# A result that got there is brought to its call.
_IN_SYSTEM = frozenset({"text", "tool_addition", "tool_removal", "tool_result"})
_IN_RESULT: Mapping[str, _Check] = {
    "text": _text,
    "image": _image,
    "search_result": _search_result,
}
_BY_KIND: Mapping[str, _Check] = {
    **_IN_RESULT,
    "tool_use": _call,
    "tool_result": _result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "document": _document,
    **dict.fromkeys(SERVER_CALLS, _server_call),
}
