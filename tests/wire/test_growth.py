"""Mending and checking take time in proportion to what they are given, whatever stands in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tenure.core.legal import Terms
from tenure.wire.detect import WIRES
from tests.effort import seconds_of

Body = dict[str, Any]
U: Body = {"role": "user", "content": "x"}
TEXT: Body = {"type": "text", "text": "x"}
EFFORT: Body = {"role": "system", "content": [], "output_config": {"effort": "low"}}
LONG = "call_" + "x" * 60
SMALL, FACTOR = 300, 8


def said(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def heard(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def use(call: str, n: int = 0) -> Body:
    return {"type": "tool_use", "id": call, "name": "read", "input": {"n": n}}


def found(call: str, n: int = 0) -> Body:
    return {"type": "tool_result", "tool_use_id": call, "content": str(n)}


def search(call: str) -> list[Body]:
    use = {"type": "server_tool_use", "id": call, "name": "web_search", "input": {}}
    return [use, {"type": "web_search_tool_result", "tool_use_id": call, "content": []}]


def asks(*ids: Any) -> Body:
    calls = [
        {"id": id_, "type": "function", "function": {"name": "n", "arguments": json.dumps(n)}}
        for n, id_ in enumerate(ids)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool(call: Any) -> Body:
    return {"role": "tool", "tool_call_id": call, "content": "x"}


def item(call: str, n: int = 0) -> Body:
    return {"type": "function_call", "call_id": call, "name": "n", "arguments": str(n)}


def output(call: str) -> Body:
    return {"type": "function_call_output", "call_id": call, "output": "x"}


Make = Callable[[range], list[Any]]
CLAUDE: dict[str, Make] = {
    "calls of one id in a turn": lambda r: [U, said(*(use("c", n) for n in r)), heard(*(found("c") for _ in r))],
    "one call many times in a turn": lambda r: [U, said(*(use("c") for _ in r)), U],
    "calls of one id, a message each": lambda r: [U, *(said(use("c", n)) for n in r), U],
    "results that come late": lambda r: [
        U, *(said(use("c", n)) for n in r), U, said(TEXT), heard(*(found("c") for _ in r)), U
    ],
    "rounds of one id": lambda r: [U, *(m for n in r for m in (said(use("c", n)), heard(found("c"))))],
    "results without calls": lambda r: [U, *(heard(found(f"c{n}")) for n in r)],
    "ids that no API takes": lambda r: [U, said(*(use(f"a b{n}") for n in r)), heard(*(found(f"a b{n}") for n in r))],
    "system messages in a row": lambda r: [U, *({"role": "system", "content": "x"} for _ in r), U],
    "efforts behind a call": lambda r: [U, said(use("c")), *(EFFORT for _ in r), heard(found("c"))],
    "searches of one id": lambda r: [U, *(said(*search("s")) for _ in r), U],
    "searches with other ids": lambda r: [U, said(*(b for n in r for b in search(f"s{n}")), TEXT), U],
    "marks": lambda r: [heard(*({**TEXT, "cache_control": {"type": "ephemeral"}} for _ in r))],
    "blanks with marks": lambda r: [
        heard(*({"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}} for _ in r), TEXT)
    ],
    "pictures in a result": lambda r: [
        U, said(use("c")), heard({**found("c"), "content": [{"type": "image", "source": {"type": "url"}} for _ in r]})
    ],
    "thinking at the end": lambda r: [U, *(said({"type": "thinking", "thinking": "", "signature": "c2ln"}) for _ in r), U],
}  # fmt: skip
CHAT: dict[str, Make] = {
    "calls of one id": lambda r: [U, asks(*("c" for _ in r)), *(tool("c") for _ in r)],
    "rounds of one id": lambda r: [U, *(m for _ in r for m in (asks("c"), tool("c")))],
    "messages of one id": lambda r: [U, *(asks("c") for _ in r), *(tool("c") for _ in r), U],
    "long ids": lambda r: [U, asks(*(f"{LONG}{n}" for n in r)), *(tool(f"{LONG}{n}") for n in r)],
    "no ids": lambda r: [U, asks(*(None for _ in r)), *(tool(None) for _ in r)],
    "results without calls": lambda r: [U, *(tool(f"c{n}") for n in r)],
}
ITEMS: dict[str, Make] = {
    "calls of one id": lambda r: [U, *(item("c", n) for n in r), *(output("c") for _ in r)],
    "calls of one id in turns": lambda r: [U, *(m for n in r for m in (item("c", n), U)), *(output("c") for _ in r)],
    "rounds of one id": lambda r: [U, *(m for n in r for m in (item("c", n), output("c")))],
    "long ids": lambda r: [U, *(item(f"{LONG}{n}") for n in r), *(output(f"{LONG}{n}") for n in r)],
    "references": lambda r: [
        U, *(m for n in r for m in (item(f"c{n}"), {"type": "item_reference", "id": f"m{n}"}, output(f"d{n}")))
    ],
    "items of one id": lambda r: [U, *({"type": "web_search_call", "id": "w", "n": n} for n in r), U],
    "reasoning alone": lambda r: [U, *({"type": "reasoning", "id": f"r{n}", "summary": []} for n in r)],
}  # fmt: skip
SHAPES = [
    (wire, name, make)
    for wire, shapes in (("anthropic_messages", CLAUDE), ("openai_chat", CHAT), ("openai_responses", ITEMS))
    for name, make in shapes.items()
]  # fmt: skip


@pytest.mark.parametrize(
    ("wire", "make"), [(w, m) for w, _, m in SHAPES], ids=[f"{w}: {n}" for w, n, _ in SHAPES]
)
def test_what_is_broken_is_mended_in_time_that_grows_with_it(wire: str, make: Make) -> None:
    terms = Terms(pictures=1)

    def work(size: int) -> float:
        chosen, messages = WIRES[wire], make(range(size))

        def both() -> None:
            chosen.mend(messages, terms)
            chosen.violations(messages, terms)

        return min(seconds_of(both) for _ in range(3))

    # In proportion it would be FACTOR, with the square of it 64.
    assert work(FACTOR * SMALL) < 3 * FACTOR * work(SMALL)


# Runs of one role: a message that joins one costs no more than any other.
RUNS: list[tuple[str, Body]] = [
    ("anthropic_messages", U),
    ("anthropic_messages", heard(TEXT, TEXT)),
    ("anthropic_messages", EFFORT),
    ("openai_chat", U),
    ("openai_responses", U),
    ("openai_responses", {"type": "hologram_call"}),
]


@pytest.mark.parametrize(("wire", "message"), RUNS)
def test_a_message_behind_a_long_run_of_its_role_costs_what_it_is(wire: str, message: Body) -> None:
    def work(size: int) -> float:
        checker, grown = WIRES[wire].checker(Terms()), list[Any]([U])

        def grow() -> None:
            for _ in range(size):
                grown.append(dict(message))
                assert checker.check(grown, len(grown) - 1) == []

        return seconds_of(grow)

    small = min(work(SMALL) for _ in range(3))
    assert min(work(FACTOR * SMALL) for _ in range(3)) < 3 * FACTOR * small
