"""What Claude Code's rows become: replies, arrivals, threads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Origin
from tenure.core.usage import Usage
from tenure.wire.detect import wire_for
from tests.cases import case_input
from tests.traces.rows import (
    boundary,
    call,
    reply,
    result,
    spoken,
    text,
    tool_result,
    trace_of,
    usage,
    user,
)


def rows_of(number: str) -> list[Any]:
    return [json.loads(line) for line in case_input(number)["lines"]]


def test_rows_of_one_message_id_are_one_call_with_the_largest_usage() -> None:
    (thread,) = trace_of(rows_of("073")).threads
    (step,) = thread.steps
    assert step.usage == Usage(fresh=2, cache_read=15030, cache_write=8655, output=377)
    (message,) = step.reply
    assert [block["type"] for block in message.data["content"]] == ["thinking", "text", "tool_use"]


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=4))
def test_usage_counts_once_a_reply_however_many_rows_it_has(outputs: list[list[int]]) -> None:
    rows = [
        reply(f"{number}.{place}", None, f"msg_{number}", text("x"), usage=usage(output))
        for number, replied in enumerate(outputs)
        for place, output in enumerate(replied)
    ]
    for row in rows:
        del row["parentUuid"]
    (thread,) = trace_of(rows).threads
    used = [step.usage.output for step in thread.steps if step.usage]
    assert used == [max(replied) for replied in outputs]


NAMED = {
    "both": ("id", "requestId"),
    "message": ("id",),
    "request": ("requestId",),
    "neither": (),
}


@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.booleans()),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_the_rows_of_one_request_are_billed_once_whatever_names_it(
    requests: list[tuple[list[int], bool]], data: st.DataObject
) -> None:
    """Rows name the request by message, by request id, by both or not at all, each row its own way
    as long as one name is left; a request follows the one before at once, or behind other words."""
    rows: list[Any] = []
    parent = None
    for number, (outputs, said) in enumerate(requests):
        if said or not rows:
            rows.append(user(f"u{number}", parent, "go on"))
            parent = f"u{number}"
        way = data.draw(st.sampled_from(sorted(NAMED)))
        for place, output in enumerate(outputs):
            uuid = f"{number}.{place}"
            used = usage(output, fresh=100 + number)
            row = reply(
                uuid, parent, f"msg_{number}", text(uuid), usage=used, requestId=f"r{number}"
            )
            own = data.draw(st.sampled_from(["both", "request"])) if way == "both" else way
            if "id" not in NAMED[own]:
                row["message"]["id"] = data.draw(st.sampled_from([None, "", 7]))
            if "requestId" not in NAMED[own]:
                del row["requestId"]
            rows.append(row)
            parent = uuid
    trace = trace_of(rows)
    steps = [step for thread in trace.threads for step in thread.steps]
    found = [(step.usage.fresh, step.usage.output) for step in steps if step.usage]
    assert found == [(100 + n, max(outputs)) for n, (outputs, _) in enumerate(requests)]
    assert [len(step.reply[0].data["content"]) for step in steps] == [len(o) for o, _ in requests]


def test_two_messages_under_one_request_id_are_two_replies() -> None:
    rows = [user("u", None, "go")]
    rows += [reply(n, "u", f"msg_{n}", text(n), requestId="r") for n in ("a", "b", "a2")]
    rows[-1]["message"]["id"] = "msg_a"
    trace = trace_of(rows)
    assert sorted(s.request_id for t in trace.threads for s in t.steps) == ["msg_a", "msg_b"]


def test_rows_that_name_no_request_are_two_when_something_was_said_between_them() -> None:
    rows = [user("u", None, "go")]
    for parent, uuid in (("u", "a"), ("w", "b")):
        row = reply(uuid, parent, "", text(uuid))
        rows += [row, user("w", "a", "and?")] if uuid == "a" else [row]
    assert [len(thread.steps) for thread in trace_of(rows).threads] == [2]


def test_sub_agents_and_compactions_are_threads_and_strange_rows_are_counted() -> None:
    trace = trace_of(rows_of("138"))
    first, second, side = trace.threads
    assert (first.kind, first.steps, len(first.tail)) == ("main", (), 1)
    assert (second.after_compaction, second.tokens_before_compaction) == (True, 167_000)
    assert [step.usage for step in second.steps] == [Usage(fresh=3, cache_write=30_000, output=9)]
    assert (side.kind, [step.usage for step in side.steps]) == (
        "sidechain",
        [Usage(fresh=10, output=5)],
    )
    assert trace.skipped == {"brand-new-kind": 1}


@given(st.lists(st.sampled_from("msxc"), max_size=12))
def test_main_and_sub_agent_calls_never_mix(kinds: list[str]) -> None:
    rows: list[Any] = [user("u", None, "go")]
    main = ["u"]
    for number, kind in enumerate(kinds):
        uuid = f"{kind}{number}"
        if kind == "m":
            rows.append(reply(uuid, main[-1], uuid, text(uuid), usage=usage(number)))
            main.append(uuid)
        elif kind == "s":
            extra = {"isSidechain": True, "usage": usage(number)}
            rows.append(reply(uuid, main[-1], uuid, text(uuid), **extra))
        elif kind == "c":
            rows.append(boundary(uuid, 1_000 + number))
            main.append(uuid)
        else:
            rows.append({"type": "brand-new-kind", "uuid": uuid, "parentUuid": main[-1]})
    trace = trace_of(rows)
    ids = {
        kind: [one.request_id for each in trace.threads if each.kind == kind for one in each.steps]
        for kind in ("main", "sidechain")
    }
    assert ids["main"] == [f"m{n}" for n, kind in enumerate(kinds) if kind == "m"]
    assert sorted(ids["sidechain"]) == sorted(f"s{n}" for n, k in enumerate(kinds) if k == "s")
    before = [one.tokens_before_compaction for one in trace.threads if one.after_compaction]
    assert before == [1_000 + n for n, kind in enumerate(kinds) if kind == "c"]
    assert trace.skipped.get("brand-new-kind", 0) == kinds.count("x")


@given(st.permutations(range(3)), st.integers(0, 3))
def test_parallel_results_make_one_message_behind_their_reply(order: list[int], early: int) -> None:
    """Whether the rows of results stand behind all calls or between them, in any order."""
    calls = [
        reply(f"a{n}", f"a{n - 1}" if n else "u", "msg_1", call(f"toolu_{n}")) for n in range(3)
    ]
    results = [result(f"r{n}", f"a{n}", f"toolu_{n}") for n in order]
    for one in [one for one in results if int(one["uuid"][1]) < early]:
        results.remove(one)
        calls.insert(calls.index(next(c for c in calls if c["uuid"] == one["parentUuid"])) + 1, one)
    rows = [user("u", None, "go"), *calls, *results]
    last = rows[-1]["uuid"]
    trace = trace_of([*rows, reply("b", last, "msg_2", text("all read"))])
    (thread,) = trace.threads
    first, second = thread.steps
    assert first.request_id == "msg_1"
    (answered,) = second.arrivals
    assert answered.origin is Origin.TOOL
    assert {one["tool_use_id"] for one in answered.data["content"]} == {
        "toolu_0",
        "toolu_1",
        "toolu_2",
    }
    assert trace.damage == ()
    request = [message.data for message in thread.request(1)]
    assert wire_for("anthropic_messages").violations(request) == []


def test_words_between_results_follow_them_with_their_own_origin() -> None:
    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", call("t1")),
        reply("b", "a", "msg_1", call("t2")),
        result("r1", "a", "t1"),
        user("w", "r1", [text("Skill: how to read")], isMeta=True),
        result("r2", "b", "t2"),
        user("q", "r2", [text("and hurry"), tool_result("t0", "late")]),
        reply("c", "q", "msg_2", text("ok")),
    ]
    trace = trace_of(rows)
    (thread,) = trace.threads
    arrived = thread.steps[1].arrivals
    assert [message.origin for message in arrived] == [Origin.TOOL, Origin.HARNESS, Origin.USER]
    assert spoken(trace)[0][3:] == ["=t1", "=t2", "=t0", "Skill: how to read", "and hurry", "ok"]
    assert [one.words for one in trace.damage] == [
        "a result for 't0', which the reply before did not call"
    ]


def test_an_abandoned_branch_is_a_thread_that_inherits_what_was_said_before_it() -> None:
    rows = [
        user("u", None, "start"),
        reply("a", "u", "msg_1", call("t1")),
        result("r", "a", "t1"),
        reply("b", "r", "msg_2", text("read")),
        user("v", "b", "do it badly"),
        reply("c", "v", "msg_3", text("bad")),
        user("w", "b", "do it well"),
        reply("d", "w", "msg_4", text("good")),
    ]
    trace = trace_of(rows)
    shared = ["start", "t1", "=t1", "read"]
    assert spoken(trace) == [
        [*shared, "do it well", "good"],
        [*shared, "do it badly", "bad"],
    ]
    assert [[step.request_id for step in thread.steps] for thread in trace.threads] == [
        ["msg_1", "msg_2", "msg_4"],
        ["msg_3"],
    ]


def test_words_taken_back_before_any_reply_are_counted() -> None:
    rows = [
        user("u", None, "hello"),
        reply("a", "u", "msg_1", text("hi")),
        user("v", "a", "It"),
        user("w", "a", "I think so"),
        reply("b", "w", "msg_2", text("fine")),
    ]
    trace = trace_of(rows)
    assert spoken(trace) == [["hello", "hi", "I think so", "fine"]]
    assert trace.skipped == {"abandoned by a rewind": 1}


@st.composite
def trees(draw: st.DrawFn) -> list[Any]:
    """A session in which a person rewinds at will."""
    rows: list[Any] = [user("0", None, "0")]
    for number in range(1, draw(st.integers(1, 14))):
        parent = rows[draw(st.integers(0, len(rows) - 1))]
        uuid = str(number)
        if parent["type"] == "user":
            rows.append(reply(uuid, parent["uuid"], f"msg_{uuid}", text(uuid)))
        else:
            rows.append(user(uuid, parent["uuid"], uuid))
    return rows


@given(trees())
def test_every_reply_is_one_step_and_each_request_is_its_own_ancestry(rows: list[Any]) -> None:
    trace = trace_of(rows)
    parent = {row["uuid"]: row["parentUuid"] for row in rows}
    answered = {}
    for thread in trace.threads:
        for number, step in enumerate(thread.steps):
            said = [message.data["content"] for message in thread.request(number)]
            flat = [one if isinstance(one, str) else one[0]["text"] for one in said]
            assert step.request_id not in answered
            answered[step.request_id] = flat
    assert set(answered) == {row["message"]["id"] for row in rows if row["type"] == "assistant"}
    for message_id, flat in answered.items():
        line = []
        above = parent[message_id.removeprefix("msg_")]
        while above is not None:
            line.append(above)
            above = parent[above]
        assert flat == line[::-1]


def test_an_interrupted_call_is_named_when_the_session_went_on() -> None:
    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", call("t1", tool="Bash")),
        user("i", "a", [text("[Request interrupted by user]")]),
        user("v", "i", "rather not"),
        reply("b", "v", "msg_2", call("t2")),
    ]
    trace = trace_of(rows)
    (damage,) = trace.damage
    assert damage.line == 2
    assert damage.words == "call 't1' (Bash) never got a result, yet the session went on"
    (thread,) = trace.threads
    origins = [message.origin for message in thread.steps[1].arrivals]
    assert origins == [Origin.HARNESS, Origin.USER]


def test_replies_that_no_model_gave_are_counted() -> None:
    rows = [
        user("u", None, "go"),
        reply("e", "u", "x1", text("API Error: 529"), isApiErrorMessage=True),
        reply("s", "e", "x2", text("No response requested."), model="<synthetic>"),
        reply("a", "s", "msg_1", text("hi")),
    ]
    trace = trace_of(rows)
    assert spoken(trace) == [["go", "hi"]]
    assert trace.skipped == {"synthetic reply": 2}
    assert trace.model == "claude-opus-4-6"


def test_a_repeated_uuid_is_taken_once() -> None:
    rows = [user("u", None, "go"), reply("a", "u", "msg_1", text("hi"))]
    trace = trace_of([*rows, *rows])
    assert spoken(trace) == [["go", "hi"]]
    assert trace.skipped == {"repeated uuid": 2}


def test_a_lost_row_does_not_break_the_conversation() -> None:
    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", text("one")),
        user("w", "lost", "and now"),
        reply("b", "w", "msg_2", text("two")),
    ]
    assert spoken(trace_of(rows)) == [["go", "one", "and now", "two"]]


def test_the_summary_is_the_first_thing_that_arrives_after_a_compaction() -> None:
    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", text("one")),
        boundary("c", 150_000),
        user("s", "c", "This session is being continued", isCompactSummary=True),
        user("v", "s", "go on"),
        reply("b", "v", "msg_2", text("two")),
        user("t", None, "Summary without a boundary", isCompactSummary=True),
        reply("d", "t", "msg_3", text("three")),
    ]
    trace = trace_of(rows)
    assert [(one.name, one.after_compaction) for one in trace.threads] == [
        ("main", False),
        ("main-2", True),
        ("main-3", True),
    ]
    assert [message.origin for message in trace.threads[1].steps[0].arrivals] == [
        Origin.HARNESS,
        Origin.USER,
    ]


def test_a_sub_agent_in_progress_rows_is_a_thread_of_its_own() -> None:
    def progress(number: int, row: Any) -> Any:
        carried = {key: value for key, value in row.items() if key != "parentUuid"}
        data = {"type": "agent_progress", "agentId": "a7", "message": carried}
        return {"parentUuid": "a", "uuid": f"p{number}", "type": "progress", "data": data}

    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", call("t1", tool="Task")),
        progress(1, user("s1", None, [text("look around")])),
        progress(2, reply("s2", None, "msg_s", call("t2"))),
        progress(3, result("s3", None, "t2")),
        result("r", "a", "t1"),
        reply("b", "r", "msg_2", text("done")),
    ]
    trace = trace_of(rows)
    assert [(one.name, one.kind) for one in trace.threads] == [
        ("main", "main"),
        ("agent a7", "sidechain"),
    ]
    assert spoken(trace) == [["go", "t1", "=t1", "done"], ["look around", "t2", "=t2"]]


def test_what_was_typed_while_the_model_was_busy_is_the_users() -> None:
    queued = {"type": "queued_command", "prompt": "also the tests"}
    noted = {"type": "queued_command", "prompt": "<task-notification>\n<task-id>b1"}
    link = {"type": "attachment", "uuid": "q", "parentUuid": "r", "attachment": queued}
    note = {"type": "attachment", "uuid": "n", "parentUuid": "q", "attachment": noted}
    rows = [
        user("u", None, "go"),
        reply("a", "u", "msg_1", call("t1")),
        result("r", "a", "t1"),
        link,
        note,
        reply("b", "n", "msg_2", text("both")),
    ]
    (thread,) = trace_of(rows).threads
    origins = [message.origin for message in thread.steps[1].arrivals]
    assert origins == [Origin.TOOL, Origin.USER, Origin.HARNESS]


@pytest.mark.parametrize(
    "words",
    [
        "<command-name>/clear</command-name>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<system-reminder>\nnote</system-reminder>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "[Request interrupted by user for tool use]",
    ],
)
def test_what_the_harness_says_in_the_users_role_is_not_the_users(words: str) -> None:
    for content in (words, [text(words)]):
        (thread,) = trace_of([user("u", None, content)]).threads
        assert [message.origin for message in thread.tail] == [Origin.HARNESS]
    (thread,) = trace_of([user("u", None, [text(words), text("and mine")])]).threads
    assert [message.origin for message in thread.tail] == [Origin.USER]


def test_the_request_is_as_old_as_the_last_arrival() -> None:
    rows = [
        user("u", None, "go", timestamp="2026-01-01T00:00:00Z"),
        reply("a", "u", "msg_1", call("t1"), timestamp="2026-01-01T00:00:09Z"),
        result("r", "a", "t1", timestamp="2026-01-01T00:00:10.500Z"),
        reply("b", "r", "msg_2", text("x"), timestamp="2026-01-01T00:00:20Z"),
    ]
    (thread,) = trace_of(rows).threads
    first, second = thread.steps
    assert first.at is not None
    assert second.at == first.at + 10.5


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["type", "uuid", "parentUuid", "message", "isSidechain", "subtype", "data"]
            ),
            st.sampled_from(["user", "assistant", "system", "compact_boundary", "u", "v"])
            | st.none()
            | st.integers()
            | st.fixed_dictionaries(
                {},
                optional={
                    "id": st.sampled_from(["m1", "m2", 3]),
                    "content": st.sampled_from(["x", ["x"], [{"type": "tool_use"}], 7, [[]]]),
                    "usage": st.sampled_from([{"input_tokens": "many"}, [], {"output_tokens": -1}]),
                    "type": st.just("agent_progress"),
                    "message": st.just({"type": "user", "message": {"content": "in"}}),
                },
            ),
        ),
        max_size=8,
    )
)
def test_no_rows_make_it_raise(rows: list[Any]) -> None:
    trace_of(rows)
