"""A request that is given up and made again is the same request: it may have been cached."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure import AsyncSession, Options, Session
from tenure.core.fold import Outgoing
from tenure.core.protocols import ToolCall
from tenure.errors import BudgetError
from tenure.testing.strategies import Event, Result, Says, Step, reply, result, sessions
from tests.policies.play import BOUND_THINKING, PROFILE, Table, raws

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
EACH_WIRE = pytest.mark.parametrize("wire", WIRES)
PAUSES = st.sampled_from([0.0, 10.0, 100_000.0])


def seen(outgoing: Outgoing) -> tuple[object, ...]:
    return raws(outgoing), outgoing.tokens, outgoing.max_tokens, outgoing.marks


@EACH_WIRE
@settings(max_examples=15)
@given(
    events=sessions(most_steps=10),
    bound=st.booleans(),
    window=st.sampled_from([6_000, 12_000, 30_000]),
    pauses=st.lists(PAUSES, max_size=2),
    resumed=st.booleans(),
)
def test_request_cancel_request_is_one_request_whatever_time_passes(
    wire: str, events: list[Event], bound: bool, window: int, pauses: list[float], resumed: bool
) -> None:
    table = Table(wire, window, profile=BOUND_THINKING if bound else PROFILE)
    for event in events:
        if isinstance(event, Says):
            table.say(event)
            continue
        table.now += event.pause
        try:
            sent = seen(table.request())
        except BudgetError:
            return
        for pause in pauses:
            table.run(table.machine.cancel(table.now))
            table.now += pause
            if resumed:
                table.machine = table.resumed()
            assert seen(table.request()) == sent
        table.reply(event)
        table.results(event.results)


def step(number: int) -> Step:
    return Step(calls=(ToolCall(f"c{number}", "read", {"path": f"f{number}"}),))


def options(wire: str, window: int) -> Options:
    return Options(wire=wire, window=window, recall=False, clock=lambda: 0.0)


def body_again(session: Session) -> bytes:
    """The body of the next request, which is given up and made again twice."""
    body = session.request().body
    for _ in range(2):
        session.cancel()
        assert session.request().body == body
    return body


@EACH_WIRE
@pytest.mark.parametrize("window", [12_000, 200_000])
def test_the_bytes_of_a_request_given_up_and_made_again_are_the_same(
    wire: str, window: int
) -> None:
    session = Session("claude-opus-4-5", max_tokens=900, system="x", options=options(wire, window))
    session.user("go")
    for number in range(14):
        body = body_again(session)
        assert session.request().body == body
        session.reply(reply(wire, step(number), None))
        session.results({f"c{number}": result(wire, Result(f"row {number}\n" * 500))})
    assert bool(session.explain().edits) == (window == 12_000)


@EACH_WIRE
def test_giving_requests_up_does_not_change_the_later_ones(wire: str) -> None:
    bodies: list[list[bytes]] = []
    for gives_up in (False, True):
        session = Session("claude-opus-4-5", max_tokens=900, options=options(wire, 200_000))
        session.user("go")
        bodies.append([])
        for number in range(6):
            bodies[-1].append(body_again(session) if gives_up else session.request().body)
            session.reply(reply(wire, step(number), None))
            session.results({f"c{number}": f"row {number}\n" * 50})
    assert bodies[0] == bodies[1]


@EACH_WIRE
def test_an_async_request_given_up_and_made_again_has_the_same_bytes(wire: str) -> None:
    async def run() -> None:
        session = AsyncSession("claude-opus-4-5", max_tokens=900, options=options(wire, 200_000))
        await session.user("go")
        for number in range(4):
            body = (await session.request()).body
            await session.cancel()
            assert (await session.request()).body == body
            await session.reply(reply(wire, step(number), None))
            await session.results({f"c{number}": "ok"})

    asyncio.run(run())


@EACH_WIRE
def test_what_is_said_after_a_cancel_is_sent_and_an_undo_is_heeded(wire: str) -> None:
    table = Table(wire, 12_000)
    table.user("go")
    for number in range(14):
        table.request()
        table.reply(step(number))
        table.results([Result(f"row {number}\n" * 500)])
        table.now += 10
    edited = table.request()
    edits = table.machine.plan.edits
    assert edits, "the window was meant to be too small"
    before = raws(edited)
    table.run(table.machine.cancel(table.now))
    table.run(table.machine.undo(edits[-1:], table.now))
    assert raws(table.request()) != before
    table.run(table.machine.cancel(table.now))
    length = len(table.machine.transcript)
    table.user("and this")
    table.request()
    assert len(table.machine.transcript) == length + 1
    assert table.machine.steps[length:] == [table.machine.step - 1]
