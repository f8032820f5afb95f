"""Files whose beginning is gone: no reply that is left loses its usage, in any command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import case_input
from tests.cli.program import Program
from tests.cli.sessions import errand

POLICIES = ("append-only", "clear-100k-keep-3", "clear-every-step", "tenure")


def bill_of(program: Program, path: Path) -> dict[str, Any]:
    ran = program("inspect", path, "--json", "--jobs", "1")
    assert (ran.status, ran.err) == (0, "")
    total: dict[str, Any] = ran.json["total"]
    return total


def reported(rows: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Requests, prompt and output tokens of the replies in these rows, one each."""
    usages = [row["message"]["usage"] for row in rows if row["type"] == "assistant"]
    prompt = sum(
        u["input_tokens"] + u["cache_read_input_tokens"] + u["cache_creation_input_tokens"]
        for u in usages
    )
    return len(usages), prompt, sum(u["output_tokens"] for u in usages)


@pytest.mark.parametrize("gone", range(len(errand().rows)))
def test_a_file_cut_at_the_front_bills_every_reply_that_is_left(
    program: Program, tmp_path: Path, gone: int
) -> None:
    session = errand()
    session.rows = session.rows[gone:]
    path = session.write(tmp_path / "cut.jsonl")
    bill = bill_of(program, path)["bill"]
    assert (bill["requests"], bill["prompt"], bill["output"]) == reported(session.rows)
    replayed = program("replay", path, "--json").json["sessions"][0]
    assert replayed["steps"] == bill["requests"]
    assert all(replayed["policies"][name]["cost"] > 0 for name in POLICIES)
    assert program("forecast", path).status == 0


def test_a_compaction_without_a_row_for_its_summary_loses_no_reply(
    program: Program, tmp_path: Path
) -> None:
    session = errand().compact("what was done: all of it").say("right").user("and now?").say("done")
    session.rows = [row for row in session.rows if not row.get("isCompactSummary")]
    total = bill_of(program, session.write(tmp_path / "no-summary.jsonl"))
    assert total["compactions"] == 1
    bill = total["bill"]
    assert (bill["requests"], bill["prompt"], bill["output"]) == reported(session.rows)


@pytest.mark.parametrize("said", [0, 1, 2])
def test_a_chat_that_begins_with_a_reply_is_a_session(
    program: Program, tmp_path: Path, said: int
) -> None:
    more = [{"role": "user", "content": "and?"}, {"role": "assistant", "content": "no"}] * said
    talk = [{"role": "assistant", "content": "hello, what shall I do?"}, *more]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": talk}))
    total = bill_of(program, path)
    assert (total["steps"], total["bill"]["without_usage"]) == (1 + said, 1 + said)


def case_file(number: str, folder: Path) -> Path:
    path = folder / f"case-{number}.jsonl"
    path.write_text("\n".join(case_input(number)["lines"]) + "\n")
    return path


def test_case_073_one_request_is_billed_once_by_the_commands(
    program: Program, tmp_path: Path
) -> None:
    path = case_file("073", tmp_path)
    bill = bill_of(program, path)["bill"]
    wanted = {"requests": 1, "fresh": 2, "cache_read": 15_030, "cache_write": 8_655, "output": 377}
    assert {key: bill[key] for key in wanted} == wanted
    assert program("replay", path, "--json").json["sessions"][0]["steps"] == 1
    (forecast,) = program("forecast", path, "--json").json["forecasts"]
    assert forecast["resident"] == 2 + 15_030 + 8_655 + 377


def test_case_138_main_and_sub_agent_are_apart_and_the_compaction_is_told(
    program: Program, tmp_path: Path
) -> None:
    path = case_file("138", tmp_path)
    total = bill_of(program, path)
    asked = {
        name: (total[name]["requests"], total[name]["prompt"]) for name in ("main", "sub_agents")
    }
    assert asked == {"main": (1, 30_003), "sub_agents": (1, 10)}
    assert total["compactions"] == 1
    (main,) = (one for one in total["threads"] if one["kind"] == "main" and one["steps"])
    assert main["before_compaction"] == 167_000
    assert program("inspect", path, "--json").json["sessions"][0]["skipped"] == {
        "brand-new-kind": 1
    }
