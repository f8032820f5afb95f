"""Runs inside the peers' environment: times one step of each peer, and prints JSON.

The message shapes are those of `benchmarks/sessions.py`. What a step does in each library's own
loop: `trim_messages` is called on the whole list before each model call; the middleware copies the
list and applies its edits on each model call.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from statistics import median
from typing import Any

from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

ROUNDS = 9
LENGTHS = (100, 1_000, 10_000)


def main() -> None:
    found: dict[str, dict[str, float]] = {}
    for length in LENGTHS:
        messages = _messages(length)
        budget = 50 * length
        steps: dict[str, Callable[[], Any]] = {
            "langchain-core trim_messages, nothing to trim": partial(_trim, messages, 10**9),
            "langchain-core trim_messages, half of it": partial(_trim, messages, budget),
            "langchain ContextEditingMiddleware, below its trigger": partial(
                _clear, messages, 10**9
            ),
            "langchain ContextEditingMiddleware, clearing": partial(_clear, messages, budget),
        }
        for name, step in steps.items():
            found.setdefault(name, {})[str(length)] = _median_ms(step)
    print(json.dumps(found))


def _trim(messages: list[Any], budget: int) -> Any:
    return trim_messages(messages, max_tokens=budget, token_counter="approximate", strategy="last")


def _clear(messages: list[Any], trigger: int) -> Any:
    # What ContextEditingMiddleware.wrap_model_call does around the model call.
    copied = deepcopy(messages)
    ClearToolUsesEdit(trigger=trigger, keep=3).apply(
        copied, count_tokens=count_tokens_approximately
    )
    return copied


def _messages(length: int) -> list[Any]:
    rng = random.Random(7)
    words = "the quick brown fox jumps over a lazy dog".split()
    made: list[Any] = [HumanMessage("find why the nightly build broke")]
    while len(made) < length:
        call = f"toolu_{len(made):08d}"
        arguments = {"path": f"src/part_{len(made)}.py"}
        made.append(AIMessage("next", tool_calls=[{"name": "read", "args": arguments, "id": call}]))
        made.append(ToolMessage(" ".join(rng.choices(words, k=120)), tool_call_id=call))
    return made


def _median_ms(step: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        step()
        times.append((time.perf_counter() - began) * 1e3)
    return median(times)


if __name__ == "__main__":
    main()
