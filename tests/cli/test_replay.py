"""`tenure replay` and `tenure demo`: the comparison as tables, JSON and a web page."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

import tenure.cli.demo
from tenure.policies import names
from tests.cli.program import Program
from tests.cli.sessions import Session, errand

FIGURES = {"cost", "refetches", "violations", "evictions", "peak_tokens"}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return errand().write(tmp_path / "errand.jsonl")


def test_the_json_has_the_figures_of_every_policy(program: Program, session: Path) -> None:
    found = program("replay", session, "--json").json
    policies = ["append-only", "clear-100k-keep-3", "clear-every-step", "tenure"]
    assert list(found["total"]) == policies
    (one,) = found["sessions"]
    assert list(one["policies"]) == policies
    for name, row in one["policies"].items():
        assert row.keys() >= FIGURES
        assert all(isinstance(row[figure], int | float) for figure in FIGURES)
        assert found["total"][name]["cost"] == pytest.approx(row["cost"])
        assert row["usd"] == pytest.approx(row["cost"] * 5e-6)
        assert row["violations"] == 0


def test_append_only_evicts_nothing_and_is_the_measure(program: Program, session: Path) -> None:
    found = program("replay", session, "--json").json["total"]
    assert found["append-only"]["evictions"] == 0
    assert found["append-only"]["ratio"] == 1
    assert found["clear-every-step"]["evictions"] > 0
    for row in found.values():
        assert row["ratio"] == pytest.approx(row["cost"] / found["append-only"]["cost"])


def test_chosen_policies_stand_beside_append_only(program: Program, session: Path) -> None:
    ran = program("replay", session, "--json", "--policy", "clear-every-step,tenure")
    assert list(ran.json["total"]) == ["append-only", "clear-every-step", "tenure"]
    again = program("replay", session, "--json", "--policy", "tenure", "--policy", "foresight")
    assert list(again.json["total"]) == ["append-only", "tenure", "foresight"]


def test_an_unknown_policy_is_answered_by_the_known_ones(program: Program, session: Path) -> None:
    ran = program("replay", session, "--policy", "tenor")
    assert (ran.status, ran.out) == (2, "")
    assert "no policy is called 'tenor'" in ran.err
    assert all(name in ran.err for name in (*names(), "foresight"))


def test_prices_and_the_window_can_be_named(program: Program, session: Path) -> None:
    dear = program("replay", session, "--json", "--read", "0.2", "--write", "2.5").json
    parts = dear["total"]["append-only"]["parts"]
    plain = program("replay", session, "--json").json["total"]["append-only"]["parts"]
    assert parts["read"] == pytest.approx(plain["read"] * 2)
    assert parts["written"] == pytest.approx(plain["written"] * 2)
    small = program("replay", session, "--json", "--window", "60k").json["sessions"][0]
    assert {row["window"] for row in small["policies"].values()} == {60_000}


def test_a_window_that_is_too_small_is_counted_and_not_an_error(
    program: Program, session: Path
) -> None:
    found = program("replay", session, "--json", "--window", "22k").json["total"]
    assert found["append-only"]["over_budget"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ("--window", "0"),
        ("--window", "many"),
        ("--window", "inf"),
        ("--read", "nan"),
        ("--read", "-1"),
        ("--jobs", "0.5"),
    ],
)
def test_a_number_that_makes_no_sense_is_a_misuse(
    program: Program, session: Path, words: tuple[str, str]
) -> None:
    ran = program("replay", session, *words)
    assert ran.status == 2
    assert repr(words[1]) in ran.err


def test_every_eviction_is_listed_on_demand(program: Program, session: Path) -> None:
    found = program("replay", session, "--json", "--evictions", "--policy", "clear-every-step")
    row = found.json["sessions"][0]["policies"]["clear-every-step"]
    assert len(row["edits"]) == row["evictions"] > 3
    first = row["edits"][0]
    assert first["about"] == "src/alpha.py"
    assert first["tokens_before"] > first["tokens_after"]
    assert {"thread", "step", "tool", "words", "when", "price", "saves", "handle"} <= first.keys()
    assert [one["step"] for one in row["edits"]] == sorted(one["step"] for one in row["edits"])


def test_the_tables_show_what_was_evicted_and_why(program: Program, session: Path) -> None:
    policy = ("--policy", "clear-every-step")
    some = program("replay", session, *policy, "--top", "2").out
    assert "What clear-every-step evicted" in some
    assert "the 2 largest of" in some
    every = program("replay", session, *policy, "--evictions").out
    assert "in order of" in every
    assert every.count("src/alpha.py") >= 1
    for column in ("ratio", "read", "written", "re-fetches", "peak tokens", "violations"):
        assert column in every


def test_a_session_that_nobody_answered_costs_nothing(program: Program, tmp_path: Path) -> None:
    waiting = Session().user("hello?").write(tmp_path / "waiting.jsonl")
    ran = program("replay", waiting)
    assert ran.status == 0
    assert "tenure evicted nothing" in ran.out
    row = program("replay", waiting, "--json").json["total"]["tenure"]
    assert (row["cost"], row["ratio"]) == (0, None)
    assert program("inspect", waiting).status == 0


def test_many_sessions_are_a_row_each_and_a_total(program: Program, session: Path) -> None:
    errand().say("more").write(session.with_name("second.jsonl"))
    out = program("replay", session.parent, "--jobs", "1").out
    assert "2 sessions" in out
    assert "All 2 sessions" in out
    found = program("replay", session.parent, "--json", "--jobs", "1").json
    costs = [one["policies"]["tenure"]["cost"] for one in found["sessions"]]
    assert found["total"]["tenure"]["cost"] == pytest.approx(sum(costs))


def test_the_report_is_written_where_asked(program: Program, session: Path) -> None:
    page = session.with_name("report.html")
    ran = program("replay", session, "--json", "--html", page)
    assert ran.err == f"report: {page}\n"
    assert ran.json["total"]
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_a_report_without_a_folder_is_refused_before_the_work(
    program: Program, session: Path
) -> None:
    ran = program("replay", session, "--html", session.parent / "none" / "report.html")
    assert (ran.status, ran.out) == (2, "")
    assert "there is no folder" in ran.err


def test_the_demo_replays_what_ships_inside_the_package(
    program: Program, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = importlib.import_module("tenure.core.data").read_data

    def read_data(name: str) -> bytes:
        return session.read_bytes() if name == tenure.cli.demo.SESSION else bytes(data(name))

    monkeypatch.setattr(tenure.cli.demo, "read_data", read_data)
    page = session.with_name("demo.html")
    ran = program("demo", "--out", page)
    assert ran.status == 0
    assert ran.err == f"report: {page}\n"
    assert "tenure" in ran.out
    assert "append-only" in ran.out
    assert page.stat().st_size > 10_000
    assert program("demo", "--out", page, "--json").json["sessions"][0]["name"] == "demo"


@pytest.mark.parametrize("folder", ["codex", "tau-bench"])
def test_recorded_sessions_are_replayed_without_a_failure(
    program: Program, shared_data: Callable[..., Path], folder: str
) -> None:
    recorded = shared_data("data", "agent-sessions-dev", folder)
    ran = program("replay", recorded, "--json", "--policy", "tenure")
    assert (ran.status, ran.err) == (0, "")
    assert ran.json["failed"] == []
    assert ran.json["total"]["tenure"]["violations"] == 0


def test_the_recorded_bill_stands_beside_the_simulated_one(program: Program, session: Path) -> None:
    bill = program("inspect", session, "--json").json["total"]["bill"]["usd"]
    (one,) = program("replay", session, "--json").json["sessions"]
    assert one["recorded_usd"] == pytest.approx(bill)
    assert one["recorded_cost"] == pytest.approx(bill / 5e-6)
    words = f"the provider billed ${bill:.2f} for this session as recorded"
    page = session.with_name("bill.html")
    assert words in program("replay", session, "--html", page).out
    assert words in page.read_text(encoding="utf-8")


def test_billed_is_the_recorded_usage_in_the_units_of_the_policies(
    program: Program, tmp_path: Path
) -> None:
    errand().write(tmp_path / "five-minutes.jsonl")
    errand(hour=True).pause(400).user("and?").say("so").write(tmp_path / "hour.jsonl")
    found = program("replay", tmp_path, "--json").json
    bills = {
        one["name"]: one["bill"] for one in program("inspect", tmp_path, "--json").json["sessions"]
    }
    for one in found["sessions"]:
        bill, billed = bills[one["name"]], one["billed"]
        hour = one["name"] == "hour"
        assert bill["cache_write_1h"] == (bill["cache_write"] if hour else 0)
        assert billed["parts"] == {
            "read": pytest.approx(0.1 * bill["cache_read"]),
            "written": pytest.approx((2 if hour else 1.25) * bill["cache_write"]),
            "fresh": pytest.approx(bill["fresh"]),
            "output": pytest.approx(5 * bill["output"]),
        }
        assert (
            billed["cost"] == one["recorded_cost"] == pytest.approx(sum(billed["parts"].values()))
        )
        assert billed["usd"] == one["recorded_usd"] == pytest.approx(bill["usd"])
        assert (billed["requests"], billed["without_usage"]) == (bill["requests"], 0)
    for key in ("cost", "usd", "requests"):
        parts = [one["billed"][key] for one in found["sessions"]]
        assert found["billed"][key] == pytest.approx(sum(parts))


@pytest.mark.parametrize(
    ("ttl", "prices"),
    [
        (None, {"five": (1.25, 300), "hour": (1.25, 300)}),
        ("5m", {"five": (1.25, 300), "hour": (1.25, 300)}),
        ("1h", {"five": (2, 3_600), "hour": (2, 3_600)}),
        ("recorded", {"five": (1.25, 300), "hour": (2, 3_600)}),
        ("90", {"five": (1.25, 90), "hour": (1.25, 90)}),
    ],
)
def test_the_lifetime_that_is_priced_is_the_one_asked_for_and_is_said(
    program: Program, tmp_path: Path, ttl: str | None, prices: dict[str, tuple[float, float]]
) -> None:
    errand().write(tmp_path / "five.jsonl")
    errand(hour=True).write(tmp_path / "hour.jsonl")
    asked = [] if ttl is None else ["--ttl", ttl]
    found = program("replay", tmp_path, *asked, "--json").json["sessions"]
    priced = {one["name"]: (one["prices"]["write"], one["prices"]["ttl"]) for one in found}
    assert priced == prices
    for one in found:
        written = one["policies"]["append-only"]["parts"]["written"]
        assert written == pytest.approx(
            prices[one["name"]][0] / 1.25 * _written_at_five_minutes(program, tmp_path, one["name"])
        )
    page = tmp_path / "report.html"
    said = " ".join(program("replay", tmp_path, *asked, "--html", page).out.split())
    sets = dict.fromkeys(prices.values())
    spelled = {300: "5 min (write 1.25)", 3_600: "1 h (write 2)", 90: "1.5 min (write 1.25)"}
    words = "the prompt cache is priced as kept for " + " or ".join(
        spelled[int(time)] for _, time in sets
    )
    assert words in said
    assert words in page.read_text(encoding="utf-8")
    offered = "1 of these sessions wrote the cache that is kept for an hour" in said
    assert offered == (ttl not in {"1h", "recorded"})


def _written_at_five_minutes(program: Program, folder: Path, name: str) -> float:
    (one,) = program("replay", folder / f"{name}.jsonl", "--ttl", "5m", "--json").json["sessions"]
    written: float = one["policies"]["append-only"]["parts"]["written"]
    return written


@pytest.mark.parametrize("ttl", ["soon", "-1", "", "5min", "1H"])
def test_a_lifetime_that_makes_no_sense_is_answered_by_those_that_do(
    program: Program, session: Path, ttl: str
) -> None:
    ran = program("replay", session, f"--ttl={ttl}")
    assert (ran.status, ran.out) == (2, "")
    assert "none of recorded, 5m, 1h and no number of seconds" in ran.err


def test_without_recorded_usage_nothing_is_said_of_a_bill(program: Program, tmp_path: Path) -> None:
    waiting = Session().user("hello?").write(tmp_path / "waiting.jsonl")
    assert "billed" not in program("replay", waiting).out
    (one,) = program("replay", waiting, "--json").json["sessions"]
    assert (one["recorded_usd"], one["recorded_cost"], one["billed"]) == (None, None, None)


def test_an_unknown_model_is_priced_as_a_default_that_is_named(
    program: Program, tmp_path: Path
) -> None:
    path = Session(model="mystery-9").user("go").say("ok").write(tmp_path / "odd.jsonl")
    assert "default (unknown model 'mystery-9')" in program("replay", path).out
    assert "1 step in 1 thread " in program("inspect", path).out


def test_units_of_different_prices_are_told_apart(program: Program, session: Path) -> None:
    assert "ratios of the sums in USD" not in program("replay", session).out
    other = Session(model="claude-haiku-4-5").user("go").say("ok")
    other.write(session.with_name("small.jsonl"))
    out = program("replay", session.parent, "--jobs", "1").out
    assert "ratios of the sums in USD: append-only 1.000" in " ".join(out.split())


def test_totals_of_several_models_add_each_sessions_own_input_tokens(
    program: Program, tmp_path: Path
) -> None:
    """As docs/commands.md says: the ratio is one of tokens, whatever they cost."""
    prices = {"claude-opus-4-5": 5e-6, "claude-haiku-4-5": 1e-6}
    for number, model in enumerate(prices):
        session = Session(model=model).user("read them")
        for part in range(10 * (number + 1)):
            session.call("Bash", {"command": f"cat part{part}"}, f"line_{part} of it\n" * 900)
        session.say("done").write(tmp_path / f"{model}.jsonl")
    ran = program("replay", tmp_path, "--json", "--policy", "clear-every-step")
    total, sessions = ran.json["total"], ran.json["sessions"]
    assert [one["model"] for one in sessions] == sorted(prices)
    for policy, row in total.items():
        costs = [one["policies"][policy]["cost"] for one in sessions]
        assert row["cost"] == pytest.approx(sum(costs))
        spent = sum(cost * prices[one["model"]] for cost, one in zip(costs, sessions, strict=True))
        assert row["usd"] == pytest.approx(spent)
        assert row["ratio"] == pytest.approx(row["cost"] / total["append-only"]["cost"])
    money = total["clear-every-step"]["usd"] / total["append-only"]["usd"]
    assert abs(money - total["clear-every-step"]["ratio"]) > 0.001
    shown = " ".join(program("replay", tmp_path, "--policy", "clear-every-step").out.split())
    assert "the models differ in price" in shown
    assert f"append-only 1.000, clear-every-step {money:.3f}" in shown
