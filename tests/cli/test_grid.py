"""Tables at any width: nothing that a program is told is missing from what people are shown."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tenure.cli.grid import BAR, FOLD, LEFT, RIGHT, Grid, wrapped
from tenure.cli.output import count, emit, percent, usd
from tenure.replay.compare import compare
from tenure.replay.recording import Settings
from tenure.traces import read
from tests.cli.program import Program
from tests.cli.sessions import errand

WIDTHS = ("60", "80", "120", None)
"""None: the output is no terminal."""


@pytest.fixture(params=WIDTHS, ids=lambda width: width or "piped")
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int | None:
    if request.param is None:
        monkeypatch.delenv("COLUMNS", raising=False)
        return None
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


@pytest.fixture
def folder(tmp_path: Path, program: Program) -> Path:
    """Two sessions with long names; the program is made first, since it sets a width itself."""
    del program
    for number in range(2):
        name = f"2026-11-30-nightly-build-of-the-service-{number}.jsonl"
        session = errand().pause(900).user("again").call("Bash", {"command": "x"}, "y" * 9_000)
        session.say("done").write(tmp_path / name)
    return tmp_path


def words_of(out: str) -> set[str]:
    return {word.strip(",;:()") for word in out.split()}


def shares(session: dict[str, Any]) -> Iterator[str]:
    for kind in ("classes", "tools", "files"):
        for row in session[kind]:
            yield from (count(row[key]) for key in ("blocks", "tokens", "carried"))
            yield usd(row["usd"]) if row["usd"] else "-"


@pytest.mark.parametrize("many", [False, True])
def test_every_figure_of_an_inspection_stands_in_its_tables(
    program: Program, folder: Path, width: int | None, *, many: bool
) -> None:
    path = folder if many else next(folder.iterdir())
    found = program("inspect", path, "--json", "--jobs", "1").json
    out = program("inspect", path, "--jobs", "1").out
    total, seen = found["total"], words_of(out)
    wanted = set(shares(total))
    wanted |= {count(row["tokens"]) for row in total["results"]}
    wanted |= {f"{row['carried']}x" for row in total["results"]}
    wanted |= {str(row["step"] + 1) for row in [*total["results"], *total["cache"]["misses"]]}
    wanted |= {str(row["times"]) for row in total["repeats"]}
    wanted |= {count(row["older_tokens"]) for row in [*total["repeats"], *total["superseded"]]}
    wanted |= {count(row["tokens"]) for row in total["result_use"].values()}
    wanted |= {str(row["uses"]) for rows in total["used_later"].values() for row in rows}
    wanted |= {usd(row["usd"]) for row in total["cache"]["misses"]}
    wanted |= {count(row["lost"]) for row in total["cache"]["misses"]}
    for kind in ("expiry", "drop"):
        wanted |= {percent(total["cache"][kind][key]) for key in ("precision", "recall")}
    if many:
        for one in found["sessions"]:
            bill = one["bill"]
            wanted |= {count(one["peak_tokens"]), count(bill["prompt"]), usd(bill["usd"])}
            wanted |= {str(one["steps"]), percent(bill["cache_read"] / bill["prompt"])}
    assert wanted - seen == set()
    if width is not None:
        assert max(map(cell_len, out.splitlines())) <= width


@pytest.mark.parametrize("many", [False, True])
def test_every_figure_of_a_replay_stands_in_its_tables(
    program: Program, folder: Path, width: int | None, *, many: bool
) -> None:
    path = folder if many else next(folder.iterdir())
    arguments = ("replay", path, "--policy", "clear-every-step", "--evictions", "--jobs", "1")
    found = program(*arguments, "--json").json
    out = program(*arguments).out
    wanted: set[str] = set()
    for row in found["total"].values():
        parts = [row["parts"][key] for key in ("read", "written", "fresh", "output", "refetch")]
        wanted |= {count(row["cost"]), usd(row["usd"]), f"{row['ratio']:.3f}", *map(count, parts)}
        wanted |= {count(row[key]) for key in ("evictions", "refetches", "peak_tokens")}
        wanted |= {str(row[key]) for key in ("over_budget", "violations")}
    edits = [
        edit for one in found["sessions"] for edit in one["policies"]["clear-every-step"]["edits"]
    ]
    assert edits
    unit = 5e-6
    for edit in edits:
        wanted |= {count(edit["tokens_before"] - edit["tokens_after"]), str(edit["step"] + 1)}
        wanted |= {usd(edit["price"] * unit), usd(edit["saves"] * unit)}
    assert wanted - words_of(out) == set()
    if width is not None:
        assert max(map(cell_len, out.splitlines())) <= width


def test_every_figure_of_a_forecast_stands_in_its_tables(
    program: Program, folder: Path, width: int | None
) -> None:
    path = next(folder.iterdir())
    (found,) = program("forecast", path, "--json", "--steps", "1000").json["forecasts"]
    out = program("forecast", path, "--steps", "1000").out
    wanted = {
        usd(row[key]) for row in found["carrying"] for key in ("cached_usd", "uncached_usd")
    } | {str(row["steps"]) for row in found["carrying"]}
    wanted |= {count(found[key]) for key in ("resident", "growth", "output")}
    assert wanted - words_of(out) == set()
    if width is not None:
        assert max(map(cell_len, out.splitlines())) <= width


def test_people_count_steps_from_one_in_tables_and_in_what_stands_in_for_results(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    path = next(folder.iterdir())
    biggest = program("inspect", path, "--json", "--top", "1").json["total"]["results"][0]
    (row,) = (
        line.split()
        for line in program("inspect", path, "--top", "1").out.splitlines()
        if f"{biggest['carried']}x" in line.split()
    )
    assert row[:3] == ["main", str(biggest["step"] + 1), biggest["tool"]]
    small = Settings(window=24_000, max_tokens=1_000)
    (result,) = compare(read(path), ("append-only", "tenure"), small).results
    edits = [edit for row in result.sessions["tenure"].rows for edit in row.evictions]
    first = next(edit for edit in edits if edit.about == "src/alpha.py")
    # The second request was the first to carry it.
    assert "result of Read of step 2," in first.stand_in


def test_where_the_output_is_no_terminal_every_row_is_one_line(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = program("inspect", folder, "--jobs", "1").out.splitlines()
    rows = [line for line in out if "nightly-build-of-the-service-0" in line]
    titles = next(line for line in out if line.startswith("  session") and "USD" in line)
    assert {"format", "model", "steps", "peak", "misses"} <= set(titles.split())
    assert "claude-opus-4-5" in rows[0]


FIGURES = st.integers(0, 10**12).map(lambda one: f"{one:,}")
WORDS = st.text("ab -/_漢", max_size=40).map(str.strip)


@given(
    st.lists(st.tuples(WORDS, FIGURES, FIGURES, WORDS), min_size=1, max_size=5),
    st.integers(28, 140),
)
def test_no_width_cuts_a_figure_or_loses_a_letter(
    rows: list[tuple[str, str, str, str]], columns: int
) -> None:
    grid = Grid(
        [("name", LEFT), ("a long title", RIGHT), ("", BAR), ("cost", RIGHT), ("why", FOLD)],
        [[Text(a), Text(b), Text("█" * 9), Text(c), Text(d)] for a, b, c, d in rows],
    )
    file = io.StringIO()
    Console(file=file, width=columns).print(grid, crop=False)
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert max(map(cell_len, lines)) <= columns
    seen = sorted("".join(lines))
    for words, *figures, why in rows:
        assert all(any(figure in line.split() for line in lines) for figure in figures)
        assert set(words + why) - {" "} <= set(seen)
    letters = sorted(one for row in rows for one in row[0] + row[3] if one in "漢_/")
    assert [one for one in seen if one in "漢_/"] == letters


@pytest.mark.parametrize("columns", [30, 60, 200])
def test_what_is_indented_stays_so_where_it_is_wrapped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    emit([Text("    " + "word " * 30)])
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("    word") and cell_len(line) <= columns for line in lines)
    assert sum(line.count("word") for line in lines) == 30


@given(st.text("ab -/_漢", max_size=80), st.integers(2, 30))
def test_wrapping_keeps_every_letter_in_order_and_the_width(text: str, columns: int) -> None:
    lines = wrapped(text, columns)
    assert all(cell_len(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
