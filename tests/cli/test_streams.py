"""Outputs that nobody reads, and files that cannot be written, for every command."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import Program, command
from tests.cli.sessions import errand

ARGUMENTS = {
    "inspect": ("inspect", "run.jsonl"),
    "inspect as json": ("inspect", "run.jsonl", "--json"),
    "replay": ("replay", "run.jsonl", "--policy", "tenure", "--html", "page.html"),
    "replay as json": ("replay", "run.jsonl", "--policy", "tenure", "--json"),
    "forecast": ("forecast", "run.jsonl"),
    "lint": ("lint", "run.jsonl"),
    "help": ("--help",),
    "version": ("--version",),
    "help of a command": ("lint", "--help"),
}

QUIET = 141


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    errand().write(tmp_path / "run.jsonl")
    return tmp_path


def shell(
    folder: Path, arguments: tuple[str, ...], closing: str
) -> subprocess.CompletedProcess[str]:
    line = f"{shlex.join(command(*arguments))} {closing}"
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, capture_output=True, check=False, text=True
    )


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_reader_that_went_away_ends_every_command_without_a_word(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    nobody, writes = os.pipe()
    os.close(nobody)
    done = subprocess.run(
        command(*arguments), cwd=folder, stdout=writes, stderr=subprocess.PIPE, check=False
    )
    os.close(writes)
    assert done.stderr == b""
    # argparse goes on after what it could not write, which it finds out where nothing is buffered.
    assert done.returncode in ((0, QUIET) if {"--help", "--version"} & set(arguments) else (QUIET,))
    # What was asked for as a file is there all the same.
    assert (folder / "page.html").exists() is ("--html" in arguments)


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_closed_output_is_no_error_worth_a_word(folder: Path, arguments: tuple[str, ...]) -> None:
    done = shell(folder, arguments, ">&-")
    assert (done.returncode, done.stdout) == (QUIET, "")
    assert done.stderr == ("report: page.html\n" if "--html" in arguments else "")


def test_nothing_needs_any_of_the_three_streams(folder: Path) -> None:
    done = shell(folder, ARGUMENTS["replay"], "<&- >&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (QUIET, "", "")
    assert (folder / "page.html").exists()


def test_errors_never_land_in_the_output_when_their_own_stream_is_closed(folder: Path) -> None:
    (folder / "bad.jsonl").write_text("no record\n", encoding="utf-8")
    done = shell(folder, ("inspect", ".", "--json"), "2>&-")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["failed"]) == 1


def test_a_reader_of_the_errors_that_went_away_ends_the_program_without_a_word(
    folder: Path,
) -> None:
    nobody, writes = os.pipe()
    os.close(nobody)
    done = subprocess.run(
        command("inspect", "missing.jsonl"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=writes,
        check=False,
    )
    os.close(writes)
    assert (done.returncode, done.stdout) == (QUIET, b"")


def test_closed_stdin_is_an_empty_one(folder: Path) -> None:
    done = shell(folder, ("lint", "-"), "<&-")
    assert done.returncode == 2
    assert "bug" not in done.stderr


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("", "'' is no file name"),
        (" ", "' ' is no file name"),
        (".", "it is a folder"),
        ("none/page.html", "there is no folder 'none'"),
        ("run.jsonl/page.html", "there is no folder 'run.jsonl'"),
        ("run.jsonl", "it is one of the files to read"),
        ("link.jsonl", "it is one of the files to read"),
        ("round.html", "too many levels of symbolic links"),
        (f"{'x' * 300}.html", "file name too long"),
        ("/proc/tenure.html", "no such file or directory"),
    ],
)
@pytest.mark.parametrize("name_of", ["replay", "demo"])
def test_a_file_that_cannot_be_written_is_told_before_the_work(
    program: Program,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fact: str,
    name_of: str,
) -> None:
    if name_of == "demo" and "to read" in fact:
        pytest.skip("the demo reads none of the user's files")
    if name.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("no /proc on this system")
    monkeypatch.chdir(folder)
    (folder / "link.jsonl").symlink_to("run.jsonl")
    (folder / "round.html").symlink_to("round.html")
    monkeypatch.setattr("tenure.cli.replay.over_files", _no_work)
    monkeypatch.setattr("tenure.cli.demo.bundled", _no_work)
    before = {path: path.lstat() for path in folder.iterdir()}
    wanted = ("replay", "run.jsonl", "--html") if name_of == "replay" else ("demo", "--out")
    ran = program(*wanted, name)
    assert (ran.status, ran.out) == (2, "")
    assert fact in ran.err
    assert {path: path.lstat() for path in folder.iterdir()} == before


def test_a_report_that_is_there_stays_whole_until_the_new_one_is_written(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = folder / "page.html"
    page.write_text("the old one", encoding="utf-8")
    new = folder / "new.html"
    for path in (page, new):
        ran = program("replay", folder / "none.jsonl", "--html", path)
        assert ran.status == 1
    assert page.read_text(encoding="utf-8") == "the old one"
    assert not new.exists()


def _no_work(*arguments: object, **options: object) -> None:
    raise AssertionError("the work began")
