"""Call ids: the empty one, which some gateways send, pairs a call with its result like any other."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from tenure import AsyncSession, Options, Session
from tenure.core.fold import Outgoing
from tenure.core.legal import Terms
from tenure.core.message import BlockKind, JsonObject
from tenure.core.protocols import ToolCall
from tenure.errors import SessionError
from tenure.testing.strategies import Event, Step, reply, sessions
from tenure.wire.detect import WIRES
from tests.policies.play import Table

EACH_WIRE = pytest.mark.parametrize("wire", list(WIRES))
READ = ToolCall("", "read", {"path": "a"})
RECALL = ToolCall("", "recall", {"handle": "t-0"})
TOOL: JsonObject = {"name": "read"}


def options(wire: str) -> Options:
    return Options(wire=wire, recall=True, clock=lambda: 0.0)


def called(wire: str, *calls: ToolCall) -> Session:
    """A session whose model has just made these calls."""
    session = Session("claude-opus-4-5", max_tokens=900, tools=[TOOL], options=options(wire))
    session.user("go")
    session.request()
    session.reply(reply(wire, Step(calls=calls), None))
    return session


def check_answered(session: Session | AsyncSession, wire: str) -> None:
    """No call waits, each one has its result, and what leaves under ids of ours breaks no rule."""
    transcript = session._machine.transcript
    assert not session.calls
    mended = WIRES[wire].mend([m.data for m in transcript.messages], Terms())
    assert WIRES[wire].violations(mended.messages) == []
    calls = [b for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_CALL]
    assert calls
    for call in calls:
        result = transcript.partner(call)
        assert result is not None
        assert transcript.partner(result) is call
        assert result.tool == call.tool


@EACH_WIRE
def test_a_call_with_an_empty_id_waits_and_is_answered_by_it(wire: str) -> None:
    session = called(wire, READ)
    assert session.calls
    assert [c.id for c in session.calls] == [""]
    with pytest.raises(SessionError, match="wait for results"):
        session.request()
    with pytest.raises(SessionError, match="wait for results"):
        session.user("meanwhile")
    with pytest.raises(SessionError, match="no result for"):
        session.results({})
    session.results({c.id: "text of a" for c in session.calls})
    check_answered(session, wire)
    assert b"text of a" in session.request().body


@EACH_WIRE
def test_an_empty_id_is_told_apart_from_others_of_its_reply(wire: str) -> None:
    session = called(wire, ToolCall("c1", "read", {"path": "b"}), READ)
    session.results({"": "text of a", "c1": "text of b"})
    check_answered(session, wire)
    transcript = session._machine.transcript
    results = {
        b.call_id: b.text for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_RESULT
    }
    assert results == {"": "text of a", "c1": "text of b"}


@EACH_WIRE
def test_an_empty_id_that_comes_again_and_again_pairs_with_the_newest_call(wire: str) -> None:
    session = called(wire, READ)
    for number in range(3):
        session.results({"": f"text {number}"})
        session.request()
        session.reply(reply(wire, Step(calls=(READ,)), None))
    session.results({"": "text 3"})
    check_answered(session, wire)


@EACH_WIRE
def test_the_session_answers_recall_under_an_empty_id(wire: str) -> None:
    session = called(wire, RECALL)
    assert session.calls
    assert not list(session.calls)
    session.results({})
    check_answered(session, wire)
    assert b"no removed text has the handle" in session.request().body


@EACH_WIRE
@pytest.mark.parametrize("call", [READ, RECALL], ids=["read", "recall"])
def test_cancel_answers_a_call_with_an_empty_id(wire: str, call: ToolCall) -> None:
    session = called(wire, call)
    session.cancel()
    check_answered(session, wire)
    session.user("something else")
    session.request()


@EACH_WIRE
@pytest.mark.parametrize("call", [READ, RECALL], ids=["read", "recall"])
def test_an_async_session_pairs_by_the_empty_id_too(wire: str, call: ToolCall) -> None:
    async def run() -> None:
        session = AsyncSession(
            "claude-opus-4-5", max_tokens=900, tools=[TOOL], options=options(wire)
        )
        await session.user("go")
        await session.request()
        await session.reply(reply(wire, Step(calls=(call,)), None))
        assert session.calls
        await session.results({c.id: "ok" for c in session.calls})
        check_answered(session, wire)
        await session.request()

    asyncio.run(run())


def events_of(wire: str, call: ToolCall) -> list[JsonObject]:
    """A streamed reply that makes the call."""
    given = json.dumps(call.input)
    if wire == "anthropic_messages":
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": given}
        return [
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "message_stop"},
        ]
    if wire == "openai_responses":
        item = reply(wire, Step(calls=(call,)), None)["output"][-1]
        return [
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"output": [item]}},
        ]
    name = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    rest = {"id": call.id, "function": {"arguments": given}}
    deltas: list[JsonObject] = [{"role": "assistant", "tool_calls": [name]}, {"tool_calls": [rest]}]
    return [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]


@EACH_WIRE
def test_a_streamed_call_with_an_empty_id_waits_as_well(wire: str) -> None:
    session = Session("claude-opus-4-5", max_tokens=900, tools=[TOOL], options=options(wire))
    session.user("go")
    session.request()
    list(session.stream(events_of(wire, READ)))
    assert [(c.id, c.name, c.input) for c in session.calls] == [READ]
    session.results({"": "ok"})
    check_answered(session, wire)


@EACH_WIRE
@settings(max_examples=15)
@given(events=sessions(most_steps=10))
def test_every_view_is_legal_when_the_first_call_of_each_reply_has_an_empty_id(
    wire: str, events: list[Event]
) -> None:
    table = Table(wire, 8_000)
    blank = [
        replace(e, calls=(e.calls[0]._replace(id=""), *e.calls[1:]))
        if isinstance(e, Step) and e.calls
        else e
        for e in events
    ]

    def look(outgoing: Outgoing) -> None:
        assert table.wire.violations(outgoing.copy.data) == []

    table.play(blank, look)


def test_a_function_call_of_chats_past_has_no_id_and_nothing_waits_for_it() -> None:
    session = Session("gpt-6.1-sol", max_tokens=900, options=options("openai_chat"))
    session.user("go")
    call: dict[str, Any] = {"name": "read", "arguments": "{}"}
    session.append({"role": "assistant", "content": None, "function_call": call})
    session.append({"role": "function", "name": "read", "content": "text of a"})
    assert not session.calls
    transcript = session._machine.transcript
    assert [transcript.partner(b) for b in transcript.all_blocks()] == [None] * 3
    session.request()
