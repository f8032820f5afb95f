"""The head of a session laid out for the prompt cache: with the real SDKs, against the server's bill."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from tenure import Session
from tenure.core.message import JsonObject
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, APIS, Api

ANY_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)
RULES = "House rule: be kind and mend what you find. " * 300


def named(api: Api, name: str) -> JsonObject:
    if "function" in api.tool:
        return {**api.tool, "function": {**api.tool["function"], "name": name}}
    return {**api.tool, "name": name}


def session_of(api: Api, time: str, **options: Any) -> Session:
    return Session(
        api.model,
        max_tokens=500,
        system=f"Time is 15:09:{time}. {RULES}",
        tools=[api.tool],
        options=api.options(**options),
    )


@ANY_API
def test_a_clock_in_the_system_text_is_said_late_and_the_next_session_reads_the_cache(
    api: Api,
) -> None:
    read: list[int] = []
    with ModelServer([Reply("on")] * 2) as server, api.client(server.url) as client:
        for time in ("20", "34"):
            session = session_of(api, time)
            session.user("Lights on.")
            reply = api.create(client, session.request())
            session.reply(reply)
            read.append(cached(reply))
            (note,) = session.explain().notes
            assert "clock" in note
            assert f"15:09:{time}" in note
            assert note in str(session.explain())
    for time, request in zip(("20", "34"), server.requests, strict=True):
        body = json.loads(request.body)
        said = body.get("messages") or body["input"]
        assert f"15:09:{time}" in json.dumps(said[-1])
        assert json.dumps(body).count("15:09:") == 1
    assert read[0] == 0
    assert read[1] > 1_000


def cached(reply: Any) -> int:
    """The tokens that were read from the cache, as the SDK's object has them."""
    usage = reply.usage.model_dump()
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}
    return int(usage.get("cache_read_input_tokens") or details.get("cached_tokens") or 0)


@ANY_API
def test_without_layout_everything_leaves_where_it_was_put(api: Api) -> None:
    session = session_of(api, "20", layout=False)
    session.user("Lights on.")
    body = session.request().body.decode()
    assert body.index("15:09:20") < body.index("House rule")
    assert session.explain().notes == ()


@ANY_API
def test_late_text_is_said_once_and_by_a_resumed_session_too(api: Api) -> None:
    store = InMemoryStore()
    session = session_of(api, "20", store=store, name="s")
    session.user("Lights on.")
    resumed = Session.resume("s", api.options(store=store))
    first = resumed.request().body
    with ModelServer([Reply("on"), Reply("off")]) as server, api.client(server.url) as client:
        resumed.reply(api.create(client, resumed.request()))
        resumed.user("Off.")
        last = resumed.request().body
    assert first.count(b"15:09:20") == last.count(b"15:09:20") == 1
    assert resumed.explain().notes
    assert session.name == "s"


@ANY_API
def test_tools_in_any_order_make_the_same_request(api: Api) -> None:
    tools = [named(api, name) for name in ("zeta", "alpha", "mid")]
    bodies = set()
    for some in permutations(tools):
        session = Session(api.model, max_tokens=500, tools=some, options=api.options())
        session.user("a")
        bodies.add(session.request().body)
    assert len(bodies) == 1


@pytest.mark.parametrize("api", APIS[1:], ids=lambda api: api.wire)
def test_openai_requests_that_begin_alike_name_one_cache(api: Api) -> None:
    keys: list[str] = []
    for system in ("You mend builds.", "You mend builds.", "You paint."):
        session = Session(api.model, max_tokens=500, system=system, options=api.options())
        session.user(f"go {len(keys)}")
        keys.append(json.loads(session.request().body)["prompt_cache_key"])
    assert keys[0] == keys[1] != keys[2]
    mine = Session(api.model, max_tokens=500, prompt_cache_key="mine", options=api.options())
    mine.user("go")
    assert mine.request()["prompt_cache_key"] == "mine"


def test_pauses_that_outlive_five_minutes_make_the_marks_live_an_hour() -> None:
    now = [0.0]
    ttls: list[str] = []
    with (
        ModelServer([Reply("on")] * 8) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of(ANTHROPIC, "20", clock=lambda: now[0])
        for number in range(8):
            session.user(f"turn {number}")
            session.reply(ANTHROPIC.create(client, session.request()))
            ttls.append(str(session._machine._lifetime.long))  # type: ignore[union-attr]
            now[0] += 900
        last = json.loads(server.requests[-1].body)
    assert ttls[0] == "False"
    assert ttls[-1] == "True"
    assert last["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
