"""How long the check of the provider's rules takes on a request of 1,000,000 tokens: milliseconds.

10,001 messages of 100 tokens each, in the three wire formats: a check from scratch, one new message
under a check that remembers, and a mend that finds nothing to do.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.sessions import TOKENS_PER_MESSAGE, text
from tenure.core.legal import Terms
from tenure.wire.detect import WIRES

MESSAGES = 10_001
# What to reach, ms.
FIGURES = {"from scratch": 150.0, "one new message": 2.0, "mend, nothing to do": None}
_ROUNDS, _NEW = 7, 200


def run() -> dict[str, object]:
    """Prints the table and returns medians in ms by format and figure."""
    print(f"{'median, ms':22}{''.join(f'{name:>20}' for name in WIRES)}   to reach")
    found = {name: _measure(name) for name in WIRES}
    for figure, wanted in FIGURES.items():
        cells = "".join(f"{found[name][figure]:20.3f}" for name in WIRES)
        print(f"{figure:22}{cells}   {'' if wanted is None else f'{wanted:8.1f}'}")
    return dict(found)


def _measure(name: str) -> dict[str, float]:
    wire, terms = WIRES[name], Terms()
    messages = _conversation(name, MESSAGES + 2 * _NEW)
    whole = messages[:MESSAGES]
    assert wire.violations(whole, terms) == [], "the request that is measured must be legal"
    scratch = [_ms(lambda: wire.checker(terms).check(whole)) for _ in range(_ROUNDS)]
    mends = [_ms(lambda: wire.mend(whole, terms)) for _ in range(_ROUNDS)]
    checker = wire.checker(terms)
    checker.check(whole)
    new: list[float] = []
    for _ in range(_NEW):
        whole.append(messages[len(whole)])
        new.append(_ms(lambda: checker.check(whole)))
    return {
        "from scratch": median(scratch),
        "one new message": median(new),
        "mend, nothing to do": median(mends),
    }


def _conversation(name: str, length: int) -> list[Any]:
    """A user's message, then calls and their results by turns."""
    rng = random.Random(7)
    found: list[Any] = [{"role": "user", "content": "find why the nightly build broke"}]
    while len(found) < length:
        call = f"call_{len(found):06}"
        found += _SPELL[name](call, text(rng, TOKENS_PER_MESSAGE), text(rng, TOKENS_PER_MESSAGE))
    return found[:length]


def _anthropic(call: str, said: str, heard: str) -> list[Any]:
    use = {"type": "tool_use", "id": call, "name": "read", "input": {"path": said}}
    result = {"type": "tool_result", "tool_use_id": call, "content": heard}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def _chat(call: str, said: str, heard: str) -> list[Any]:
    function = {"name": "read", "arguments": json.dumps({"path": said})}
    calls = [{"id": call, "type": "function", "function": function}]
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call, "content": heard},
    ]


def _responses(call: str, said: str, heard: str) -> list[Any]:
    arguments = json.dumps({"path": said})
    return [
        {"type": "function_call", "call_id": call, "name": "read", "arguments": arguments},
        {"type": "function_call_output", "call_id": call, "output": heard},
    ]


_SPELL: dict[str, Callable[[str, str, str], list[Any]]] = {
    "anthropic_messages": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
}


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3
