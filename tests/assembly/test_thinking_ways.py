"""Edits of ours on a model that binds thinking to its prefix: stripped, or dropped by the provider."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest

from tenure import Session
from tenure.core.edit import Delegated, Drop, Edit, Replace
from tenure.core.message import Origin
from tenure.core.server_edit import DROP_THINKING
from tenure.testing import ModelServer, Reply
from tests.assembly.apis import ANTHROPIC, answers, errand

STEPS, WINDOW = 42, 30_000
THOUGHT = "let me think about this file"
BINDING = "thinking-binding-controls-2026-08-01"
DROPPING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def play(
    session: Session, *, beta: bool = False, stream: bool = False
) -> tuple[list[Any], list[Any]]:
    """The bodies and headers of a whole loop, every one of which the server took."""
    with ModelServer(errand(STEPS, thinking=THOUGHT), preserved_thinking=True) as server:
        with anthropic.Anthropic(base_url=server.url, api_key="key") as client:
            create: Any = client.beta.messages.create if beta else client.messages.create
            session.user("go")
            while True:
                if stream:
                    with create(**session.request(), stream=True) as events:
                        for _ in session.stream(events):
                            pass
                else:
                    session.reply(create(**session.request()))
                if not session.calls:
                    break
                session.results(answers(session.calls))
        assert {r.status for r in server.requests} == {200}
        assert len(server.requests) == STEPS + 1
        return [json.loads(r.body) for r in server.requests], [r.headers for r in server.requests]


def session_of(thinking: Any = None, *, first: dict[str, Any] | None = None, **options: Any) -> Any:
    params = {"thinking": thinking} if thinking else {}
    return Session(
        ANTHROPIC.model,
        max_tokens=2_000,
        system="You mend builds.",
        tools=[ANTHROPIC.tool],
        options=ANTHROPIC.options(**{"window": WINDOW, "delegate": False, **options}),
        **params,
        **(first or {}),
    )


def of(session: Session, kind: type[Edit]) -> list[Edit]:
    return [e for e in session.explain().edits if isinstance(e, kind)]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("beta", [False, True], ids=["GA", "beta"])
def test_who_has_thinking_dropped_anyway_loses_none_to_stripping(
    *, beta: bool, stream: bool
) -> None:
    head: dict[str, Any] = (
        {"betas": [BINDING]} if beta else {"extra_headers": {"anthropic-beta": BINDING}}
    )
    if not beta:
        head["extra_body"] = {"thinking": DROPPING}
    session = session_of(DROPPING if beta else None, first=head)
    sent, headers = play(session, beta=beta, stream=stream)
    assert json.dumps(sent[-1]).count(THOUGHT) == STEPS
    assert all(body["thinking"] == DROPPING for body in sent)
    assert all(BINDING in one["anthropic-beta"] for one in headers)
    (edit,) = of(session, Delegated)
    assert isinstance(edit, Delegated)
    assert edit.edit == DROP_THINKING
    assert edit.applied
    assert of(session, Replace)
    assert not of(session, Drop)
    assert THOUGHT in session.recall(edit.handle)


def test_otherwise_it_is_stripped_and_no_setting_changes() -> None:
    session = session_of({"type": "adaptive"})
    sent, _ = play(session)
    assert json.dumps(sent[-1]).count(THOUGHT) < STEPS
    assert all(body["thinking"] == {"type": "adaptive"} for body in sent)
    assert of(session, Drop)
    assert not of(session, Delegated)


@pytest.mark.parametrize("beta", [False, True], ids=["GA", "beta"])
def test_pinned_thinking_leaves_as_it_is_and_the_provider_drops_it(*, beta: bool) -> None:
    """Stripping is cheaper, but what the caller pinned may not go: the session asks for the drop,
    with its header, on every request from then on."""
    script = [*errand(STEPS, thinking=THOUGHT), *([Reply("well")] * 3)]
    head: Any = {"betas": ["other-2026-01-01"]} if beta else {}
    with (
        ModelServer(script, preserved_thinking=True) as server,
        anthropic.Anthropic(base_url=server.url, api_key="key") as client,
    ):
        create: Any = client.beta.messages.create if beta else client.messages.create
        whole = session_of({"type": "adaptive"}, first=head, window=200_000)
        whole.user("go")
        while True:
            whole.reply(create(**whole.request()))
            if not whole.calls:
                break
            whole.results(answers(whole.calls))
        known = len(server.requests)
        session = session_of({"type": "adaptive"}, first=head)
        for message in whole._machine.transcript.messages:
            session.append(message.data, pinned=message.origin is Origin.ASSISTANT)
        for number in range(3):
            session.user(f"and {number}?")
            session.reply(create(**session.request()))
    assert {r.status for r in server.requests} == {200}
    sent = [json.loads(r.body) for r in server.requests[known:]]
    for body, asked in zip(sent, server.requests[known:], strict=True):
        assert json.dumps(body).count(THOUGHT) == STEPS
        assert body["thinking"] == DROPPING
        betas = asked.headers["anthropic-beta"].split(",")
        assert betas.count(BINDING) == 1
        assert ("other-2026-01-01" in betas) == beta
    (edit,) = of(session, Delegated)
    assert isinstance(edit, Delegated)
    assert (edit.edit, edit.applied) == (DROP_THINKING, True)
    assert not of(session, Drop)
    assert "the provider leaves it out" in edit.reason.words
    assert session.recall(edit.handle).count(THOUGHT) == len(edit.targets) > 1


def test_the_prices_of_all_ways_are_shown() -> None:
    session = session_of({"type": "adaptive"})
    play(session)
    weighed = next(e.reason.weighed for e in session.explain().edits if e.reason.weighed)
    by_way = {one.way: one for one in weighed}
    assert list(by_way) == ["delegate", "compaction", "strip", "drop_block", "wait"]
    assert by_way["strip"].note == "chosen"
    assert by_way["drop_block"].price > by_way["strip"].price
    assert by_way["delegate"].note == "not to be asked of the provider"
    assert by_way["wait"].note == "the window is full"
    text = str(session.explain())
    assert "strip costs" in text
    assert "to make room now: delegate costs" in text
