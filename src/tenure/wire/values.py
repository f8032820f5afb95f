"""Small readings of provider JSON that every wire format needs.

Invariant: total. Whatever JSON value comes in, an answer comes out; unknown things stay visible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from tenure.core.message import Block, JsonObject
from tenure.errors import PlanError

# Openings by which harnesses mark their own speech in messages of role user.
HARNESS_TAGS = ("system-reminder", "environment_context", "local-command-stdout")

MEDIA_TYPES = frozenset(
    {"image", "document", "image_url", "input_image", "input_file", "input_audio", "file", "audio"}
)


def is_harness(text: str) -> bool:
    """True when the text is nothing but closed harness tags; a word beside them is the user's."""
    at, end = 0, len(text.rstrip())
    while at < end:
        while text[at].isspace():
            at += 1
        tag = next((t for t in HARNESS_TAGS if text.startswith(f"<{t}>", at)), None)
        close = text.find(f"</{tag}>", at) if tag else -1
        if tag is None or close < 0:
            return False
        at = close + len(tag) + 3
    return end > 0


def is_object(value: Any) -> TypeGuard[JsonObject]:
    """True for a JSON object; the quick road is the type that json.loads makes."""
    return type(value) is dict or isinstance(value, Mapping)


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    """True for a JSON array, tuples of the caller included."""
    return type(value) is list or isinstance(value, list | tuple)


def text_of(value: Any) -> str:
    """The value if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def id_of(value: Any) -> str:
    """A call id, without the stray spaces that some gateways add on one side of a pair."""
    return value.strip() if isinstance(value, str) else ""


def call_of_output(item: JsonObject) -> Any:
    """The call id that an output item of Responses answers; older ones spell it `id`."""
    call = item.get("call_id")
    return item.get("id") if call is None else call


def plain_json(value: Any) -> str:
    """JSON text for reading: sorted keys, no escapes beyond need."""
    try:
        return json.dumps(
            value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
        )
    except TypeError:  # Keys of several types have no order.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def arguments_json(arguments: Any) -> str:
    """Canonical JSON of a call's arguments; text that is no JSON stays as it is."""
    if not isinstance(arguments, str):
        return plain_json(arguments)
    try:
        return plain_json(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments


def at_path(data: Any, path: tuple[str | int, ...]) -> Any:
    """The value at a path."""
    for step in path:
        data = data[step]
    return data


def wordless(block: Block, data: Any) -> PlanError:
    """The error of a block whose content can't be plain text."""
    kind = data.get("type") if is_object(data) else type(data).__name__
    return PlanError(
        f"block {block.key!r} of type {kind!r} can't say other words; leave it or drop its message",
        message_id=block.message_id,
    )


# What a part of a result must have, by its type, in any of the three APIs.
_PART_FIELDS = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "search_result": ("source",),
    "tool_reference": ("tool_name",),
    "browser_state": ("content", "state", "source"),
    "image_url": ("image_url",),
    "input_text": ("text",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("file_data", "file_id", "file_url"),
}


def result_content(content: Any) -> str | list[Any]:
    """What a tool returned as content of a result: text, or a list of the provider's own parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts = is_array(content) and all(map(_is_part, content))
    return list(content) if parts and content else plain_json(content)


def _is_part(value: Any) -> bool:
    """A provider's own content part; a tool's data may have a field called type as well."""
    field = _PART_FIELDS.get(str(value.get("type"))) if is_object(value) else None
    return field is not None and any(name in value for name in field)


def call_arguments(text: str) -> str:
    """Arguments that say `text`: it itself when it is a JSON object, else an object around it."""
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass  # Not JSON: wrapped below.
    return json.dumps({"tombstone": text}, ensure_ascii=False)
