"""A request's prompt as parts, in the order in which the provider's cache reads them.

Invariant: total over JSON values; cache marks are in no part, and every other byte that the model
reads is in exactly one. A part's text is compact JSON with keys in the order in which they came.

The canonical prompt is the parts' texts, each on a line of its own: offsets count its UTF-8 bytes.
Sources: providers.md 1.5 (tools, system, messages), 3.1 and 3.2; OpenAI docs, prompt caching.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from tenure.core.message import JsonObject, Path
from tenure.wire.meaning import MARKS
from tenure.wire.values import is_array, is_object, text_of

Place: TypeAlias = Literal["instructions", "tools", "system", "messages"]

# Keys below which nothing is a mark: what a tool gets, and what a tool is defined to get.
_DATA = frozenset({"input", "arguments", "input_schema", "parameters", "function"})
_SYSTEM_ROLES = frozenset({"system", "developer"})

# What changes how the messages are read without being among them (providers.md, 1.5): a change
# keeps tools and system cached, and speed does not even keep the system.
_SETTINGS: Mapping[str, tuple[Path, ...]] = {
    "anthropic_messages": (
        ("speed",),
        ("thinking",),
        ("output_config", "effort"),
        ("tool_choice",),
    ),
    "openai_chat": (),
    "openai_responses": (),
}
# A schema for the answer stands in front of the system text (OpenAI docs, prompt caching).
_FORMATS: Mapping[str, Path] = {
    "openai_chat": ("response_format",),
    "openai_responses": ("text", "format"),
}


class Part(NamedTuple):
    """One tool, the system text, or one message: where it stands, its value, its JSON text."""

    place: Place
    path: Path
    value: Any
    text: str

    @property
    def size(self) -> int:
        """UTF-8 bytes of the text and the line break after it."""
        return utf8(self.text) + 1


class Setting(NamedTuple):
    """A parameter that the cached messages depend on."""

    path: Path
    value: Any


def parts(body: JsonObject, wire: str) -> list[Part]:
    """The parts of a request body of the wire format `wire`, in prompt order."""
    match wire:
        case "anthropic_messages":
            found = [*_tools(body, _read_tools(body)), *_anthropic_system(body)]
        case "openai_responses":
            found = [*_instructions(body), *_tools(body)]
        case _:
            found = list(_tools(body))
    return [*found, *_messages(body, wire)]


def prompt_bytes(body: JsonObject, wire: str) -> bytes:
    """The canonical prompt, for which offsets are given."""
    lines = "".join(f"{part.text}\n" for part in parts(body, wire))
    return lines.encode("utf-8", "surrogatepass")


def settings(body: JsonObject, wire: str) -> list[Setting]:
    """The parameters whose change invalidates what is cached of the messages, as they are set."""
    return [
        Setting(path, value)
        for path in _SETTINGS.get(wire, ())
        if (value := _at(body, path)) is not None
    ]


def answer_format(body: JsonObject, wire: str) -> Setting | None:
    """The schema for the answer where it is part of the prompt; None for plain text."""
    path = _FORMATS.get(wire)
    value = _at(body, path) if path is not None else None
    plain = value is None or (is_object(value) and value.get("type") == "text")
    return None if path is None or plain else Setting(path, value)


def path_text(path: Path) -> str:
    """A path in words.

    >>> path_text(("messages", 3, "content", 0))
    'messages[3].content[0]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def cache_marks(body: JsonObject) -> Iterator[tuple[Path, str]]:
    """Every cache mark of a request: its path and what it says, as JSON text."""
    waiting: list[tuple[Path, Any]] = [((), body)]
    while waiting:
        path, value = waiting.pop()
        if is_object(value):
            for key, one in value.items():
                if key in MARKS:
                    yield (*path, key), compact(one)
                elif key in {"tools", "system", "content", "output", "messages"} or (
                    key == "input" and not path
                ):
                    waiting.append(((*path, key), one))
        elif is_array(value):
            waiting += [((*path, at), one) for at, one in enumerate(value)]


def bare(value: Any) -> Any:
    """The value without cache marks; what a tool gets or takes is left as it is."""
    if is_object(value):
        return {
            key: one if key in _DATA else bare(one)
            for key, one in value.items()
            if key not in MARKS
        }
    if is_array(value):
        return [bare(one) for one in value]
    return value


def compact(value: Any) -> str:
    """JSON text, keys as they came; what is no JSON value is written as Python shows it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def utf8(text: str) -> int:
    """Bytes of a text; a lone surrogate counts as the three bytes that it would be."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def is_system(part: Part) -> bool:
    """Whether a part is the system text, or a message of system or developer role."""
    if part.place in {"system", "instructions"}:
        return True
    role = part.value.get("role") if is_object(part.value) else None
    return part.place == "messages" and text_of(role) in _SYSTEM_ROLES


def tool_name(tool: Any) -> str:
    """The name of a tool's definition: its own, its function's, else its type."""
    if not is_object(tool):
        return compact(tool)
    inner = tool.get("function")
    named = text_of(inner.get("name")) if is_object(inner) else ""
    return named or text_of(tool.get("name")) or text_of(tool.get("type"))


def message_key(wire: str) -> str:
    """The key under which the messages stand in a body."""
    return "input" if wire == "openai_responses" else "messages"


def _part(place: Place, path: Path, value: Any) -> Part:
    kept = bare(value)
    return Part(place, path, kept, compact(kept))


def _tools(body: JsonObject, referenced: frozenset[str] | None = None) -> Iterator[Part]:
    tools = body.get("tools")
    for at, tool in enumerate(tools if is_array(tools) else ()):
        deferred = is_object(tool) and tool.get("defer_loading") is True
        # A deferred tool is in the prompt only once a result refers to it.
        if referenced is None or not deferred or tool_name(tool) in referenced:
            yield _part("tools", ("tools", at), tool)


def _read_tools(body: JsonObject) -> frozenset[str]:
    """The deferred tools that results refer to."""
    tools = body.get("tools")
    listed = tools if is_array(tools) else ()
    if not any(is_object(tool) and tool.get("defer_loading") is True for tool in listed):
        return frozenset()
    return frozenset(_referenced(body.get("messages")))


def _referenced(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if is_object(one):
            if one.get("type") == "tool_reference":
                yield text_of(one.get("tool_name"))
            waiting += [one.get("content")]
        elif is_array(one):
            waiting += one


def _anthropic_system(body: JsonObject) -> Iterator[Part]:
    system = body.get("system")
    if system:
        yield _part("system", ("system",), system)


def _instructions(body: JsonObject) -> Iterator[Part]:
    if body.get("instructions"):
        yield _part("instructions", ("instructions",), body["instructions"])


def _messages(body: JsonObject, wire: str) -> Iterator[Part]:
    key = message_key(wire)
    messages = body.get(key)
    if isinstance(messages, str):
        # A bare string is one user message.
        yield _part("messages", (key,), {"role": "user", "content": messages})
        return
    for at, message in enumerate(messages if is_array(messages) else ()):
        if wire == "openai_responses" and is_object(message):
            yield _part("messages", (key, at), _item(message))
        else:
            yield _part("messages", (key, at), message)


def _item(item: JsonObject) -> JsonObject:
    """An item without its status, which is in no prompt; a message may leave out its type."""
    kept = {name: value for name, value in item.items() if name != "status"}
    return {"type": "message", **kept} if "role" in kept else kept


def _at(body: JsonObject, path: Path) -> Any:
    value: Any = body
    for key in path:
        value = value.get(str(key)) if is_object(value) else None
    return value
