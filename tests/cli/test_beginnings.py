"""Files that lack the beginning of a conversation: every recorded reply counts, and the loss is told.

Case files of the field (073, 138), sessions cut at the front, compactions whose summary is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tenure.core.data import read_data
from tenure.core.usage import Usage
from tenure.replay.inspection import inspect_one
from tenure.traces.lines import read_records, records_of, unpack
from tenure.traces.reading import sessions
from tests.cases import case_input
from tests.cli.program import Program
from tests.cli.sessions import Session, errand

REPORTED = ("fresh", "cache_read", "cache_write", "output")
KEYS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


def written(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def reported(rows: Sequence[Any]) -> dict[str, Usage]:
    """The usage of each reply in these rows, by message id: the row with most output."""
    found: dict[str, Usage] = {}
    for row in rows:
        message = row.get("message")
        if row.get("type") != "assistant" or "usage" not in message:
            continue
        one = Usage(*(message["usage"].get(key, 0) for key in KEYS[:3]))
        one = Usage(
            one.fresh, one.cache_read, one.cache_write, 0, message["usage"]["output_tokens"]
        )
        known = found.get(message["id"])
        if known is None or (one.output, one.prompt) >= (known.output, known.prompt):
            found[message["id"]] = one
    return found


def looked_at(program: Program, path: Path) -> tuple[Any, Any, Any]:
    """What the three commands say of a file."""
    inspected = program("inspect", path, "--json").json
    replayed = program("replay", path, "--json").json
    forecast = program("forecast", path, "--json").json
    return inspected["total"], replayed, forecast


@pytest.mark.parametrize(
    ("number", "bill", "lost"),
    [
        ("073", [Usage(2, 15_030, 8_655, 0, 377)], ["main"]),
        ("138", [Usage(3, 0, 30_000, 0, 9), Usage(10, 0, 0, 0, 5)], ["main-2", "agent 1"]),
    ],
)
def test_the_lines_of_the_cases_give_their_requests_to_every_command(
    program: Program, tmp_path: Path, number: str, bill: list[Usage], lost: list[str]
) -> None:
    rows = [json.loads(line) for line in case_input(number)["lines"]]
    total, replayed, forecast = looked_at(program, written(tmp_path / "case.jsonl", rows))
    whole = sum(bill, Usage())
    assert [total["bill"][key] for key in REPORTED] == [getattr(whole, key) for key in REPORTED]
    assert total["bill"]["requests"] == len(bill)
    assert [total["main"][key] for key in REPORTED] == [getattr(bill[0], key) for key in REPORTED]
    assert [one["name"] for one in total["threads"] if one["beginning_lost"]] == lost
    (session,) = replayed["sessions"]
    assert (session["steps"], session["beginning_lost"]) == (len(bill), lost)
    assert session["billed"]["requests"] == len(bill)
    assert all(one["cost"] > 0 for one in session["policies"].values())
    (told,) = forecast["forecasts"]
    assert told["resident"] == bill[0].prompt + bill[0].output
    assert told["beginning_lost"]
    assert replayed["failed"] == forecast["failed"] == []


def session() -> Session:
    """Sub-agents, a compaction, and calls on both sides of them."""
    made = errand().side("look there", "nothing here").compact("the errand so far")
    return made.call("Read", {"file_path": "src/beta.py"}, "beta\n" * 50).say("done")


@pytest.mark.parametrize("cut", range(0, len(session().rows), 3))
def test_a_cut_at_the_front_costs_no_command_a_reply_that_is_left(
    program: Program, tmp_path: Path, cut: int
) -> None:
    rows = session().rows[cut:]
    left = reported(rows)
    main = reported([row for row in rows if not row["isSidechain"]])
    total, replayed, forecast = looked_at(program, written(tmp_path / "cut.jsonl", rows))
    whole = sum(left.values(), Usage())
    assert [total["bill"][key] for key in REPORTED] == [getattr(whole, key) for key in REPORTED]
    assert total["bill"]["requests"] == len(left)
    lost = [one["name"] for one in total["threads"] if one["beginning_lost"]]
    begins = cut == 0 or rows[0].get("subtype") == "compact_boundary"
    assert bool(lost) != begins
    (played,) = replayed["sessions"]
    assert (played["steps"], played["beginning_lost"]) == (len(left), lost)
    last = main[next(reversed(main))]
    assert forecast["forecasts"][0]["resident"] == last.prompt + last.output


@pytest.mark.parametrize("before", [0, 1, 4])
@pytest.mark.parametrize("summary", [False, True])
@pytest.mark.parametrize("boundaries", [1, 2])
def test_a_compaction_whose_summary_is_lost_loses_no_request(
    program: Program, tmp_path: Path, before: int, summary: bool, boundaries: int
) -> None:
    made = Session()
    for number in range(before):
        made.user(f"question {number}").say(f"answer {number}")
    for _ in range(boundaries):
        made.compact("all that was said")
    made.say("going on").user("and?").say("done")
    rows = [row for row in made.rows if summary or not row.get("isCompactSummary")]
    total, replayed, _ = looked_at(program, written(tmp_path / "compacted.jsonl", rows))
    left = reported(rows)
    assert total["bill"]["requests"] == len(left) == before + 2
    assert total["bill"]["prompt"] == sum(one.prompt for one in left.values())
    assert replayed["sessions"][0]["steps"] == before + 2
    after = total["threads"][-1]
    assert (after["after_compaction"], after["beginning_lost"]) == (True, not summary)
    # What came before is no part of what the next thread's prompt hides.
    assert after["hidden"] <= after["peak"]


def test_the_terminal_names_the_threads_that_begin_in_the_middle(
    program: Program, tmp_path: Path
) -> None:
    whole = written(tmp_path / "whole.jsonl", errand().rows)
    cut = written(tmp_path / "cut.jsonl", errand().rows[1:])
    for command in ("inspect", "replay", "forecast"):
        assert "lacks the beginning of" not in program(command, whole).out
        said = program(command, cut).out
        assert "lacks the beginning of" in " ".join(said.split())


RECORDED = ["cli-c82caf81a9", "cli-651c1d1061"]
"""One with a sub-agent, one with a rewind."""


def rows_within(rows: Sequence[Any]) -> list[Any]:
    """The rows of what was said, those of sub-agents out of the progress rows that carry them."""
    carried = [row.get("data", {}).get("message") or row for row in rows]
    return [
        row
        for row in carried
        if row.get("type") == "assistant" and row["message"]["model"] != "<synthetic>"
    ]


@pytest.mark.parametrize("name", ["the bundled one", *RECORDED])
def test_no_cut_of_a_real_session_loses_usage_of_a_reply_that_is_left(
    name: str, shared_data: Callable[..., Path]
) -> None:
    if name in RECORDED:
        path = shared_data("data", "agent-sessions-dev", "claude-code", f"{name}.jsonl.gz")
        rows = [record.value for record in read_records(path).records]
    else:
        data, _ = unpack(read_data("demo/session.jsonl.gz"))
        rows = [record.value for record in records_of(data).records]
    for cut in range(0, len(rows), max(1, len(rows) // 10)):
        left = reported(rows_within(rows[cut:]))
        lines = "".join(json.dumps(row) + "\n" for row in rows[cut:])
        bills = [inspect_one(one).bill for one in sessions(records_of(lines.encode()), Path("cut"))]
        assert sum(one.requests for one in bills) == len(left), cut
        usage = sum((one.usage for one in bills), Usage())
        for key in REPORTED:
            assert getattr(usage, key) == sum(getattr(one, key) for one in left.values()), cut
