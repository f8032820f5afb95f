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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from tenure.core.message import JsonObject, json_bytes
from tenure.wire.meaning import without_marks
from tenure.wire.values import is_array, is_object, text_of

KEY = "prompt_cache_breakpoint"
OPTIONS = "prompt_cache_options"
# How far in front of its place a breakpoint may stand, messages: further off it is worth little, and
# a long tool loop of the Responses API has no place for one at all.
_NEAR = 64
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


@dataclass(frozen=True, slots=True)
class PointRules:
    """What decides where breakpoints go: `minimum` tokens below which nothing is cached; `long` asks
    for 12 hours instead of 30 minutes, unless the client has chosen a lifetime for the request."""

    minimum: int = 0
    long: bool = False


def plan_breakpoints(
    format: str,
    head: JsonObject,
    messages: Sequence[JsonObject],
    places: Iterable[int],
    rules: PointRules | None = None,
    *,
    own: Iterable[int] | None = None,
    tokens: Callable[[int], int] | None = None,
) -> Breakpoints:
    """Breakpoints at these places (messages in front of them, 0: behind the system text), the last
    ones first, as many as the API writes. The end needs none where the API sets its own.

    `own` are the numbers of messages that may hold breakpoints of the client (None: all are
    searched); `tokens` the size of the prompt up to a place, for the minimum. The mode is the head's.
    """
    rules = rules or PointRules()
    searched = messages if own is None else [messages[n] for n in own]
    taken = sum(map(_has_one, searched)) + _has_one({"content": head.get("system")})
    head, mark, ends = _lifetime(format, head, rules)
    changed: dict[int, JsonObject] = {}
    marked: list[int] = []
    for place in sorted(set(places), reverse=True):
        if len(marked) >= _free(head) - taken:
            break
        if place > len(messages) or (place == len(messages) and not ends):
            continue
        at, new = _pointed(format, head, messages, place, mark)
        if new is None or (at >= 0 and (at in changed or _has_one(messages[at]))):
            continue
        if tokens is not None and tokens(at + 1) < rules.minimum:
            continue
        marked.append(place)
        if at < 0:
            head = new
        else:
            changed[at] = new
    return Breakpoints(head, changed, tuple(sorted(marked)))


def has_breakpoints(head: JsonObject, messages: Iterable[JsonObject]) -> bool:
    """Whether the client has set breakpoints of its own in the system text or in these messages."""
    return _has_one({"content": head.get("system")}) or any(map(_has_one, messages))


def chosen_lifetime(head: JsonObject) -> str:
    """The lifetime that the client has chosen for the request ("30m", "12h"); empty when none."""
    return text_of(_options(head).get("ttl"))


def _lifetime(
    format: str, head: JsonObject, rules: PointRules
) -> tuple[JsonObject, JsonObject, bool]:
    """The head, the breakpoint to set, and whether the end needs one: where the API sets none
    there, or one that does not live as long. Chat takes 12 hours on a breakpoint only."""
    explicit = _options(head).get("mode") == "explicit"
    if not rules.long or chosen_lifetime(head):
        return head, {"mode": "explicit"}, explicit
    if format == "openai_chat":
        return head, {"mode": "explicit", "ttl": "12h"}, True
    head = {**head, OPTIONS: {**_options(head), "ttl": "12h"}}
    return head, {"mode": "explicit"}, explicit


def _free(head: JsonObject) -> int:
    return 4 if _options(head).get("mode") == "explicit" else 3


def _options(head: JsonObject) -> JsonObject:
    options = head.get(OPTIONS)
    return options if is_object(options) else {}


def _pointed(
    format: str, head: JsonObject, messages: Sequence[JsonObject], place: int, mark: JsonObject
) -> tuple[int, JsonObject | None]:
    """The last message in front of a place that may have a breakpoint, with one, and its number; the
    head with one (-1) for place 0. None when there is none near by."""
    if place == 0:
        given = head.get("system")
        if format != "openai_chat" or _has_one({"content": given}):
            return -1, None
        system = _content(format, given, mark, text="text")
        return -1, {**head, "system": system} if system is not None else None
    for at in range(place - 1, max(-1, place - 1 - _NEAR), -1):
        new = breakpointed(format, messages[at], mark)
        if new is not None:
            return at, new
    return place, None


def breakpointed(format: str, message: JsonObject, mark: JsonObject) -> JsonObject | None:
    """The message with a breakpoint on its last part that may have one; None when none may.

    A string is the one text part that it stands for: in Chat, and in messages of the Responses API,
    which keeps them as parts (`ResponseInputMessageItem`). What a tool gave as a string is left
    alone there, since nobody says that it reads like the list that would carry the breakpoint, and
    the model's own words have no field.
    """
    if format == "openai_chat":
        new = _content(format, message.get("content"), mark, text="text")
        return None if new is None else {**message, "content": new}
    field, text = "content", "input_text"
    if text_of(message.get("type")) in _OUTPUTS:
        field, text = "output", ""
    elif message.get("role") == "assistant" or message.get("type", "message") != "message":
        return None
    new = _content(format, message.get(field), mark, text=text)
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


def _content(format: str, content: Any, mark: JsonObject, *, text: str) -> list[Any] | None:
    """A content as parts, the last that may have one with a breakpoint; `text` is the type of part
    that a string stands for, if any."""
    if isinstance(content, str):
        given = [{"type": text, "text": content, KEY: mark}]
        return given if text and content.strip() else None
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
