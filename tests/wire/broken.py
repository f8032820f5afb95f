"""Histories broken on purpose, for the laws of mending in both OpenAI formats.

Invariant: what a history is broken by are JSON values and moves a real client or store makes:
dropped, doubled, swapped and cut messages, ids and texts of others, hostile text, wrong types.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from tenure.core.legal import Mended, Terms
from tenure.core.message import JsonObject
from tenure.wire.detect import AnyWire
from tests.wire.strategies import conversations

HOSTILE = st.sampled_from(["\ud83d", "a\x00b", "\udc00x", "ok", "", " call_1 ", "call_1"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(1e999) | HOSTILE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "name", "x\x00"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)
IDS = st.sampled_from(["call_0", " call_0 ", "call_1", "call_1\n", "call_2", "toolu_\x00", "", 7])
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}


def _call(id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "n", "arguments": "{}"}}


# Messages and items that come from another API, or from nowhere.
FOREIGN: list[Any] = [
    {"role": "critic", "content": "not good: word_91"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
    {"role": "tool", "tool_call_id": "call_0", "content": [{"type": "image", "source": {}}]},
    {"role": "tool", "content": "no id"},
    {
        "role": "tool",
        "tool_call_id": "call_0",
        "content": [PICTURE, {"type": "text", "text": "see"}],
    },
    {"role": "system", "content": [PICTURE]},
    {"role": "assistant", "content": [{"type": "input_image", "image_url": "https://x.example/i"}]},
    {"role": "assistant", "content": None, "tool_calls": [_call("call_0"), _call("call_0")]},
    {"role": "assistant", "content": None, "tool_calls": [_call("call_9"), _call(" call_9")]},
    {"type": "custom_tool_call", "call_id": "call_0", "name": "n", "input": "free"},
    {"role": "assistant", "content": None, "tool_calls": []},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_0"}, 5]},
    {"role": "user", "content": {"type": "text", "text": "one part"}},
    {"type": "reasoning", "id": "rs_0"},
    {"type": "function_call", "call_id": "call_0", "name": "n", "arguments": {"a": 1}},
    {"type": "function_call", "call_id": None, "name": None, "arguments": None},
    {"type": "function_call_output", "call_id": "call_0", "output": None},
    {"type": "custom_tool_call_output", "call_id": "call_0", "output": "free"},
    {"type": "shell_call", "call_id": "call_sh", "action": {"commands": ["ls word_92"]}},
    {"type": "local_shell_call", "id": "ls_1", "call_id": "call_ls", "action": {}},
    {"type": "local_shell_call_output", "id": "call_ls", "output": "{}"},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl"},
    {"type": "compaction_trigger"},
    {"type": "item_reference", "id": "msg_9"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "hologram", "layers": [1e3, None]},
    "a bare string",
]


@st.composite
def broken(draw: st.DrawFn, wire: AnyWire) -> list[JsonObject]:
    """A conversation with up to six things wrong."""
    messages: list[Any] = list(draw(conversations(wire, open_end=True)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(0, len(messages) - 1)))
        what = draw(
            st.sampled_from(["drop", "double", "swap", "head", "tail", "put", "field", "id"])
        )
        if not messages or what == "put":
            messages.insert(at, draw(st.sampled_from(FOREIGN)))
        elif what == "drop":
            del messages[at]
        elif what == "double":
            messages.insert(draw(st.integers(0, len(messages))), messages[at])
        elif what == "swap":
            messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(at))
        elif what == "head":
            messages = messages[at:]
        elif what == "tail":
            messages = messages[: at + 1]
        else:
            messages[at] = draw(damaged(messages[at], ids_only=what == "id"))
    return messages


@st.composite
def damaged(draw: st.DrawFn, message: Any, *, ids_only: bool) -> Any:
    """The message with one of its fields, or one inside its calls, something else."""
    if not isinstance(message, dict) or not message:
        return message
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls and draw(st.booleans()):
        inner = draw(damaged(calls[0], ids_only=ids_only))
        return {**message, "tool_calls": [inner, *calls[1:]]}
    names = [n for n in message if n.endswith("id")] if ids_only else [*message]
    if not names:
        return message
    name = draw(st.sampled_from(names))
    if draw(st.integers(0, 4)) == 0:
        return {key: value for key, value in message.items() if key != name}
    return {**message, name: draw(IDS if ids_only else JUNK)}


TERMS = st.builds(
    Terms,
    head=st.sampled_from(
        [
            {},
            {"previous_response_id": "resp_1"},
            {"instructions": "be\x00brief", "system": "\ud800"},
        ]
    ),
    pending=st.sampled_from(
        [frozenset[str](), frozenset({"call_0"}), frozenset({"call_1", "call_2"})]
    ),
    id_pattern=st.sampled_from(["", "", "^[A-Za-z0-9]{9}$"]),
)


def mended_twice(
    wire: AnyWire, messages: Sequence[JsonObject], terms: Terms
) -> tuple[Mended, Mended]:
    """The copy, and the copy of the copy."""
    once = wire.mend(messages, terms)
    again = Terms(head=once.head, pending=terms.pending, id_pattern=terms.id_pattern)
    return once, wire.mend(once.messages, again)


# Who speaks is no word of theirs: it goes with a message of which nothing is left.
ROLES = frozenset({"assistant", "developer", "system", "tool", "user"})


def words_of(value: Any) -> Iterator[str]:
    """Every text in a JSON value, but for the role of a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != "role" or not isinstance(item, str) or item not in ROLES:
                yield from words_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from words_of(item)


def outgoing(mended: Mended) -> str:
    """All that leaves or is kept, as one text to look for words in.

    JSON text inside JSON text is found as well, since escapes are undone once more.
    """
    sent = [*words_of(mended.messages)]
    kept = [*words_of([json.loads(mend.lost) for mend in mended.mends if mend.lost])]
    return "\n".join([*sent, *kept, *(json.dumps(t, ensure_ascii=False) for t in (*sent, *kept))])
