"""The recorder: real tools on a copy, a log that reads back as the session that was."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts.demo.agent import MisfitError
from scripts.demo.moves import Turn, bash, edit, fails, glob, grep, plan, read, step, write
from scripts.demo.recording import leaks, record
from scripts.demo.tools import Outcome, Tools, shortened
from scripts.demo.workspace import IDENTITY, SHOWN, Workspace
from tenure.testing import Call
from tenure.traces import read as read_trace

SOURCE = "def double(x):\n    return x + x\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    repository = tmp_path / "repository"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "double.py").write_text(SOURCE, "utf-8")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "All"]):
        subprocess.run(["git", *command], cwd=repository, env=os.environ | IDENTITY, check=True)
    return Workspace(repository, tmp_path / "sandbox", "HEAD")


def run(workspace: Workspace, call: Call) -> Outcome:
    return Tools(workspace).run(call.name, call.input)


def test_reading_numbers_the_lines(workspace: Workspace) -> None:
    assert run(workspace, read("src/double.py", 2, 1)).text == "     2→    return x + x"
    assert run(workspace, read("src/none.py")).is_error


def test_an_edit_needs_its_old_text_exactly_once(workspace: Workspace) -> None:
    done = run(workspace, edit("src/double.py", "x + x", "2 * x"))
    assert "     2→    return 2 * x" in done.text
    assert run(workspace, edit("src/double.py", "x + x", "2 * x")).is_error
    assert run(workspace, edit("src/double.py", "x", "y")).is_error
    assert "2 * x" in workspace.path("src/double.py").read_text("utf-8")


def test_searches_name_files_and_lines(workspace: Workspace) -> None:
    assert run(workspace, grep("return")).text == "src/double.py:2:    return x + x"
    assert run(workspace, grep("return", files="*.md")).text == "No matches found"
    assert run(workspace, glob("**/*.py")).text == f"{SHOWN}/src/double.py"


def test_commands_run_in_the_copy_and_show_its_other_name(workspace: Workspace) -> None:
    assert run(workspace, bash("pwd", "Where")).text == str(SHOWN)
    failed = run(workspace, bash("pwd; exit 3", "Where"))
    assert failed.is_error
    assert failed.text == f"Exit code 3\n{SHOWN}"


def test_a_shortened_name_of_the_copy_is_cleaned_too(workspace: Workspace) -> None:
    root = str(workspace.root)
    assert workspace.clean(f"SKIPPED ({root[:-9]}...)") == "SKIPPED (/home/dev/...)"
    assert workspace.clean(f"at {root}/x ...") == f"at {SHOWN}/x ..."


def test_nothing_outside_the_copy_is_touched(workspace: Workspace) -> None:
    with pytest.raises(ValueError, match="outside"):
        workspace.path("../../../escape")


def test_long_output_keeps_head_and_tail() -> None:
    cut = shortened("\n".join(map(str, range(20_000))))
    assert len(cut) < 30_100
    assert cut.startswith("0\n1\n")
    assert cut.endswith("\n19999")
    assert "lines truncated" in cut


ERRAND = [
    Turn(
        "double it",
        [
            step("First the plan.", plan("look", "change"), read("src/double.py"), thinking="hm"),
            step("", edit("src/double.py", "x + x", "2 * x"), fails(bash("exit 1", "Fail"))),
            step("Done."),
        ],
    ),
    Turn("thanks", [step("You are welcome.")], pause=400.0),
]


def test_a_recording_reads_back_as_the_session_that_was(
    workspace: Workspace, tmp_path: Path
) -> None:
    recording = record(workspace, ERRAND, len)
    assert (recording.steps, list(recording.prefix_breaks)) == (4, [])
    path = tmp_path / "session.jsonl.gz"
    path.write_bytes(recording.log.packed())
    [trace] = read_trace(path)
    [thread] = trace.threads
    assert trace.damage == ()
    assert [len(found.reply) for found in thread.steps] == [1, 1, 1, 1]
    blocks = thread.steps[0].reply[0].data["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use", "tool_use"]
    results = thread.steps[2].arrivals[0].data["content"]
    assert [block["is_error"] for block in results] == [False, True]
    last = thread.steps[-1].usage
    assert last is not None
    assert last.prompt == recording.tokens
    assert last.cache_read == 0


def test_equal_sessions_are_equal_files(workspace: Workspace, tmp_path: Path) -> None:
    again = Workspace(tmp_path / "repository", tmp_path / "again", "HEAD")
    first = record(workspace, ERRAND, len).log.packed()
    assert record(again, ERRAND, len).log.packed() == first


def test_a_move_that_comes_out_otherwise_stops_the_recording(workspace: Workspace) -> None:
    turn = Turn("go", [step("", fails(bash("true", "Succeed"))), step("Done.")])
    with pytest.raises(MisfitError, match="meant to fail"):
        record(workspace, [turn], len)


def test_a_name_of_this_machine_is_a_leak(tmp_path: Path) -> None:
    index = "https://mirror.example/" + "simple/"
    text = f"read {tmp_path}/x, then {index} as told"
    assert leaks(text, tmp_path) == sorted([str(tmp_path), index])
    assert leaks("read /home/dev/tenure/x", tmp_path) == []


def test_pieces_are_written_as_they_lie(workspace: Workspace) -> None:
    made = run(workspace, write("src/quote.py", "quote_1"))
    assert made.text == f"Created {SHOWN}/src/quote.py"
    assert run(workspace, bash("python -m compileall -q src/quote.py", "Compile")).is_error is False
