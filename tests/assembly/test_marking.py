"""Cache marks of a session's requests: real SDKs over real HTTP, against what the server bills."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import pytest

from tenure import Session
from tenure.core.message import JsonObject
from tenure.cost.models import profile
from tenure.testing import ModelServer, RecordedRequest, Reply
from tenure.tokens.counter import BlockCounter
from tenure.wire.breakpoints import KEY, OPTIONS
from tests.assembly.apis import ANTHROPIC, CHAT, RESPONSES, Api, answers, content_of, errand

OPENAI = pytest.mark.parametrize("api", [CHAT, RESPONSES], ids=lambda api: api.wire)
RULES = "House rule: be kind and mend what you find. " * 300
HOUR = 3_600.0


def session_of(
    api: Api,
    model: str = "",
    *,
    system: Any = RULES,
    options: dict[str, Any] | None = None,
    cache: JsonObject | None = None,
    tools: Sequence[JsonObject] = (),
) -> Session:
    """A session; `cache` are the caller's `prompt_cache_options`."""
    made: dict[str, Any] = {OPTIONS: cache} if cache else {}
    settings = api.options(**(options or {}))
    return Session(
        model or api.model, max_tokens=500, system=system, tools=tools, options=settings, **made
    )


def turn(api: Api, client: Any, session: Session, text: str = "Go on, please.") -> int:
    """One turn; the tokens that were read from the cache."""
    session.user(text)
    reply = api.create(client, session.request())
    session.reply(reply)
    usage = reply.usage.model_dump()
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details") or {}
    return int(usage.get("cache_read_input_tokens") or details.get("cached_tokens") or 0)


def points(request: RecordedRequest) -> list[JsonObject]:
    """The breakpoints of a request, in order."""
    return [found for _, found in _walk(request.json, ())]


def _walk(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], JsonObject]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in items:
        if key in {KEY, "cache_control"}:
            yield path, item
        else:
            yield from _walk(item, (*path, key))


@OPENAI
def test_where_only_breakpoints_are_cached_a_session_reads_what_it_wrote(api: Api) -> None:
    with ModelServer([Reply("fine")] * 5) as server, api.client(server.url) as client:
        session = session_of(api, cache={"mode": "explicit"})
        read = [
            turn(api, client, session, f"Question {n}. " + "and so on " * 200) for n in range(4)
        ]
        assert read[0] == 0
        assert read[1] > 2_000
        assert read == sorted(read)
        assert all(1 <= len(points(r)) <= 4 for r in server.requests)
        assert server.prefix_breaks == []


def test_chats_that_share_their_system_text_share_what_is_cached_of_it() -> None:
    read = []
    with ModelServer([Reply("fine")] * 2) as server, CHAT.client(server.url) as client:
        for text in ("Mend the build.", "Paint the fence."):
            session = session_of(CHAT, cache={"mode": "explicit"})
            read.append(turn(CHAT, client, session, text))
    assert read[0] == 0
    assert read[1] > 2_000


@OPENAI
def test_the_end_is_left_to_the_api_and_three_breakpoints_are_the_most(api: Api) -> None:
    with ModelServer(errand(12)) as server, api.client(server.url) as client:
        session = session_of(api, tools=[api.tool], options={"window": 30_000})
        session.user("mend it " * 500)
        while True:
            session.reply(api.create(client, session.request()))
            if not session.calls:
                break
            session.results(answers(session.calls))
        assert session.explain().edits
        requests = server.requests
    assert all(r.status == 200 for r in requests)
    assert max(len(points(r)) for r in requests) <= 3
    assert min(len(points(r)) for r in requests[1:]) >= 1
    for request in requests:
        said = request.json.get("messages") or request.json["input"]
        assert KEY not in json.dumps(said[-1])


@OPENAI
def test_body_and_keyword_arguments_carry_the_same_breakpoints(api: Api) -> None:
    session = session_of(api)
    session.user("one")
    session.append({"role": "user", "content": "two"})
    request = session.request()
    assert json.loads(request.body) == json.loads(json.dumps(request))
    session.cancel()
    session.user("three")
    request = session.request()
    assert json.loads(request.body) == json.loads(json.dumps(request))
    said = request.get("messages") or request["input"]
    texts = [
        m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in said
    ]
    assert texts[-3:] == ["one", "two", "three"]
    assert KEY in json.dumps(said[-2])
    # The record keeps what was said as it was said.
    kept = session._machine.transcript.messages
    assert [m.data["content"] for m in kept] == ["one", "two", "three"]


def _own_message(session: Session, api: Api) -> None:
    text = "text" if api is CHAT else "input_text"
    session.user([{"type": text, "text": "go", KEY: {"mode": "explicit"}}])


@OPENAI
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("gpt-5.5", {}),
        ("gpt-4.1", {}),
        ("some-model-of-a-gateway", {}),
        ("gpt-77-unheard-of", {}),
        ("", {"layout": False}),
        ("", {"profile": profile("gpt-6.1-sol").with_(ttl_long=0)}),
    ],
)
def test_no_breakpoints_where_the_model_or_the_caller_wants_none(
    api: Api, model: str, options: dict[str, Any]
) -> None:
    with ModelServer([Reply("fine")] * 2) as server, api.client(server.url) as client:
        session = session_of(api, model, options=options)
        for _ in range(2):
            turn(api, client, session)
        assert [points(r) for r in server.requests] == [[], []]


@OPENAI
def test_a_breakpoint_of_the_callers_own_is_the_only_one(api: Api) -> None:
    session = session_of(api)
    session.user("first")
    _own_message(session, api)
    session.user("last")
    assert session.request().body.count(KEY.encode()) == 1


def test_a_breakpoint_in_the_callers_system_text_is_the_only_one() -> None:
    system = [{"type": "text", "text": RULES, KEY: {"mode": "explicit"}}]
    session = session_of(CHAT, system=system)
    session.user("first")
    session.user("last")
    assert session.request().body.count(KEY.encode()) == 1


# -- lifetimes -----------------------------------------------------------------------------------


def lifetimes(request: RecordedRequest) -> set[str]:
    """The lifetimes that the marks of a request ask for; the short one where none is named."""
    whole = (request.json.get(OPTIONS) or {}).get("ttl")
    marks = [found for _, found in _walk(request.json, ())]
    return {mark.get("ttl") or whole or "short" for mark in marks}


def with_pauses(
    api: Api,
    pauses: Sequence[float],
    *,
    options: dict[str, Any] | None = None,
    cache: JsonObject | None = None,
) -> tuple[list[set[str]], list[int], float]:
    """Turns with these pauses in front of them: lifetimes and cache reads of each request, and what
    all of them cost, in base input tokens."""
    now = [0.0]

    def clock() -> float:
        return now[0]

    with (
        ModelServer(lambda *_: Reply("fine"), clock=clock) as server,
        api.client(server.url) as client,
    ):
        session = session_of(api, options={"clock": clock, **(options or {})}, cache=cache)
        read = []
        for pause in pauses:
            now[0] += pause
            read.append(turn(api, client, session, "More. " * 400))
        assert {r.status for r in server.requests} == {200}
        return [lifetimes(r) for r in server.requests], read, session.explain().ledger.spent


# Pauses that outlive the short lifetime only, and those that outlive both, in seconds.
PAUSES = pytest.mark.parametrize(
    ("api", "pause", "long_pause", "long"),
    [
        (ANTHROPIC, 900.0, 2 * HOUR, "1h"),
        (CHAT, 2 * HOUR, 13 * HOUR, "12h"),
        (RESPONSES, 2 * HOUR, 13 * HOUR, "12h"),
    ],
    ids=["anthropic_messages", "openai_chat", "openai_responses"],
)


@PAUSES
def test_long_pauses_are_met_by_long_lived_marks_that_save_money(
    api: Api, pause: float, long_pause: float, long: str
) -> None:
    asked, read, spent = with_pauses(api, [0, 60, *[pause] * 8])
    assert asked[0] <= {"short"}  # The first request of Responses has no place for one.
    assert asked[1] == {"short"}
    assert asked[-6:] == [{long}] * 6
    # The request after the first of them still found what had been written to live shortly.
    first = asked.index({long})
    assert read[first] == 0
    assert min(read[first + 1 :]) > 3_000
    never = profile(api.model).with_(write_long=None)
    asked, read, dear = with_pauses(api, [0, 60, *[pause] * 8], options={"profile": never})
    assert asked[1:] == [{"short"}] * 9
    assert read[2:] == [0] * 8
    assert spent < 0.6 * dear


@PAUSES
def test_a_session_without_pauses_never_pays_for_the_long_lifetime(
    api: Api, pause: float, long_pause: float, long: str
) -> None:
    asked, read, _ = with_pauses(api, [0, *[60] * 9])
    assert asked[1:] == [{"short"}] * 9
    assert min(read[1:]) > 3_000


@PAUSES
def test_pauses_that_outlive_both_lifetimes_lead_back_to_the_short_one(
    api: Api, pause: float, long_pause: float, long: str
) -> None:
    asked, _, _ = with_pauses(api, [0, *[pause] * 4, *[long_pause] * 12])
    assert {long} in asked
    assert asked[-1] == {"short"}
    # No request mixes them, so none stands in the order that is refused (1h behind 5m).
    assert all(len(each) == 1 for each in asked[1:])


@PAUSES
def test_a_lifetime_is_kept_while_what_was_written_with_it_is_read(
    api: Api, pause: float, long_pause: float, long: str
) -> None:
    asked, read, _ = with_pauses(api, [0, *[pause] * 3, *[10] * 20])
    first = asked.index({long})
    assert asked[first:] == [{long}] * (len(asked) - first)
    assert min(read[first + 1 :]) > 3_000


@OPENAI
def test_a_lifetime_of_the_callers_own_stays(api: Api) -> None:
    asked, read, _ = with_pauses(api, [0, *[2 * HOUR] * 6], cache={"ttl": "30m"})
    assert asked[1:] == [{"30m"}] * 6
    assert max(read) == 0


@pytest.mark.parametrize(
    ("system", "top", "cold"),
    [
        ("5m", "", True),
        ("1h", "", False),
        ("1h", "1h", False),
        ("1h", "5m", True),
        ("", "1h", False),
    ],
)
def test_the_lifetimes_of_the_callers_own_marks_say_when_the_cache_is_cold(
    system: str, top: str, cold: bool
) -> None:
    def mark(ttl: str) -> JsonObject:
        return {"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {}

    now = [0.0]
    blocks = [{"type": "text", "text": RULES, **mark(system)}]
    options = ANTHROPIC.options(clock=lambda: now[0])
    session = Session(ANTHROPIC.model, max_tokens=500, system=blocks, options=options, **mark(top))
    for _ in range(6):
        session.user("More. " * 400)
        body = session.request().body
        assert body.count(b"cache_control") == bool(system) + bool(top)
        session.cancel()
        now[0] += 900
    assert session._machine._is_cold(now[0]) is cold


def test_the_callers_twelve_hours_are_counted_with_when_deciding_whether_the_cache_is_cold() -> (
    None
):
    for ttl, cold in (("30m", True), ("12h", False)):
        session = session_of(RESPONSES, cache={"ttl": ttl})
        session.user("go")
        session.request()
        at = session._machine.last_at
        assert at is not None
        assert session._machine._is_cold(at + 2 * HOUR) is cold


@OPENAI
@pytest.mark.parametrize(
    ("options", "cache"), [({"layout": False}, None), ({}, {"ttl": "30m"}), ({}, None)]
)
def test_a_cache_counts_as_living_long_only_where_the_requests_ask_for_it(
    api: Api, options: dict[str, Any], cache: JsonObject | None
) -> None:
    now = [0.0]
    session = session_of(api, options={**options, "clock": lambda: now[0]}, cache=cache)
    body = b""
    for _ in range(8):
        session.user("More. " * 400)
        body = session.request().body
        session.cancel()
        now[0] += 2 * HOUR
    assert session._machine._is_cold(now[0]) is (b'"12h"' not in body)
    assert (b'"12h"' in body) is (not options and cache is None)


# -- the minimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "claude-opus-4-7", "claude-sonnet-4-6"])
@pytest.mark.parametrize("window", [None, 30_000])
@pytest.mark.parametrize("rules", [0, 40, 150])
def test_no_mark_stands_where_the_model_caches_nothing_yet(
    model: str, window: int | None, rules: int
) -> None:
    """As the server counts it, here like we do: from the second request on, when a report or a
    count says what the bytes come to."""
    least = profile(model).cache_minimum
    counter = BlockCounter(model, "anthropic")
    with (
        ModelServer(errand(14), counter=lambda text: counter.count_text(text).estimate) as server,
        ANTHROPIC.client(server.url) as client,
    ):
        session = session_of(
            ANTHROPIC,
            model,
            system="House rule: be kind. " * rules,
            options={"window": window},
            tools=[ANTHROPIC.tool],
        )
        session.user("mend it")
        while True:
            session.reply(client.messages.create(**session.request()))
            if not session.calls:
                break
            session.results({c.id: content_of(c.input["path"], 300) for c in session.calls})
        for request in server.requests[1:]:
            sizes = list(accumulate(block.tokens for block in request.prompt))
            marked = [n for n, b in zip(sizes, request.prompt, strict=True) if b.ttl is not None]
            assert all(size > 0.8 * least for size in marked), (marked, least)
            assert marked or sizes[-1] < 1.25 * least
        assert server.requests[1].prompt[0].tokens < least
        assert sum(block.tokens for block in server.requests[-1].prompt) > least


def test_marks_are_placed_without_reading_a_text_that_no_decision_needed() -> None:
    session = session_of(ANTHROPIC)
    session.user("go")
    session.request()
    assert session._machine.parts.meter.counted == 0
