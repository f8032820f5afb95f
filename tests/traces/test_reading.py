"""Which files paths mean, and which format a file is in."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import WireError
from tenure.traces import find, read, read_all
from tests.traces import rows as claude
from tests.traces import test_codex as codex

CLAUDE = [claude.user("u", None, "go"), claude.reply("a", "u", "msg_1", claude.text("hi"))]
CODEX = [codex.said("user", "go"), codex.said("assistant", "hi"), codex.counted(2)]
CHAT = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "hi"}]
FORMATS: dict[str, list[Any]] = {"claude-code": CLAUDE, "codex": CODEX, "openai-chat": CHAT}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_the_format_is_told_by_content_not_by_name(
    tmp_path: Path, format: str, packed: bool
) -> None:
    path = tmp_path / "misleading.txt"
    data = claude.jsonl(FORMATS[format])
    path.write_bytes(gzip.compress(data) if packed else data)
    (trace,) = read(path)
    assert trace.format == format
    assert (trace.name, trace.source) == ("misleading.txt", str(path))
    assert [len(thread.steps) for thread in trace.threads] == [1]


@pytest.mark.parametrize("format", FORMATS)
def test_damage_is_handed_on_with_its_line(tmp_path: Path, format: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(claude.jsonl(FORMATS[format]) + b'{"type":"us')
    (trace,) = read(path)
    assert trace.format == format
    assert [one.line for one in trace.damage] == [len(FORMATS[format]) + 1]


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"", "it is empty"),
        (b"dear diary\n", "it holds no JSON record"),
        (b'{"version": 1, "runs": []}', "1 JSON records, the first with 'version', 'runs'"),
        (b'{"type":"session.start","id":1}', "of type 'session.start'"),
        (b"[1, 2]", "the first an array of 2"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused_with_what_it_holds(
    tmp_path: Path, data: bytes, fact: str
) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(data)
    with pytest.raises(WireError) as refused:
        read(path)
    for part in ("other.json", fact, "claude-code, codex, openai-chat, anthropic-messages"):
        assert part in str(refused.value)
    assert refused.value.path == str(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(WireError, match=r"gone\.jsonl' cannot be read: No such file"):
        read(tmp_path / "gone.jsonl")


def test_paths_are_files_folders_and_patterns_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    names = ["b.jsonl", "deep/a.jsonl.gz", "deep/er/c.traj", "deep/note.md", "d.json"]
    for name in names:
        (tmp_path / name).write_bytes(b"")

    def found(*paths: str) -> list[str]:
        hits = find([str(tmp_path / path) for path in paths])
        return [str(hit.relative_to(tmp_path)) for hit in hits]

    assert found(".") == ["b.jsonl", "d.json", "deep/a.jsonl.gz", "deep/er/c.traj"]
    assert found("d*") == ["d.json", "deep/a.jsonl.gz", "deep/er/c.traj"]
    assert found("**/*.traj", "deep/note.md") == ["deep/er/c.traj", "deep/note.md"]
    assert found("deep", "b.jsonl", "deep/er/c.traj") == [
        "deep/a.jsonl.gz",
        "deep/er/c.traj",
        "b.jsonl",
    ]
    with pytest.raises(WireError, match=r"\*\.log' names no file"):
        found("*.log")


def test_a_strange_file_in_a_folder_is_skipped_but_a_named_one_is_fatal(tmp_path: Path) -> None:
    good, strange = tmp_path / "a.jsonl", tmp_path / "b.json"
    good.write_bytes(claude.jsonl(CLAUDE))
    strange.write_bytes(b"{}")
    reading = read_all([str(tmp_path)])
    assert [trace.name for trace in reading.traces] == ["a"]
    assert [error.path for error in reading.skipped] == [str(strange)]
    with pytest.raises(WireError):
        read_all([str(tmp_path), str(strange)])


@given(st.sampled_from(sorted(FORMATS)), st.binary(max_size=80), st.integers(0, 400))
def test_garbage_within_a_transcript_never_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, format: str, garbage: bytes, place: int
) -> None:
    data = claude.jsonl(FORMATS[format])
    path = tmp_path_factory.mktemp("fuzz") / "run.jsonl"
    path.write_bytes(data[:place] + garbage + data[place:])
    with contextlib.suppress(WireError):
        read(path)
