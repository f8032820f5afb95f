"""`tenure lint` as a user runs it: files, folders, stdin, exit statuses, JSON, repaired copies."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.cli.lint import Checked, check_file
from tests.cli.program import Program
from tests.cli.sessions import errand
from tests.replay.mutations import PATHS, Pair, pairs
from tests.wire.test_prefix_diff import bodies

# One of each kind for each format.
PAIRS = {(pair.kind, pair.wire): pair for pair in pairs(90)}

LEGAL = {"model": "gpt-6.1-sol", "messages": [{"role": "user", "content": "hi"}]}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
BROKEN = {
    "model": "gpt-6.1-sol",
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "user", "content": "well?"},
    ],
}


def write(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def clock(wire: str) -> Pair:
    return PAIRS["clock", wire]


@pytest.mark.parametrize("wire", PATHS)
def test_jsonl_of_bodies_an_array_and_two_files_say_the_same(
    wire: str, program: Program, tmp_path: Path
) -> None:
    pair = clock(wire)
    earlier, later = pair.earlier, pair.later
    write(tmp_path / "rows.jsonl", earlier, later)
    write(tmp_path / "array.json", [earlier, later])
    write(tmp_path / "1.json", earlier)
    write(tmp_path / "2.json", later)
    given = [["rows.jsonl"], ["array.json"], ["1.json", "2.json"]]
    told = []
    for names in given:
        ran = program("lint", "--format", "json", *(tmp_path / name for name in names))
        assert ran.status == 0, ran.err
        (one,) = [one for one in ran.json["findings"] if one["offset"] is not None]
        told.append({key: one[key] for key in ("rule", "path", "offset", "tokens", "cost", "usd")})
    assert told[0]["rule"] == "volatile-clock"
    assert told[0] == told[1] == told[2]


def test_text_names_the_rule_the_place_the_price_and_the_mend(
    program: Program, tmp_path: Path
) -> None:
    pair = clock("anthropic_messages")
    ran = program("lint", write(tmp_path / "rows.jsonl", pair.earlier, pair.later))
    assert ran.status == 0
    assert "warning  volatile-clock  request 1 · system[0].text · byte" in ran.out
    assert "tokens written again" in ran.out
    assert "mend: freeze it for the session" in ran.out
    assert "source:" in ran.out
    assert "1 warning in 2 requests and 0 transcripts, 1 file" in ran.out


def test_the_exit_status_tells_errors_warnings_and_what_could_not_be_read(
    program: Program, tmp_path: Path
) -> None:
    pair = clock("openai_chat")
    clean, warned = write(tmp_path / "clean.json", LEGAL), tmp_path / "warned.jsonl"
    write(warned, pair.earlier, pair.later)
    broken, strange = write(tmp_path / "broken.json", BROKEN), write(tmp_path / "x.json", {"a": 1})
    assert program("lint", clean).status == 0
    assert program("lint", warned).status == 0
    assert program("lint", warned, "--strict").status == 1
    assert program("lint", broken).status == 1
    assert program("lint", strange).status == 2
    assert program("lint", clean, tmp_path / "absent.json").status == 2
    assert program("lint", broken, strange).status == 2
    # A folder may hold anything.
    ran = program("lint", tmp_path)
    assert ran.status == 1
    assert "x.json" in ran.err


def test_stdin_is_read_for_a_dash(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def lint(data: bytes, *options: str) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return program("lint", "-", *options)

    ran = lint(json.dumps(BROKEN).encode(), "--json")
    assert (ran.status, ran.json["findings"][0]["file"]) == (1, "-")
    assert lint(json.dumps(LEGAL).encode()).status == 0
    assert lint(b"").status == 2
    assert lint(b"no json at all").status == 2
    rows = "".join(json.dumps(row) + "\n" for row in errand().rows)
    assert lint(rows.encode(), "--json").json["transcripts"] == 1
    assert lint(gzip.compress(rows.encode()), "--json").json["transcripts"] == 1


def test_a_repaired_copy_stands_beside_the_input_which_stays(
    program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "broken.json"
    before = '{ "model": "gpt-6.1-sol",\n  "messages": ' + json.dumps(BROKEN["messages"], indent=1)
    path.write_text(before + "}", encoding="utf-8")
    ran = program("lint", path, "--fix", "--json")
    assert ran.status == 1
    (fixed,) = ran.json["fixed"]
    copy = tmp_path / "broken.fixed.json"
    assert fixed["file"] == str(path)
    assert fixed["written"] == str(copy)
    assert fixed["mends"]
    assert path.read_text("utf-8") == before + "}"
    # What broke no rule left as the bytes that came in.
    assert copy.read_text("utf-8").startswith('{ "model": "gpt-6.1-sol",\n  "messages": [\n {\n')
    again = program("lint", copy, "--fix", "--json")
    assert (again.status, again.json["errors"], again.json["fixed"]) == (0, 0, [])


def test_of_many_requests_only_the_broken_are_written_anew(
    program: Program, tmp_path: Path
) -> None:
    legal = '{"model": "gpt-6.1-sol",  "messages": [{"role": "user", "content": "\\u00e9"}]}'
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{legal}\n{json.dumps(BROKEN)}\n", encoding="utf-8")
    ran = program("lint", path, "--fix")
    assert "repaired copy" in ran.out
    lines = (tmp_path / "rows.fixed.jsonl").read_text("utf-8").splitlines()
    assert lines[0] == legal
    assert len(lines) == 2
    write(tmp_path / "array.json", [LEGAL, BROKEN])
    program("lint", tmp_path / "array.json", "--fix")
    assert json.loads((tmp_path / "array.fixed.json").read_text("utf-8"))[0] == LEGAL


def test_what_needs_no_mend_gets_no_copy(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "clean.json", LEGAL)
    assert program("lint", path, "--fix").status == 0
    assert list(tmp_path.iterdir()) == [path]


def test_a_broken_transcript_is_repaired_as_the_request_it_would_be(
    program: Program, tmp_path: Path
) -> None:
    path = write(tmp_path / "talk.json", BROKEN["messages"])
    ran = program("lint", path, "--fix", "--json")
    assert ran.json["transcripts"] == 1
    (fixed,) = ran.json["fixed"]
    body = json.loads(Path(fixed["written"]).read_text("utf-8"))
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert program("lint", fixed["written"]).status == 0


def test_the_copy_of_a_transcript_holds_every_thread_and_says_what_it_is(
    program: Program, tmp_path: Path
) -> None:
    """Two talks, one of which breaks a rule: both are in the copy, and nothing is left out in
    silence."""
    fine = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "gone"}]
    path = tmp_path / "talks.jsonl"
    rows = (talk for talk in (fine, BROKEN["messages"], fine))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ran = program("lint", path, "--fix", "--json")
    assert ran.json["transcripts"] == 3
    (fixed,) = ran.json["fixed"]
    lines = Path(fixed["written"]).read_text("utf-8").splitlines()
    assert len(lines) == sum(1 for _ in (fine, BROKEN, fine))
    assert "(1 mended, 2 as sent)" in fixed["note"]
    assert "not a transcript" in fixed["note"]
    assert fixed["note"] in " ".join(program("lint", path, "--fix").out.split())


def test_findings_are_told_also_where_no_copy_can_be_written(
    program: Program, tmp_path: Path
) -> None:
    path = write(tmp_path / "broken.json", BROKEN)
    (tmp_path / "broken.fixed.json").mkdir()
    ran = program("lint", path, "--fix", "--json")
    assert ran.status == 2
    assert ran.json["errors"] > 0
    (failed,) = ran.json["failed"]
    assert "has no repaired copy" in failed["error"]
    assert failed["error"] in ran.err


def test_the_rules_are_those_of_the_api_version_that_is_named(
    program: Program, tmp_path: Path
) -> None:
    page = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [page]},
        {"role": "user", "content": "on"},
    ]
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": said}
    talk = write(tmp_path / "talk.json", said)
    for path in (write(tmp_path / "body.json", body), talk):
        newest = program("lint", path, "--json").json
        older = program("lint", path, "--json", "--api-version", "2023-06-01").json
        assert newest["errors"] == older["errors"] + 1
    ran = program("lint", talk, "--api-version", "latest")
    assert (ran.status, ran.out) == (2, "")
    assert "'latest' is no date like 2023-06-01" in ran.err


def test_stdin_cannot_be_repaired_in_place(program: Program) -> None:
    ran = program("lint", "-", "--fix")
    assert ran.status == 2
    assert "stdin" in ran.err


def test_long_lists_are_cut_in_text_and_whole_in_json(program: Program, tmp_path: Path) -> None:
    messages = [{"role": "tool", "tool_call_id": f"c{n}", "content": "x"} for n in range(9)]
    path = write(tmp_path / "a.json", {**LEGAL, "messages": [*LEGAL["messages"], *messages]})
    text, every = program("lint", path, "--top", "2"), program("lint", path, "--json")
    assert "7 more of orphan-result" in text.out
    assert every.json["errors"] == 9


def test_a_claude_code_session_is_checked(program: Program, tmp_path: Path) -> None:
    path = errand().write(tmp_path / "session.jsonl")
    ran = program("lint", path, "--json")
    assert (ran.status, ran.json["transcripts"], ran.json["errors"]) == (0, 1, 0)


def test_many_files_give_the_same_in_one_process_and_in_two(
    program: Program, tmp_path: Path
) -> None:
    for number, pair in enumerate(list(PAIRS.values())[:6]):
        write(tmp_path / f"{number}.jsonl", pair.earlier, pair.later)
    one, two = (program("lint", tmp_path, "--json", "--jobs", jobs) for jobs in ("1", "2"))
    assert one.out == two.out
    assert one.json["requests"] == 12


# -- hostile input ---------------------------------------------------------------------------------

DEEP = b'{"messages":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\x00" * 64,
    "no json": b"\x7fELF not json",
    "a number": b"7",
    "empty array": b"[]",
    "empty object": b"{}",
    "no messages": b'{"messages": []}',
    "messages of junk": b'{"messages": [1, null, "x", [], {}, {"role": 7, "content": {"a": []}}]}',
    "head of junk": b'{"model": 7, "tools": {"a": 1}, "system": 5, "messages": [{"role": "user"}]}',
    "tools of junk": b'{"tools": [1, [], {"name": []}, {"function": 3}], "messages": []}',
    "marks of junk": b'{"model": "claude-opus-5-5", "cache_control": [[]], "messages": '
    b'[{"role": "user", "content": [{"cache_control": 3}, 4]}]}',
    "lone surrogate": b'{"messages": [{"role": "user", "content": "\\ud800 x"}]}',
    "invalid utf-8": b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
    "huge number": b'{"messages": [{"role": "user", "content": ' + b"9" * 5_000 + b"}]}",
    "not a number": b'{"messages": [{"role": "user", "content": [NaN, Infinity, 1e999]}]}',
    "deep": DEEP,
    "a little deep": b'{"messages":[{"role":"user","content":' + b"[" * 400 + b"]" * 400 + b"}]}",
    "deep head": b'{"tools":' + b"[" * 400 + b"]" * 400 + b',"messages":[]}',
    "input of junk": b'{"model": "m", "input": [1, {"type": "function_call", "arguments": 7}, {}]}',
    "input is text": b'{"model": "m", "input": ""}',
    "cut off": b'{"messages": [{"role": "user", "content": "a"}',
    "broken archive": gzip.compress(b'{"messages": []}')[:-9],
    "escape codes": b'{"messages": [{"role": "tool", "content": "\\u001b[31m", "tool_call_id": "\\u001b"}]}',
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("times", [1, 2])
def test_no_input_makes_a_traceback(
    name: str, times: int, program: Program, tmp_path: Path
) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(b"\n".join([HOSTILE[name]] * times))
    for options in ([], ["--json"], ["--fix"]):
        ran = program("lint", path, *options)
        assert ran.status in (0, 1, 2)
        assert "bug of tenure" not in ran.err
        assert "\x1b" not in ran.out


@given(st.lists(bodies, min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_bodies_are_checked_and_repaired(
    tmp_path_factory: pytest.TempPathFactory, given: list[dict[str, Any]]
) -> None:
    listed = [
        body if isinstance(body.get("messages"), list) else {"messages": []} for body in given
    ]
    path = write(tmp_path_factory.mktemp("any") / "a.jsonl", *listed)
    (one,) = check_file(path, "", fix=True)
    assert isinstance(one, Checked)
    assert one.requests == len(given)


# -- recorded sessions -----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["claude-code", "codex", "mini-swe-agent", "tau-bench"])
def test_recorded_sessions_are_checked(
    folder: str, program: Program, shared_data: Callable[..., Path]
) -> None:
    smallest = sorted(
        shared_data("data", "agent-sessions-dev", folder).iterdir(), key=lambda f: f.stat().st_size
    )
    ran = program("lint", *smallest[:2], "--json", "--jobs", "1")
    assert ran.status in (0, 1), ran.err
    assert ran.json["failed"] == []
    assert ran.json["transcripts"] + ran.json["requests"] >= 1
