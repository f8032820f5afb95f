"""`tenure inspect` on sessions written here, on damaged ones, and on recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Program
from tests.cli.sessions import HIDDEN, Session, errand


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return errand().write(tmp_path / "errand.jsonl")


def _by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


def test_every_token_of_the_prompts_is_in_one_class(program: Program, session: Path) -> None:
    total = program("inspect", session, "--json").json["total"]
    classes = _by_name(total["classes"])
    assert set(classes) >= {"user words", "assistant text", "tool calls", "tool results"}
    carried = sum(row["carried"] for row in total["classes"])
    # Sizes are scaled to the reported growth; framing and rounding leave a little.
    assert carried == pytest.approx(total["bill"]["prompt"], rel=0.05)
    assert classes["hidden overhead"]["tokens"] == pytest.approx(HIDDEN, rel=0.01)
    assert sum(row["usd"] for row in total["classes"]) == pytest.approx(total["bill"]["prompt_usd"])


def test_the_bill_is_what_was_reported(program: Program, session: Path) -> None:
    bill = program("inspect", session, "--json").json["total"]["bill"]
    assert bill["requests"] == 11
    assert bill["output"] == 11 * 50
    units = bill["fresh"] + 0.1 * bill["cache_read"] + 1.25 * bill["cache_write"]
    assert bill["prompt_usd"] == pytest.approx(units * 5e-6)
    assert bill["output_usd"] == pytest.approx(11 * 50 * 25e-6)


@pytest.mark.parametrize("said", ["done", "a long answer about the build " * 200])
def test_output_that_was_reported_in_part_is_told_once_and_not_billed(
    program: Program, tmp_path: Path, said: str
) -> None:
    path = Session().user("go").say("ok").user("why?").say(said).write(tmp_path / "streamed.jsonl")
    bill = program("inspect", path, "--json").json["total"]["bill"]
    partial = len(said) > 1_000
    assert bill["output"] == 100
    assert bill["output_usd"] == pytest.approx(100 * 25e-6)
    missing = bill["partial_output"]
    assert missing["requests"] == partial
    assert (missing["tokens"] > 500) == partial
    assert missing["usd"] == pytest.approx(missing["tokens"] * 25e-6)
    shown = " ".join(program("inspect", path).out.split())
    words = "1 of 2 requests report less than half of the output that their replies hold"
    assert shown.count(words) == partial


def test_repeats_old_versions_and_files_are_found(program: Program, session: Path) -> None:
    total = program("inspect", session, "--json").json["total"]
    (repeat,) = total["repeats"]
    assert (repeat["tool"], repeat["subject"], repeat["times"]) == ("Read", "src/alpha.py", 2)
    assert repeat["older_tokens"] == repeat["tokens"] / 2
    (older,) = total["superseded"]
    assert (older["subject"], older["versions"]) == ("src/alpha.py", 1)
    assert _by_name(total["files"])["src/alpha.py"]["blocks"] == 4


def test_the_biggest_results_say_where_they_stand(program: Program, session: Path) -> None:
    total = program("inspect", session, "--json", "--top", "1").json["total"]
    (biggest,) = total["results"]
    place = (biggest["thread"], biggest["step"], biggest["tool"], biggest["subject"])
    assert place == ("main", 1, "Read", "src/alpha.py")
    assert biggest["carried"] == 10  # by every request after the call


def test_what_a_later_step_used_is_placed_in_the_window(program: Program, session: Path) -> None:
    later = program("inspect", session, "--json").json["total"]["used_later"]
    # The search named omega_v7x at step 2, and step 9 alone says it again; the file that was read
    # at step 1 is read again at step 8.
    used = [(row["label"], row["uses"]) for row in later["ages"] if row["uses"]]
    assert used == [("4 to 7 steps", 2)]
    assert sum(row["uses"] for row in later["positions"]) == 2


def test_a_miss_of_the_cache_is_told_with_its_cause(program: Program, tmp_path: Path) -> None:
    session = errand().pause(900).user("and now?").say("still fine")
    session.user("again").say("yes").user("once more").forget().say("hm")
    cache = program("inspect", session.write(tmp_path / "x.jsonl"), "--json").json["total"]["cache"]
    expiry, drop = cache["misses"]
    assert (expiry["kind"], expiry["predicted"]) == ("expiry", "expiry")
    assert "the TTL is 300 s" in expiry["cause"]
    assert (drop["kind"], drop["predicted"], drop["cause"]) == ("drop", "hit", "unexplained")
    assert cache["expiry"] == {"happened": 1, "predicted": 1, "precision": 1.0, "recall": 1.0}
    assert cache["drop"]["recall"] == 0


def test_sub_agents_and_compactions_are_apart(program: Program, tmp_path: Path) -> None:
    session = errand().side("look around", "nothing there")
    session.compact("what was done so far").say("going on").user("good").say("done")
    total = program("inspect", session.write(tmp_path / "x.jsonl"), "--json").json["total"]
    assert total["sub_agents"]["requests"] == 1
    assert total["main"]["requests"] == 13
    assert total["compactions"] == 1
    assert [row["kind"] for row in total["threads"]] == ["main", "main", "sidechain"]
    assert total["threads"][1]["before_compaction"] > HIDDEN
    assert [one["cause"] for one in total["cache"]["misses"]] == ["compacted"]


def test_damage_is_named_by_line_and_the_rest_is_read(program: Program, session: Path) -> None:
    lines = session.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][:40] + b"\n"
    lines[6] = b"\x00" * 12 + lines[6]
    session.write_bytes(b"".join(lines))
    ran = program("inspect", session)
    assert ran.status == 0
    assert "errand.jsonl line 4: " in ran.out
    assert "line 7: 12 NUL bytes taken out: the record is read" in ran.out
    damage = program("inspect", session, "--json").json["total"]["damage"]
    assert {4, 7} <= {row["line"] for row in damage}


def test_the_tables_show_tokens_money_and_bars(program: Program, session: Path) -> None:
    out = program("inspect", session).out
    for section in (
        "Where the tokens went",
        "By tool",
        "By file",
        "Biggest results",
        "What became of tool results",
        "Repeated calls",
        "Superseded versions",
        "Where the text that was used later lay",
        "Prompt cache, expected and seen",
    ):
        assert section in out
    assert "█" in out
    assert "$" in out
    assert max(map(len, out.splitlines())) <= 132


def test_many_sessions_are_listed_and_summed(program: Program, session: Path) -> None:
    errand().write(session.with_name("second.jsonl"))
    ran = program("inspect", session.parent, "--jobs", "1")
    assert "2 sessions" in ran.out
    assert "all sessions" in ran.out
    found = program("inspect", session.parent, "--json", "--jobs", "1").json
    assert [one["name"] for one in found["sessions"]] == ["errand", "second"]
    assert found["total"]["bill"]["usd"] == pytest.approx(2 * found["sessions"][0]["bill"]["usd"])
    assert "\nerrand" in program("inspect", session.parent, "--each", "--jobs", "1").out


def test_another_model_counts_and_prices(program: Program, session: Path) -> None:
    found = program("inspect", session, "--json", "--model", "claude-haiku-4-5").json["total"]
    assert found["models"] == ["claude-haiku-4-5"]
    assert found["bill"]["output_usd"] == pytest.approx(11 * 50 * 5e-6)


def test_a_model_that_nobody_knows_is_priced_as_a_stated_default(
    program: Program, tmp_path: Path
) -> None:
    session = Session(model="mystery-1").user("hello").say("hi")
    out = program("inspect", session.write(tmp_path / "x.jsonl")).out
    assert "priced and counted as default (unknown model 'mystery-1')" in out


def test_a_file_without_usage_has_sizes_and_no_bill(program: Program, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(
        '[{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi there"},'
        ' {"role": "assistant", "content": "hello"}]'
    )
    ran = program("inspect", chat)
    assert ran.status == 0
    assert "no usage was recorded" in ran.out


@pytest.mark.parametrize("folder", ["claude-code", "codex", "tau-bench"])
def test_recorded_sessions_are_inspected_without_a_failure(
    program: Program, shared_data: Callable[..., Path], folder: str
) -> None:
    recorded = shared_data("data", "agent-sessions-dev", folder)
    ran = program("inspect", recorded, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert ran.json["failed"] == []
    assert ran.json["total"]["sessions"] == len(ran.json["sessions"]) >= 1
