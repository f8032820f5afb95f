"""Which files paths mean, and which format a file is in."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import WireError
from tenure.traces import find, read, read_all
from tests.traces import deep
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


BROKEN, LOOPING = "a broken link to 'nowhere.jsonl'", "a link that leads back to itself"


@contextlib.contextmanager
def strange_files(folder: Path) -> Iterator[dict[str, Path]]:
    """A file of each kind that is no regular one."""
    found = {"a pipe": folder / "pipe.jsonl", BROKEN: folder / "broken.jsonl"}
    os.mkfifo(found["a pipe"])
    found[BROKEN].symlink_to("nowhere.jsonl")
    found[LOOPING] = folder / "loop.jsonl"
    found[LOOPING].symlink_to("loop.jsonl")
    found["a character device"] = folder / "zeros.jsonl"
    found["a character device"].symlink_to("/dev/zero")
    found["a socket"] = folder / "socket.jsonl"
    with socket.socket(socket.AF_UNIX) as ear:
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket is short
        try:
            ear.bind("socket.jsonl")
        finally:
            os.chdir(here)
        yield found


POSIX = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no special files on this system")


@POSIX
@pytest.mark.parametrize("path", [".", "*", "*.jsonl", "**/*"])
def test_what_is_no_file_is_named_and_never_opened(tmp_path: Path, path: str) -> None:
    good = tmp_path / "good.jsonl"
    good.write_bytes(claude.jsonl(CLAUDE))
    with strange_files(tmp_path) as strange:
        reading = read_all([str(tmp_path / path)])
        assert find([str(tmp_path / path)]) == [good]
    assert [trace.name for trace in reading.traces] == ["good"]
    told = {error.path: str(error) for error in reading.skipped}
    # A pattern of pathlib's may pass such links over.
    links = {BROKEN, LOOPING}
    assert told.keys() >= {str(one) for kind, one in strange.items() if kind not in links}
    for kind, one in strange.items():
        words = f"{str(one)!r} is {kind}, no file: skipped"
        assert told.get(str(one), words) == words


@POSIX
def test_a_socket_or_a_device_that_is_named_is_refused_by_what_it_is(tmp_path: Path) -> None:
    with strange_files(tmp_path) as strange:
        for kind in ("a socket", "a character device"):
            with pytest.raises(WireError, match=f"is {kind}, no file: name a file, or a pipe"):
                read_all([str(strange[kind])])


# A name, the words for it; `gone` leads nowhere, `loop` and `pair` round in circles.
DEAD = {
    "gone": "'{}' is a broken link to 'nowhere'",
    "gone/run.jsonl": "'{}' is below '{root}/gone', a broken link to 'nowhere'",
    "gone/deep/*.jsonl": "'{}' is below '{root}/gone', a broken link to 'nowhere'",
    "to-gone": "'{}' is a broken link to 'gone'",
    "loop": "'{}' is a link that leads back to itself",
    "pair": "'{}' is a link that leads back to itself",
    "pair/run.jsonl": "'{}' is a link that leads back to itself",
    "never": "'{}' names no file, no folder and no pattern",
}


@POSIX
@pytest.mark.parametrize("name", DEAD)
def test_a_link_that_leads_nowhere_is_named_for_what_it_is(tmp_path: Path, name: str) -> None:
    links = {"gone": "nowhere", "to-gone": "gone", "loop": "loop", "pair": "other", "other": "pair"}
    for link, target in links.items():
        (tmp_path / link).symlink_to(target)
    path = str(tmp_path / name)
    with pytest.raises(WireError) as refused:
        read_all([path])
    assert str(refused.value) == DEAD[name].format(path, root=tmp_path)
    if name != "never" and "*" not in name:
        with pytest.raises(WireError) as refused:
            read(path)
        assert str(refused.value) == DEAD[name].format(path, root=tmp_path)


@pytest.mark.parametrize("ask", [read, lambda name: find([name]), lambda name: read_all([name])])
def test_an_empty_path_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], Any]
) -> None:
    (tmp_path / "run.jsonl").write_bytes(claude.jsonl(CLAUDE))
    monkeypatch.chdir(tmp_path)
    assert [trace.name for trace in read_all(["."]).traces] == ["run"]
    with pytest.raises(WireError, match="the path is empty"):
        ask("")


@POSIX
@pytest.mark.parametrize("format", FORMATS)
def test_a_pipe_that_is_named_is_read_also_when_a_pattern_hits_it(
    tmp_path: Path, format: str
) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    data = claude.jsonl(FORMATS[format])
    writer = threading.Thread(target=pipe.write_bytes, args=(data,))
    writer.start()
    reading = read_all([str(tmp_path), str(pipe)])
    writer.join()
    assert ([one.format for one in reading.traces], reading.skipped) == ([format], ())


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd on this system")
def test_an_open_file_can_be_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(claude.jsonl(CLAUDE))
    with path.open("rb") as open_one:
        (trace,) = read(f"/dev/fd/{open_one.fileno()}")
    assert trace.format == "claude-code"


DEEP = (500, 900, 5_000, 100_000)


@pytest.mark.parametrize("levels", DEEP)
@pytest.mark.parametrize("place", deep.PLACES)
@pytest.mark.parametrize("format", deep.FORMATS)
def test_a_record_nested_too_deep_is_damage_at_its_line(
    tmp_path: Path, format: str, place: str, levels: int
) -> None:
    path = tmp_path / "run.jsonl"
    lines = deep.lines(format, place, levels)
    path.write_bytes(b"\n".join(lines) + b"\n")
    (trace,) = read(path)
    assert trace.format == format
    line = next(number for number, one in enumerate(lines, 1) if b"[" * 200 in one)
    (damage,) = (one for one in trace.damage if "nested more than 200 levels deep" in one.words)
    assert damage.line == line


@pytest.mark.parametrize("levels", DEEP)
@pytest.mark.parametrize("key", ["system", "tools", "messages", "metadata"])
def test_a_document_that_is_one_deep_record_is_refused_with_the_reason(
    tmp_path: Path, key: str, levels: int
) -> None:
    path = tmp_path / "body.json"
    body = b'{"model":"claude-opus-4-5","messages":[{"role":"user","content":"go"}],"%b":%b}'
    path.write_bytes(body % (key.encode(), b"[" * levels + b"]" * levels))
    with pytest.raises(WireError, match=r"body\.json.* line 1 is a record nested more than 200"):
        read(path)
