"""Cases of the field that only show over the requests of a session."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.policies import ClearToolResults
from tenure.storage.in_memory import InMemoryStore
from tests.assembly.apis import ANTHROPIC
from tests.cases import case_input, expanded


def test_what_was_sent_as_a_tombstone_stays_the_same_tombstone_after_a_restart_too() -> None:
    case = expanded(case_input("038"))
    keep, store = case["evict"]["keep_recent_results"], InMemoryStore()

    def options() -> Options:
        return Options(policy=ClearToolResults(trigger=0, keep=keep), store=store, name="s")

    session = Session("claude-opus-4-5", max_tokens=500, options=options())
    session.append(*case["messages"])
    first = session.request().body
    session.reply({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"})
    bodies = [first]
    for turn in range(case["turns"]):
        session = Session.resume("s", options())
        session.user(f"turn {turn}")
        bodies.append(session.request().body)
        session.reply({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"})
    stubs = {json.dumps(json.loads(body)["messages"][2]["content"][0]) for body in bodies}
    assert len({stub.split("cache_control")[0] for stub in stubs}) == 1
    assert all("row row" not in stub for stub in stubs)


@given(st.integers(100, 4_000), st.sampled_from(["🟢", "a🟢", "é🟢漢", "👩‍👩‍👧"]))
def test_shortening_never_cuts_a_character_in_half(times: int, character: str) -> None:
    (_, asks, answers) = case_input("123")["messages"]
    assert answers["content"][0]["content"].startswith("🟢")
    session = Session(
        "claude-opus-4-5",
        max_tokens=300,
        tools=[ANTHROPIC.tool],
        options=Options(window=4_000, usable_window=3_000),
    )
    session.user("status")
    session.request()
    session.reply({"content": asks["content"]})
    session.results({"s1": character * times})
    body = session.request().body
    sent = body.decode("utf-8")
    assert "\\ud83d" not in sent
    assert "\ufffd" not in sent
