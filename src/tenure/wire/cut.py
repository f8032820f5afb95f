"""A request body cut into raw slices, and put together again.

Invariant: rendering the very messages that were cut gives the very bytes that came in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tenure.core.message import JsonObject, Message, Origin, json_bytes
from tenure.core.nesting import MAX_NESTING
from tenure.errors import RequestError
from tenure.wire.scan import Span, decoded, encoded, members, skip, too_deep


@dataclass(frozen=True, slots=True)
class Body:
    """A request body: the head parsed (everything but the messages), the messages as slices.

    `before`, `between` (one per pair of neighbours) and `after` are the bytes around the messages.
    `whole` is the body when its input was a bare string, which stands for one user message.
    """

    head: JsonObject
    messages: tuple[Message, ...]
    before: bytes
    between: tuple[bytes, ...]
    after: bytes
    whole: bytes | None = None

    def render(self, messages: Sequence[Message]) -> bytes:
        """The body with these messages in the place of those that came in."""
        if self.whole is not None and len(messages) == 1 and messages[0] is self.messages[0]:
            return self.whole
        if not messages:
            return self.before.rstrip(b" \t\r\n") + self.after.lstrip(b" \t\r\n")
        pieces = [self.before, messages[0].raw]
        same_length = len(messages) == len(self.messages)
        places = {id(message): at for at, message in enumerate(self.messages)}
        for number in range(1, len(messages)):
            if same_length:
                pieces.append(self.between[number - 1])
            else:
                pieces.append(self._gap(places, messages[number - 1], messages[number]))
            pieces.append(messages[number].raw)
        pieces.append(self.after)
        return b"".join(pieces)

    def _gap(self, places: dict[int, int], left: Message, right: Message) -> bytes:
        at = places.get(id(left), len(self.between))
        if at < len(self.between):
            return self.between[at]
        at = places.get(id(right), 0)
        if at > 0:
            return self.between[at - 1]
        return self.between[0] if self.between else b","


class HeadParts(NamedTuple):
    """The JSON text of a request before and after the messages, without the array's brackets."""

    before: bytes
    after: bytes


def head_parts(head: JsonObject, key: str) -> HeadParts:
    """The parts of a request whose messages stand under `key`, last."""
    text = json_bytes(dict(head))[:-1]
    comma = b"," if len(text) > 1 else b""
    return HeadParts(text + comma + json_bytes(key) + b":[", b"]}")


def render_body(parts: HeadParts, raws: Iterable[bytes]) -> bytes:
    """A request body from its head's parts and the raw text of its messages; one copy."""
    pieces = list(raws)
    if not pieces:
        return parts.before + parts.after
    pieces[0] = parts.before + pieces[0]
    pieces[-1] += parts.after
    return b",".join(pieces)


def cut_body(
    body: bytes, *, key: str, format: str, origin_of: Callable[[JsonObject], Origin]
) -> Body:
    """The body cut at the array under `key`; RequestError when it is not such a request."""
    try:
        return _cut(decoded(body), key, format, origin_of)
    except RequestError:
        raise
    except (ValueError, RecursionError) as error:
        # ValueError also covers integers beyond Python's digit limit, RecursionError deep nesting.
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestError(
            f"the request body can't be read as JSON: {why}", format=format
        ) from error


def _cut(text: str, key: str, format: str, origin_of: Callable[[JsonObject], Origin]) -> Body:
    start = skip(text, 0)
    if text[start : start + 1] != "{":
        raise RequestError("the request body is not a JSON object", format=format)
    spans, end = members(text, start, spread=key)
    if skip(text, end) != len(text):
        raise json.JSONDecodeError("something follows the JSON object", text, skip(text, end))
    by_key = {str(span.key): span for span in spans}
    found = by_key.pop(key, None)
    if found is None:
        raise RequestError(f"the request has no {key!r}", format=format, path=key)
    head = {name: span.value for name, span in by_key.items()}
    if isinstance(found.value, str) and key == "input":
        return _cut_string(text, found, head, origin_of)
    if not isinstance(found.value, list):
        raise RequestError(f"{key!r} is not a list of messages", format=format, path=key)
    items: list[Span] = found.value
    for item in items:
        if not isinstance(item.value, dict):
            raise RequestError(
                f"{key}[{item.key}] is not an object", format=format, path=f"{key}.{item.key}"
            )
        if too_deep(item.value, text[item.start : item.end]):
            raise RequestError(
                f"{key}[{item.key}] is nested deeper than {MAX_NESTING} levels",
                format=format,
                path=f"{key}.{item.key}",
            )
    messages = tuple(
        Message(i.value, encoded(text[i.start : i.end]), origin=origin_of(i.value)) for i in items
    )
    first, last = (items[0].start, items[-1].end) if items else (found.end - 1, found.end - 1)
    between = tuple(encoded(text[left.end : right.start]) for left, right in pairwise(items))
    return Body(head, messages, encoded(text[:first]), between, encoded(text[last:]))


def _cut_string(
    text: str, found: Span, head: JsonObject, origin_of: Callable[[JsonObject], Origin]
) -> Body:
    data = {"role": "user", "content": found.value}
    raw = b'{"role":"user","content":' + encoded(text[found.start : found.end]) + b"}"
    message = Message(data, raw, origin=origin_of(data))
    before, after = encoded(text[: found.start]) + b"[", b"]" + encoded(text[found.end :])
    return Body(head, (message,), before, (), after, whole=encoded(text))
