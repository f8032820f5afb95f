"""The loop of the README, with the providers' own SDKs over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure import AsyncSession, Session
from tenure.core.edit import Drop, Replace
from tenure.testing import Call, ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, APIS, Api, answers, errand

WINDOW = 30_000
SYSTEM = "You mend builds."


def run(api: Api, server: ModelServer, session: Session, *, stream: bool = False) -> None:
    session.user("find why the nightly build broke and fix it")
    with api.client(server.url) as client:
        while True:
            if stream:
                for _ in session.stream(api.events(client, session.request())):
                    pass
            else:
                session.reply(api.create(client, session.request()))
            if not session.calls:
                break
            session.results(answers(session.calls))


async def run_async(
    api: Api, server: ModelServer, session: AsyncSession, *, stream: bool = False
) -> None:
    async with api.async_client(server.url) as client:
        await session.user("find why the nightly build broke and fix it")
        while True:
            request = await session.request()
            if stream:
                async for _ in session.stream(api.async_events(client, request)):
                    pass
            else:
                await session.reply(await api.create(client, request))
            if not session.calls:
                break
            await session.results(answers(session.calls))


def first_edited(session: Session | AsyncSession) -> dict[int, int]:
    """For each step with new edits, the number of the first message they touch."""
    machine = session._built.machine
    found: dict[int, int] = {}
    for edit in machine.plan:
        assert isinstance(edit, Replace | Drop)
        for target in edit.targets:
            index = machine.transcript.block(str(target)).index
            step = edit.reason.step
            found[step] = min(index, found.get(step, index))
    return found


def check_prefixes(server: ModelServer, session: Session | AsyncSession, *, leading: int) -> None:
    """Consecutive bodies share their prefix up to the first new edit, and no edit goes unseen."""
    expected = first_edited(session)
    broken = {b.request: b.message - leading for b in server.prefix_breaks}
    assert broken == expected
    assert expected, "the window was meant to be too small for the whole session"


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_sync_loop_stays_legal_and_breaks_the_prefix_only_at_new_edits(
    api: Api, *, stream: bool
) -> None:
    with ModelServer(errand(24)) as server:
        session = Session(
            api.model, max_tokens=2_000, system=SYSTEM, tools=[api.tool],
            options=api.options(window=WINDOW, delegate=False),
        )  # fmt: skip
        run(api, server, session, stream=stream)
        assert len([r for r in server.requests if r.generates]) == 25
        check_prefixes(server, session, leading=api.wire == "openai_chat")
        assert session.explain().ledger.spent > 0


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_async_loop_is_the_same_loop(api: Api, *, stream: bool) -> None:
    with ModelServer(errand(24)) as server:
        session = AsyncSession(
            api.model, max_tokens=2_000, system=SYSTEM, tools=[api.tool],
            options=api.options(window=WINDOW, delegate=False),
        )  # fmt: skip
        asyncio.run(run_async(api, server, session, stream=stream))
        assert len([r for r in server.requests if r.generates]) == 25
        check_prefixes(server, session, leading=api.wire == "openai_chat")


def test_on_a_model_that_binds_thinking_later_thinking_goes_with_the_edit() -> None:
    with ModelServer(errand(24, thinking="let me think about this file")) as server:
        session = Session(
            ANTHROPIC.model, max_tokens=2_000, system=SYSTEM, tools=[ANTHROPIC.tool],
            options=ANTHROPIC.options(window=WINDOW, delegate=False),
        )  # fmt: skip
        run(ANTHROPIC, server, session)
        dropped = [e for e in session.explain().edits if isinstance(e, Drop)]
        assert dropped
        assert all(e.handle for e in dropped)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)
def test_the_session_answers_recall_itself_and_the_loop_goes_on(api: Api) -> None:
    handles: list[str] = []

    def script(body: Any, step: int) -> Reply:
        if step < 20:
            return Reply(calls=[Call("read", {"path": f"src/file_{step}.py"})])
        if step == 20:
            return Reply(calls=[Call("recall", {"handle": handles[0], "lines": "1-2"})])
        return Reply(text="done")

    with ModelServer(script) as server, api.client(server.url) as client:
        session = Session(
            api.model, max_tokens=2_000, tools=[api.tool], options=api.options(window=WINDOW)
        )
        session.user("go")
        while True:
            session.reply(api.create(client, session.request()))
            if not session.calls:
                break
            assert all(c.name == "read" for c in session.calls)
            session.results(answers(session.calls))
            handles = [e.handle for e in session.explain().edits if e.handle]
        last = server.requests[-1].body.decode()
        assert "writer_of_src/file_0.py" in last
        assert session.explain().ledger.refetched > 0


def test_recall_is_offered_from_the_first_request_or_not_at_all() -> None:
    with_tools = Session("claude-opus-5-5", max_tokens=100, tools=[ANTHROPIC.tool])
    with_tools.user("hi")
    assert [t["name"] for t in with_tools.request()["tools"]] == ["read", "recall"]
    bare = Session("claude-opus-5-5", max_tokens=100)
    bare.user("hi")
    assert "tools" not in bare.request()
