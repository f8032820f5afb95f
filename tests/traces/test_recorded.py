"""The recorded sessions are read whole: what the readers count is what the manifest counts.

Invariant: where the two differ, the difference is written here with its cause.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from tenure.core.message import Message, Origin
from tenure.core.usage import Usage
from tenure.replay.trace import Thread, Trace
from tenure.traces import read, read_all
from tenure.traces.lines import read_records
from tenure.wire.detect import wire_for
from tests.shared import absent, find_shared

DEV = ("data", "agent-sessions-dev")
# The record of a result that was written with broken escapes: the manifest's reader drops the line.
RECOVERED_RESULTS = {"gitsync-2f471d950b": 1}
# What Claude Code recorded but did not send: blank text before thinking, and a reply that the
# person interrupted while it was thinking.
NOT_SENT = {"empty-text", "thinking-last"}


@cache
def manifest() -> dict[str, Any]:
    folder = find_shared(*DEV)
    if folder is None:
        return {}
    lines = (folder / "MANIFEST.jsonl").read_text("utf-8").splitlines()
    return {Path(row["file"]).name: row for row in map(json.loads, lines)}


def files_of(tool: str) -> list[Any]:
    """The files of one tool as test parameters; one that skips where the folder is absent."""
    names = sorted(name for name, row in manifest().items() if f"/{tool}/" in row["file"])
    return names or [pytest.param("", marks=pytest.mark.skip(absent(*DEV)))]


def trace_in(tool: str, name: str) -> Trace:
    folder = find_shared(*DEV)
    assert folder is not None
    (trace,) = read(folder / tool / name)
    return trace


def main_of(trace: Trace) -> list[Thread]:
    return [thread for thread in trace.threads if thread.kind == "main"]


def usages(threads: Iterable[Thread]) -> list[Usage]:
    return [step.usage for thread in threads for step in thread.steps if step.usage]


def said_in(threads: Iterable[Thread]) -> list[Message]:
    """All messages, each once, though an abandoned branch inherits what was said before it."""
    said: list[Message] = []
    earlier: list[list[Message]] = []
    for thread in threads:
        messages = list(thread.messages())
        shared = (
            takewhile(lambda pair: pair[0] == pair[1], zip(messages, one, strict=False))
            for one in earlier
        )
        said += messages[max((sum(1 for _ in pairs) for pairs in shared), default=0) :]
        earlier.append(messages)
    return said


def queued_in(trace: Trace) -> int:
    """How many messages stem from attachments, which the manifest does not count as messages."""
    rows = (record.value for record in read_records(Path(trace.source)).records)
    kinds = ((row.get("attachment") or {}).get("type") for row in rows)
    return sum(kind == "queued_command" for kind in kinds)


def blocks(message: Any) -> list[Any]:
    content = message.data.get("content")
    return content if isinstance(content, list) else []


@pytest.mark.parametrize("name", files_of("claude-code"))
def test_a_claude_code_session_counts_as_the_manifest_says(name: str) -> None:
    trace, row = trace_in("claude-code", name), manifest()[name]
    expected, main = row["stats"], main_of(trace)
    replies = sum(len(thread.steps) for thread in main)
    assert replies + trace.skipped.get("synthetic reply", 0) == expected["api_calls"]
    said = said_in(main)
    kinds = Counter(block["type"] for message in said for block in blocks(message))
    assert kinds["tool_use"] == expected["tool_calls"]
    recovered = RECOVERED_RESULTS.get(trace.name, 0)
    assert kinds["tool_result"] == expected["tool_results"] + recovered
    # One row a block of a reply, one a result, one each for other words.
    words = sum(m.origin in {Origin.USER, Origin.HARNESS} for m in said)
    replied = sum(len(blocks(m)) for m in said if m.origin is Origin.ASSISTANT)
    skipped = sum(trace.skipped.get(one, 0) for one in ("synthetic reply", "abandoned by a rewind"))
    rows = words + replied + kinds["tool_result"] - recovered + skipped
    assert rows - queued_in(trace) == expected["msgs"]
    before = [one.tokens_before_compaction for one in main if one.after_compaction]
    assert before == expected["preTokens"]
    lines = {damage.line for damage in trace.damage}
    assert len(lines) == row["malformed_lines"]
    used = sum(usages(main), Usage())
    assert used.cache_read == expected["usage"]["cache_read_input_tokens"]
    assert used.cache_write == expected["usage"]["cache_creation_input_tokens"]
    assert used.fresh == expected["usage"]["input_tokens"]
    # The manifest takes the first usage row of a reply, we the largest.
    assert used.output >= expected["usage"]["output_tokens"]


@pytest.mark.parametrize("name", files_of("codex"))
def test_a_codex_session_counts_as_the_manifest_says(name: str) -> None:
    trace, expected = trace_in("codex", name), manifest()[name]["stats"]
    used = sum(usages(trace.threads), Usage())
    assert used.prompt == expected["usage"]["input_tokens"]
    assert used.cache_read == expected["usage"]["cached_input_tokens"]
    assert used.output == expected["usage"]["output_tokens"]
    assert all(step.usage for thread in trace.threads for step in thread.steps)
    inherited = [len(one.steps[0].arrivals) for one in trace.threads if one.after_compaction]
    assert len(inherited) == expected["compacted"]
    kinds = Counter(m.data["type"] for one in trace.threads for m in one.messages())
    assert kinds["message"] - sum(inherited) == expected["msgs"]
    results = kinds["function_call_output"] + kinds["custom_tool_call_output"]
    assert results == expected["tool_results"]
    assert results == kinds["function_call"] + kinds["custom_tool_call"]
    # The manifest takes the calls of a hosted tool, which have no id and no output, for one call.
    assert (
        expected["tool_calls"] - results == expected["unpaired"] == bool(kinds["web_search_call"])
    )
    assert trace.model == expected["model"]
    assert trace.damage == ()


def test_the_tau_bench_conversations_count_as_the_manifest_says(
    shared_data: Callable[..., Path],
) -> None:
    traces = read_all([str(shared_data(*DEV, "tau-bench"))]).traces
    (expected,) = (row["stats"] for row in manifest().values() if "/tau-bench/" in row["file"])
    messages = [m for trace in traces for one in trace.threads for m in one.messages()]
    assert len(traces) == expected["sessions"]
    assert len(messages) == expected["msgs"]
    calls = sum(len(message.data.get("tool_calls") or ()) for message in messages)
    assert calls == expected["tool_calls"]


@pytest.mark.parametrize("tool", ["claude-code", "codex", "tau-bench"])
def test_every_recorded_request_keeps_the_rules_but_for_what_was_never_sent(
    shared_data: Callable[..., Path], tool: str
) -> None:
    reading = read_all([str(shared_data(*DEV, tool))])
    assert reading.skipped == ()
    broken: Counter[str] = Counter()
    for trace in reading.traces:
        wire = wire_for(trace.wire)
        for thread in trace.threads:
            for number in range(len(thread.steps)):
                request = [message.data for message in thread.request(number)]
                # Call ids that are used again (not fatal) stand in what providers did answer.
                broken.update(
                    one.rule for one in wire.violations(request) if wire.rules[one.rule].fatal
                )
    # Nor did one of them refuse a NUL in what a tool returned.
    del broken["unsendable-text"]
    assert set(broken) == (NOT_SENT if tool == "claude-code" else set())


def test_files_of_other_tools_are_reported_and_the_rest_is_read(
    shared_data: Callable[..., Path],
) -> None:
    reading = read_all([str(shared_data(*DEV))])
    formats = {trace.format for trace in reading.traces}
    assert formats == {"claude-code", "codex", "openai-chat"}
    strange = {Path(error.path).parent.name for error in reading.skipped}
    assert strange == {"agent-sessions-dev", "copilot-cli", "inspect-ai", "pi", "swe-agent"}
