"""`tenure forecast`: its numbers are those of `cost.forecast`, its words say what they mean."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from tenure.cost.forecast import Growth, carrying_cost, compaction_price, edit_price
from tenure.cost.models import profile
from tenure.policies.schedule import Settings
from tests.cli.program import Program
from tests.cli.sessions import HIDDEN, Session, errand

MODEL = "claude-opus-4-5"
AMOUNTS = ("--model", MODEL, "--resident", "150k", "--growth", "2k", "--output", "400")
GROWTH = Growth(2000, 400)


def test_the_carrying_cost_is_the_formulas(program: Program) -> None:
    (one,) = program("forecast", *AMOUNTS, "--steps", "40", "--json").json["forecasts"]
    assert [row["steps"] for row in one["carrying"]] == [1, 5, 10, 20, 40]
    for row in one["carrying"]:
        cost = carrying_cost(profile(MODEL), 150_000, row["steps"], GROWTH)
        assert row["cached"] == cost
        assert row["cached_usd"] == pytest.approx(cost * 5e-6)
        assert row["uncached"] == carrying_cost(
            profile(MODEL), 150_000, row["steps"], GROWTH, cached=False
        )


def test_evicting_and_compacting_are_priced(program: Program) -> None:
    edit = ("--offset", "100k", "--freed", "30k")
    fold = ("--head", "20k", "--tail", "10k", "--summary", "1.5k")
    (one,) = program("forecast", *AMOUNTS, *edit, *fold, "--json").json["forecasts"]
    price = edit_price(profile(MODEL), 150_000, 100_000, 30_000)
    assert one["evict"]["once"] == price.once
    assert one["evict"]["break_even_steps"] == price.break_even
    assert one["evict"]["net"] == price.net(49)
    price = compaction_price(profile(MODEL), 150_000, head=20_000, tail=10_000, summary=1500)
    assert one["compact"]["per_step"] == price.per_step
    assert one["assumed"] == ["task_budget"]


def test_what_never_pays_is_null_in_json_and_a_word_for_people(program: Program) -> None:
    edit = ("--offset", "1", "--freed", "0")
    (one,) = program("forecast", *AMOUNTS, *edit, "--json").json["forecasts"]
    assert edit_price(profile(MODEL), 150_000, 1, 0).break_even == inf
    assert one["evict"]["break_even_steps"] is None
    assert "pays never" in program("forecast", *AMOUNTS, *edit).out


def test_a_cold_cache_makes_an_eviction_a_gain(program: Program) -> None:
    out = program("forecast", *AMOUNTS, "--offset", "50k", "--freed", "50k", "--cold").out
    assert "gains $0.31 at once" in out
    assert "pays at once" in out
    assert "the cache is cold, so everything is written" in out
    assert "-0.0%" not in out


def test_a_small_view_is_left_alone(program: Program) -> None:
    small = ("--model", MODEL, "--resident", "20k", "--growth", "1k", "--output", "100")
    assert "only 10.0% of the window of 200,000 is resident" in program("forecast", *small).out
    (one,) = program("forecast", *small, "--json").json["forecasts"]
    assert one["worth_managing"] is False
    ran = program("forecast", *small, "--task-budget", "50k", "--json")
    assert ran.json["forecasts"][0]["worth_managing"] is True


def test_a_window_that_fills_is_announced(program: Program) -> None:
    (one,) = program("forecast", *AMOUNTS, "--json").json["forecasts"]
    room = profile(MODEL).context_window - profile(MODEL).max_output
    assert one["fills_window_after"] == max(0, (room - 150_000) // 2000)
    assert "no room is left" in program("forecast", *AMOUNTS).out


def test_the_amounts_of_a_recorded_session_are_read_off_it(
    program: Program, tmp_path: Path
) -> None:
    session = errand().write(tmp_path / "errand.jsonl")
    (one,) = program("forecast", session, "--json").json["forecasts"]
    assert one["name"] == "errand"
    assert one["output"] == 50
    assert one["resident"] > HIDDEN
    assert one["compact"]["head"] == pytest.approx(HIDDEN, rel=0.01)
    # The file was read twice: the older copy could go.
    assert one["evict"]["freed"] > 1000
    assert one["evict"]["offset"] == pytest.approx(HIDDEN, rel=0.02)
    (other,) = program("forecast", session, "--json", "--growth", "9k").json["forecasts"]
    assert (other["growth"], other["output"]) == (9000, 50)


def test_a_session_of_one_step_has_a_forecast(program: Program, tmp_path: Path) -> None:
    session = Session().user("hello").say("hi").write(tmp_path / "short.jsonl")
    ran = program("forecast", session)
    assert ran.status == 0
    assert "What the next steps cost" in ran.out


def test_missing_amounts_are_named(program: Program) -> None:
    ran = program("forecast", "--resident", "100k", "--model", MODEL)
    assert ran.status == 2
    assert "--growth, --output must be given too" in ran.err


def test_amounts_that_contradict_each_other_are_a_misuse(program: Program) -> None:
    ran = program("forecast", *AMOUNTS, "--offset", "140k", "--freed", "20k")
    assert ran.status == 2
    assert "these amounts do not fit together" in ran.err


def test_the_task_budget_is_the_policys(program: Program) -> None:
    wide = ("--model", "claude-opus-5-5", "--resident", "150k", "--growth", "1k", "--output", "100")
    assert profile("claude-opus-5-5").context_window > Settings().task_budget
    (one,) = program("forecast", *wide, "--json").json["forecasts"]
    assert one["task_budget"] == Settings().task_budget
    out = " ".join(program("forecast", *wide).out.split())
    assert "75.0% of the policy's task budget of 200,000" in out


def test_evicting_counts_what_the_policy_would_have_taken(program: Program, tmp_path: Path) -> None:
    session = Session().user("read them all")
    for number in range(30):
        noise = "\n".join(f"{number} line_{at} = compute_{at}({number})" for at in range(400))
        session.call("Bash", {"command": f"cat part{number}"}, noise)
    path = session.say("done").write(tmp_path / "long.jsonl")
    ran = program("replay", path, "--json", "--policy", "tenure", "--evictions")
    row = ran.json["sessions"][0]["policies"]["tenure"]
    (one,) = program("forecast", path, "--json").json["forecasts"]
    assert (row["refetches"], row["evictions"] > 0) == (0, True)
    freed = sum(edit["tokens_before"] - edit["tokens_after"] for edit in row["edits"])
    assert one["evict"]["by_policy"] == freed == one["evict"]["freed"]
    assert "the policy tenure would have evicted" in program("forecast", path).out
    (other,) = program("forecast", path, "--json", "--freed", "10").json["forecasts"]
    assert other["evict"]["by_policy"] is None


@pytest.mark.parametrize("resident", ["10k", "90k", "150k", "165k"])
@pytest.mark.parametrize("steps", ["1", "5", "500"])
@pytest.mark.parametrize(
    "edit", [(), ("--offset", "1", "--freed", "9"), ("--cold",), ("--freed", "0", "--offset", "1")]
)
def test_the_verdict_agrees_with_every_figure(
    program: Program, resident: str, steps: str, edit: tuple[str, ...]
) -> None:
    given = ("--model", MODEL, "--growth", "1k", "--output", "100", "--steps", steps, *edit)
    (one,) = program("forecast", "--resident", resident, *given, "--json").json["forecasts"]
    advice, net = one["verdict"], {name: one[name]["net_usd"] for name in ("evict", "compact")}
    assert (advice == "leave") is not one["worth_managing"]
    if advice in net:
        assert one["saves_usd"] == net[advice]
        # What loses nothing goes first where it saves anything.
        assert (net["evict"] > 0) <= (advice == "evict")
        assert net[advice] > 0 or net[advice] == max(net.values())
        assert net[advice] > 0 or one["fills_window_after"] is not None
    else:
        assert one["saves_usd"] == 0
    if advice == "wait":
        assert net["compact"] <= 0
        assert net["evict"] <= 0 or not one["evict"]["freed"]
        assert one["fills_window_after"] is None
    out = " ".join(program("forecast", "--resident", resident, *given).out.split())
    assert " ".join(one["verdict_words"].split()) in out


def test_many_sessions_have_a_line_that_sums_them_up(program: Program, tmp_path: Path) -> None:
    for number in range(3):
        errand().write(tmp_path / f"errand{number}.jsonl")
    found = program("forecast", tmp_path, "--json", "--jobs", "1").json
    whole, each = found["summary"], found["forecasts"]
    assert whole["sessions"] == sum(whole["verdicts"].values()) == len(each) == 3
    assert whole["cached_usd"] == pytest.approx(
        sum(one["carrying"][-1]["cached_usd"] for one in each)
    )
    assert whole["saves_usd"] == pytest.approx(sum(one["saves_usd"] for one in each))
    out = program("forecast", tmp_path, "--jobs", "1").out
    assert "3 sessions: 3 to leave alone; the next 50 steps of each cost" in " ".join(out.split())
    assert "3 sessions:" not in program("forecast", tmp_path / "errand0.jsonl").out


def test_a_session_with_nothing_to_evict_is_told_so_and_nothing_is_assumed(
    program: Program, tmp_path: Path
) -> None:
    path = Session().user("hello").say("hi").write(tmp_path / "short.jsonl")
    (one,) = program("forecast", path, "--json").json["forecasts"]
    assert one["evict"]["freed"] == 0
    assert not {"offset", "freed"} & set(one["assumed"])
    assert "nothing to evict" in program("forecast", path).out
    (given,) = program("forecast", path, "--offset", "1", "--json").json["forecasts"]
    assert given["evict"]["freed"] > 0
    assert "freed" in given["assumed"]
