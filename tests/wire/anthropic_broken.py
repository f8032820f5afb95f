"""Anthropic conversations, legal ones with all that the API knows, and ones broken on purpose."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.detect import WIRES
from tests.tokens.pictures import png
from tests.wire.strategies import WORDS, conversations

WIRE = WIRES["anthropic_messages"]
SIGNED = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}
MARK = {"type": "ephemeral"}
JUNK: list[Any] = [
    None, True, 0, -1, 10**30, 10**5_000, 1.5, float("nan"), "", " ", "\x00", "a\ud800b", "text",
    [], [[]], [None], ["text"], {}, {"type": []}, {"type": "text"}, {"type": "tool_use"},
    {"type": "tool_result"}, {"type": "image", "source": 5}, {"type": "thinking"}, {"a\x00": 1},
    {"type": "text", "text": "a\udfff"}, {"role": "tool", "content": "x"}, "assistant", "system",
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
    {"type": "hologram", "depth": [1, 2]}, {"type": "document", "source": {"type": "text"}},
]  # fmt: skip

# What a client brings from another API, or from a model that seals its thoughts otherwise.
FOREIGN_BLOCKS: list[Any] = [
    {"type": "thinking", "thinking": "unsealed: word_93", "signature": ""},
    {"type": "thinking", "thinking": "sealed elsewhere: word_94"},
    {"type": "input_text", "text": "word_95"},
    {"type": "output_text", "text": "word_96", "annotations": []},
    {"type": "tool_call", "id": "call_0", "function": {"name": "n", "arguments": "word_97"}},
    {"type": "image_url", "image_url": {"url": "https://x.example/word_98"}},
]
FOREIGN: list[Any] = [
    {"role": "tool", "tool_call_id": "call_0", "content": "word_99"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "n", "arguments": "{}"}}]},
    {"role": "developer", "content": "word_90"},
    {"type": "function_call", "call_id": "call_0", "name": "n", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_0", "output": "word_91"},
    {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "word_92"}]},
    {"role": "assistant", "content": FOREIGN_BLOCKS[:2]},
]  # fmt: skip


def picture(side: int = 8) -> dict[str, Any]:
    source = {"type": "base64", "media_type": "image/png", "data": png(side, 8)}
    return {"type": "image", "source": source}


@st.composite
def legal(draw: st.DrawFn) -> list[JsonObject]:
    """A legal conversation that ends with a user's turn or its results."""
    messages: list[dict[str, Any]] = [
        copy.deepcopy(dict(m)) for m in draw(conversations(WIRE))
    ]  # fmt: skip
    marks = draw(st.integers(0, 4))
    for at, message in enumerate(messages[::-1], 1):
        extra = draw(st.sampled_from(["", "", "picture", "odd", "server", "thinking", "mark"]))
        if isinstance(message["content"], str):
            if extra == "picture" and message["role"] == "user":
                text = {"type": "text", "text": message["content"]}
                message["content"] = [picture(draw(st.sampled_from([8, 3_000]))), text]
            continue
        _enrich(message, extra, len(messages) - at)
        if extra == "mark" and marks and message["content"][-1]["type"] != "thinking":
            message["content"][-1]["cache_control"] = dict(MARK)
            marks -= 1
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": draw(WORDS)})
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(WORDS), "clear_at": "never"})
    return list(messages)


def _enrich(message: dict[str, Any], extra: str, at: int) -> None:
    content = message["content"]
    if message["role"] == "user":
        if extra == "picture" and content[0]["type"] == "tool_result":
            content[0]["content"] = [picture(), {"type": "text", "text": "seen"}]
        return
    if extra == "odd":
        content.insert(0, {"type": "hologram", "layers": [1e3, None]})
    elif extra == "thinking":
        content.insert(0, dict(SIGNED))
    elif extra == "server":
        number = f"srvtoolu_{at}"
        found = {"type": "web_search_tool_result", "tool_use_id": number, "content": []}
        call = {"type": "server_tool_use", "id": number, "name": "web_search", "input": {}}
        content[:0] = [call, found]


@st.composite
def broken(draw: st.DrawFn, *, junk: bool = True) -> list[Any]:
    """A conversation after some harm: blocks or messages dropped, doubled, moved, cut; junk in it."""
    messages: list[Any] = copy.deepcopy(draw(legal()))
    kinds = ["drop", "double", "move", "cut", "unblock", "doubleblock", "role", "foreignid"]
    kinds += ["tail", "foreign", "foreignblock"]
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from([*kinds, "junk", "junk"] if junk else kinds))
        _harm(draw, messages, kind)
    return messages


def _harm(draw: st.DrawFn, messages: list[Any], kind: str) -> None:
    if not messages:
        return
    at = draw(st.integers(0, len(messages) - 1))
    message = messages[at]
    blocks = message.get("content") if isinstance(message, dict) else None
    some = draw(st.integers(0, len(blocks) - 1)) if isinstance(blocks, list) and blocks else None
    if kind == "drop":
        del messages[at]
    elif kind == "double":
        messages.insert(draw(st.integers(0, len(messages))), copy.deepcopy(message))
    elif kind == "move":
        messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(at))
    elif kind == "cut":
        del messages[:at]
    elif kind == "tail":
        del messages[at + 1 :]
    elif kind == "foreign":
        messages.insert(at, copy.deepcopy(draw(st.sampled_from(FOREIGN))))
    elif kind == "role" and isinstance(message, dict):
        message["role"] = draw(st.sampled_from(["user", "assistant", "system", "tool"]))
    elif kind == "junk":
        holder, key = draw(st.sampled_from([*_spots(messages)]))
        holder[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
    elif some is not None and isinstance(blocks, list):
        if kind == "unblock":
            del blocks[some]
        elif kind == "doubleblock":
            blocks.insert(draw(st.integers(0, len(blocks))), copy.deepcopy(blocks[some]))
        elif kind == "foreignblock":
            blocks.insert(some, copy.deepcopy(draw(st.sampled_from(FOREIGN_BLOCKS))))
        elif kind == "foreignid":
            _rename(blocks, some, draw(st.sampled_from([" call_0 ", "a|b", "call_1", "", 7])))


def _rename(blocks: list[Any], at: int, call: Any) -> None:
    if isinstance(blocks[at], dict):
        for key in ("id", "tool_use_id"):
            if key in blocks[at]:
                blocks[at][key] = call


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _spots(inner)


def words_of(value: Any) -> Iterator[str]:
    """The strings in a value, wherever they stand."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("type", "role"):
                yield from words_of(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from words_of(inner)


def mendable(messages: Sequence[Any], **terms: Any) -> list[str]:
    """The names of the broken rules that have a mend."""
    found = WIRE.violations(messages, Terms(**terms))
    return [v.rule for v in found if WIRE.rules[v.rule].mend]
