"""The session's state machine: the state is the fold of the log, and nothing is half done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure import AsyncSession, Options, Session
from tenure.core.command import Command, SaveRecords
from tenure.core.message import JsonObject, Message, Origin
from tenure.core.protocols import ToolCall
from tenure.core.record import Record, decode, encode
from tenure.core.session import SessionMachine
from tenure.errors import BudgetError, ConfigError, Conflict, SessionError, SessionNotFound
from tenure.policies.clearing import AppendOnly
from tenure.storage.in_memory import InMemoryStore
from tenure.testing.strategies import Event, Result, Says, Step, reply, result, sessions
from tests.policies.play import BOUND_THINKING, PROFILE, Table, raws

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
FEW = settings(max_examples=15)


def state(machine: SessionMachine) -> tuple[object, ...]:
    """All that can be seen of a machine."""
    return (
        len(machine.transcript), machine.plan, machine.ledger, list(machine.steps), machine.step,
        machine.outgoing is not None, machine.restored, machine.last_at, machine.pending,
    )  # fmt: skip


def call(count: int = 1, name: str = "read") -> Step:
    calls = tuple(ToolCall(f"c{n}", name, {"path": f"f{n}"}) for n in range(count))
    return Step(calls=calls, results=(Result("ok"),) * count)


def asked(wire: str = "anthropic_messages", calls: int = 1, **how: object) -> Table:
    """A table whose model waits for results."""
    table = Table(wire, **how)  # type: ignore[arg-type]
    table.user("go")
    table.request()
    table.reply(call(calls))
    return table


# -- the fold ----------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    events=sessions(most_steps=10),
    bound=st.booleans(),
    window=st.sampled_from([6_000, 12_000, 30_000]),
    odd=st.lists(st.sampled_from(["cancel", "undo", "explain", "go on"]), min_size=10, max_size=10),
    coded=st.booleans(),
)
def test_the_stored_log_folds_to_a_machine_that_asks_for_the_same_bytes(
    wire: str, events: list[Event], bound: bool, window: int, odd: list[str], coded: bool
) -> None:
    table = Table(wire, window, profile=BOUND_THINKING if bound else PROFILE)
    what = iter(odd)
    for event in events:
        if isinstance(event, Says):
            table.say(event)
            continue
        table.now += event.pause
        try:
            check_resumed(table, coded=coded)
        except BudgetError:
            return
        act = next(what)
        if act == "cancel":
            table.run(table.machine.cancel(table.now))
            table.user("and another thing")
            try:
                check_resumed(table, coded=coded)
            except BudgetError:
                return
        elif act == "explain":
            table.machine.explain()
        table.reply(event)
        table.results(event.results)
        if act == "undo" and table.machine.plan.edits:
            with contextlib.suppress(
                SessionError
            ):  # Thinking that is bound to the edit is behind it.
                table.run(table.machine.undo(table.machine.plan.edits[:1], table.now))


def check_resumed(table: Table, *, coded: bool) -> None:
    records: Sequence[Record] = table.store.read(table.machine.scope, "s")
    if coded:
        records = [decode(encode(r)) for r in records]
    other = SessionMachine(table.parts(), "s")
    other.load(records)
    assert state(other) == state(table.machine)
    before = table.store
    sent = table.request()
    table.store = InMemoryStore()
    table.store.append(table.machine.scope, "s", records, expected=0)
    again = table.run(other.request(table.now))
    table.store = before
    assert raws(again) == raws(sent)
    assert (again.tokens, again.max_tokens) == (sent.tokens, sent.max_tokens)
    assert state(other) == state(table.machine)
    while_open = table.resumed()
    assert while_open.outgoing is not None
    assert raws(while_open.outgoing) == raws(sent)
    assert while_open.outgoing.max_tokens == sent.max_tokens


# -- one request -------------------------------------------------------------------------------


def test_a_request_is_the_same_until_something_is_appended() -> None:
    table = Table("anthropic_messages")
    table.user("go")
    assert table.request() is table.request()
    assert len(table.store.read(table.machine.scope, "s")) == 3


@pytest.mark.parametrize("what", ["append", "results", "undo"])
def test_nothing_may_change_while_a_request_is_open(what: str) -> None:
    table = Table("anthropic_messages")
    table.user("go")
    table.request()
    before = state(table.machine)
    machine = table.machine
    flows = {
        "append": lambda: machine.append([Message({"role": "user", "content": "x"},
                                                  origin=Origin.USER)], 0.0),
        "results": lambda: machine.results({}, 0.0),
        "undo": lambda: machine.undo([], 0.0),
    }  # fmt: skip
    with pytest.raises(SessionError, match="while a request is open"):
        table.run(flows[what]())
    assert state(machine) == before
    assert len(table.store.read(machine.scope, "s")) == 3


def test_a_reply_needs_a_request() -> None:
    table = Table("anthropic_messages")
    table.user("go")
    with pytest.raises(SessionError, match="no open request"):
        table.run(table.machine.reply({"content": []}, 0.0))


def test_nothing_said_and_calls_pending_are_told_apart() -> None:
    with pytest.raises(SessionError, match="nothing was said"):
        Table("anthropic_messages").request()
    with pytest.raises(SessionError, match=r"\['c0'\] wait for results"):
        asked().request()


def test_a_cancelled_request_lets_the_user_speak_again() -> None:
    table = Table("anthropic_messages")
    table.user("go")
    table.request()
    table.run(table.machine.cancel(1.0))
    table.run(table.machine.cancel(1.0))
    table.user("wait, first this")
    assert len(table.request().view.entries) == 2


# -- results -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@given(given_ids=st.sets(st.sampled_from(["c0", "c1", "c2", "x7", "y"])))
def test_results_that_are_missing_or_strange_are_named(wire: str, given_ids: set[str]) -> None:
    table = asked(wire, calls=3)
    before = state(table.machine)
    answers = dict.fromkeys(given_ids, ("text", False))
    wrong = {"c0", "c1", "c2"} ^ given_ids
    if not wrong:
        table.run(table.machine.results(answers, 0.0))
        assert table.machine.pending == ()
        return
    with pytest.raises(SessionError) as caught:
        table.run(table.machine.results(answers, 0.0))
    missing = {"c0", "c1", "c2"} - given_ids
    assert all(name in str(caught.value) for name in missing or wrong)
    assert state(table.machine) == before


# -- failures ----------------------------------------------------------------------------------


class Refusing(InMemoryStore):
    """A store in which someone else was first."""

    refuses = False

    def append(self, scope, session, records, *, expected):  # type: ignore[no-untyped-def]
        if self.refuses:
            raise Conflict("someone appended first", expected=expected, actual=expected + 1)
        return super().append(scope, session, records, expected=expected)


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(events=sessions(most_steps=5), window=st.sampled_from([6_000, 30_000]))
def test_a_store_that_refuses_leaves_the_machine_as_it_was(
    wire: str, events: list[Event], window: int
) -> None:
    store = Refusing()
    table = Table(wire, window, store=store)

    def refused(flow_of: object) -> None:
        store.refuses = True
        before = state(table.machine)
        with pytest.raises((Conflict, BudgetError)):
            flow_of()  # type: ignore[operator]
        assert state(table.machine) == before
        store.refuses = False

    for event in events:
        if isinstance(event, Says):
            refused(lambda event=event: table.say(event))
            table.say(event)
            continue
        refused(table.request)
        try:
            table.request()
        except BudgetError:
            return
        refused(lambda event=event: table.reply(event))
        table.reply(event)
        if event.results:
            refused(lambda event=event: table.results(event.results))
        table.results(event.results)


@pytest.mark.parametrize("wire", WIRES)
def test_a_refused_budget_changes_nothing_and_the_next_attempt_works(wire: str) -> None:
    table = asked(wire, window=6_000, make=AppendOnly)
    table.results([Result("x" * 40_000)])
    before = state(table.machine)
    for _ in range(2):
        with pytest.raises(BudgetError, match="needs about 1"):
            table.request()
        assert state(table.machine) == before
    roomier = SessionMachine(Table(wire, window=60_000, make=AppendOnly).parts(), "s")
    roomier.load(table.store.read(roomier.scope, "s"))
    assert len(table.run(roomier.request(2_000.0)).view.entries) == len(table.machine.transcript)


def test_a_larger_text_that_is_undone_may_not_fit_and_can_be_evicted_no_more() -> None:
    table = Table("anthropic_messages", 6_000)
    table.user("go")
    for n in range(8):
        table.now += 10
        table.request()
        table.reply(call())
        table.results([Result(f"line {n}\n" * 700)])
    table.request()
    table.reply(Step(text="fine"))
    table.user("more")
    edits = table.machine.plan.edits
    table.run(table.machine.undo(edits, table.now))
    with pytest.raises(BudgetError):
        table.request()
    assert table.machine.plan.edits == ()


# -- counting near the limit --------------------------------------------------------------------


@pytest.mark.parametrize("extra", [0, 4, 9])
def test_near_the_limit_the_provider_is_asked_and_believed(extra: int) -> None:
    asked_for: list[JsonObject] = []

    def exact(request: JsonObject) -> int:
        asked_for.append(request)
        return true(request["messages"])

    def true(messages: Sequence[JsonObject]) -> int:
        # The upper bound of the counter is a tenth above its estimate.
        return table.count(messages) * (100 + extra) // 100

    table = Table("anthropic_messages", 6_000, exact=exact)
    table.user("go")
    for n in range(40):
        table.now += 10
        outgoing = table.request()
        if asked_for and asked_for[-1]["messages"] == outgoing.view.messages:
            assert outgoing.tokens == true(outgoing.view.messages)
        assert true(outgoing.view.messages) <= table.machine.budget.limit
        table.reply(Step(calls=call().calls, drift=None))
        table.results([Result(f"row {n} of a table\n" * 60)])
    assert asked_for


# -- sessions in the library ---------------------------------------------------------------------


def drive_both(wire: str, events: list[Event]) -> tuple[list[bytes], list[bytes]]:
    sync_store, async_store = InMemoryStore(), InMemoryStore()
    clock = [0.0]
    tool: JsonObject = {"name": "read", "input_schema": {"type": "object"}}

    def options(store: InMemoryStore) -> Options:
        return Options(
            wire=wire, store=store, window=30_000, clock=lambda: clock[0], name="s", recall=False
        )

    one = Session("claude-opus-4-5", tools=[tool], max_tokens=1_000, options=options(sync_store))
    two = AsyncSession(
        "claude-opus-4-5", tools=[tool], max_tokens=1_000, options=options(async_store)
    )
    # Handles are made from the nonce of the session, which is drawn.
    bodies: tuple[list[bytes], list[bytes]] = ([], [])

    async def run() -> None:
        await two.user("hello")
        one.user("hello")
        two._machine.nonce = one._machine.nonce
        for event in events:
            clock[0] += 10
            if isinstance(event, Says):
                one.user(event.text)
                await two.user(event.text)
                continue
            bodies[0].append(one.request().body)
            bodies[1].append((await two.request()).body)
            data = reply(wire, event, None)
            one.reply(data)
            await two.reply(data)
            answers = {
                c.id: result(wire, r) for c, r in zip(event.calls, event.results, strict=True)
            }
            if answers:
                one.results(answers)
                await two.results(answers)

    with contextlib.suppress(BudgetError):
        asyncio.run(run())
    return bodies


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=5)
@given(events=sessions(most_steps=6))
def test_the_async_session_sends_what_the_sync_one_sends(wire: str, events: list[Event]) -> None:
    one, two = drive_both(wire, events)
    assert one == two or one[:-1] == two


def test_resuming_needs_a_store_and_a_session_in_it() -> None:
    with pytest.raises(ConfigError, match="store"):
        Session.resume("s", Options())
    with pytest.raises(SessionNotFound, match="'s'"):
        Session.resume("s", Options(store=InMemoryStore()))


def test_a_resumed_session_goes_on_where_the_first_one_stopped() -> None:
    store = InMemoryStore()
    options = Options(store=store, name="s", clock=lambda: 5.0)
    first = Session("claude-opus-4-5", max_tokens=700, system="be kind", options=options)
    first.user("hello")
    body = first.request().body
    again = Session.resume("s", options)
    assert again.request().body == body
    assert again.request()["max_tokens"] == 700


def test_commands_are_all_that_a_flow_asks_for() -> None:
    table = Table("anthropic_messages")
    seen: list[Command] = []
    flow = table.machine.append([Message({"role": "user", "content": "x"}, origin=Origin.USER)], 0)
    command = next(flow)
    seen.append(command)
    assert isinstance(command, SaveRecords)
    assert command.expected == 1
    assert len(table.machine.transcript) == 0, "nothing is applied before it is saved"
