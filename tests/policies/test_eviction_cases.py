"""The cases of kind eviction, each as its whole kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.core.fold import Outgoing
from tenure.core.message import BlockKind, JsonObject, Message
from tenure.core.protocols import ToolCall
from tenure.core.record import PlanChanged
from tenure.errors import BudgetError
from tenure.policies import by_name, names
from tenure.policies.tombstone import tombstone
from tenure.testing.strategies import Result, Step, log_text
from tests.cases import case_input, expanded
from tests.policies.play import FRAME, Quarter, Table, raws

WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
FEW = settings(max_examples=15)
TEXTS: dict[str, Callable[[int], str]] = {
    "log": lambda size: log_text(3, size),
    "words": lambda size: ("finding word " * (size // 13 + 1))[:size],
    "one line": lambda size: "x" * size,
    "emoji": lambda size: "👩‍👩‍👧é" * (size // 6),
}


def loaded(table: Table, messages: Sequence[JsonObject]) -> None:
    wire = table.wire
    made = [Message(m, origin=wire.origin(m)) for m in messages]
    table.run(table.machine.append(made, table.now))


def answered(table: Table, results: Sequence[Result]) -> Outgoing:
    """The request after a turn of parallel calls that were answered like this."""
    table.user("go")
    table.request()
    calls = tuple(ToolCall(f"c{n}", "agent", {"n": n}) for n in range(len(results)))
    table.reply(Step(calls=calls))
    table.results(results)
    return table.request()


def shown(table: Table, outgoing: Outgoing) -> dict[str, tuple[str, bool]]:
    """Text and error flag of each result in a view, by call id."""
    return {
        lens.call_id: (lens.text, lens.is_error)
        for message in outgoing.view.messages
        for lens in table.wire.lenses(message)
        if lens.kind is BlockKind.TOOL_RESULT
    }


def tokens(text: str) -> int:
    return Quarter().count_text(text).estimate + FRAME


def is_shortened(table: Table, before: str, after: str) -> None:
    """Head and tail stay; a note says how much is missing and by which handle it comes back."""
    note = re.search(r"\[tenure (t-[0-9a-f]+): (\d+) characters of (\d+) left out", after)
    assert note, after[:200]
    assert table.machine.fetch(note[1]) == before
    assert int(note[3]) == len(before)
    head, tail = after[: note.start() - 1], after[after.index("]\n", note.end()) + 2 :]
    assert head, "the head is gone"
    assert tail, "the tail is gone"
    assert before.startswith(head)
    assert before.endswith(tail)
    assert len(head) + len(tail) + int(note[2]) == len(before)


# -- 139: many answers at once -----------------------------------------------------------------


def is_fair(table: Table, outgoing: Outgoing, given_results: dict[str, str]) -> None:
    view = outgoing.view.messages
    assert not table.wire.violations(view)
    assert table.count(view) <= table.machine.budget.limit
    found = shown(table, outgoing)
    assert found.keys() == given_results.keys()
    cut = {k: v for k, (v, _) in found.items() if v != given_results[k]}
    for call, text in cut.items():
        is_shortened(table, given_results[call], text)
    whole = [tokens(v) for k, v in given_results.items() if k not in cut]
    if cut:
        kept = [tokens(v) for v in cut.values()]
        # Cuts are at line ends and the note takes its part, hence not to the token.
        assert max(kept) <= 2 * min(kept) + 200
        assert max(whole, default=0) <= max(kept) + 200, "a large one was kept whole"


def room_is_used(table: Table, outgoing: Outgoing) -> None:
    """What was too large keeps about half of what a request may hold."""
    assert table.count(outgoing.view.messages) >= 0.4 * table.machine.budget.limit


def test_case_139_many_sub_agents_are_shortened_fairly() -> None:
    c = expanded(case_input("139"))
    table = Table("anthropic_messages", c["context_window"])
    loaded(table, c["messages"])
    texts = {b["tool_use_id"]: b["content"] for b in c["messages"][2]["content"]}
    outgoing = table.request()
    is_fair(table, outgoing, texts)
    assert any(v != texts[k] for k, (v, _) in shown(table, outgoing).items())
    room_is_used(table, outgoing)


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    sizes=st.lists(st.sampled_from([4, 200, 4_000, 20_000, 90_000]), min_size=1, max_size=12),
    kind=st.sampled_from(sorted(TEXTS)),
    window=st.sampled_from([8_000, 20_000, 60_000]),
)
def test_parallel_results_of_any_sizes_are_shortened_fairly(
    wire: str, sizes: list[int], kind: str, window: int
) -> None:
    table = Table(wire, window)
    texts = [f"{TEXTS[kind](size)}{n}" for n, size in enumerate(sizes)]
    outgoing = answered(table, [Result(text) for text in texts])
    is_fair(table, outgoing, {f"c{n}": text for n, text in enumerate(texts)})


def test_the_case_holds_in_the_library_with_real_counts() -> None:
    c = expanded(case_input("139"))
    options = Options(window=c["context_window"], name="s")
    session = Session("claude-opus-4-5", max_tokens=4_000, tools=[], options=options)
    for message in c["messages"]:
        session.append(message)
    results = session.request()["messages"][2]["content"]
    assert [b["tool_use_id"] for b in results] == [f"ag{n}" for n in range(8)]
    assert all(len(b["content"]) > 2_000 for b in results)
    assert session.explain().occupancy.used <= session.explain().occupancy.limit


# -- 141: any order of sizes -------------------------------------------------------------------


def test_case_141_what_is_large_goes_not_what_is_old() -> None:
    c = expanded(case_input("141"))
    table = Table("anthropic_messages", c["target_tokens"] + 700, max_tokens=400)
    loaded(table, c["messages"])
    outgoing = table.request()
    found = shown(table, outgoing)
    assert table.count(outgoing.view.messages) <= c["target_tokens"]
    assert (found["o1"][0], found["o3"][0]) == ("ok", "fine")
    is_shortened(table, c["messages"][4]["content"][0]["content"], found["o2"][0])
    assert len(outgoing.view.entries) == len(c["messages"])


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    order=st.permutations([8, 12, 30, 100, 200, 9_000, 30_000]), window=st.integers(4_000, 9_000)
)
def test_in_any_order_of_sizes_the_small_ones_stay_and_nothing_is_dropped(
    wire: str, order: list[int], window: int
) -> None:
    table = Table(wire, window)
    table.user("go")
    texts = {}
    for number, size in enumerate(order):
        outgoing = table.request()
        table.reply(Step(calls=(ToolCall(f"c{number}", f"tool{number}", {}),)))
        texts[f"c{number}"] = log_text(number, size)
        table.results([Result(texts[f"c{number}"])])
    outgoing = table.request()
    found = shown(table, outgoing)
    assert found.keys() == texts.keys()
    assert len(outgoing.view.entries) == len(table.machine.transcript)
    for call, text in texts.items():
        if len(text) <= 200:
            assert found[call][0] == text
    assert table.count(outgoing.view.messages) <= table.machine.budget.limit


# -- 142: structure ----------------------------------------------------------------------------


def evicted_by(policy: str, wire: str, result: Result) -> tuple[Table, Outgoing]:
    table = Table(wire, 4_500, make=lambda: by_name(policy))
    outgoing = answered(table, [result])
    for number in range(12):
        table.reply(Step(calls=(ToolCall(f"d{number}", "run", {"n": number}),)))
        table.results([Result(log_text(number, 1_500))])
        outgoing = table.request()
    return table, outgoing


def keeps_structure(table: Table, outgoing: Outgoing, call: str) -> None:
    (block,) = (
        b for b in table.machine.transcript.all_blocks()
        if b.call_id == call and b.kind is BlockKind.TOOL_RESULT
    )  # fmt: skip
    (entry,) = (e for e in outgoing.view.entries if e.sources == (block.message_id,))
    before = table.machine.transcript.messages[block.index].data
    assert entry.edits, "not evicted"
    (lens,) = (o for o in table.wire.lenses(entry.message.data) if o.call_id == call)
    assert lens.kind is BlockKind.TOOL_RESULT
    assert lens.is_error == block.is_error
    assert entry.edits[0].handle in lens.text
    assert _skeleton(entry.message.data) == _skeleton(before)
    assert not table.wire.violations(outgoing.view.messages)


def _skeleton(value: Any) -> Any:
    """The message without what its results say."""
    if isinstance(value, dict):
        hidden = {"content", "output"} if "tool_use_id" in value or "call_id" in value else set()
        hidden |= {"content"} if value.get("role") == "tool" else set()
        return {k: None if k in hidden else _skeleton(v) for k, v in value.items()}
    return [_skeleton(v) for v in value] if isinstance(value, list) else value


def test_case_142_a_cleared_result_is_still_a_result() -> None:
    """The case's own result, which no policy would clear for its size, cleared by the edit itself."""
    c = case_input("142")
    table = Table("anthropic_messages")
    loaded(table, [*c["messages"], {"role": "user", "content": "and now?"}])
    machine = table.machine
    machine.explain()  # Counts, as a decision does.
    (block,) = (b for b in machine.transcript.all_blocks() if b.kind is BlockKind.TOOL_RESULT)
    situation = machine.situation(cold=False)
    edit = tombstone(situation, block, "cleared", when="forced", policy="test", kept=())
    table.run(machine.commit(PlanChanged((edit,), (), table.now)))
    outgoing = table.request()
    given_result = c["messages"][2]["content"][0]
    sent = outgoing.view.messages[2]["content"][0]
    assert {k: v for k, v in sent.items() if k != "content"} == {
        k: v for k, v in given_result.items() if k != "content"
    }
    assert sent["content"] != given_result["content"]
    keeps_structure(table, outgoing, "j1")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("policy", ["tenure", "clear-every-step"])
@FEW
@given(
    size=st.integers(1_200, 6_000), parts=st.integers(1, 3), picture=st.booleans(),
    failed=st.booleans(),
)  # fmt: skip
def test_an_evicted_result_keeps_its_type_its_ids_and_its_flag(
    wire: str, policy: str, size: int, parts: int, picture: bool, failed: bool
) -> None:
    try:
        table, outgoing = evicted_by(
            policy, wire, Result(log_text(1, size), parts, picture, is_error=failed)
        )
    except BudgetError:
        assume(False)
        return
    assume("c0" in {k.split(":")[1] for k in table.machine.plan.by_key})
    keeps_structure(table, outgoing, "c0")


# -- 144: the kept end is whole --------------------------------------------------------------------


@pytest.mark.parametrize("policy", names())
def test_case_144_nothing_is_cut_while_there_is_room(policy: str) -> None:
    c = case_input("144")
    table = Table("anthropic_messages", 6_000, make=lambda: by_name(policy))
    loaded(table, c["messages"])
    assert table.request().view.messages == c["messages"]


@pytest.mark.parametrize("times", [1, 150])
@pytest.mark.parametrize("policy", ["tenure", "clear-every-step"])
def test_case_144_a_result_in_the_kept_end_is_whole(policy: str, times: int) -> None:
    """While older results must go; also with a body that is large enough to be worth evicting."""
    c = case_input("144")
    table = Table("anthropic_messages", 6_000, make=lambda: by_name(policy))
    table.user("go")
    for number in range(8):
        table.request()
        table.reply(Step(calls=(ToolCall(f"b{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, 3_000))])
    table.request()
    table.reply(Step(text="read all"))
    call, last = c["messages"][-2:]
    body = last["content"][0]["content"] * times
    last = {**last, "content": [{**last["content"][0], "content": body}]}
    loaded(table, [*c["messages"][:-2], call, last])
    outgoing = table.request()
    assert outgoing.view.plan.edits, "nothing was evicted"
    assert shown(table, outgoing)["w"] == (body, False)
    assert outgoing.view.messages[-1] == last
    # One step later it was sent before, and is still in the kept end.
    table.reply(Step(calls=(ToolCall("x", "read", {"n": 9}),)))
    table.results([Result(log_text(9, 3_000))])
    assert shown(table, table.request())["w"] == (body, False)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("policy", ["tenure", "clear-every-step"])
@FEW
@given(sizes=st.lists(st.integers(1, 4_000), min_size=3, max_size=14))
def test_the_newest_results_are_whole_while_there_is_room_for_them(
    wire: str, policy: str, sizes: list[int]
) -> None:
    table = Table(wire, 9_000, make=lambda: by_name(policy))
    table.user("go")
    for number, size in enumerate(sizes):
        outgoing = table.request()
        assert not table.wire.violations(outgoing.view.messages)
        for back in range(min(2, number)):
            index = len(table.machine.transcript) - 1 - 2 * back
            assert outgoing.view.entries[-1 - 2 * back].message.raw == (
                table.machine.transcript.messages[index].raw
            )
        table.reply(Step(calls=(ToolCall(f"c{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, size))])
    assert len(raws(table.request())) == len(table.machine.transcript)


# -- 145: larger than the window ---------------------------------------------------------------


def test_case_145_a_result_larger_than_the_window_keeps_head_and_tail() -> None:
    c = expanded(case_input("145"))
    table = Table("anthropic_messages", c["context_window"], max_tokens=8_000)
    loaded(table, c["messages"])
    outgoing = table.request()
    is_shortened(table, c["messages"][2]["content"][0]["content"], shown(table, outgoing)["f"][0])
    assert table.count(outgoing.view.messages) + outgoing.max_tokens <= c["context_window"]
    room_is_used(table, outgoing)
    assert not table.wire.violations(outgoing.view.messages)


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(
    size=st.integers(20_000, 400_000),
    kind=st.sampled_from(sorted(TEXTS)),
    window=st.integers(3_000, 5_000),
    before=st.integers(0, 6),
)
def test_any_oversize_newest_result_is_shortened_and_fits(
    wire: str, size: int, kind: str, window: int, before: int
) -> None:
    table = Table(wire, window)
    table.user("go")
    for number in range(before):
        table.request()
        table.reply(Step(calls=(ToolCall(f"b{number}", "read", {"n": number}),)))
        table.results([Result(log_text(number, 2_000))])
    table.request()
    table.reply(Step(calls=(ToolCall("f", "fetch", {"u": "http://x.test"}),)))
    text = TEXTS[kind](size) + "."
    table.results([Result(text)])
    outgoing = table.request()
    is_shortened(table, text, shown(table, outgoing)["f"][0])
    assert table.count(outgoing.view.messages) <= table.machine.budget.limit
    assert not table.wire.violations(outgoing.view.messages)
    for raw in raws(outgoing):
        raw.decode()  # No character was cut in half.
