"""Summaries by the provider where eviction is not enough: the real SDK, the scripted server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tenure import AsyncSession, Session
from tenure.core.edit import Delegated, Insert
from tenure.core.message import BlockKind, Origin
from tenure.core.protocols import DEFAULT_SCOPE
from tenure.core.record import Compacted
from tenure.errors import ConfigError
from tenure.storage.in_memory import InMemoryStore
from tenure.testing import Call, Failure, ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, CHAT, answers

WINDOW = 60_000
STEPS = 40
BETA = "compact-2026-09-04"
SUMMARY = "The build was mended: 40 files were read."
# Text of the model's own, which no clearing of results frees.
LONG = "I have looked at this part of the build and this is what I think of it. " * 90


def talkative(_body: Any, step: int) -> Reply:
    """An agent that says more than its tools do, and thinks."""
    if step >= STEPS:
        return Reply(text="done", thinking="that is it")
    call = Call("read", {"path": f"src/file_{step}.py"})
    return Reply(f"{step}: {LONG}", thinking=f"thought {step}", calls=[call])


def server_of(script: Any = talkative, **more: Any) -> ModelServer:
    return ModelServer(
        script, **{"summary": lambda _: Reply(SUMMARY), **more, "preserved_thinking": True}
    )


def session_of(client: Any, kind: Any = Session, **options: Any) -> Any:
    return kind(
        ANTHROPIC.model,
        max_tokens=2_000,
        system="You mend builds.",
        tools=[ANTHROPIC.tool],
        options=ANTHROPIC.options(**{"window": WINDOW, "compact": client, **options}),
    )


def play(session: Session, client: Any, *, turns: int = 1) -> None:
    for turn in range(turns):
        session.user(f"wish {turn}: keep rule {turn} in mind")
        while True:
            session.reply(ANTHROPIC.create(client, session.request()))
            if not session.calls:
                break
            session.results(answers(session.calls))


def compactions(server: ModelServer) -> list[Any]:
    return [b for b in map(json.loads, (r.body for r in server.requests)) if "compaction" in b]


def sent(server: ModelServer) -> list[Any]:
    return [json.loads(r.body) for r in server.requests if r.generates]


def holds_summary(body: Any) -> bool:
    first = body["messages"][0]["content"]
    return isinstance(first, list) and first[0]["type"] == "compaction"


def test_a_session_that_would_end_goes_on_with_a_summary() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client)
        play(session, client)
        bodies = sent(server)
        asked = compactions(server)
        headers = [r.headers.get("anthropic-beta", "") for r in server.requests if r.generates]
        assert {r.status for r in server.requests} == {200}
        assert len(server.prefix_breaks) <= len(asked)
    assert len(bodies) == STEPS + 1
    # More than one window of text went through, and each summary replaced the one before.
    assert len(asked) >= 2
    with_summary = [holds_summary(body) for body in bodies]
    first = with_summary.index(True)
    assert with_summary == [at >= first for at in range(len(bodies))]
    assert all(
        (BETA in header) == holds for header, holds in zip(headers, with_summary, strict=True)
    )
    last = bodies[-1]["messages"]
    assert json.dumps(last).count('"type": "compaction"') == 1
    assert "wish 0: keep rule 0 in mind" in json.dumps(last)
    # Thinking of the kept part left as it was given: the server would have refused it otherwise.
    assert json.dumps(last).count('"type": "thinking"') > 0
    (made,) = (e for e in edits_of(session) if e.span)
    assert (made.applied, made.edit) == (True, "compaction")
    assert made.reason.price > 0
    assert made.reason.tokens_before > made.reason.tokens_after > 0
    assert [w.way for w in made.reason.weighed] == ["compaction", "evict"]
    assert "summarised" in str(session.explain())
    assert made.span is not None
    (told,) = (e for e in session.explain().as_dict()["edits"] if e["edit"] == "delegated")
    assert told["targets"] == [[made.span.first, made.span.last]]
    assert f'handle "{made.handle}"' in json.dumps(last).replace("\\", "")


def edits_of(session: Session) -> list[Delegated]:
    return [e for e in session.explain().edits if isinstance(e, Delegated)]


def thoughts(body: Any) -> int:
    return json.dumps(body["messages"]).count('"type": "thinking"')


def test_without_a_client_the_same_session_loses_its_thinking() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(None)
        play(session, client)
        assert compactions(server) == []
        assert min(map(thoughts, sent(server)[20:])) <= 1


def test_the_request_for_a_summary_is_the_conversation_as_it_was_sent() -> None:
    store = InMemoryStore()
    params: dict[str, Any] = {"stop_sequences": ["STOP"], "tool_choice": {"type": "auto"}}
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = Session(
            ANTHROPIC.model,
            max_tokens=2_000,
            system="You mend builds.",
            tools=[ANTHROPIC.tool],
            options=ANTHROPIC.options(window=WINDOW, compact=client, store=store, name="s"),
            **params,
        )
        play(session, client)
        every = [(r, json.loads(r.body)) for r in server.requests]
    at = next(n for n, (_, body) in enumerate(every) if "compaction" in body)
    (_, asked), before = every[at], every[at - 1][1]
    assert "stop_sequences" in before
    assert "stop_sequences" not in asked
    assert (asked["system"], asked["tools"]) == (before["system"], before["tools"])
    count = len(asked["messages"])
    assert plain(asked["messages"]) == plain(before["messages"][:count])
    # It is read from the prompt cache that the requests before it have written, and is on the bill.
    made = next(r for r in store.read(DEFAULT_SCOPE, "s") if isinstance(r, Compacted))
    assert made.usage is not None
    assert made.usage.cache_read > 10 * (made.usage.fresh + made.usage.cache_write)


def plain(messages: list[Any]) -> list[Any]:
    """Messages without cache marks, a text as a block of text."""
    made: list[Any] = json.loads(json.dumps(messages))
    for message in made:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        for block in message["content"]:
            block.pop("cache_control", None)
    return made


def test_what_was_summarised_comes_back_by_its_handle() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        store = InMemoryStore()
        session = session_of(client, store=store, name="s")
        play(session, client, turns=2)
        (made,) = (e for e in edits_of(session) if e.span)
        transcript = session._machine.transcript
        assert made.span is not None
        whole = session.recall(made.handle)
        for blocks in transcript.blocks[: made.span.bounds[1] + 1]:
            for number, block in enumerate(blocks):
                assert block.text in whole, (block.index, number)
        assert session.recall(made.handle, pattern="^7: I have")
        # Handles of summaries that gave way stay good.
        handles = [
            h for h, e in session._machine.handles.items() if isinstance(e, Delegated) and e.span
        ]
        assert len(handles) >= 2
        assert all(session.recall(handle) for handle in handles)
        resumed = Session.resume("s", ANTHROPIC.options(window=WINDOW, store=store, compact=client))
        assert resumed._machine.plan == session._machine.plan
        assert resumed._machine.ledger == session._machine.ledger
        # Nobody is asked again for what the log holds, and what was sent is sent again.
        known, last = len(compactions(server)), sent(server)[-1]["messages"]
        resumed.user("and now?")
        again = plain(json.loads(resumed.request().body)["messages"])
        assert again[: len(last)] == plain(last)
        assert len(compactions(server)) == known


def test_every_word_of_the_user_leaves_with_each_request() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client)
        play(session, client, turns=3)
        for body in sent(server):
            text = json.dumps(body["messages"], ensure_ascii=False)
            turns = text.count("wish 0")
            assert turns >= 1
        last = json.dumps(sent(server)[-1]["messages"])
        for turn in range(3):
            assert f"wish {turn}: keep rule {turn} in mind" in last


FAILURES: dict[str, Any] = {
    "overloaded": lambda _: Failure(529, "Overloaded"),
    "blank": lambda _: Reply(""),
    "cut": lambda _: Reply("", stop="length"),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_where_no_summary_comes_the_reason_is_told_and_the_session_edits_itself(kind: str) -> None:
    with server_of(summary=FAILURES[kind]) as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client.with_options(max_retries=0))
        play(session, client)
        assert {r.status for r in server.requests if r.generates} <= {200, 529}
        # Less and less often, and what was asked in vain is on the bill where it was used.
        assert 1 <= len(compactions(server)) <= 4
        assert "the provider made no summary" in str(session.explain())
        assert not any(e.span for e in edits_of(session))


def test_after_a_failure_it_is_asked_again_some_steps_later() -> None:
    seen = 0

    def second(_body: Any) -> Any:
        nonlocal seen
        seen += 1
        return Failure(529, "Overloaded") if seen == 1 else Reply(SUMMARY)

    with server_of(summary=second) as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client.with_options(max_retries=0), delegate=False)
        play(session, client)
        assert seen >= 2
        assert any(e.span for e in edits_of(session))


class Odd:
    """A client whose provider answers as it likes."""

    def __init__(self, answer: Any) -> None:
        self.beta = self.messages = self
        self.answer = answer

    def create(self, **_: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def block(content: Any, **more: Any) -> dict[str, Any]:
    made = {"type": "compaction", "content": content, "signature": "c2ln", **more}
    used = {"type": "compaction", "input_tokens": 40_000, "output_tokens": 900}
    return {
        "content": [made],
        "stop_reason": "compaction",
        "usage": {"input_tokens": 0, "output_tokens": 0, "iterations": [used]},
    }


ODD: dict[str, tuple[Any, str]] = {
    "nothing": (None, "not a JSON object"),
    "no object": ([1], "not a JSON object"),
    "an error": ({"type": "error", "error": {"message": "no"}}, "answered with an error: no"),
    "two blocks": ({"content": [*block("a")["content"] * 2], "stop_reason": "x"}, "stopped with"),
    "no text": (block(5), "stopped with"),
    "blanks": (block(" \n"), "stopped with"),
    "half a character": (block("a\ud800b"), "breaks the rule compaction-shape"),
    "other fields": (block("gist", more=1), "breaks the rule compaction-shape"),
    "larger than what it sums up": (block("word " * 200_000), "save less than half"),
    "a broken line": (ConnectionError("reset"), "ConnectionError: reset"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_cannot_stand_for_the_conversation_is_no_summary(kind: str) -> None:
    answer, words = ODD[kind]
    store = InMemoryStore()
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(Odd(answer), store=store, name="s")
        play(session, client)
        assert {r.status for r in server.requests} == {200}
    assert words in str(session.explain())
    assert not any(e.span for e in edits_of(session))
    tried = [r for r in store.read(DEFAULT_SCOPE, "s") if isinstance(r, Compacted)]
    assert tried
    assert not any(record.made for record in tried)
    if isinstance(answer, dict) and "usage" in answer:
        assert all(r.usage and (r.usage.fresh, r.usage.output) == (40_000, 900) for r in tried)


def test_a_mistake_of_the_callers_client_is_raised() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(Odd(ZeroDivisionError("mine")))
        with pytest.raises(ZeroDivisionError):
            play(session, client)
        # The session stands as it was, and goes on when the client does.
        session._built.summarizer._ask = lambda _: None
        session.reply(ANTHROPIC.create(client, session.request()))


class Unreliable(InMemoryStore):
    """Fails to write each record of a summary once, before or after it wrote it."""

    def __init__(self, *, after: bool) -> None:
        super().__init__()
        self.failed = 0
        self._after = after
        self._seen: list[int] = []

    def append(self, scope: Any, session: str, records: Any, *, expected: int) -> int:
        fails = isinstance(records[0], Compacted) and expected not in self._seen
        self._seen.append(expected)
        self.failed += fails
        if fails and not self._after:
            raise OSError("the disk is full")
        length = super().append(scope, session, records, expected=expected)
        if fails:
            raise OSError("the connection broke")
        return length


@pytest.mark.parametrize("after", [False, True])
def test_a_summary_that_could_not_be_saved_is_not_asked_for_twice(*, after: bool) -> None:
    store = Unreliable(after=after)
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client, store=store, name="s")
        session.user("wish 0")
        while True:
            try:
                request = session.request()
            except OSError:
                request = session.request()
            session.reply(ANTHROPIC.create(client, request))
            if not session.calls:
                break
            session.results(answers(session.calls))
        made = [r for r in store.read(DEFAULT_SCOPE, "s") if isinstance(r, Compacted)]
        assert len(compactions(server)) == len(made) == store.failed >= 2
        assert {r.status for r in server.requests} == {200}


def test_an_async_session_awaits_the_summary() -> None:
    async def run() -> None:
        with server_of() as server:
            client = ANTHROPIC.async_client(server.url)
            session = session_of(client, AsyncSession)
            await session.user("wish 0")
            while True:
                await session.reply(await ANTHROPIC.create(client, await session.request()))
                if not session.calls:
                    break
                await session.results(answers(session.calls))
            await client.close()
            assert {r.status for r in server.requests} == {200}
            assert len(compactions(server)) >= 2

    asyncio.run(run())


def test_a_client_that_cannot_is_refused_when_the_session_is_made() -> None:
    for client, words in ((object(), "object is none"), (lambda _: 1, "is none")):
        with pytest.raises(ConfigError, match=words):
            session_of(client)
    with (
        ANTHROPIC.client("http://x") as client,
        pytest.raises(ConfigError, match="is asked for none"),
    ):
        Session(CHAT.model, options=CHAT.options(compact=client))
    later = ANTHROPIC.async_client("http://x")
    with pytest.raises(ConfigError, match="AsyncSession"):
        session_of(later)
    asyncio.run(later.close())


def test_what_is_pinned_is_never_summarised() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client)
        session.user("never touch this " * 20, pinned=True)
        play(session, client)
        assert compactions(server) == []
        weighed = [w for e in session.explain().edits for w in e.reason.weighed]
        notes = {w.note for w in weighed if w.way == "compaction"}
        assert notes == {"there is no complete exchange that may go and can be summarised"}


def test_where_the_model_can_recall_nothing_it_is_told_of_no_recall() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client, recall=False)
        play(session, client)
        last = sent(server)[-1]
        assert holds_summary(last)
        assert "recall" not in json.dumps(last)
        assert "wish 0: keep rule 0 in mind" in json.dumps(last["messages"])


def test_the_note_is_said_once_and_stays() -> None:
    with server_of() as server, ANTHROPIC.client(server.url) as client:
        session = session_of(client)
        play(session, client)
        shown = [e for e in session.explain().edits if isinstance(e, Insert)]
        plan = session._machine.plan
        assert sum(plan.shows(e) for e in shown) == 1
        origins = {
            b.origin
            for bs in session._machine.transcript.blocks
            for b in bs
            if b.kind is BlockKind.TEXT
        }
        assert Origin.HARNESS not in origins
