"""What Codex's rows become: items, steps, threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Origin
from tenure.core.usage import Usage
from tenure.replay.trace import Trace
from tenure.traces.codex import read_codex
from tenure.traces.lines import records_of
from tests.traces.rows import jsonl

Row = dict[str, Any]


def row(kind: str, payload: Row, second: int = 0) -> Row:
    return {"timestamp": f"2026-04-11T20:34:{second:02}Z", "type": kind, "payload": payload}


def item(kind: str, second: int = 0, **fields: Any) -> Row:
    return row("response_item", {"type": kind, **fields}, second)


def said(role: str, words: str, second: int = 0) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", second, role=role, content=[{"type": kind, "text": words}])


def call(call_id: str) -> Row:
    return item("function_call", name="exec", arguments="{}", call_id=call_id)


def output(call_id: str) -> Row:
    return item("function_call_output", call_id=call_id, output="ok")


def counted(total: int, fresh: int = 1, cached: int = 0, out: int = 1) -> Row:
    last = {
        "input_tokens": fresh + cached,
        "cached_input_tokens": cached,
        "output_tokens": out,
        "reasoning_output_tokens": out,
    }
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return row("event_msg", {"type": "token_count", "info": info})


def trace_of(rows: list[Any]) -> Trace:
    (trace,) = read_codex(records_of(jsonl(rows)), "run", Path("run.jsonl"))
    return trace


def kinds(trace: Trace) -> list[list[tuple[str, str]]]:
    return [
        [(one.data["type"], one.origin.value) for one in thread.messages()]
        for thread in trace.threads
    ]


def test_a_step_is_what_arrived_and_the_items_of_the_reply_with_their_usage() -> None:
    trace = trace_of(
        [
            row("session_meta", {"base_instructions": {"text": "You are Codex"}}),
            row("turn_context", {"model": "gpt-5.5"}),
            said("developer", "<permissions instructions>"),
            said("user", "<environment_context>\n</environment_context>"),
            said("user", "fix it", second=7),
            row("event_msg", {"type": "token_count", "info": None}),
            item("reasoning", summary=[], second=9),
            call("c1"),
            counted(100, fresh=40, cached=50, out=10),
            output("c1"),
            counted(100),
            said("assistant", "done"),
            counted(200),
            said("user", "thanks"),
        ]
    )
    (thread,) = trace.threads
    first, second = thread.steps
    assert first.usage == Usage(fresh=40, cache_read=50, output=10)
    assert [one.origin for one in first.arrivals] == [Origin.SYSTEM, Origin.HARNESS, Origin.USER]
    assert [one.data["type"] for one in first.reply] == ["reasoning", "function_call"]
    assert first.at == second.at + 7 if second.at else False
    assert second.usage == Usage(fresh=1, output=1)
    assert len(thread.tail) == 1
    assert (trace.model, trace.head) == ("gpt-5.5", {"instructions": "You are Codex"})
    assert trace.skipped == {"token_count without a call": 2}


def test_items_are_what_the_file_holds() -> None:
    payload = {"type": "message", "role": "user", "content": [], "new_field": [1e3, None]}
    (thread,) = trace_of([row("response_item", payload)]).threads
    assert [one.data for one in thread.tail] == [payload]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_each_counted_reply_is_one_step(calls: list[int], counts: bool, early: bool) -> None:
    """With counts before or behind the outputs, or without any."""
    rows: list[Any] = [said("user", "go")]
    for number, parallel in enumerate(calls, 1):
        ids = [f"{number}.{each}" for each in range(parallel)]
        count = [counted(number * 10, out=number)] if counts else []
        outputs = [output(each) for each in ids]
        rows += [item("reasoning"), *map(call, ids)]
        rows += [*count, *outputs] if early else [*outputs, *count]
        rows.append(said("user", "more"))
    (thread,) = trace_of(rows).threads
    assert len(thread.steps) == len(calls)
    assert [step.usage.output if step.usage else 0 for step in thread.steps] == [
        number * counts for number in range(1, len(calls) + 1)
    ]
    assert [len(step.reply) for step in thread.steps] == [1 + parallel for parallel in calls]


def test_a_compaction_begins_a_thread_with_what_the_tool_kept() -> None:
    history = [said("user", "go")["payload"], {"type": "compaction", "encrypted_content": "x"}]
    rows = [
        said("user", "go"),
        said("assistant", "one"),
        counted(100, fresh=60, cached=30, out=10),
        row("compacted", {"message": "", "replacement_history": history}),
        said("assistant", "two"),
        counted(150),
        row("compacted", {"message": "Another language model started to solve this problem"}),
        said("assistant", "three"),
    ]
    trace = trace_of(rows)
    assert [one.after_compaction for one in trace.threads] == [False, True, True]
    assert [one.tokens_before_compaction for one in trace.threads] == [None, 100, 2]
    assert kinds(trace)[1] == [
        ("message", "user"),
        ("compaction", "harness"),
        ("message", "assistant"),
    ]
    assert kinds(trace)[2] == [("message", "harness"), ("message", "assistant")]


def test_turns_taken_back_are_left_behind_in_a_thread_of_their_own() -> None:
    rows = [
        said("user", "one"),
        said("assistant", "1"),
        said("user", "two"),
        said("assistant", "2"),
        row("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        said("user", "three"),
        said("assistant", "3"),
    ]
    before, after = trace_of(rows).threads
    texts = [one.data["content"][0]["text"] for one in after.request(0)]
    assert texts == ["one", "1", "three"]
    assert (len(before.steps), len(after.steps)) == (2, 1)


def test_bare_items_of_the_first_versions_are_read() -> None:
    rows = [said("user", "go")["payload"], said("assistant", "hi")["payload"]]
    (thread,) = trace_of(rows).threads
    assert len(thread.steps) == 1


def test_rows_that_are_no_part_of_the_talk_are_counted() -> None:
    trace = trace_of(
        [
            row("event_msg", {"type": "task_started"}),
            row("brand_new", {}),
            item("strange_item"),
            {"type": None},
        ]
    )
    assert trace.threads == ()
    assert trace.skipped == {
        "event_msg task_started": 1,
        "brand_new": 1,
        "response_item strange_item": 1,
        "row without type": 1,
    }


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["response_item", "event_msg", "compacted", "turn_context", "session_meta", 3]
                )
            },
            optional={
                "timestamp": st.sampled_from(["now", 3, "2026-01-01"]),
                "payload": st.none()
                | st.dictionaries(
                    st.sampled_from(["type", "role", "info", "content", "num_turns"]),
                    st.sampled_from(["message", "user", "assistant", "token_count", 2, []])
                    | st.just({"last_token_usage": {"input_tokens": "x"}})
                    | st.just("thread_rolled_back"),
                ),
            },
        ),
        max_size=8,
    )
)
def test_no_rows_make_it_raise(rows: list[Any]) -> None:
    trace_of(rows)
