"""Exact counts near the limit: the providers' own SDKs ask the counting endpoint over real HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tenure import AsyncSession, Options, Session
from tenure.core.message import JsonObject
from tenure.core.protocols import DEFAULT_SCOPE
from tenure.core.record import Reported, Requested, decode, encode
from tenure.errors import BudgetError, ConfigError
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import Failure, ModelServer
from tests.assembly.apis import ANTHROPIC, APIS, CHAT, RESPONSES, Api, content_of, errand
from tests.assembly.stores import SlowStore

WITH_ENDPOINT = pytest.mark.parametrize("api", [ANTHROPIC, RESPONSES], ids=lambda api: api.wire)
PATHS = {
    "anthropic_messages": "/v1/messages/count_tokens",
    "openai_responses": "/v1/responses/input_tokens",
}
WINDOW = 8_000
LIMIT = 6_844  # The window without the reply's 900 tokens and the margin of 256.


def options(api: Api, count: Any, **changes: Any) -> Options:
    return api.options(window=WINDOW, count=count, policy="append-only", **changes)


def new(api: Api, count: Any, **changes: Any) -> Session:
    return Session(api.model, max_tokens=900, options=options(api, count, **changes))


def sizes(session: Session) -> tuple[int, int]:
    """The estimate of all that was said, and the most that it can be."""
    machine = session._machine
    machine._sync()
    return machine.parts.meter.resident(machine.plan), machine.parts.meter.upper(machine.plan)


def near_the_limit(api: Api, *, room: int = 0) -> list[JsonObject]:
    """Messages of the user's that fit by the estimate, with `room` tokens left, and might not."""
    texts = ["ok"] * 12 + ["word " * _words(APIS.index(api), room)]
    return [{"role": "user", "content": text} for text in texts]


@lru_cache
def _words(number: int, room: int) -> int:
    least, most = 0, 2 * LIMIT
    while most - least > 1:
        half = (least + most) // 2
        session = new(APIS[number], None)
        session.append(*({"role": "user", "content": "ok"} for _ in range(12)))
        session.user("word " * half)
        least, most = (half, most) if sizes(session)[0] <= LIMIT - room else (least, half)
    return least


def counted(server: ModelServer) -> list[str]:
    return [r.path for r in server.requests if r.path in PATHS.values()]


@WITH_ENDPOINT
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_the_provider_counts_what_may_not_fit_and_nothing_else(api: Api, driver: str) -> None:
    exact = LIMIT - 7
    store = InMemoryStore()
    with ModelServer([], counting=lambda _: exact) as server:
        if driver == "sync":
            with api.client(server.url) as client:
                session: Any = new(api, client, store=store, name="s")
                session.user("hello")
                session.request()
                session.cancel()
                assert counted(server) == []
                session.append(*near_the_limit(api))
                request = session.request()
        else:
            session, request = asyncio.run(_counted_async(api, server, store))
        assert counted(server) == [PATHS[api.wire]]
    assert request.get("max_tokens", request.get("max_output_tokens")) == 900
    assert session.explain().occupancy.used == exact
    (note,) = session.explain().notes
    assert note.startswith(f"step 1: the provider counted {exact:,} input tokens")
    assert note in str(session.explain())
    assert note in session.explain().as_dict()["notes"]
    resumed = Session.resume("s", options(api, None, store=store))
    assert resumed.explain().notes == (note,)


async def _counted_async(api: Api, server: ModelServer, store: InMemoryStore) -> Any:
    async with api.async_client(server.url) as client:
        session = AsyncSession(
            api.model, max_tokens=900, options=options(api, client, store=store, name="s")
        )
        await session.user("hello")
        await session.request()
        await session.cancel()
        assert counted(server) == []
        await session.append(*near_the_limit(api))
        return session, await session.request()


@WITH_ENDPOINT
def test_no_view_is_counted_twice_however_often_it_is_asked_for(api: Api) -> None:
    with ModelServer([], counting=lambda _: LIMIT) as server, api.client(server.url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api))
        first = session.request().body
        assert session.request().body == first
        session.cancel()
        assert session.request().body == first
        assert len(counted(server)) == 1


@WITH_ENDPOINT
def test_what_the_provider_finds_too_large_is_refused_without_being_counted_again(api: Api) -> None:
    with ModelServer([], counting=lambda _: LIMIT + 1) as server, api.client(server.url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api))
        for _ in range(2):
            with pytest.raises(BudgetError) as refused:
                session.request()
            assert refused.value.needed == LIMIT + 1
        assert len(counted(server)) == 1


@WITH_ENDPOINT
def test_an_estimate_refuses_nothing_that_the_provider_counts_as_fitting(api: Api) -> None:
    over = [*near_the_limit(api), {"role": "user", "content": "ok"}]
    with ModelServer([], counting=lambda _: LIMIT) as server:
        with api.client(server.url) as client:
            session = new(api, client)
            session.append(*over)
            assert session.request()
            assert len(counted(server)) == 1
        alone = new(api, None)
        alone.append(*over)
        with pytest.raises(BudgetError):
            alone.request()


@WITH_ENDPOINT
def test_the_meter_goes_on_from_what_was_counted(api: Api) -> None:
    exact = LIMIT - 2_000
    with ModelServer([], counting=lambda _: exact) as server, api.client(server.url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api))
        session.request()
        session.cancel()
        session.user("word " * 1_000)
        estimate, upper = sizes(session)
        assert exact + 500 < estimate <= upper < LIMIT
        session.request()
        assert len(counted(server)) == 1


FAILURES: dict[str, tuple[Failure, str]] = {
    "429": (Failure(429, "slow down"), "RateLimitError"),
    "500": (Failure(500, "oops"), "InternalServerError"),
    "401": (Failure(401, "who is there?"), "AuthenticationError"),
    "404": (Failure(404, "no such endpoint"), "NotFoundError"),
}


@WITH_ENDPOINT
@pytest.mark.parametrize("status", FAILURES)
@pytest.mark.parametrize("driver", ["sync", "async"])
def test_a_count_that_fails_leaves_the_bound_and_a_note(api: Api, status: str, driver: str) -> None:
    failure, name = FAILURES[status]
    with ModelServer([], counting=lambda _: failure) as server:
        plain = new(api, None)
        plain.append(*near_the_limit(api, room=12))
        bodies, notes = _failing(api, server) if driver == "sync" else _failing_async(api, server)
        asked = len(counted(server))
    assert bodies[0] == plain.request().body
    assert all(name in note and "no exact count" in note for note in notes)
    assert failure.message in notes[0]
    # Who has no endpoint is asked once in a session's life, who fails for each view anew.
    assert asked == (1 if status == "404" else 2)


def _failing(api: Api, server: ModelServer) -> tuple[list[bytes], list[str]]:
    bodies: list[bytes] = []
    notes: list[str] = []
    with api.client(server.url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api, room=12))
        for more in ("", "word"):
            if more:
                session.cancel()
                session.append({"role": "user", "content": more})
            bodies.append(session.request().body)
            notes += session.explain().notes
    return bodies, notes


def _failing_async(api: Api, server: ModelServer) -> tuple[list[bytes], list[str]]:
    async def run() -> tuple[list[bytes], list[str]]:
        bodies: list[bytes] = []
        notes: list[str] = []
        async with api.async_client(server.url) as client:
            session = AsyncSession(api.model, max_tokens=900, options=options(api, client))
            await session.append(*near_the_limit(api, room=12))
            for more in ("", "word"):
                if more:
                    await session.cancel()
                    await session.append({"role": "user", "content": more})
                bodies.append((await session.request()).body)
                notes += session.explain().notes
        return bodies, notes

    return asyncio.run(run())


@WITH_ENDPOINT
def test_a_provider_that_does_not_answer_is_not_waited_for(api: Api) -> None:
    ended = threading.Event()

    def hang(_: Any) -> None:
        ended.wait(20)

    with ModelServer([], counting=hang) as server:
        client = api.client(server.url).with_options(timeout=0.1, max_retries=0)
        session = new(api, client)
        session.append(*near_the_limit(api))
        assert session.request()
        ended.set()
    (note,) = session.explain().notes
    assert "APITimeoutError" in note


@WITH_ENDPOINT
def test_a_count_is_given_up_long_before_a_reply_would_be(api: Api) -> None:
    waits: list[Any] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        waits.append(request.extensions["timeout"]["read"])
        return httpx2.Response(200, json={"input_tokens": LIMIT})

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    for own, used in ((None, 30), (5.0, 5.0)):
        client = api.client("http://localhost").with_options(http_client=transport)
        client = client.with_options(timeout=own) if own else client
        session = new(api, client)
        session.append(*near_the_limit(api))
        session.request()
        assert waits.pop() == used


@WITH_ENDPOINT
def test_a_server_that_is_not_there_is_a_note_too(api: Api) -> None:
    with ModelServer([]) as server:
        client = api.client(server.url).with_options(max_retries=0)
    session = new(api, client)
    session.append(*near_the_limit(api))
    assert session.request()
    assert "APIConnectionError" in session.explain().notes[0]


class Page(BaseHTTPRequestHandler):
    """A gateway that answers everything with a page of its own."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", "15")
        self.end_headers()
        self.wfile.write(b"<html>hi</html>")

    def log_message(self, format: str, *args: object) -> None:
        """Silence."""


@contextmanager
def gateway() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@WITH_ENDPOINT
def test_a_page_instead_of_a_count_is_a_note(api: Api) -> None:
    with gateway() as url, api.client(url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api))
        assert session.request()
    assert "the answer is no count: '<html>hi</html>'" in session.explain().notes[0]


@WITH_ENDPOINT
@pytest.mark.parametrize("stub", [0, 1, LIMIT // 4])
def test_a_count_that_cannot_be_of_the_whole_request_is_not_believed(api: Api, stub: int) -> None:
    with ModelServer([], counting=lambda _: stub) as server, api.client(server.url) as client:
        session = new(api, client)
        session.append(*near_the_limit(api))
        session.request()
        assert "can't be the whole request" in session.explain().notes[0]
        assert sizes(session)[0] > LIMIT // 2


# -- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)
def test_a_function_of_the_callers_counts_for_any_api(api: Api) -> None:
    asked: list[JsonObject] = []

    def count(request: JsonObject) -> int:
        asked.append(request)
        return LIMIT - 1

    async def slow(request: JsonObject) -> int:
        await asyncio.sleep(0)
        return count(request)

    session = new(api, count)
    session.append(*near_the_limit(api))
    sent = session.request()
    (one,) = asked
    assert one["messages" if "messages" in sent else "input"] == sent.get(
        "messages", sent.get("input")
    )

    async def run() -> AsyncSession:
        session = AsyncSession(api.model, max_tokens=900, options=options(api, slow))
        await session.append(*near_the_limit(api))
        await session.request()
        return session

    assert asyncio.run(run()).explain().notes == session.explain().notes
    assert f"{LIMIT - 1:,} input tokens" in session.explain().notes[0]


def test_chat_has_no_counting_endpoint_and_the_error_says_so() -> None:
    with (
        openai.OpenAI(api_key="key") as client,
        pytest.raises(ConfigError, match="Chat Completions has no endpoint that counts"),
    ):
        new(CHAT, client)


def raising(error: Exception) -> Callable[[JsonObject], int]:
    def count(_: JsonObject) -> int:
        raise error

    return count


@pytest.mark.parametrize("error", [KeyError("typo"), TypeError("typo"), ZeroDivisionError()])
def test_a_mistake_in_the_function_is_raised_and_nothing_has_changed(error: Exception) -> None:
    session = new(CHAT, raising(error))
    session.append(*near_the_limit(CHAT))
    length = session._machine.length
    with pytest.raises(type(error)):
        session.request()
    assert session._machine.length == length


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        ConnectionResetError("reset by peer"),
        httpx2.ConnectError("refused"),
        anthropic.APIConnectionError(request=httpx2.Request("POST", "http://x")),
        openai.APITimeoutError(httpx2.Request("POST", "http://x")),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_function_that_could_not_reach_the_provider_is_a_note(error: Exception) -> None:
    session = new(CHAT, raising(error))
    session.append(*near_the_limit(CHAT))
    assert session.request()
    assert type(error).__name__ in session.explain().notes[0]


@pytest.mark.parametrize("answer", ["12", 1.5, True, -1, {"input_tokens": 3}], ids=repr)
def test_a_function_that_answers_no_number_is_told_so(answer: Any) -> None:
    session = new(CHAT, lambda _: answer)
    session.append(*near_the_limit(CHAT))
    with pytest.raises(ConfigError, match="count must answer with a number"):
        session.request()


def test_a_function_may_not_know() -> None:
    session = new(CHAT, lambda _: None)
    session.append(*near_the_limit(CHAT))
    assert session.request()
    assert "does not know" in session.explain().notes[0]


# -- drivers and types ---------------------------------------------------------------------------


async def _count(_: JsonObject) -> int:
    return LIMIT


def _disguised(request: JsonObject) -> Awaitable[int]:
    return _count(request)


def test_a_session_that_waits_for_nothing_takes_nothing_to_be_awaited() -> None:
    with pytest.raises(ConfigError, match="store is asynchronous"):
        Session("gpt-6", options=Options(store=SlowStore()))
    with pytest.raises(ConfigError, match="store is asynchronous"):
        Session.resume("s", Options(store=SlowStore()))
    for api in (ANTHROPIC, RESPONSES):
        with pytest.raises(ConfigError, match="count is asynchronous"):
            new(api, api.async_client("http://localhost"))
    with pytest.raises(ConfigError, match="count is asynchronous"):
        new(CHAT, _count)
    session = new(CHAT, _disguised)
    session.append(*near_the_limit(CHAT))
    with pytest.raises(ConfigError, match="count is asynchronous"):
        session.request()


def test_all_that_counts_and_stores_has_a_type() -> None:
    """What `make check` reads: clients and stores of both kinds, and what is neither."""
    key, wire = "key", "anthropic_messages"
    Options(wire=wire, count=anthropic.Anthropic(api_key=key), store=InMemoryStore())
    Options(wire=wire, count=anthropic.AsyncAnthropic(api_key=key), store=SlowStore())
    Options(count=openai.OpenAI(api_key=key))
    Options(count=openai.AsyncOpenAI(api_key=key))
    Options(count=_count)
    Options(count=len)
    Options(count=3)  # type: ignore[arg-type]
    Options(store={})  # type: ignore[arg-type]


# -- what is sent ----------------------------------------------------------------------------------


@WITH_ENDPOINT
def test_only_what_the_endpoint_takes_is_sent(api: Api) -> None:
    made: dict[str, Any] = {"metadata": {"user_id": "u"}, "service_tier": "auto", "timeout": 99}
    made["extra_body"] = {"mine": 1}
    made["extra_headers"] = {"x-mine": "1"}
    with ModelServer([], counting=lambda _: LIMIT) as server, api.client(server.url) as client:
        session = Session(api.model, max_tokens=900, options=options(api, client), **made)
        session.append(*near_the_limit(api))
        session.request()
        (request,) = server.requests
    assert set(request.json) == {"model", "messages" if api is ANTHROPIC else "input"}
    assert request.headers["x-mine"] == "1"
    assert "no exact count" not in session.explain().notes[0]


def test_the_beta_client_counts_what_asks_for_betas() -> None:
    managed = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    betas = ["context-management-2025-06-27"]
    with ModelServer([], counting=_by_header) as server, ANTHROPIC.client(server.url) as client:
        for made in (
            {"betas": betas, "context_management": managed},
            {
                "extra_headers": {"anthropic-beta": betas[0]},
                "extra_body": {"context_management": managed},
            },
        ):
            session = Session(
                ANTHROPIC.model, max_tokens=900, options=options(ANTHROPIC, client), **made
            )
            session.append(*near_the_limit(ANTHROPIC))
            session.request()
            assert "the provider counted" in session.explain().notes[0]
            request = server.requests[-1]
            assert betas[0] in request.headers["anthropic-beta"].split(",")
            assert request.json["context_management"] == managed


def _by_header(body: Any) -> int:
    assert body["context_management"]
    return LIMIT


def test_a_stored_count_is_read_again() -> None:
    for counting in ("", "the provider counted 5 input tokens"):
        record = Requested(1, 5, 2.0, 100, exact=bool(counting), counting=counting)
        assert decode(encode(record)) == record


# -- in a loop -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api", "thinking"),
    [(ANTHROPIC, "hm, let me see"), (ANTHROPIC, ""), (RESPONSES, "")],
    ids=["what the provider clears", "anthropic_messages", "openai_responses"],
)
def test_a_counted_request_is_as_large_as_the_provider_then_says(api: Api, thinking: str) -> None:
    store = InMemoryStore()
    with (
        ModelServer(errand(25, thinking=thinking)) as server,
        api.client(server.url) as client,
    ):
        session = Session(
            api.model,
            max_tokens=900,
            tools=[api.tool],
            options=api.options(window=16_000, count=client, store=store, name="s"),
        )
        session.user("mend it")
        while True:
            session.reply(api.create(client, session.request()))
            if not session.calls:
                break
            session.results({c.id: content_of(c.input["path"], 1_000) for c in session.calls})
        assert {r.status for r in server.requests} == {200}
        asked = [r for r in server.requests if r.path == PATHS[api.wire]]
        sent = [r for r in server.requests if r.generates]
    records = store.read(DEFAULT_SCOPE, "s")
    sizes = [(r.tokens, r.exact) for r in records if isinstance(r, Requested)]
    said = [r.usage.prompt for r in records if isinstance(r, Reported) and r.usage]
    exact = [(mine, theirs) for (mine, counted), theirs in zip(sizes, said, strict=True) if counted]
    assert asked
    assert exact
    assert all(mine == theirs for mine, theirs in exact)
    assert len(asked) < len(sent) / 2
    if thinking:
        managed = [r for r in asked if "context_management" in r.json]
        assert managed
        assert all("context-management-2025-06-27" in r.headers["anthropic-beta"] for r in managed)
