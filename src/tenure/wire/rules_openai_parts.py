"""Parts of content in the two OpenAI formats: the nearest sound ones, and the cache breakpoints on them.

Invariant: total, and idempotent: sound content is the very object given. Parts of types that another
API has, or that can be no type, are spelled anew; other types that nobody knows pass, since a host
may have its own, but are named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tenure.core.message import JsonObject, Path
from tenure.wire.mend_common import foreign_label, picture_label
from tenure.wire.shape import Findings, spoken
from tenure.wire.values import MEDIA_TYPES, is_array, is_object, text_of

BREAKPOINT = "prompt_cache_breakpoint"
# openai 3.57.0, prompt_cache_breakpoint_param.
_TTLS = (None, "30m", "12h")
# The fields of the parts with media, by type, in both formats; any one of them will do.
_MEDIA_FIELDS: Mapping[str, tuple[str, ...]] = {
    "image_url": ("image_url",),
    "input_audio": ("input_audio",),
    "file": ("file",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_id", "file_url"),
}
# What a host may have called a part of its own.
_TYPE = re.compile(r"[A-Za-z0-9_.:-]+")


class Parts(NamedTuple):
    """How a format spells content: its text part, its text-like types, its media types, and the
    types that are another's."""

    text: str
    texts: Mapping[str, str]
    media: frozenset[str]
    foreign: frozenset[str]


_ANTHROPIC = frozenset(
    {
        "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use",
        "search_result", "image", "document", "container_upload", "compaction", "fallback",
        "tool_addition", "tool_removal", "tool_reference", "browser_state", "mcp_tool_listing",
    }
)  # fmt: skip
_ITEMS = frozenset(
    {
        "message", "reasoning", "item_reference", "compaction_trigger", "function_call",
        "function_call_output", "custom_tool_call", "custom_tool_call_output", "computer_call",
        "computer_call_output", "shell_call", "shell_call_output", "local_shell_call",
        "local_shell_call_output", "apply_patch_call", "apply_patch_call_output", "web_search_call",
        "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
        "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "tool_search_call",
        "tool_search_output", "additional_tools", "configuration_update", "function", "custom",
    }
)  # fmt: skip
_IN_CHAT = frozenset({"text", "image_url", "file", "input_audio"})
_IN_ITEMS = frozenset({"input_text", "output_text", "input_image", "input_file", "summary_text"})

CHAT_PARTS = Parts(
    "text",
    {"text": "text"},
    frozenset({"image_url", "input_audio", "file"}),
    _ANTHROPIC | _ITEMS | _IN_ITEMS | {"refusal"},
)
CHAT_SAID = Parts(
    "text",
    {"text": "text", "refusal": "refusal"},
    frozenset({"image_url", "input_audio", "file"}),
    _ANTHROPIC | _ITEMS | _IN_ITEMS,
)
INPUT_PARTS = Parts(
    "input_text",
    {"input_text": "text"},
    frozenset({"input_image", "input_file"}),
    _ANTHROPIC | _ITEMS | _IN_CHAT | {"output_text", "summary_text", "refusal"},
)
OUTPUT_PARTS = Parts(
    "output_text",
    {"output_text": "text", "refusal": "refusal"},
    frozenset(),
    _ANTHROPIC | _ITEMS | _IN_CHAT | {"input_text", "summary_text"},
)


def is_media(part: Any) -> bool:
    """True for a part with a picture, a sound or a document, in any API's spelling."""
    return is_object(part) and text_of(part.get("type")) in MEDIA_TYPES


def is_whole_media(part: JsonObject, parts: Parts) -> bool:
    """True for a part with media that this format takes."""
    kind = text_of(part.get("type"))
    if kind not in parts.media:
        return False
    inner = [part.get(field) for field in _MEDIA_FIELDS[kind]]
    return any(is_object(value) or (isinstance(value, str) and bool(value)) for value in inner)


def is_foreign(kind: str, parts: Parts) -> bool:
    """True for a type that another API has, or that no API could have."""
    return kind in parts.foreign or kind.endswith("_tool_result") or _TYPE.fullmatch(kind) is None


def sound_part(part: Any, parts: Parts) -> Any:
    """The part, itself when it is sound or of a type we do not know; else one that says the same."""
    if not is_object(part):
        return {"type": parts.text, "text": spoken(part)}
    kind = part.get("type")
    if not isinstance(kind, str) or not kind:
        text = part["text"] if isinstance(part.get("text"), str) else spoken(part)
        return {"type": parts.text, "text": text}
    if is_foreign(kind, parts) and not is_media(part):
        text = part.get("text", part.get("refusal"))
        return {"type": parts.text, "text": text if isinstance(text, str) else spoken(part)}
    field = parts.texts.get(kind)
    if field is not None and not isinstance(part.get(field), str):
        return {**part, field: spoken(part.get(field))}
    if kind in parts.media and not is_whole_media(part, parts):
        return {"type": parts.text, "text": spoken(part)}
    return part


def sound_content(
    content: Any, parts: Parts, notes: Findings, *, field: str = "content", text_only: str = ""
) -> Any:
    """Content that is text or a list of sound parts.

    `text_only` names the place where nothing but text may stand ("" where media may).
    """
    if isinstance(content, str):
        return content
    if not is_array(content):
        said = "sent as text that says the same"
        if is_object(content) and isinstance(content.get("type"), str):
            notes.add("content-parts", "content is one part", said, path=(field,))
            return sound_content([content], parts, notes, field=field, text_only=text_only)
        why = f"content is {type(content).__name__}, neither text nor parts"
        notes.add("content-parts", why, said, path=(field,))
        return spoken(content)
    new = [_in_place(part, parts, notes, (field, at), text_only) for at, part in enumerate(content)]
    return content if all(a is b for a, b in zip(new, content, strict=True)) else new


def _in_place(part: Any, parts: Parts, notes: Findings, path: Path, text_only: str) -> Any:
    """The part that leaves in the place of one of a message's content."""
    sound = sound_part(part, parts)
    rule, why, done = "content-parts", "a part is malformed", "sent as text that says the same"
    if is_media(sound) and (text_only or text_of(sound.get("type")) in parts.foreign):
        rule, done = "text-only" if text_only else "content-parts", "replaced by a label"
        why = f"{text_only} takes text only" if text_only else "this API does not take it"
        sound = {"type": parts.text, "text": picture_label(why, name=_media_name(sound))}
    if sound is not part:
        notes.add(rule, why, done, part if is_object(part) else None, path)
    elif sound["type"] not in parts.texts and sound["type"] not in parts.media:
        notes.leave("part-type", f"a part of type {sound['type']!r}, which no API has", path)
    return _soundly_marked(sound, notes, path)


def _soundly_marked(part: JsonObject, notes: Findings, path: Path) -> JsonObject:
    """The part with a breakpoint that the API takes, or without one."""
    mark = part.get(BREAKPOINT)
    if mark is None:
        return part
    there = (*path, BREAKPOINT)
    explicit = is_object(mark) and mark.get("mode") == "explicit"
    if explicit and notes.takes.breakpoints:
        if mark.get("ttl") in _TTLS:
            return part
        words = "the lifetime of a cache breakpoint is neither 30m nor 12h"
        notes.add("breakpoint", words, "it keeps no lifetime of its own", mark, there)
        kept = {key: value for key, value in mark.items() if key != "ttl"}
        return {**part, BREAKPOINT: kept}
    words = "a cache breakpoint is not explicit"
    if explicit:
        words = "a cache breakpoint for a model that knows none"
    notes.add("breakpoint", words, "it was taken off", mark, there)
    return {key: value for key, value in part.items() if key != BREAKPOINT}


def _media_name(part: JsonObject) -> str:
    kind = text_of(part.get("type"))
    if "image" in kind:
        return "a picture"
    return "a sound" if "audio" in kind else "a document"


def labelled_content(label: str, content: Any, parts: Parts) -> str | list[Any]:
    """Content of a user's message that says `label` and then everything that `content` says.

    Media of this format stays; of other APIs a label says that it was there.
    """
    if not is_array(content) or isinstance(content, str):
        text = spoken(content)
        return f"{label}\n{text}" if text else label
    return [{"type": parts.text, "text": label}, *(_for_user(part, parts) for part in content)]


def _for_user(part: Any, parts: Parts) -> Any:
    sound = sound_part(part, parts)
    if BREAKPOINT in sound:
        # The message is a new one: what was cached up to here no longer is.
        sound = {key: value for key, value in sound.items() if key != BREAKPOINT}
    kind = text_of(sound.get("type"))
    if kind == parts.text or is_whole_media(sound, parts):
        return sound
    if is_media(sound):
        label = picture_label("this API does not take it", name=_media_name(sound))
        return {"type": parts.text, "text": label}
    text = sound.get("text", sound.get("refusal"))
    return {"type": parts.text, "text": text if isinstance(text, str) else spoken(sound)}


def by_user(what: str, content: Any, parts: Parts) -> dict[str, Any]:
    """A user's message with a label and the words and media of `content`."""
    return {"role": "user", "content": labelled_content(foreign_label(what), content, parts)}
