"""What a session does with wrong use and hostile values: it says so, and nothing is harmed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.core.edit import Replace
from tenure.core.protocols import ToolCall
from tenure.errors import ConfigError, RequestError, SessionError, UpstreamError
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import Call, ModelServer, Reply, strategies
from tests.assembly.apis import ANTHROPIC, APIS, RESPONSES, Api, content_of

ANY_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)


def called(api: Api, server: ModelServer, client: Any, **options: Any) -> Session:
    """A session whose model has just called its tool."""
    session = Session(api.model, max_tokens=500, tools=[api.tool], options=api.options(**options))
    session.user("read it")
    session.reply(api.create(client, session.request()))
    return session


@ANY_API
def test_words_between_a_call_and_its_result_are_refused_and_cancel_makes_way(api: Api) -> None:
    script = [Reply(calls=[Call("read", {"path": "a"}), Call("read", {"path": "b"})]), Reply("ok")]
    with ModelServer(script) as server, api.client(server.url) as client:
        session = called(api, server, client)
        before = session.explain().as_dict()
        with pytest.raises(SessionError, match="wait for results"):
            session.user("stop that")
        assert session.explain().as_dict() == before
        session.cancel()
        assert not session.calls
        session.user("stop that")
        session.reply(api.create(client, session.request()))


@ANY_API
@given(pattern=st.sampled_from(["a{99999999999}", "(a*)*b", ".*.*.*=!", "a?" * 30 + "b", "((("]))
def test_a_recall_with_any_pattern_or_range_is_answered(api: Api, pattern: str) -> None:
    asked = [
        Call("recall", {"handle": "t-0", "pattern": pattern}),
        Call("recall", {"handle": "t-0", "lines": "1-" + "9" * 5_000}),
    ]
    with ModelServer([Reply(calls=asked), Reply("ok")]) as server, api.client(server.url) as client:
        session = called(api, server, client)
        assert session.calls
        assert not list(session.calls)
        session.results({})
        session.reply(api.create(client, session.request()))


@ANY_API
def test_lone_surrogates_do_not_break_the_sdk(api: Api) -> None:
    broken = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    script = [Reply(calls=[Call("read", {"path": "a"})]), Reply("ok")]
    with ModelServer(script) as server, api.client(server.url) as client:
        session = called(api, server, client)
        session.results({c.id: f"{broken} and \U0001f600"[:-1] + broken for c in session.calls})
        session.reply(api.create(client, session.request()))
        assert "\ufffd" in server.requests[-1].body.decode()


@ANY_API
def test_a_tools_data_with_a_type_field_is_sent_as_text(api: Api) -> None:
    script = [Reply(calls=[Call("read", {"path": "a"})]), Reply("ok")]
    with ModelServer(script) as server, api.client(server.url) as client:
        session = called(api, server, client)
        session.results({c.id: [{"type": "file", "name": "a.py"}] for c in session.calls})
        session.reply(api.create(client, session.request()))
        assert '\\"name\\":\\"a.py\\"' in server.requests[-1].body.decode()


@pytest.mark.parametrize("value", [{1: 2, "a": object()}, [10**5000]], ids=["object", "digits"])
def test_a_message_that_is_no_json_is_refused_before_it_is_stored(value: Any) -> None:
    store = InMemoryStore()
    session = Session("claude-opus-5-5", max_tokens=500, options=Options(store=store, name="s"))
    session.user("hello")
    stored = len(store.read(session._built.options.scope, "s"))
    message = {"role": "user", "content": [{"type": "text", "text": "x", "extra": value}]}
    with pytest.raises(RequestError, match="nothing was stored"):
        session.append(message)
    assert len(store.read(session._built.options.scope, "s")) == stored
    assert session.request()["messages"][-1]["content"] == "hello"


@pytest.mark.parametrize("wrong", [3, None, ["text"], {"role": "user"}])
def test_a_users_content_of_another_type_is_refused_by_name(wrong: Any) -> None:
    session = Session("claude-opus-5-5", max_tokens=500)
    with pytest.raises(RequestError, match=type(wrong).__name__):
        session.user(wrong)


def test_reasoning_of_finished_turns_stays_with_its_items_on_responses() -> None:
    turns = 12
    script = [Reply(text="done " + content_of(f"f{n}", 1_500), thinking="hm") for n in range(turns)]
    with ModelServer(script) as server, RESPONSES.client(server.url) as client:
        session = Session(RESPONSES.model, max_tokens=500, options=RESPONSES.options(window=9_000))
        for n in range(turns):
            session.user(f"question {n}")
            session.reply(RESPONSES.create(client, session.request()))
        assert session.explain().edits, "the window was meant to be too small"


def test_an_undo_that_bound_thinking_would_not_survive_is_refused() -> None:
    def script(body: Any, step: int) -> Reply:
        return Reply(thinking="hm", calls=[Call("read", {"path": f"f{step}"})])

    with ModelServer(script) as server, ANTHROPIC.client(server.url) as client:
        session = called(ANTHROPIC, server, client, window=12_000, delegate=False)
        for _ in range(8):
            session.results({c.id: content_of("x", 1_500) for c in session.calls})
            session.reply(ANTHROPIC.create(client, session.request()))
        with pytest.raises(SessionError, match="binds to its prefix"):
            session.undo(session.explain().edits[0])


def test_replies_without_usage_are_priced_from_the_prompt_and_counted() -> None:
    session = Session("claude-opus-5-5", max_tokens=500)
    for n in range(3):
        session.user(f"question {n} " + "word " * 500)
        session.request()
        session.reply({"content": [{"type": "text", "text": "answer"}]})
    explained = session.explain()
    assert explained.unreported == 3
    assert explained.ledger.spent > 1_500
    assert "3 replies came without usage" in str(explained)


def test_max_tokens_under_the_name_of_any_api_is_understood() -> None:
    chat = Session("gpt-6.1-sol", max_completion_tokens=77, options=Options(wire="openai_chat"))
    chat.user("hi")
    assert chat.request()["max_completion_tokens"] == 77
    responses = Session("gpt-6.1-sol", max_output_tokens=77)
    responses.user("hi")
    assert responses.request()["max_output_tokens"] == 77


def test_a_resumed_session_keeps_the_settings_it_was_made_with() -> None:
    store = InMemoryStore()
    made = Session(
        "claude-opus-5-5",
        max_tokens=500,
        options=Options(store=store, name="s", window=40_000, headroom={"read": 9_000}),
    )
    made.user("hi")
    request = json.dumps(made.request())
    resumed = Session.resume("s", Options(store=store))
    assert resumed.explain().occupancy.limit == made.explain().occupancy.limit
    assert json.dumps(resumed.request()) == request


@ANY_API
def test_results_larger_than_the_window_do_not_end_a_session(api: Api) -> None:
    """Each is shortened when it comes, and what is left of it goes when later ones need room."""
    reads = 12
    script = [Reply(calls=[Call("read", {"path": f"big_{n}"})]) for n in range(reads)]
    with ModelServer([*script, Reply("done")]) as server, api.client(server.url) as client:
        session = called(api, server, client, window=20_000)
        while session.calls:
            session.results({c.id: content_of(c.input["path"], 30_000) for c in session.calls})
            session.reply(api.create(client, session.request()))
        assert len([r for r in server.requests if r.generates]) == reads + 1
        # Where the provider clears as well, that has a handle of its own.
        handles = [e.handle for e in session.explain().edits if isinstance(e, Replace)]
        assert len(handles) == reads
        assert content_of("big_0", 30_000) in [session.recall(handle) for handle in handles]


def nested(levels: int) -> Any:
    value: Any = {"end": 1}
    for _ in range(levels):
        value = {"in": value}
    return value


@ANY_API
@pytest.mark.parametrize("levels", [300, 900, 5_000, 100_000])
def test_values_nested_deeper_than_anything_that_is_read_are_refused_in_words(
    api: Api, levels: int
) -> None:
    deep = nested(levels)
    session = Session(api.model, max_tokens=500, tools=[api.tool], options=api.options())
    with pytest.raises(RequestError, match="nest"):
        session.user([{"type": "text", "text": "look", "data": deep}])
    with pytest.raises(RequestError, match="nest"):
        session.append({"role": "user", "content": "look", "data": deep})
    session.user("look")
    session.request()
    with pytest.raises(UpstreamError, match="nest"):
        session.reply({"content": [deep], "choices": [deep], "output": [deep]})
    with pytest.raises(ConfigError, match="tools"):
        Session(api.model, max_tokens=500, tools=[deep], options=api.options())


@ANY_API
@pytest.mark.parametrize("system", [["be kind"], [{"type": "text", "text": "a"}, "b"], 7, {"a": 1}])
def test_a_system_text_of_another_shape_is_refused_in_words(api: Api, system: Any) -> None:
    with pytest.raises(ConfigError, match="system"):
        Session(api.model, max_tokens=500, system=system, options=api.options())


@ANY_API
@pytest.mark.parametrize("count", [10**13, 10**320, -5, True, 1.5, "7"])
def test_a_count_that_no_request_can_have_is_none(api: Api, count: Any) -> None:
    session = Session(api.model, max_tokens=500, tools=[api.tool], options=api.options())
    session.user("go")
    session.request()
    usage = {"input_tokens": count, "prompt_tokens": count, "output_tokens": count}
    replies: dict[str, dict[str, Any]] = {
        "anthropic_messages": {"content": [{"type": "text", "text": "ok"}]},
        "openai_chat": {"choices": [{"message": {"role": "assistant", "content": "ok"}}]},
        "openai_responses": {"output": [{"type": "message", "role": "assistant", "content": "ok"}]},
    }
    session.reply({**replies[api.wire], "usage": usage})
    session.user("on")
    assert session.explain().ledger.spent < 1_000
    assert session.request()


@ANY_API
def test_a_call_id_with_half_a_character_can_be_evicted_and_fetched(api: Api) -> None:
    options = api.options(window=9_000, delegate=False)
    session = Session(api.model, max_tokens=500, tools=[api.tool], options=options)
    session.user("go")
    for number in range(8):
        session.request()
        call = ToolCall(f"\ud83d{number}", "read", {"path": f"f{number}"})
        session.reply(strategies.reply(api.wire, strategies.Step(calls=(call,)), None))
        session.results({c.id: content_of("x", 1_500) for c in session.calls})
    session.request().body.decode()
    evicted = [e for e in session.explain().edits if e.handle]
    assert evicted
    assert all(session.recall(e.handle) for e in evicted)


class Empty:
    """A store whose code runs off the end of an iterator, once."""

    def __init__(self, *, late: bool) -> None:
        self.inner, self.late, self.left = InMemoryStore(), late, 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append(self, *args: Any, **more: Any) -> Any:
        written = self.inner.append(*args, **more) if self.late or not self.left else None
        if self.left and len(args[2]) and type(args[2][0]).__name__ == "Appended":
            self.left = 0
            next(iter(()))
        return written if written is not None else self.inner.append(*args, **more)


@pytest.mark.parametrize("late", [False, True], ids=["before it wrote", "after it wrote"])
def test_a_store_that_stops_an_iteration_has_failed_and_nothing_is_lost(*, late: bool) -> None:
    store: Any = Empty(late=late)
    session = Session("claude-opus-4-5", max_tokens=500, options=Options(store=store))
    with pytest.raises(StopIteration):
        session.user("hello")
    session.user("again")
    said = json.dumps(session.request()["messages"])
    assert "again" in said
    assert ("hello" in said) == late
