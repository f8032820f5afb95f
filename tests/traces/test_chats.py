"""Conversations given as lists of messages: OpenAI chat and Anthropic messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Origin
from tenure.replay.trace import Trace
from tenure.traces import read
from tests.traces.rows import call, jsonl, text, tool_result

ASKED = {"role": "user", "content": "what is 2+2"}
CALLED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    ],
}
GAVE = {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "4"}
TOLD = {"role": "assistant", "content": "4"}
CHAT = [{"role": "system", "content": "You add"}, ASKED, CALLED, GAVE, TOLD]

ANTHROPIC = [
    {"role": "user", "content": [text("what is 2+2")]},
    {"role": "assistant", "content": [call("t1", tool="add")]},
    {"role": "user", "content": [tool_result("t1", "4")]},
    {"role": "assistant", "content": [text("4")]},
]


def read_bytes(folder: Path, data: bytes, name: str = "run.json") -> list[Trace]:
    path = folder / name
    path.write_bytes(data)
    return read(path)


def dump(value: Any, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent).encode()


@pytest.mark.parametrize(
    "data",
    [
        dump(CHAT),
        dump(CHAT, indent=1),
        dump({"model": "gpt-4o", "messages": CHAT}),
        dump({"messages": CHAT}, indent=2),
        jsonl(CHAT),
        jsonl([CHAT]),
        jsonl([{"task_id": 1, "reward": 0.5, "traj": CHAT}]),
    ],
    ids=["array", "pretty", "body", "pretty body", "messages", "array a line", "traj"],
)
def test_an_openai_conversation_is_read_in_every_shape_it_is_stored_in(
    tmp_path: Path, data: bytes
) -> None:
    (trace,) = read_bytes(tmp_path, data)
    assert (trace.format, trace.wire, trace.name) == ("openai-chat", "openai_chat", "run")
    (thread,) = trace.threads
    assert [message.data for message in thread.messages()] == CHAT
    assert [message.origin for message in thread.messages()] == [
        Origin.SYSTEM,
        Origin.USER,
        Origin.ASSISTANT,
        Origin.TOOL,
        Origin.ASSISTANT,
    ]
    assert [len(step.arrivals) for step in thread.steps] == [2, 1]


@pytest.mark.parametrize(
    "data",
    [
        dump({"model": "claude-opus-5", "system": "You add", "messages": ANTHROPIC}),
        dump({"messages": ANTHROPIC}, indent=2),
        jsonl(ANTHROPIC),
        dump(ANTHROPIC),
    ],
    ids=["body", "pretty", "messages", "array"],
)
def test_an_anthropic_conversation_is_told_from_an_openai_one_by_its_spelling(
    tmp_path: Path, data: bytes
) -> None:
    (trace,) = read_bytes(tmp_path, data)
    assert (trace.format, trace.wire) == ("anthropic-messages", "anthropic_messages")
    (thread,) = trace.threads
    assert [message.data for message in thread.messages()] == ANTHROPIC
    assert [message.origin.value for message in thread.messages()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_system_tools_and_model_of_a_body_are_kept(tmp_path: Path) -> None:
    tools = [{"name": "add", "input_schema": {"type": "object"}}]
    body = {"model": "claude-opus-5", "system": "S", "tools": tools, "messages": ANTHROPIC[:1]}
    (trace,) = read_bytes(tmp_path, dump(body))
    assert trace.head == {"system": "S", "tools": tools}
    assert trace.model == "claude-opus-5"
    assert len(trace.threads[0].tail) == 1


def test_bodies_that_grow_are_one_conversation_whatever_their_cache_marks(tmp_path: Path) -> None:
    marked = {"type": "text", "text": "what is 2+2", "cache_control": {"type": "ephemeral"}}
    first = [{"role": "user", "content": [marked]}]
    other = [{"role": "user", "content": "something else"}]
    bodies = [
        {"system": "S", "messages": each} for each in (first, ANTHROPIC[:3], ANTHROPIC, other)
    ]
    grown, alone = read_bytes(tmp_path, jsonl(bodies))
    assert [message.data for message in grown.threads[0].messages()] == ANTHROPIC
    assert [message.data for message in alone.threads[0].messages()] == other
    assert (grown.name, alone.name) == ("run#1", "run#2")


def test_one_conversation_a_line_is_one_trace_each_with_the_files_own_name_for_it(
    tmp_path: Path,
) -> None:
    lines = [{"task_id": n, "trial": 0, "traj": CHAT} for n in (4, 6)]
    traces = read_bytes(tmp_path, jsonl(lines), "airline.jsonl")
    assert [trace.name for trace in traces] == ["airline#4.0", "airline#6.0"]


def test_a_message_with_words_beside_its_results_is_the_users(tmp_path: Path) -> None:
    reminder = text("<system-reminder>note</system-reminder>")
    for beside, origin in ((text("and hurry"), Origin.USER), (reminder, Origin.TOOL)):
        results = {"role": "user", "content": [tool_result("t1", "4"), beside]}
        (trace,) = read_bytes(tmp_path, jsonl([*ANTHROPIC[:2], results]))
        assert [message.origin for message in trace.threads[0].tail] == [origin]


@given(st.lists(st.sampled_from([ASKED, CALLED, GAVE, TOLD]), min_size=1, max_size=8))
def test_every_message_is_in_the_thread_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, messages: list[Any]
) -> None:
    (trace,) = read_bytes(tmp_path_factory.mktemp("chat"), dump(messages))
    (thread,) = trace.threads
    assert [message.data for message in thread.messages()] == messages
    for number, step in enumerate(thread.steps):
        assert all(message.data["role"] == "assistant" for message in step.reply)
        request = [message.data for message in thread.request(number)]
        assert request == messages[: len(request)]
