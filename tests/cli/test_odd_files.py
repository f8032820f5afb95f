"""Files that are no session, or a strange one: each command names them and goes on with the rest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.program import Program, Ran
from tests.cli.sessions import Session, errand
from tests.traces import deep
from tests.traces import rows as claude

READERS = ("inspect", "replay", "forecast")


def told(ran: Ran) -> dict[str, str]:
    """What failed, by the file's name; the same must stand on stderr."""
    failed = {Path(one["path"]).name: one["error"] for one in ran.json["failed"]}
    for words in failed.values():
        assert f"tenure: {words}\n" in ran.err
    return failed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good session, one of sub-agents alone, and one that got no reply."""
    errand().write(tmp_path / "good.jsonl")
    Session().side("where?", "there").side("who?", "she").write(tmp_path / "agents.jsonl")
    Session().user("hello?").write(tmp_path / "unanswered.jsonl")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "fact", "way_out"),
    [
        ("agents.jsonl", "2 sub-agent conversations and no reply", "the session that started them"),
        ("unanswered.jsonl", "it holds no reply of a model", "name a session that got one"),
    ],
)
@pytest.mark.parametrize("json", [False, True])
def test_a_file_without_a_main_reply_is_no_forecast_and_is_told_so(
    program: Program, folder: Path, name: str, fact: str, way_out: str, *, json: bool
) -> None:
    ran = program("forecast", folder / name, *(["--json"] if json else []))
    assert ran.status == 1
    for part in (repr(str(folder / name)), "no main conversation to forecast", fact, way_out):
        assert part in ran.err
    assert "--resident, --growth and --output without a PATH" in ran.err
    if json:
        assert list(told(ran)) == [name]
        assert ran.json["forecasts"] == []
    else:
        assert ran.out == ""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_good_files_are_forecast_beside_those_that_have_none(
    program: Program, folder: Path, jobs: str
) -> None:
    ran = program("forecast", folder, "--json", "--jobs", jobs)
    assert ran.status == 0
    assert [one["name"] for one in ran.json["forecasts"]] == ["good"]
    assert set(told(ran)) == {"agents.jsonl", "unanswered.jsonl"}


def test_of_a_file_with_several_conversations_each_without_a_reply_is_named(
    program: Program, tmp_path: Path
) -> None:
    asked, answered = {"role": "user", "content": "go"}, {"role": "assistant", "content": "hi"}
    talks = [[asked, answered], [{"role": "user", "content": "anyone?"}], [asked, asked]]
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks))
    ran = program("forecast", path, "--json")
    assert ran.status == 0
    assert [one["name"] for one in ran.json["forecasts"]] == ["talks#1"]
    first, second = (one["error"] for one in ran.json["failed"])
    assert f"{str(path)!r}, 'talks#2' has no main conversation" in first
    assert f"{str(path)!r}, 'talks#3' has no main conversation" in second


@pytest.mark.parametrize("name", ["inspect", "replay"])
def test_sub_agents_alone_and_words_alone_are_sessions_too(
    program: Program, folder: Path, name: str
) -> None:
    ran = program(name, folder, "--json", "--jobs", "1")
    assert (ran.status, ran.err) == (0, "")
    steps = {one["name"]: one["steps"] for one in ran.json["sessions"]}
    assert steps == {"agents": 2, "good": 11, "unanswered": 0}
    for file in ("agents.jsonl", "unanswered.jsonl"):
        assert program(name, folder / file).status == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("path", ["", "*.jsonl"])
def test_a_pipe_that_a_folder_or_a_pattern_brings_in_is_named_and_not_waited_for(
    program: Program, tmp_path: Path, name: str, path: str
) -> None:
    errand().write(tmp_path / "good.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    ran = program(name, tmp_path / path, "--json", "--jobs", "1")
    assert ran.status == 0
    assert told(ran) == {
        "pipe.jsonl": f"{str(tmp_path / 'pipe.jsonl')!r} is a pipe, no file: skipped"
    }
    (tmp_path / "good.jsonl").unlink()
    alone = program(name, tmp_path / path)
    assert alone.status == 1
    assert alone.err.endswith("is a pipe, no file: skipped\ntenure: nothing could be read\n")


@pytest.mark.parametrize("levels", [150, 500, 900, 5_000, 100_000])
@pytest.mark.parametrize("name", READERS)
def test_values_nested_deep_cost_their_own_record_only(
    program: Program, tmp_path: Path, name: str, levels: int
) -> None:
    files = [(kind, place) for kind in deep.FORMATS for place in deep.PLACES]
    for kind, place in files:
        path = tmp_path / f"{kind} {place}.jsonl"
        path.write_bytes(b"\n".join(deep.lines(kind, place, levels)) + b"\n")
    ran = program(name, tmp_path, "--json", "--jobs", "1")
    assert (ran.status, ran.err) == (0, "")
    found = ran.json["forecasts" if name == "forecast" else "sessions"]
    assert [one["name"] for one in found] == sorted(f"{one} {place}" for one, place in files)
    if name == "inspect":
        damage = [{words["words"].split(":")[0] for words in one["damage"]} for one in found]
        wanted = "a record nested more than 200 levels deep"
        assert [wanted in words for words in damage] == [levels > 200] * len(files)


def test_what_is_nested_too_deep_for_python_is_no_bug_of_ours(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def falls(path: Path) -> None:
        del path
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr("tenure.cli.inspect.read", falls)
    path = errand().write(tmp_path / "run.jsonl")
    ran = program("inspect", path)
    assert ran.status == 1
    assert f"{str(path)!r}: a value in it is nested deeper than Python reads" in ran.err


def test_a_line_of_nuls_is_told_for_what_it_is(program: Program, tmp_path: Path) -> None:
    rows = [claude.user("u", None, "go"), claude.reply("a", "u", "m", claude.text("hi"))]
    path = tmp_path / "run.jsonl"
    path.write_bytes(claude.jsonl(rows) + b"\x00" * 4096)
    ran = program("inspect", path)
    assert ran.status == 0
    assert "4096 NUL bytes and nothing else: skipped" in " ".join(ran.out.split())
    assert "welded" not in ran.out
