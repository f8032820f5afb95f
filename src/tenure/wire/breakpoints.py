"""Explicit cache breakpoints and the cache key of the OpenAI APIs.

Invariant: the client's own breakpoints win and are counted; a message is copied only to carry one;
equal heads give equal keys. A breakpoint changes no prompt.

OpenAI caches by itself: in `implicit` mode it sets one breakpoint at the end and writes the latest
three explicit ones, in `explicit` mode the latest four and nothing else; a read considers the latest
80 without a limit of blocks. So breakpoints are worth setting where prefixes part: behind the head
and in front of what an edit will change. Sources: openai 3.57.0, `PromptCacheOptions` and the content
parts' `prompt_cache_breakpoint`; providers.md 3.1 and 3.2. For gpt-5.6 and later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from tenure.core.message import JsonObject, json_bytes
from tenure.wire.meaning import without_marks
from tenure.wire.values import is_array, is_object, text_of

KEY = "prompt_cache_breakpoint"
_FREE = {"implicit": 3, "explicit": 4}
# The parts that have the field, by API.
_PARTS = {
    "openai_chat": frozenset({"text", "image_url", "input_audio", "file"}),
    "openai_responses": frozenset({"input_text", "input_image", "input_file"}),
}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class Breakpoints(NamedTuple):
    """The request's head, the messages that carry a new breakpoint, and the places that have one."""

    head: JsonObject
    messages: Mapping[int, JsonObject]
    places: tuple[int, ...]


def plan_breakpoints(
    format: str,
    head: JsonObject,
    messages: Sequence[JsonObject],
    places: Iterable[int],
    *,
    ttl: Literal["", "30m", "12h"] = "",
) -> Breakpoints:
    """Breakpoints at these places (messages in front of them, 0: behind the system text), the last
    ones first, as many as the API writes. The end needs none where the API sets its own.

    `ttl` is the minimum lifetime; empty: that of the request. The mode is the head's.
    """
    options = head.get("prompt_cache_options")
    mode = text_of(options.get("mode")) if is_object(options) else ""
    explicit = mode == "explicit"
    own = sum(_has_one(message) for message in messages) + _has_one({"content": head.get("system")})
    free = max(0, _FREE["explicit" if explicit else "implicit"] - own)
    mark = {"mode": "explicit", **({"ttl": ttl} if ttl else {})}
    changed: dict[int, JsonObject] = {}
    marked: list[int] = []
    for place in sorted(set(places), reverse=True):
        if (
            free <= len(marked)
            or place > len(messages)
            or (place == len(messages) and not explicit)
        ):
            continue
        if place == 0:
            system = _content(format, head.get("system"), mark)
            if format == "openai_chat" and system is not None:
                head = {**head, "system": system}
                marked.append(0)
            continue
        found = next(
            ((n, new) for n in range(place - 1, -1, -1)
             if (new := breakpointed(format, messages[n], mark)) is not None),
            None,
        )  # fmt: skip
        if found is not None and found[0] not in changed and not _has_one(messages[found[0]]):
            changed[found[0]] = found[1]
            marked.append(place)
    return Breakpoints(head, changed, tuple(sorted(marked)))


def breakpointed(format: str, message: JsonObject, mark: JsonObject) -> JsonObject | None:
    """The message with a breakpoint on its last part that may have one; None when none may.

    In the Responses API these are inputs and outputs of tools: the model's own words have no field.
    A string is left alone there, since nobody says that it reads like the list that would carry the
    breakpoint: spell messages as parts from the start to have breakpoints on them.
    """
    field = "content"
    if format == "openai_responses":
        if text_of(message.get("type")) in _OUTPUTS:
            field = "output"
        elif message.get("role") == "assistant" or message.get("type", "message") != "message":
            return None
    new = _content(format, message.get(field), mark)
    return None if new is None else {**message, field: new}


def cache_key(head: JsonObject, *, session: str = "") -> str:
    """A `prompt_cache_key`: 39 characters, equal for requests that begin alike.

    Of the model, the tools and the system text: requests of one agent meet in one cache, whatever
    the session. With `session` each session has its own, for traffic so high that one key spreads
    over several machines anyway.
    """
    names = ("model", "tools", "system", "instructions")
    stable = {name: without_marks(head[name]) for name in names if name in head}
    digest = blake2b(json_bytes([stable, session]), digest_size=16)
    return f"tenure-{digest.hexdigest()}"


def _content(format: str, content: Any, mark: JsonObject) -> list[Any] | None:
    """A content as parts, the last that may have one with a breakpoint."""
    if isinstance(content, str) and format == "openai_chat":
        return [{"type": "text", "text": content, KEY: mark}] if content.strip() else None
    parts = list(content) if is_array(content) else []
    for at in range(len(parts) - 1, -1, -1):
        part = parts[at]
        kind = text_of(part.get("type")) if is_object(part) else ""
        if kind in _PARTS[format] and part.get("text", "x") != "":
            parts[at] = {**part, KEY: mark}
            return parts
    return None


def _has_one(message: JsonObject) -> bool:
    fields = (message.get("content"), message.get("output"))
    parts = [part for field in fields if is_array(field) for part in field]
    return any(is_object(part) and KEY in part for part in parts)
