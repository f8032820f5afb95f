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
from tests.assembly.apis import APIS, Api

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


# -- named where it stays ------------------------------------------------------------------------


@ANY_API
def test_volatile_text_that_is_not_safe_to_move_stays_and_is_named_with_its_bytes(api: Api) -> None:
    rule = "The time is 15:09:20, so never start a job."
    described = "Reads a file. The clock now says 15:09:20."
    tool = {**api.tool, "description": described}
    if "function" in api.tool:
        tool = {**api.tool, "function": {**api.tool["function"], "description": described}}
    session = Session(
        api.model, max_tokens=500, system=f"{RULES}\n{rule}", tools=[tool], options=api.options()
    )
    session.user("go")
    in_system, in_tool = session.explain().notes
    at = len(f"{RULES}\n{rule}".partition("15:09:20")[0].encode())
    assert in_system.startswith("volatile text stays in system: clock '15:09:20'")
    assert f"at byte {at}" in in_system
    assert in_tool.startswith("volatile text stays in the tool 'read', ")
    assert f"at byte {described.index('15:09:20')}" in in_tool
    assert json.dumps(session.request()).count("15:09:20") == 2
    plain = Session(api.model, max_tokens=500, system=rule, options=api.options(layout=False))
    assert plain.explain().notes == ()


@ANY_API
def test_an_explanation_names_some_pieces_and_counts_the_rest(api: Api) -> None:
    rules = "\n".join(f"The time is {n:02}:09:20, so never start a job." for n in range(23))
    session = Session(api.model, max_tokens=500, system=rules, options=api.options())
    notes = session.explain().notes
    assert len(notes) == 21
    assert notes[-1] == "3 more pieces of volatile text stay"


# -- system messages that a conversation begins with -----------------------------------------------

OPENAI_APIS = pytest.mark.parametrize("api", APIS[1:], ids=lambda api: api.wire)
ROLES = pytest.mark.parametrize("role", ["system", "developer"])


def opened(api: Api, time: str, role: str = "system", **options: Any) -> Session:
    """A session whose system text is the first message, as users of the OpenAI SDK write it."""
    session = Session(api.model, max_tokens=500, options=api.options(**options))
    system = {"role": role, "content": f"Time is 15:09:{time}. {RULES}"}
    session.append(system, {"role": "user", "content": "Lights on."})
    return session


def said(request: JsonObject) -> list[JsonObject]:
    return list(request.get("messages") or request["input"])


@OPENAI_APIS
@ROLES
def test_a_clock_in_an_opening_system_message_is_said_late_too(api: Api, role: str) -> None:
    read: list[int] = []
    with ModelServer([Reply("on")] * 4) as server, api.client(server.url) as client:
        for time in ("20", "34"):
            session = opened(api, time, role)
            request = session.request()
            reply = api.create(client, request)
            session.reply(reply)
            read.append(cached(reply))
            assert f"15:09:{time}" in json.dumps(said(request)[-1])
            assert json.dumps(request).count("15:09:") == 1
            (edit,) = session.explain().edits
            assert (edit.reason.when, edit.reason.policy) == ("layout", "layout")
            assert f"15:09:{time}" in edit.reason.words
            assert "clock" in edit.reason.words
            assert session.explain().notes == ()
            # The record keeps what was given, and the handle finds it.
            first = session._machine.transcript.messages[0]
            assert first.data["content"].startswith(f"Time is 15:09:{time}. House rule")
            assert session.recall(edit.handle).startswith(f"Time is 15:09:{time}.")
            session.user("Off.")
            again = session.request()
            assert said(again)[: len(said(request)) - 1] == said(request)[:-1]
            assert json.dumps(again).count("15:09:") == 1
            session.reply(api.create(client, again))
    assert read[0] == 0
    assert read[1] > 1_000


@OPENAI_APIS
def test_parts_of_an_opening_message_are_laid_out_and_others_left(api: Api) -> None:
    text = "text" if api.wire == "openai_chat" else "input_text"
    parts = [
        {"type": text, "text": f"Time is 15:09:20. {RULES}"},
        {"type": text, "text": "Time is 15:09:21."},
        {"type": text, "text": "Stop after 15:09:22 at night, never before."},
    ]
    session = Session(api.model, max_tokens=500, options=api.options())
    session.append({"role": "system", "content": parts}, {"role": "user", "content": "go"})
    sent = said(session.request())
    texts = [part["text"] for part in sent[0]["content"]]
    # A part that would be empty stays, since no API takes an empty one.
    assert texts == [RULES, parts[1]["text"], parts[2]["text"]]
    assert sent[-1]["content"] == "Time is 15:09:20."
    notes = session.explain().notes
    assert ["messages.0.content.1" in notes[0], "15:09:21" in notes[0]] == [True, True]
    assert all("15:09:20" not in note for note in notes)


@OPENAI_APIS
def test_an_opening_that_a_provider_may_have_cached_stays_and_is_named(api: Api) -> None:
    session = Session(api.model, max_tokens=500, options=api.options())
    history = [
        {"role": "system", "content": f"Time is 15:09:20. {RULES}"},
        {"role": "user", "content": "Lights on."},
        {"role": "assistant", "content": "They are on."},
        {"role": "user", "content": "Off."},
    ]
    session.append(*history)
    assert [m["content"] for m in said(session.request())][-3:] == [
        m["content"] for m in history[1:]
    ]
    assert "15:09:20" in json.dumps(said(session.request())[0])
    (note,) = session.explain().notes
    assert note.startswith("volatile text stays in messages.0.content: clock '15:09:20' at byte 8")
    assert not session.explain().edits


@OPENAI_APIS
def test_an_opening_is_laid_out_once_and_the_same_by_a_resumed_session(api: Api) -> None:
    store = InMemoryStore()
    session = opened(api, "20", store=store, name="s")
    first = session.request()
    session.cancel()
    assert session.request() == first
    resumed = Session.resume("s", api.options(store=store))
    resumed.cancel()
    assert resumed.request() == first
    assert resumed.request().body == first.body
    assert not opened(api, "20", layout=False).explain().edits
    plain = opened(api, "20", layout=False)
    assert said(plain.request())[0]["content"].startswith("Time is")


@ANY_API
def test_the_order_is_from_the_most_stable_to_the_least(api: Api) -> None:
    session = Session(
        api.model,
        max_tokens=500,
        system=f"Time is 15:09:20. {RULES}",
        tools=[named(api, "zeta"), named(api, "alpha")],
        options=api.options(),
    )
    session.user([{"type": "input_text" if api.wire == "openai_responses" else "text",
                   "text": "DOCUMENT"}], pinned=True)  # fmt: skip
    session.user("CONVERSATION")
    body = session.request().body.decode()
    late = body.index("15:09:20")
    assert body.index("House rule") < body.index("DOCUMENT") < body.index("CONVERSATION") < late
    names = [body.index(f'"{name}"') for name in ("alpha", "recall", "zeta")]
    assert names == sorted(names)
