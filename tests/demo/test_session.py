"""The bundled session is what the issue asks for: long, real, stale in parts, and clean."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tenure.core.data import read_data
from tenure.core.message import Message
from tenure.replay.trace import Step, Trace
from tenure.testing.anthropic_rules import RULES
from tenure.testing.refusal import Asked, Ledger, first_refusal
from tenure.traces import read

NAME = "demo/session.jsonl.gz"
ELSEWHERE = re.compile(
    r"/work/|/root\b|/tmp/tmp|bash_jobs|pyenv/versions|https?://[^\s\"']*(?:/simple|pypi)"
)


@pytest.fixture(scope="module")
def packed() -> bytes:
    return read_data(NAME)


@pytest.fixture(scope="module")
def trace(packed: bytes, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path: Path = tmp_path_factory.mktemp("demo") / "session.jsonl.gz"
    path.write_bytes(packed)
    [found] = read(path)
    return found


@pytest.fixture(scope="module")
def steps(trace: Trace) -> tuple[Step, ...]:
    [thread] = trace.threads
    return thread.steps


def test_it_is_read_without_damage(trace: Trace) -> None:
    assert trace.damage == ()
    assert [thread.kind for thread in trace.threads] == ["main"]


def test_it_has_sixty_steps_and_ends_with_150_000_tokens(steps: tuple[Step, ...]) -> None:
    assert len(steps) >= 60
    last = steps[-1].usage
    assert last is not None
    assert last.prompt >= 150_000


def test_it_goes_cold_once_in_a_pause(steps: tuple[Step, ...]) -> None:
    cold = [step for step in steps[1:] if step.usage is not None and not step.usage.cache_read]
    assert len(cold) == 1
    index = steps.index(cold[0])
    before, after = steps[index - 1].at, cold[0].at
    assert before is not None
    assert after is not None
    assert after - before > 300


def test_it_repeats_calls_and_reads_files_again_after_edits(steps: tuple[Step, ...]) -> None:
    calls = [block for step in steps for reply in step.reply for block in _calls(reply)]
    spelled = Counter(json.dumps([name, given], sort_keys=True) for name, given in calls)
    assert sum(times - 1 for times in spelled.values() if times > 1) >= 10
    edited = [given["file_path"] for name, given in calls if name == "Edit"]
    reread = [given["file_path"] for name, given in calls if name == "Read"]
    assert max(Counter(path for path in reread if path in set(edited)).values()) >= 5


def test_every_request_of_it_breaks_no_rule_of_the_provider(trace: Trace) -> None:
    [thread] = trace.threads
    for index in range(len(thread.steps)):
        body = {
            "model": "claude-opus-5",
            "max_tokens": 1_000,
            "messages": [message.data for message in thread.request(index)],
        }
        headers = {"anthropic-version": "2026-10-21"}
        asked = Asked(body, headers, 1_000_000, Ledger(), lambda _asked: ())
        assert first_refusal(RULES, asked, without=["thinking_bound"]) is None


def test_it_does_not_say_where_it_was_recorded(packed: bytes) -> None:
    text = gzip.decompress(packed).decode()
    assert ELSEWHERE.findall(text) == []
    assert "/home/dev/tenure" in text


def test_its_file_holds_no_time_and_no_name(packed: bytes) -> None:
    flags, time = packed[3], packed[4:8]
    assert (flags, time) == (0, bytes(4))


def _calls(message: Message) -> list[tuple[str, dict[str, str]]]:
    content = message.data["content"]
    return [(block["name"], block["input"]) for block in content if block["type"] == "tool_use"]
