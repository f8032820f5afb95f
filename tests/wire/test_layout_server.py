"""A client that does everything wrong, laid out: the real SDKs, over HTTP, to the scripted server.

The client puts a clock in front of its system text, sends its tools in any order, loses one for a
request and ranks its memory anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anthropic
import openai
import pytest

from tenure.core.message import JsonObject
from tenure.testing import ModelServer, Reply
from tenure.testing.script import Body
from tenure.wire.breakpoints import cache_key, plan_breakpoints
from tenure.wire.detect import WIRES
from tenure.wire.layout import Layout
from tenure.wire.layout_frozen import Frozen
from tenure.wire.layout_late import with_late
from tenure.wire.mark_plan import MarkRules, plan_marks
from tests.wire.marked import body_of

RULES = "House rule number one is to be brief. " * 400
MODELS = {
    "anthropic_messages": "claude-opus-5",
    "openai_chat": "gpt-5.6",
    "openai_responses": "gpt-5.6",
}
TOOLS = (("grep", "read", "edit"), ("edit", "read"), ("read", "grep", "edit"))
FACTS = (("likes tea", "is Bo"), ("is Bo", "likes tea"), ("is Bo", "likes tea", "has a cat"))


def _fine(_body: Body, step: int) -> Reply:
    return Reply(f"fine {step}")


def _head(format: str, turn: int) -> dict[str, Any]:
    wire = WIRES[format]
    tools = [wire.tool(n, f"does {n}", {"type": "object", "properties": {}}) for n in TOOLS[turn]]
    return {
        "model": MODELS[format],
        "max_tokens": 100,
        "system": f"Time is 15:09:{turn:02}.\n{RULES}",
        "tools": tools,
    }


def _send(server: ModelServer, format: str, request: dict[str, Any]) -> Any:
    if format == "anthropic_messages":
        with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as client:
            return client.messages.create(**request)
    with openai.OpenAI(base_url=server.openai_url, api_key="any", max_retries=0) as sdk:
        if format == "openai_chat":
            return sdk.chat.completions.create(**request)
        return sdk.responses.create(**request)


def _laid_out(server: ModelServer, format: str) -> list[int]:
    """Three turns; the tokens read from the cache by each."""
    wire = WIRES[format]
    layout, memory, said, read = Layout(), Frozen(), list[JsonObject](), []
    for turn in range(3):
        layout, settled = layout.settle(_head(format, turn))
        memory, facts = memory.put(FACTS[turn])
        said += wire.user(f"question {turn} " + "and so on " * 100)
        said = list(with_late(format, said, [*facts, *settled.late]))
        request = wire.request(*_marked(format, settled.head, said))
        messages, usage = wire.reply(_send(server, format, request))
        said += messages
        assert usage is not None
        read.append(usage.cache_read)
        assert not settled.breaks
    return read


def _marked(
    format: str, head: JsonObject, said: Sequence[JsonObject]
) -> tuple[JsonObject, list[JsonObject]]:
    if format == "anthropic_messages":
        plan = plan_marks(head, said, (0, len(said)), MarkRules(automatic=True))
        body = body_of(plan, said)
        return plan.head, body["messages"]
    points = plan_breakpoints(format, head, said, (0, len(said) - 1))
    sent = [points.messages.get(n, m) for n, m in enumerate(said)]
    return {**points.head, "prompt_cache_key": cache_key(head)}, sent


def _as_it_came(server: ModelServer, format: str) -> list[int]:
    wire = WIRES[format]
    said, read = list[JsonObject](), []
    for turn in range(3):
        head = _head(format, turn)
        said += wire.user(f"question {turn}: {', '.join(FACTS[turn])}")
        request = wire.request(*_marked(format, head, said))
        messages, usage = wire.reply(_send(server, format, request))
        said += messages
        assert usage is not None
        read.append(usage.cache_read)
    return read


@pytest.mark.parametrize("format", MODELS)
def test_a_client_that_changes_its_head_reads_what_it_wrote_once_laid_out(format: str) -> None:
    with ModelServer(_fine, clock=lambda: 0.0) as server:
        read = _laid_out(server, format)
        assert server.prefix_breaks == []
    assert read[0] == 0
    assert read[1] > 3_000
    assert read[2] > read[1]


@pytest.mark.parametrize("format", MODELS)
def test_the_same_client_as_it_came_pays_for_all_each_time(format: str) -> None:
    with ModelServer(_fine, clock=lambda: 0.0) as server:
        read = _as_it_came(server, format)
        assert [broken.request for broken in server.prefix_breaks] == [1, 2]
    assert max(read) < 100
