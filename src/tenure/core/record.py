"""The entries of the log. Everything a session knows is a fold over them.

Invariant: a record is a value; `decode(encode(r)) == r`, messages keep their bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

from tenure.core.edit import Delegated, Drop, Edit, Insert, Reason, Replace, Span, Target, Weighed
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.usage import Usage
from tenure.errors import StoreError


@dataclass(frozen=True, slots=True)
class Started:
    """A session began: its wire format, model, request parameters, handle nonce, and the settings
    it was made with (window, usable_window, headroom; `late`, the message that says what was moved
    out of the stable part of the head, and `notes` of that)."""

    wire: str
    model: str
    head: JsonObject
    nonce: str
    at: float
    settings: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Appended:
    """A message joined the transcript."""

    message: Message
    at: float


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Edits joined or left the plan; `ignored`: the removed ones were asked of the provider, which
    did not make them, and it is not asked again."""

    added: tuple[Edit, ...]
    removed: tuple[Edit, ...]
    at: float
    ignored: bool = False


@dataclass(frozen=True, slots=True)
class Compacted:
    """The provider was asked to summarise: what came of it in words, whether there is a summary, and
    the usage of that request."""

    words: str
    usage: Usage | None
    at: float
    made: bool


@dataclass(frozen=True, slots=True)
class Requested:
    """A request was made over the first `length` messages, estimated at `tokens` of input, and
    asked for `max_tokens` of output (0: nothing was sent, e.g. in a fork's past). `exact` says that
    the provider counted the tokens, `counting` in words what came of asking it."""

    length: int
    tokens: int
    at: float
    max_tokens: int = 0
    exact: bool = False
    counting: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """The provider reported the usage of the open request; None when it said nothing."""

    usage: Usage | None
    at: float


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The open request was given up; nothing came back."""

    at: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """An evicted original was fetched again, costing `price` base input tokens."""

    handle: str
    price: float
    at: float


Record: TypeAlias = (
    Started | Appended | PlanChanged | Compacted | Requested | Reported | Cancelled | Recalled
)


def encode(record: Record) -> bytes:
    """The record as one line of JSON."""
    body: dict[str, Any] = {"type": type(record).__name__, "at": record.at}
    match record:
        case Started():
            body |= {k: getattr(record, k) for k in ("wire", "model", "head", "nonce", "settings")}
        case Appended(message=message):
            body["message"] = _from_message(message)
        case PlanChanged(added=added, removed=removed, ignored=ignored):
            body["ignored"] = ignored
            body["added"] = [_from_edit(e) for e in added]
            body["removed"] = [_from_edit(e) for e in removed]
        case Requested(length=length, tokens=tokens, max_tokens=max_tokens, exact=exact):
            body |= {"length": length, "tokens": tokens, "max_tokens": max_tokens, "exact": exact}
            if record.counting:
                body["counting"] = record.counting
        case Compacted(words=words, made=made, usage=usage):
            body |= {"words": words, "made": made, "usage": asdict(usage) if usage else None}
        case Reported(usage=usage):
            body["usage"] = asdict(usage) if usage else None
        case Recalled(handle=handle, price=price):
            body |= {"handle": handle, "price": price}
        case Cancelled():
            pass
    return json.dumps(body, separators=(",", ":")).encode()


def decode(line: bytes) -> Record:
    """The record of a line that `encode` made; StoreError when it is none."""
    try:
        body = json.loads(line)
        kind, at = body.pop("type"), body.pop("at")
        return _READERS[kind](body, at)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{line[:80]!r} is no record of a session: {error}") from error


def _from_message(message: Message) -> dict[str, Any]:
    held = message.raw if message.held_raw else None
    made: dict[str, Any] = {"origin": message.origin.value, "pinned": message.pinned}
    if held is None:
        return made | {"data": message.data}
    try:
        return made | {"raw": held.decode("ascii")}
    except UnicodeDecodeError:
        return made | {"b64": base64.b64encode(held).decode("ascii")}


def _to_message(value: JsonObject) -> Message:
    raw: bytes | None = None
    if "raw" in value:
        raw = value["raw"].encode("ascii")
    elif "b64" in value:
        raw = base64.b64decode(value["b64"])
    return Message(value.get("data"), raw, origin=Origin(value["origin"]), pinned=value["pinned"])


def _from_edit(edit: Edit) -> dict[str, Any]:
    reason = asdict(edit.reason)
    if not edit.reason.weighed:
        del reason["weighed"]
    made: dict[str, Any] = {"edit": type(edit).__name__, "reason": reason}
    made["handle"] = edit.handle
    match edit:
        case Insert(after=after, message=message):
            return made | {"after": after, "message": _from_message(message)}
        case Delegated(edit=name, options=options, applied=applied):
            asked = base64.b64encode(options).decode("ascii")
            made |= {"server_edit": name, "options": asked, "applied": applied}
            made |= {"upto": edit.upto, "along": edit.along}
            if edit.span:
                made["span"] = [edit.span.first, edit.span.last]
                made["body"] = _from_body(edit.body)
        case Replace(body=body):
            made["body"] = _from_body(body)
    made["targets"] = [t if isinstance(t, str) else [t.first, t.last] for t in edit.targets]
    return made


def _from_body(body: Sequence[bytes]) -> list[str]:
    return [base64.b64encode(b).decode("ascii") for b in body]


def _to_edit(value: JsonObject) -> Edit:
    weighed = tuple(Weighed(*one) for one in value["reason"].get("weighed", ()))
    reason, handle = Reason(**{**value["reason"], "weighed": weighed}), value["handle"]
    if value["edit"] == "Insert":
        return Insert(value["after"], _to_message(value["message"]), reason, handle)
    targets: list[Target] = [
        t if isinstance(t, str) else Span(t[0], t[1]) for t in value["targets"]
    ]
    if value["edit"] == "Drop":
        return Drop(tuple(targets), reason, handle)
    body = tuple(base64.b64decode(b) for b in value.get("body", ()))
    if value["edit"] == "Delegated":
        keys = tuple(str(t) for t in targets)
        asked = base64.b64decode(value["options"])
        upto, along = value.get("upto", ""), tuple(value.get("along", ()))
        name, applied = value["server_edit"], value["applied"]
        span = Span(*value["span"]) if "span" in value else None
        made = Delegated(name, keys, reason, handle, asked, applied, upto, along)
        return replace(made, span=span, body=body)
    return Replace(targets[0], body, reason, handle)


def _to_usage(value: Any) -> Usage | None:
    return Usage(**value) if value else None


_READERS: dict[str, Callable[[Any, float], Record]] = {
    "Started": lambda b, at: Started(at=at, **b),
    "Appended": lambda b, at: Appended(_to_message(b["message"]), at),
    "PlanChanged": lambda b, at: PlanChanged(
        tuple(_to_edit(e) for e in b["added"]),
        tuple(_to_edit(e) for e in b["removed"]),
        at,
        b["ignored"],
    ),
    "Requested": lambda b, at: Requested(at=at, **b),
    "Compacted": lambda b, at: Compacted(b["words"], _to_usage(b["usage"]), at, made=b["made"]),
    "Reported": lambda b, at: Reported(_to_usage(b["usage"]), at),
    "Cancelled": lambda _, at: Cancelled(at),
    "Recalled": lambda b, at: Recalled(b["handle"], b["price"], at),
}
