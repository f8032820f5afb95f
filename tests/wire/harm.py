"""Harm that clients and stores do to conversations, in any wire format, by a random number generator.

Invariant: what comes out is JSON, whatever else it is: messages dropped, doubled, moved, cut off,
split and joined; blocks of other messages and other APIs; fields gone, replaced, and text that no
JSON can carry.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from tests.wire.rich import conversation, picture

LONG = "call_" + "x" * 70
JUNK: list[Any] = [
    None, True, 0, -1, 10**30, 10**5_000, 1.5, float("nan"), "", " ", "\x00", "a\ud800b", "text",
    "two words", LONG, [], [[]], [None], ["text"], {}, {"type": []}, {"type": "text"}, {"a\x00": 1},
    "assistant", "system", "never", {"type": "image", "source": 5}, {"type": "hologram", "at": [1]},
    {"mode": "implicit"}, {"type": "ephemeral", "ttl": "2h"}, {"type": "ephemeral", "ttl": "1h"},
    [{"type": "text", "text": "\udc00"}], [{"type": "search_result", "content": 7}],
]  # fmt: skip
MARK = {"type": "ephemeral"}
# Fields that may stand where nobody expects them.
FIELDS: list[tuple[str, Any]] = [
    ("clear_at", "next_user_message"), ("clear_at", "tomorrow"), ("cache_control", MARK),
    ("cache_control", {**MARK, "ttl": "1h"}), ("output_config", {"effort": "low"}),
    ("prompt_cache_breakpoint", {"mode": "explicit"}), ("prompt_cache_breakpoint", {"mode": "off"}),
    ("prompt_cache_breakpoint", 5), ("prompt_cache_breakpoint", {"mode": "explicit", "ttl": "5m"}),
    ("citations", [{"type": "char_location"}]), ("citations", []), ("tool_calls", []),
    ("encrypted_content", "gAAA"), ("content", None), ("id", LONG), ("call_id", LONG),
    ("tool_use_id", "toolu_0_0"), ("name", "two words"), ("role", "tool"), ("status", "completed"),
]  # fmt: skip
IDS: list[Any] = [
    "toolu_0_0", "srvtoolu_0", "call_0_0", " call_0_0 ", "a|b", "", 7, None, LONG, "x" * 41,
    "srvtoolu_a-b", "caf\u00e9", "toolu_\x00",
]  # fmt: skip
ID_NAMES = frozenset({"id", "call_id", "tool_call_id", "tool_use_id"})
STRANGERS: list[Any] = [
    {"type": "thinking", "thinking": "hm", "signature": ""},
    {"type": "thinking", "thinking": "hm", "signature": "caf\u00e9"},
    {"type": "redacted_thinking", "data": ""},
    {"type": "compaction"},
    {"type": "compaction", "content": ""},
    {"type": "compaction", "encrypted_content": None},
    {"type": "image_url", "image_url": {"url": "https://x.example/i"}},
    {"type": "input_text", "text": "hello"},
    {"type": "output_text", "text": "hello"},
    {"type": "tool_use", "id": "toolu_0_0", "name": "read", "input": {}},
    {"type": "tool_result", "tool_use_id": "toolu_0_0", "content": "found"},
    {"type": "server_tool_use", "id": "toolu_9", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_0", "content": []},
    {"type": "search_result", "source": "s", "title": "t", "content": "text"},
    {"type": "document", "source": {"type": "url", "url": "https://x.example/d"}},
    {"type": "reasoning", "id": "rs_0"},
    {"type": "item_reference", "id": "msg_9"},
    {"type": "compaction_trigger"},
    {"type": "function_call_output", "call_id": "call_0_0", "output": None},
    {"type": "local_shell_call_output", "id": "call_ls", "output": "{}"},
    {"type": "apply_patch_call", "call_id": "call_0_0", "operation": {}},
    {"type": "computer_call_output", "call_id": "call_0_0", "output": {"type": "computer_screenshot"}},
    {"role": "system", "content": "be careful"},
    {"role": "system", "content": [{"type": "tool_addition", "tool": {}}], "clear_at": "never"},
    {"role": "tool", "tool_call_id": "call_0_0", "content": "found"},
    {"role": "tool", "tool_call_id": "x" * 60, "content": [picture()]},
    {"role": "function", "name": "read", "content": None},
    {"role": "critic", "content": "no"},
    picture(2_500), picture(9_000), picture(kind="image/jpeg"),
]  # fmt: skip

Harm = Callable[[Random, list[Any]], None]


def harmed(wire: str, mix: Random) -> list[Any]:
    """A conversation after one to five harms, most of them followed by a last word of the user's."""
    messages = copy.deepcopy(conversation(wire, mix))
    for _ in range(mix.randint(1, 5)):
        if messages:
            mix.choice(HARMS)(mix, messages)
    if not messages or mix.random() < 0.8:
        messages.append({"role": "user", "content": "and now?"})
    return messages


def _drop(mix: Random, messages: list[Any]) -> None:
    del messages[mix.randrange(len(messages))]


def _double(mix: Random, messages: list[Any]) -> None:
    again = copy.deepcopy(mix.choice(messages))
    messages.insert(mix.randint(0, len(messages)), again)


def _move(mix: Random, messages: list[Any]) -> None:
    message = messages.pop(mix.randrange(len(messages)))
    messages.insert(mix.randint(0, len(messages)), message)


def _cut(mix: Random, messages: list[Any]) -> None:
    at = mix.randint(0, len(messages))
    del messages[slice(at, None) if mix.random() < 0.5 else slice(None, at)]


def _put(mix: Random, messages: list[Any]) -> None:
    messages.insert(mix.randint(0, len(messages)), copy.deepcopy(mix.choice(STRANGERS)))


def _role(mix: Random, messages: list[Any]) -> None:
    message = mix.choice(messages)
    if isinstance(message, dict):
        message["role"] = mix.choice(["user", "assistant", "system", "developer", "tool"])


def _contents(messages: list[Any]) -> list[list[Any]]:
    return [
        m["content"] for m in messages if isinstance(m, dict) and isinstance(m.get("content"), list)
    ]


def _block(mix: Random, messages: list[Any]) -> None:
    """A block leaves, stands twice, or goes into another message; or a stranger comes in."""
    lists = _contents(messages)
    if not lists:
        return
    one, other = mix.choice(lists), mix.choice(lists)
    stranger = mix.random() < 0.4 or not one
    block = mix.choice(STRANGERS) if stranger else mix.choice(one)
    if not stranger and mix.random() < 0.6:
        one.remove(block)
    if mix.random() < 0.8:
        other.insert(mix.randint(0, len(other)), copy.deepcopy(block))


def _split(mix: Random, messages: list[Any]) -> None:
    at = mix.randrange(len(messages))
    message = messages[at]
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and len(content) > 1:
        where = mix.randrange(1, len(content))
        halves = [{**message, "content": part} for part in (content[:where], content[where:])]
        messages[at : at + 1] = halves


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _spots(inner)


def _junk(mix: Random, messages: list[Any]) -> None:
    holder, key = mix.choice([*_spots(messages)])
    holder[key] = copy.deepcopy(mix.choice(JUNK))


def _field(mix: Random, messages: list[Any]) -> None:
    holders = [h for h, _ in _spots([messages]) if isinstance(h, dict)]
    if holders:
        name, value = mix.choice(FIELDS)
        mix.choice(holders)[name] = copy.deepcopy(value)


def _unfield(mix: Random, messages: list[Any]) -> None:
    spots = [(h, k) for h, k in _spots(messages) if isinstance(h, dict)]
    if spots:
        holder, key = mix.choice(spots)
        del holder[key]


def _rename(mix: Random, messages: list[Any]) -> None:
    """An id becomes another, on one side or everywhere."""
    spots = [(h, k) for h, k in _spots(messages) if k in ID_NAMES]
    if not spots:
        return
    holder, key = mix.choice(spots)
    old, new = holder[key], mix.choice(IDS)
    everywhere = mix.random() < 0.5
    for there, name in spots if everywhere else [(holder, key)]:
        if there[name] == old:
            there[name] = new


def _spoil(mix: Random, messages: list[Any]) -> None:
    """A text is cut, or gets what JSON in UTF-8 cannot carry, or blanks at its end."""
    spots = [(h, k) for h, k in _spots(messages) if isinstance(h[k], str)]
    if spots:
        holder, key = mix.choice(spots)
        text = holder[key]
        spoilt = [text[: len(text) // 2], text + "\x00", text[:1] + "\ud83d", text + "  ", "  "]
        holder[key] = mix.choice(spoilt)


HARMS: list[Harm] = [
    _drop, _double, _move, _cut, _put, _put, _role, _block, _block, _block, _split, _junk, _junk,
    _field, _field, _unfield, _rename, _rename, _spoil,
]  # fmt: skip
