"""The program as a whole: help, failures, interrupts, closed pipes."""

from __future__ import annotations

import os
import signal
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import tenure.cli.inspect
from tenure.cli.work import over_files
from tests.cli.program import Program, command, run
from tests.cli.sessions import errand

COMMANDS = ("inspect", "replay", "forecast", "demo")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return errand().write(tmp_path / "errand.jsonl")


def test_the_version_is_that_of_the_package(program: Program) -> None:
    assert program("--version").out == f"tenure {version('tenure')}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_an_example(program: Program, name: str) -> None:
    ran = program(name, "--help")
    assert ran.status == 0
    assert f"example:\n  tenure {name} " in ran.out


def test_without_a_command_the_program_is_misused(program: Program) -> None:
    ran = program()
    assert ran.status == 2
    assert "usage: tenure" in ran.err


@pytest.mark.parametrize("name", COMMANDS[:3])
def test_a_path_that_does_not_exist_is_said_by_name(program: Program, name: str) -> None:
    ran = program(name, "no/such/run.jsonl")
    assert ran.status == 1
    assert "'no/such/run.jsonl' names no file" in ran.err
    assert "nothing could be read" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("name", COMMANDS[:3])
def test_a_broken_file_is_named_and_the_rest_goes_on(
    program: Program, session: Path, name: str
) -> None:
    broken = session.with_name("a-broken.jsonl")
    broken.write_bytes(b"\x00\x01 nothing that anyone wrote")
    ran = program(name, session.parent, "missing.jsonl", "--jobs", "1", "--json")
    assert ran.status == 0
    assert [Path(one["path"]).name for one in ran.json["failed"]] == [
        "missing.jsonl",
        "a-broken.jsonl",
    ]
    assert "a-broken.jsonl" in ran.err
    assert len(ran.json["forecasts" if name == "forecast" else "sessions"]) == 1


@pytest.mark.parametrize("name", COMMANDS[:3])
def test_an_unknown_model_is_answered_by_the_known_ones(
    program: Program, session: Path, name: str
) -> None:
    ran = program(name, session, "--model", "opus-of-tomorrow")
    assert (ran.status, ran.out) == (2, "")
    assert "no model is called 'opus-of-tomorrow'" in ran.err
    assert "claude-opus-4-5" in ran.err


def test_a_bug_in_one_file_is_told_in_one_line(
    program: Program, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path) -> None:
        raise ZeroDivisionError(path.name)

    monkeypatch.setattr(tenure.cli.inspect, "read", fails)
    ran = program("inspect", session)
    assert ran.status == 1
    assert "a bug of tenure's: ZeroDivisionError: errand.jsonl" in ran.err
    assert "Traceback" not in ran.err


def test_a_bug_of_the_program_is_told_kindly_and_in_full_when_asked(
    program: Program, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(tenure.cli.inspect, "over_files", fails)
    ran = program("inspect", session)
    assert ran.status == 1
    assert ran.err == "tenure: a bug of tenure's: ZeroDivisionError: oops; --debug shows where\n"
    assert "Traceback" in program("inspect", session, "--debug").err


@pytest.mark.parametrize("name", COMMANDS[:3])
def test_nothing_but_json_reaches_stdout_and_nothing_stderr(
    program: Program, session: Path, name: str
) -> None:
    ran = program(name, session, "--json")
    assert (ran.status, ran.err) == (0, "")
    assert ran.json["failed"] == []


def test_more_processes_change_nothing_but_the_time(session: Path) -> None:
    errand().say("more").write(session.with_name("other.jsonl"))
    alone = run("inspect", session.parent, "--json", "--jobs", "1")
    together = run("inspect", session.parent, "--json", "--jobs", "2")
    assert (together.status, together.err) == (0, "")
    assert alone.out == together.out


def test_a_closed_pipe_ends_the_program_without_a_word(session: Path) -> None:
    for number in range(3):
        errand().write(session.with_name(f"other{number}.jsonl"))
    reads_nothing, writes = os.pipe()
    os.close(reads_nothing)
    done = subprocess.run(
        command("inspect", session.parent, "--json", "--jobs", "1"),
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_the_program_without_a_word(session: Path, jobs: str) -> None:
    waits = session.with_name("waits.jsonl")
    os.mkfifo(waits)
    process = subprocess.Popen(
        command("replay", waits, session, "--jobs", jobs),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with waits.open("wb"):  # opens when the program reads it: then it is at work
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_process_that_dies_is_a_failure_of_its_file(session: Path) -> None:
    other = errand().write(session.with_name("other.jsonl"))
    done = over_files([str(session), str(other)], _die, jobs=2, quiet=True)
    assert done.values == ()
    assert [one.path for one in done.failures] == [str(session), str(other)]
    assert "try --jobs 1" in done.failures[0].words


def _die(path: Path) -> list[str]:
    os._exit(1)


def test_a_terminal_without_the_characters_is_written_to_all_the_same(session: Path) -> None:
    ran = run("inspect", session, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.status == 0
    assert "Where the tokens went" in ran.out


def test_control_characters_of_a_transcript_do_not_reach_the_terminal(
    program: Program, tmp_path: Path
) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[bold]x[/bold]\ud800"
    session = errand().call(f"Read{hostile}", {"file_path": f"a/{hostile}.py"}, hostile * 500)
    session.call("Read", {"file_path": "b"}, "x").say("done")
    for name in ("inspect", "replay"):
        ran = program(name, session.write(tmp_path / "hostile.jsonl"))
        assert ran.status == 0
        assert not set(ran.out) & set("\x1b\x07")
    assert "[bold]x[/bold]" in program("inspect", tmp_path / "hostile.jsonl").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_said_of_stdout(session: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("inspect", session), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"tenure: 'stdout': no space left")
    assert done.stderr.count(b"\n") == 1


def test_a_file_that_is_no_transcript_is_not_called_a_cut_record(
    program: Program, tmp_path: Path
) -> None:
    words = tmp_path / "passwd"
    words.write_text("root:x:0:0:root:/root:/bin/sh\nbin:x:1:1::/:/bin/false\n", encoding="utf-8")
    ran = program("inspect", words)
    assert ran.status == 1
    assert "is no transcript: it holds no JSON record" in ran.err
    assert "cut off" not in ran.err
