"""On a model that binds thinking to its prefix the provider clears, and all thinking stays valid."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import pytest

from tenure import AsyncSession, Session
from tenure.core.edit import Delegated, Drop, Insert, Replace
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import Call, Failure, ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, answers, errand
from tests.assembly.test_loop import run, run_async

WINDOW = 30_000
STEPS = 30
THOUGHT = "let me think about this file"


def session_of(**options: Any) -> Session:
    return Session(
        ANTHROPIC.model,
        max_tokens=2_000,
        system="You mend builds.",
        tools=[ANTHROPIC.tool],
        options=ANTHROPIC.options(window=WINDOW, **options),
    )


def bodies(server: ModelServer) -> list[Any]:
    return [json.loads(r.body) for r in server.requests if r.generates]


def check(server: ModelServer, session: Session | AsyncSession) -> None:
    """No thinking was lost, every request went as it grew, and the same results stay cleared."""
    sent = bodies(server)
    assert len(sent) == STEPS + 1
    assert json.dumps(sent[-1]).count(THOUGHT) == STEPS
    assert server.prefix_breaks == []
    cleared = [_cleared(body) for body in sent]
    assert cleared == sorted(cleared)
    assert cleared[-1] > STEPS // 2
    # Cleared in batches: between two of them what is cleared stays the same.
    assert len(set(cleared)) <= STEPS // 3
    edits = session.explain().edits
    (edit,) = (e for e in edits if isinstance(e, Delegated))
    # The model was told the handle once, in a text that stays.
    (told,) = (e for e in edits if isinstance(e, Insert))
    assert len(edits) == 2
    assert edit.handle in told.message.raw.decode()
    said = [f"[tenure {edit.handle}" in json.dumps(body["messages"]) for body in sent]
    first = said.index(True)
    assert said == [number >= first for number in range(len(sent))]
    assert _cleared(sent[first]) > _cleared(sent[first - 1]) == 0
    assert edit.applied
    assert len(edit.targets) == cleared[-1]
    transcript = session._machine.transcript
    whole = session.recall(edit.handle)
    assert all(transcript.block(key).text in whole for key in edit.targets)


def _cleared(body: Any) -> int:
    """How many results a request asks to be cleared."""
    asked = body.get("context_management")
    if asked is None:
        return 0
    (edit,) = asked["edits"]
    uses = sum(
        block["type"] == "tool_use"
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    )
    kept: int = edit["keep"]["value"]
    return int(uses) - kept


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_the_provider_clears_and_no_thinking_is_lost(*, stream: bool) -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer(script, preserved_thinking=True) as server:
        session = session_of()
        run(ANTHROPIC, server, session, stream=stream)
        check(server, session)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_async_session_does_the_same(*, stream: bool) -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer(script, preserved_thinking=True) as server:
        session = AsyncSession(
            ANTHROPIC.model,
            max_tokens=2_000,
            system="You mend builds.",
            tools=[ANTHROPIC.tool],
            options=ANTHROPIC.options(window=WINDOW),
        )
        asyncio.run(run_async(ANTHROPIC, server, session, stream=stream))
        check(server, session)


def test_the_beta_client_is_asked_by_its_own_parameters() -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with (
        ModelServer(script, preserved_thinking=True) as server,
        anthropic.Anthropic(base_url=server.url, api_key="key") as client,
    ):
        session = Session(
            ANTHROPIC.model,
            max_tokens=2_000,
            tools=[ANTHROPIC.tool],
            betas=["compact-2026-09-04"],
            options=ANTHROPIC.options(window=WINDOW),
        )
        session.user("go")
        while True:
            session.reply(client.beta.messages.create(**session.request()))
            if not session.calls:
                break
            session.results(answers(session.calls))
        check(server, session)
        headers = [r.headers["anthropic-beta"] for r in server.requests if r.generates]
        assert all("compact-2026-09-04" in one for one in headers)


def test_a_resumed_session_goes_on_with_the_same_clearing() -> None:
    store = InMemoryStore()
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer(script, preserved_thinking=True) as server:
        session = session_of(store=store, name="s")
        run(ANTHROPIC, server, session)
        session.user("and now?")
        first = session.request()
        resumed = Session.resume("s", ANTHROPIC.options(store=store)).request()
        assert resumed.body == first.body
        assert resumed.headers == first.headers
        assert "context-management-2025-06-27" in first.headers["anthropic-beta"]


def test_who_edits_the_context_on_the_server_already_is_left_alone() -> None:
    mine = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer(script, preserved_thinking=True) as server:
        session = Session(
            ANTHROPIC.model,
            max_tokens=2_000,
            tools=[ANTHROPIC.tool],
            extra_body={"context_management": mine},
            extra_headers={"anthropic-beta": "context-management-2025-06-27"},
            options=ANTHROPIC.options(window=WINDOW),
        )
        run(ANTHROPIC, server, session)
        assert all(body["context_management"] == mine for body in bodies(server))
        assert not any(isinstance(e, Delegated) for e in session.explain().edits)


def test_without_delegating_later_thinking_goes_with_the_edit_and_nothing_is_refused() -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer(script, preserved_thinking=True) as server:
        session = session_of(delegate=False)
        run(ANTHROPIC, server, session)
        assert any(isinstance(e, Drop) for e in session.explain().edits)
        assert json.dumps(bodies(server)[-1]).count(THOUGHT) < STEPS


def test_the_cache_is_read_but_where_a_new_clearing_begins() -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with (
        ModelServer(script, preserved_thinking=True) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of()
        session.user("go")
        shares: list[float] = []
        while True:
            reply = ANTHROPIC.create(client, session.request())
            usage = reply.usage
            total = usage.input_tokens + usage.cache_creation_input_tokens
            total += usage.cache_read_input_tokens
            shares.append(usage.cache_read_input_tokens / total)
            session.reply(reply)
            if not session.calls:
                break
            session.results(answers(session.calls))
        cleared = [_cleared(body) for body in bodies(server)]
    pairs = zip(cleared[1:], cleared[2:], shares[2:], strict=False)
    assert all(share > 0.5 for before, after, share in pairs if before == after)


def test_a_model_that_asks_for_a_cleared_result_gets_it() -> None:
    handles: list[str] = []

    def script(_body: Any, step: int) -> Reply:
        if step < STEPS:
            return Reply(thinking=THOUGHT, calls=[Call("read", {"path": f"src/file_{step}.py"})])
        if step == STEPS:
            return Reply(calls=[Call("recall", {"handle": handles[0], "pattern": "file_0.py"})])
        return Reply(text="done")

    with (
        ModelServer(script, preserved_thinking=True) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of()
        session.user("go")
        while True:
            session.reply(ANTHROPIC.create(client, session.request()))
            if not session.calls:
                break
            session.results(answers(session.calls))
            handles = [e.handle for e in session.explain().edits if isinstance(e, Delegated)]
        assert "2: content of src/file_0.py" in json.dumps(bodies(server)[-1]["messages"][-1])


def test_a_gateway_that_ignores_the_edits_is_noticed_and_the_session_edits_itself() -> None:
    """As some hosts of the API do: the parameter is taken, nothing is cleared, nothing is said."""
    script = errand(STEPS, thinking=THOUGHT)
    with (
        ModelServer(script, preserved_thinking=True) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of()
        session.user("go")
        while True:
            request = dict(session.request())
            request.pop("extra_body", None)
            session.reply(ANTHROPIC.create(client, request))
            if not session.calls:
                break
            session.results(answers(session.calls))
        assert "did not clear" in str(session.explain())
        assert not any(isinstance(e, Delegated) for e in session.explain().edits)
        assert any(isinstance(e, Replace) for e in session.explain().edits)


def refusing(body: Any, step: int) -> Reply | Failure:
    """A host of the API that does not know the parameter."""
    if "context_management" in body:
        return Failure(400, "context_management: Extra inputs are not permitted")
    done = step >= STEPS + 5
    call = Call("read", {"path": f"src/file_{step}.py"})
    return Reply(text="done") if done else Reply(thinking=THOUGHT, calls=[call])


def test_a_host_that_refuses_to_clear_is_told_so_and_the_session_edits_itself() -> None:
    refused = 0
    store = InMemoryStore()
    with (
        ModelServer(refusing, preserved_thinking=True) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of(store=store, name="s")
        session.user("go")
        while True:
            try:
                session.reply(ANTHROPIC.create(client, session.request()))
            except anthropic.BadRequestError:
                refused += 1
                session.cancel(delegate=False)
                continue
            if not session.calls:
                break
            session.results(answers(session.calls))
    assert refused == 1
    edits = session.explain().edits
    assert not any(isinstance(e, Delegated) for e in edits)
    assert any(isinstance(e, Replace) for e in edits)
    assert "edits itself" in str(session.explain())
    # Whoever resumes it does not ask again, and the handle that the model was told is good.
    resumed = Session.resume("s", ANTHROPIC.options(window=WINDOW, store=store))
    resumed.user("and now?")
    assert "context_management" not in resumed.request().get("extra_body", {})
    (told,) = (e for e in edits if isinstance(e, Insert))
    assert "file_" in resumed.recall(told.reason.about.removeprefix("note of "))


def test_an_async_session_can_stop_asking_as_well() -> None:
    async def play() -> AsyncSession:
        with ModelServer(refusing, preserved_thinking=True) as server:
            client = ANTHROPIC.async_client(server.url)
            session = AsyncSession(
                ANTHROPIC.model,
                max_tokens=2_000,
                tools=[ANTHROPIC.tool],
                options=ANTHROPIC.options(window=WINDOW),
            )
            await session.user("go")
            for _ in range(2 * STEPS):
                try:
                    await session.reply(await ANTHROPIC.create(client, await session.request()))
                except anthropic.BadRequestError:
                    await session.cancel(delegate=False)
                    continue
                if not session.calls:
                    break
                await session.results(answers(session.calls))
            await client.close()
        return session

    session = asyncio.run(play())
    assert "edits itself" in str(session.explain())
    assert any(isinstance(e, Replace) for e in session.explain().edits)


def test_resumed_where_the_provider_is_not_to_be_asked_the_session_edits_itself() -> None:
    store = InMemoryStore()
    with ModelServer(
        [*errand(STEPS, thinking=THOUGHT), Reply("ok")], preserved_thinking=True
    ) as server:
        session = session_of(store=store, name="s")
        run(ANTHROPIC, server, session)
        assert any(isinstance(e, Delegated) for e in session.explain().edits)
        resumed = Session.resume("s", ANTHROPIC.options(window=WINDOW, store=store, delegate=False))
        resumed.user("and now?")
        request = resumed.request()
        assert "context_management" not in request.get("extra_body", {})
        with ANTHROPIC.client(server.url) as client:
            resumed.reply(ANTHROPIC.create(client, request))
        assert not any(isinstance(e, Delegated) for e in resumed.explain().edits)


def test_what_the_provider_cleared_can_be_taken_back_and_stays_back() -> None:
    script = errand(STEPS, thinking=THOUGHT)
    with ModelServer([*script, Reply("ok")], preserved_thinking=True) as server:
        session = session_of()
        run(ANTHROPIC, server, session)
        (edit,) = (e for e in session.explain().edits if isinstance(e, Delegated))
        session.undo(edit)
        assert not any(isinstance(e, Delegated) for e in session.explain().edits)
        assert "extra_body" not in session._built.wire.delegating(session._machine.head, ())
