"""The head laid out: stable first, volatile behind it, nothing lost; settled over requests."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import JsonObject, json_bytes
from tenure.core.volatile import Kind
from tenure.wire.detect import WIRES
from tenure.wire.layout import Layout, lay_out
from tenure.wire.layout_late import late_message, replay_stored, takes_late, with_late
from tenure.wire.layout_text import cut_text

MARK = {"type": "ephemeral"}
RULES = "House rules: be brief and say so when unsure."


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


@pytest.mark.parametrize(
    ("text", "stable", "moved"),
    [
        ("Time is 15:09:20. House rules.", "House rules.", ["Time is 15:09:20. "]),
        ("You are X.\nToday's date: 2026-08-14\nPlatform: linux", "You are X.\nPlatform: linux",
         ["Today's date: 2026-08-14\n"]),
        ("Time is 15:09:20. be brief. go on", "be brief. go on", ["Time is 15:09:20. "]),
        ("It is 3:09 p.m. Monday now. Be nice.", "Be nice.", ["It is 3:09 p.m. Monday now. "]),
        ("<env>\n  <current_date>2026-06-17</current_date>\n</env>", "<env>\n</env>",
         ["  <current_date>2026-06-17</current_date>\n"]),
        ("a\nSession ID: 7f3a9c21\nTokens used: 1 / 200\nb", "a\nb",
         ["Session ID: 7f3a9c21\n", "Tokens used: 1 / 200\n"]),
        ("Today is 2026-08-14. You must say so.", "You must say so.", ["Today is 2026-08-14. "]),
    ],
)  # fmt: skip
def test_lines_and_leading_sentences_are_cut_whole(
    text: str, stable: str, moved: list[str]
) -> None:
    cut = cut_text(text)
    assert cut.stable == stable
    assert [text[piece.start : piece.end] for piece in cut.pieces] == moved


@pytest.mark.parametrize(
    "text",
    [
        "Today is 2026-08-14 and you must say so.",
        "Today is 2026-08-14, and you are the assistant of Bo who answers in French.",
        "The time is 10:00; see below. Rules.",
        "Rules.\n```\ntime: 15:09:20\n```\n",
        "Working directory: /tmp/session-8f2a1c9d/repo\nRules.",
        "x-anthropic-billing-header: cc_version=2.1.36; cch=4f2a1;",
        "Rules. The time is 10:00 for Bo. More rules.",
    ],
)
def test_what_is_not_safe_to_move_stays_and_is_named(text: str) -> None:
    cut = cut_text(text)
    assert (cut.stable, cut.pieces) == (text, ())
    assert cut.left


lines = st.sampled_from(
    ["Time is 15:09:20. ", "Today is 2026-08-14.\n", "Session ID: 7f3a9c21\n", RULES, "\n", " ", "é",
     "You must obey. ", "```\n", "- Date: 2026-08-14\n", "x" * 210, "now=1786720160\n", "\ud800"]
)  # fmt: skip
system_texts = st.lists(lines, max_size=8).map("".join)


@pytest.mark.fuzz
@given(system_texts)
def test_what_is_cut_and_what_is_left_are_the_text(text: str) -> None:
    cut = cut_text(text)
    rebuilt, done, rest = "", 0, cut.stable
    for piece in cut.pieces:
        size = piece.start - done
        rebuilt += rest[:size] + text[piece.start : piece.end]
        rest, done = rest[size:], piece.end
    assert rebuilt + rest == text
    assert all(piece.found for piece in cut.pieces)
    assert "must" not in "".join(text[p.start : p.end] for p in cut.pieces)


systems = system_texts | st.lists(
    st.builds(_text, system_texts)
    | st.builds(lambda t: _text(t, cache_control=MARK), system_texts),
    max_size=3,
)


def _all_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "".join(block["text"] for block in value or ())


@pytest.mark.fuzz
@given(systems, st.sampled_from(["system", "instructions", "messages"]))
def test_no_character_is_lost_and_a_stable_request_is_the_very_one(system: Any, where: str) -> None:
    head: JsonObject = {"model": "m"} if where == "messages" else {"model": "m", where: system}
    user = {"role": "user", "content": "Time is 15:09:20. go"}
    messages = [{"role": "system", "content": system}, user] if where == "messages" else [user]
    before = json_bytes([dict(head), messages])
    laid = lay_out(head, messages)
    found = _all_text(laid.head.get(where)) if where != "messages" else _all_text(
        laid.messages[0]["content"] if laid.messages[0] is not user else ""
    )  # fmt: skip
    late = "".join(one.text for one in laid.late)
    assert sorted(found + late) == sorted(_all_text(system)) or not (found.strip())
    assert laid.messages[-1] is user
    assert json_bytes([dict(head), messages]) == before
    if not laid.late:
        assert laid.head is head
        assert laid.messages is messages


def test_a_block_that_is_volatile_leaves_whole_and_its_mark_goes_to_the_one_before() -> None:
    head = {"system": [_text(RULES), _text("Time is 15:09:20.", cache_control=MARK)]}
    laid = lay_out(head)
    assert laid.head["system"] == [_text(RULES, cache_control=MARK)]
    assert laid.late[0].words == (
        "moved 17 bytes from system.1, byte 0 (clock), behind the stable part: 'Time is 15:09:20.'"
    )
    assert laid.notes == ("the cache mark of system.1 moved to the block before it",)


def test_blocks_with_more_than_text_are_left_alone() -> None:
    head = {"system": [_text("Time is 15:09:20.", citations=[1]), {"type": "x"}, 3]}
    assert lay_out(head).head is head


def test_volatile_text_that_stays_is_named_with_its_place() -> None:
    laid = lay_out({"instructions": RULES + " The current time is 10:00, which you must know."})
    ((path, volatile),) = laid.left
    assert (path, volatile.kind) == (("instructions",), Kind.CLOCK)


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.integers(0, 59), st.booleans()), min_size=1, max_size=6),
       st.sampled_from(["list", "string", "message"]))  # fmt: skip
def test_the_stable_part_is_the_same_bytes_whatever_the_clock_says(
    turns: list[tuple[int, bool]], shape: str
) -> None:
    layout, sent = Layout(), set()
    said: list[str] = []
    for minute, reranked in turns:
        facts = "- b\n- a\n" if reranked else "- a\n- b\n"
        volatile, rules = (
            f"Time is 15:{minute:02}.",
            f"{RULES} Run at 15:{minute:02} o'clock.\n{facts}",
        )
        head: dict[str, Any] = {"tools": [{"name": "b"}, {"name": "a"}][:: -1 if reranked else 1]}
        messages: list[JsonObject] = [{"role": "user", "content": "go"}]
        if shape == "list":
            head["system"] = [_text(volatile), _text(rules)]
        elif shape == "string":
            head["instructions"] = f"{volatile} {rules}"
        else:
            messages = [{"role": "developer", "content": f"{volatile}\n{rules}"}, *messages]
        layout, settled = layout.settle(head, messages)
        assert not settled.breaks
        sent.add(json_bytes([dict(settled.head), list(settled.messages)]))
        said += settled.late
    assert len(sent) == 1
    ticks = [minute for n, (minute, _) in enumerate(turns) if not n or turns[n - 1][0] != minute]
    assert [text for text in said if text.startswith("Time is")] == [
        f"Time is 15:{minute:02}." for minute in ticks
    ]


def test_a_real_change_of_the_system_text_is_sent_and_priced() -> None:
    layout, _ = Layout().settle({"system": "Be brief."})
    layout, settled = layout.settle({"system": "Be thorough."}, resident=40_000)
    assert settled.head["system"] == "Be thorough."
    assert settled.breaks
    assert settled.notes == (
        "the system text changed, so the prompt is written anew: 40,000 tokens",
    )
    _, again = layout.settle({"system": "Be thorough."})
    assert not again.breaks


def test_a_request_without_any_tools_is_taken_as_meant() -> None:
    tools = [{"name": "b"}, {"name": "a"}]
    layout, first = Layout().settle({"tools": tools})
    layout, side = layout.settle({"max_tokens": 9})
    assert side.head == {"max_tokens": 9}
    assert side.breaks
    _, back = layout.settle({"tools": tools[:1]})
    assert back.head == first.head
    assert back.missing == ("a",)


@given(systems, systems)
def test_a_request_that_came_before_is_settled_as_before(one: Any, other: Any) -> None:
    head: dict[str, Any] = {"system": one, "tools": [{"name": "b"}, {"name": "a"}]}
    layout, first = Layout().settle(head)
    again, second = layout.settle(dict(head))
    assert (json_bytes(second.head), again) == (json_bytes(first.head), layout)
    assert (second.late, second.notes, second.breaks) == ((), (), False)
    _, plain = layout.settle({**head, "system": other})
    assert bool(plain.head.get("tools"))


def test_marks_of_the_client_follow_its_request() -> None:
    layout, _ = Layout().settle({"system": [_text("Be brief.")]})
    _, settled = layout.settle({"system": [_text("Be brief.", cache_control=MARK)]})
    assert settled.head["system"] == [_text("Be brief.", cache_control=MARK)]
    assert not settled.breaks


@given(st.recursive(st.none() | st.booleans() | st.integers() | system_texts, lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "type", "content", "cache_control"]),
    inner, max_size=3), max_leaves=6), st.data())  # fmt: skip
def test_layout_never_raises_whatever_stands_there(value: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["system", "instructions", "tools"]))
    layout, _ = Layout().settle({name: value}, [{"role": "system", "content": value}])
    layout.settle({name: "Time is 10:00."}, [{"role": value, "content": value}])
    replay_stored([{"content": value}], [{"content": "Time is 10:00."}])


U: dict[str, Any] = {"role": "user", "content": "go"}
CALL: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "n", "arguments": "{}"}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("format", "messages"),
    [
        ("anthropic_messages", [U]),
        ("anthropic_messages", [U, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "n", "input": {}}]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]),
        ("openai_chat", [U]),
        ("openai_chat", [U, CALL, {"role": "tool", "tool_call_id": "a", "content": "x"}]),
        ("openai_responses", [U, {"type": "compaction_trigger"}]),
        ("openai_responses", [U, {"type": "function_call", "call_id": "a", "name": "n",
            "arguments": "{}"}, {"type": "function_call_output", "call_id": "a", "output": "x"}]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("system_role", ["", "system"])
def test_late_text_stands_at_the_end_of_a_legal_request(
    format: str, messages: list[JsonObject], system_role: str
) -> None:
    found = with_late(format, messages, ["Time is 10:00."], system_role=system_role)
    assert WIRES[format].violations(found) == []
    assert len(found) == len(messages) + 1
    assert all(any(m is n for n in found) for m in messages)
    assert "Time is 10:00." in str(found)


@pytest.mark.parametrize(
    ("format", "messages"),
    [
        ("anthropic_messages", []),
        ("anthropic_messages", [U, {"role": "assistant", "content": "The answer is"}]),
        ("openai_chat", [U, CALL]),
        ("openai_responses", [U, {"type": "reasoning", "id": "r", "summary": []}]),
    ],
)
def test_where_nothing_may_follow_nothing_is_said(format: str, messages: list[JsonObject]) -> None:
    assert not takes_late(format, messages)
    assert with_late(format, messages, ["x"]) is messages


def test_a_reminder_in_the_users_place_is_told_from_the_users_words() -> None:
    wire = WIRES["anthropic_messages"]
    assert wire.origin(late_message(wire.name, "Time is 10:00.")).value == "harness"


def test_a_message_that_a_person_edited_is_no_replay() -> None:
    stored = [{"role": "user", "content": "Wake me at 10:00 with 3 ideas."}]
    edited = [{"role": "user", "content": "Wake me at 11:00 with 5 ideas."}]
    assert replay_stored(stored, edited).messages is edited


@pytest.mark.fuzz
@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), system_texts), max_size=5))
def test_a_replay_of_what_was_stored_is_what_was_given(pairs: list[tuple[str, str]]) -> None:
    stored = [{"role": role, "content": text} for role, text in pairs]
    again = [dict(message) for message in stored]
    assert replay_stored(stored, again).messages is again
