"""Whatever a stored history holds, what leaves is taken by the provider, and stays once sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.core.edit import Drop, Reason, Span
from tenure.core.message import JsonObject
from tenure.core.record import PlanChanged
from tenure.errors import RecallError
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import Call, ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, APIS, Api

ANY_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)


def a_call(api: Api, call: str, path: str = "a") -> JsonObject:
    """An assistant's message with one tool call."""
    if api.wire == "anthropic_messages":
        block = {"type": "tool_use", "id": call, "name": "read", "input": {"path": path}}
        return {"role": "assistant", "content": [block]}
    arguments = json.dumps({"path": path})
    if api.wire == "openai_chat":
        function = {"name": "read", "arguments": arguments}
        made = {"id": call, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [made]}
    return {"type": "function_call", "call_id": call, "name": "read", "arguments": arguments}


def a_result(api: Api, call: str, text: str) -> JsonObject:
    if api.wire == "anthropic_messages":
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return {"role": "user", "content": [block]}
    if api.wire == "openai_chat":
        return {"role": "tool", "tool_call_id": call, "content": text}
    return {"type": "function_call_output", "call_id": call, "output": text}


def user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def assistant(text: str) -> JsonObject:
    return {"role": "assistant", "content": text}


def histories(api: Api) -> dict[str, list[JsonObject]]:
    """Histories as public trackers show them, broken in one way each."""
    go, on = user("go"), user("go on")
    return {
        "a call that never got a result": [go, a_call(api, "c1"), on],
        "a result whose call was cut off": [go, a_result(api, "gone", "found 42 lamps"), on],
        "a result that came late": [go, a_call(api, "c1"), on, a_result(api, "c1", "42 lamps"), on],
        "a window that begins with a result": [
            a_result(api, "c0", "42 lamps"),
            assistant("ok"),
            on,
        ],
        "two results for one call": [
            go,
            a_call(api, "c1"),
            a_result(api, "c1", "42 lamps"),
            a_result(api, "c1", "43 lamps"),
            on,
        ],
        "the same id for every call": [
            go,
            a_call(api, "call_0"),
            a_result(api, "call_0", "first"),
            assistant("ok"),
            on,
            a_call(api, "call_0", "b"),
            a_result(api, "call_0", "second"),
        ],
        "stray spaces on one side": [go, a_call(api, "c1"), a_result(api, " c1 ", "42 lamps")],
        "half an emoji and a NUL": [user("caf\ud83d \x00 bar"), assistant("ok"), on],
        "nothing but blanks": [go, assistant("ok"), user("   "), on],
    }


KINDS = list(histories(ANTHROPIC))


def session_of(api: Api, history: list[JsonObject], **options: Any) -> Session:
    session = Session(api.model, max_tokens=500, tools=[api.tool], options=api.options(**options))
    session.append(*history)
    return session


@ANY_API
@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_history_is_taken_by_the_provider_and_the_record_is_untouched(
    api: Api, kind: str
) -> None:
    history = histories(api)[kind]
    before = json.dumps(history)
    store = InMemoryStore()
    with ModelServer([Reply("yes"), Reply("no")]) as server, api.client(server.url) as client:
        session = session_of(api, history, store=store, name="s")
        first = session.request().body
        session.reply(api.create(client, session.request()))
        wire = session._built.wire
        broken = wire.violations(history)
        assert bool(session.explain().mends) == bool(broken)
        assert ("keep it legal" in str(session.explain())) == bool(broken)
        session.user("and now?")
        second = session.request().body
        session.reply(api.create(client, session.request()))
        bodies = [json.loads(request.body) for request in server.requests]
    assert json.dumps(history) == before
    assert (
        json.dumps([m.data for m in session._machine.transcript.messages][: len(history)]) == before
    )
    key = session._built.wire.key
    sent = [json.loads(body)[key] for body in (first, second)]
    assert [body[key] for body in bodies] == sent
    assert without_marks(sent[1])[: len(sent[0])] == without_marks(sent[0])
    resumed = Session.resume("s", api.options(store=store))
    resumed.user("again")
    assert without_marks(json.loads(resumed.request().body)[key])[: len(sent[1])] == without_marks(
        sent[1]
    )


def without_marks(messages: list[Any]) -> list[Any]:
    """Messages as the prompt has them: marks are no part of it, and a text is a block of text."""
    made: list[Any] = json.loads(json.dumps(messages))
    for message in made:
        content = message.get("content")
        if isinstance(content, str):
            message["content"] = [{"type": "text", "text": content}]
        for block in message["content"] if isinstance(message.get("content"), list) else ():
            block.pop("cache_control", None)
    return made


@ANY_API
@pytest.mark.parametrize("kind", KINDS)
def test_every_word_of_a_broken_history_leaves_or_is_kept_under_a_handle(
    api: Api, kind: str
) -> None:
    session = session_of(api, histories(api)[kind])
    said = session.request().body.decode()
    handles = [kept.handle for kept in session.explain().mends if kept.handle]
    kept = "\n".join(session.recall(handle) for handle in handles)
    for word in ("lamps", "first", "second", "go on"):
        if word in json.dumps(histories(api)[kind]):
            assert word in said or word in kept
    with pytest.raises(RecallError):
        session.recall("r-0000000000")


@ANY_API
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_mend_took_away_is_found_after_its_copy_gave_way_to_another(
    api: Api, kind: str
) -> None:
    store = InMemoryStore()
    session = session_of(api, histories(api)[kind], store=store, name="s")
    session.request()
    handles = [kept.handle for kept in session.explain().mends if kept.handle]
    known = {handle: session.recall(handle) for handle in handles}
    assert known or kind != "half an emoji and a NUL"
    session.cancel()
    machine = session._machine
    # Nothing of the mended messages is in the next copy.
    gone = Drop((Span("m0", f"m{len(machine.transcript) - 1}"),), Reason("test", "all of it"))
    record = PlanChanged((gone,), (), 1.0)
    store.append(machine.scope, "s", [record], expected=machine.length)
    machine.load([record])
    session.user("and now?")
    session.request()
    assert not session.explain().mends
    assert {handle: session.recall(handle) for handle in known} == known
    resumed = Session.resume("s", api.options(store=store))
    assert {handle: resumed.recall(handle) for handle in known} == known


@ANY_API
def test_a_real_result_that_comes_after_its_stand_in_was_sent_changes_nothing_in_front(
    api: Api,
) -> None:
    script = [Reply("yes"), Reply("no")]
    with ModelServer(script) as server, api.client(server.url) as client:
        session = session_of(api, [user("go"), a_call(api, "c1"), user("go on")])
        session.reply(api.create(client, session.request()))
        session.append(a_result(api, "c1", "42 lamps"), user("it came late"))
        session.reply(api.create(client, session.request()))
        first, second = (json.loads(r.body)[session._built.wire.key] for r in server.requests)
    assert without_marks(second)[: len(first)] == without_marks(first)
    assert "42 lamps" in json.dumps(second[len(first) :])


@ANY_API
def test_a_whole_history_leaves_as_it_came(api: Api) -> None:
    history = [
        user("go"),
        a_call(api, "c1"),
        a_result(api, "c1", "42 lamps"),
        assistant("42"),
        user("and now?"),
    ]
    session = session_of(api, history)
    request = session.request()
    assert session.explain().mends == ()
    given = session._machine.transcript.messages
    assert all(
        kept is message.data
        for kept, message in zip(session._machine.outgoing.copy.data, given, strict=True)  # type: ignore[union-attr]
    )
    assert request["model"] == api.model


@ANY_API
def test_calls_of_a_reply_still_wait_and_words_in_between_are_refused(api: Api) -> None:
    script = [Reply(calls=[Call("read", {"path": "a"})]), Reply("ok")]
    with ModelServer(script) as server, api.client(server.url) as client:
        session = session_of(api, [user("go"), a_call(api, "old"), user("go on")])
        session.reply(api.create(client, session.request()))
        (call,) = session.calls
        session.results({call.id: "text"})
        session.reply(api.create(client, session.request()))


@ANY_API
@given(
    st.sampled_from(["\x00", "\ud83d", "\udc00\ud83d", "\x00\x00"]),
    st.sets(st.sampled_from(["said", "found", "asked", "thought"]), min_size=1),
)
def test_what_no_json_can_carry_is_replaced_and_the_explanation_says_where(
    api: Api, hostile: str, places: set[str]
) -> None:
    def text(place: str) -> str:
        return f"{place}_before{hostile if place in places else ''}after"

    thinking = {"type": "reasoning", "summary": [{"type": "summary_text", "text": text("thought")}]}
    history = [
        user(text("said")),
        *([thinking] if api.wire == "openai_responses" else [assistant(text("thought"))]),
        a_call(api, "c1", "a"),
        a_result(api, "c1", text("found")),
        assistant(text("asked")),
        user("and now?"),
    ]
    session = session_of(api, history)
    body = session.request().body
    for spelled in (hostile[0], json.dumps(hostile[0])[1:-1]):
        assert spelled.encode("utf-8", "surrogatepass") not in body
    assert json.loads(body)  # It is UTF-8.
    mends = session.explain().mends
    assert {kept.mend.rule for kept in mends} == {"unsendable-text"}
    assert len(mends) == len(places)
    assert all(
        "U+FFFD" in kept.mend.words and kept.source in str(session.explain()) for kept in mends
    )
    originals = "\n".join(session.recall(kept.handle) for kept in mends)
    for place in places:
        assert json.dumps(text(place))[1:-1] in originals


def asked_twice(api: Api, call: str, first: str, second: str) -> dict[str, Any]:
    """A reply with two parallel calls of one id, as some gateways make them."""
    made = [a_call(api, call, path) for path in (first, second)]
    if api.wire == "openai_responses":
        return {"output": made, "usage": {"input_tokens": 5, "output_tokens": 5}}
    if api.wire == "openai_chat":
        whole = {**made[0], "tool_calls": [m["tool_calls"][0] for m in made]}
        usage = {"prompt_tokens": 5, "completion_tokens": 5}
        return {"choices": [{"index": 0, "message": whole}], "usage": usage}
    content = [m["content"][0] for m in made]
    usage = {"input_tokens": 5, "output_tokens": 5}
    return {"type": "message", "role": "assistant", "content": content, "usage": usage}


@ANY_API
@pytest.mark.parametrize("second", ["b", "a"])
def test_parallel_calls_of_one_id_are_answered_one_by_one(api: Api, second: str) -> None:
    with ModelServer([Reply("yes")]) as server, api.client(server.url) as client:
        session = session_of(api, [user("go")])
        session.request()
        session.reply(asked_twice(api, "call_0", "a", second))
        one, other = session.calls
        assert one.id != other.id
        assert (one.input, other.input) == ({"path": "a"}, {"path": second})
        session.results({other.id: "of the second", one.id: "of the first"})
        session.reply(api.create(client, session.request()))
        sent = json.loads(server.requests[0].body)[session._built.wire.key]
    said = json.dumps(sent)
    assert said.index("of the first") < said.index("of the second")
    assert "no result" not in said
    ids = {lens.call_id for m in sent for lens in session._built.wire.lenses(m) if lens.call_id}
    assert len(ids) == 2
    assert not session.calls


BROKEN = st.sampled_from(["drop", "twice", "swap", "cut"])


@pytest.mark.fuzz
@ANY_API
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_cut_doubled_or_shuffled_history_is_taken(api: Api, data: st.DataObject) -> None:
    history: list[JsonObject] = [user("go")]
    for number in range(data.draw(st.integers(1, 4))):
        call = f"c{number % 2}"
        history += [a_call(api, call), a_result(api, call, f"result {number}"), assistant("ok")]
        history.append(user(f"turn {number}"))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(history) - 1))
        match data.draw(BROKEN):
            case "drop" if len(history) > 1:
                del history[at]
            case "twice":
                history.insert(at, history[at])
            case "swap":
                other = data.draw(st.integers(0, len(history) - 1))
                history[at], history[other] = history[other], history[at]
            case _:
                history = history[at:]
    session = session_of(api, [*history, user("last")])
    with ModelServer([Reply("yes")]) as server, api.client(server.url) as client:
        session.reply(api.create(client, session.request()))


def test_options_for_hosts_with_rules_of_their_own() -> None:
    options = Options(strict_alternation=True, id_pattern="^[A-Za-z0-9]{9}$")
    session = Session("claude-opus-4-5", max_tokens=500, options=options)
    session.append(
        user("a"),
        user("b"),
        a_call(ANTHROPIC, "2968-LWy3uasib"),
        a_result(ANTHROPIC, "2968-LWy3uasib", "ok"),
    )
    messages = session.request()["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "user"]
    call, result = messages[1]["content"][0]["id"], messages[2]["content"][0]["tool_use_id"]
    assert call == result
    assert len(call) == 9
