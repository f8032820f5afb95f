"""Volatile text: what is found in one text, and what two texts show to differ."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.volatile import Kind, Pace, find_volatile, masked, shapes
from tenure.core.volatile_change import (
    Change,
    Other,
    changes,
    first_difference,
    same_but_volatile,
)
from tests.effort import seconds_of

UUID = "6f1c2b3a-9d8e-4c7b-a1f0-2e3d4c5b6a79"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Time is 15:09:20. ", "clock", "15:09:20"),
        ("It is 3:09 PM now.", "clock", "3:09 PM"),
        ("2026-08-14 15:09\nRules follow.", "clock", "2026-08-14 15:09"),
        ("<current_time>2026-08-14T15:09:20Z</current_time>", "clock", "2026-08-14T15:09:20Z"),
        ('{"timestamp": "2026-08-14T15:09:20.123Z"}', "clock", "2026-08-14T15:09:20.123Z"),
        ("Date: Fri, 14 Aug 2026 15:09:20 GMT", "clock", "Fri, 14 Aug 2026 15:09:20 GMT"),
        ("As of 2026-08-14 10:11:12 the stock is", "clock", "2026-08-14 10:11:12"),
        ("now=1786720160", "clock", "1786720160"),
        ("Today is 2026-08-14.\nHelp me.", "date", "2026-08-14"),
        ("  <current_date>2026-06-17</current_date>", "date", "2026-06-17"),
        ("The current date is Aug 14, 2026.", "date", "Aug 14, 2026"),
        ("Today is Friday, 14 August 2026", "date", "Friday, 14 August 2026"),
        (f"session: {UUID}", "UUID", UUID),
        ("request_id: req_011CSHoEeqs5C35K2UUqR7Fy", "request id", "req_011CSHoEeqs5C35K2UUqR7Fy"),
        ("Your session id is 7f3a9c21.", "request id", "7f3a9c21."),
        ("x-anthropic-billing-header: cc_version=2.1.36; cch=4f2a1;", "request id", "4f2a1"),
        ("cwd: /tmp/session-8f2a1c9d/repo", "session path", "session-8f2a1c9d"),
        ("https://a.example/sessions/01HZX3K9V7Q2/view", "session path", "01HZX3K9V7Q2"),
        (f"https://a.example/runs/{UUID}", "session path", UUID),
        ("tokens used: 123", "counter", "123"),
        ("Tokens used: 12,345 / 200,000", "counter", "12,345 / 200,000"),
        ("You have 187,234 tokens left", "counter", "187,234"),
        ("<tokens_remaining>1234</tokens_remaining>", "counter", "1234"),
        ("This is turn 7 of 50.", "counter", "7 of 50"),
        ("trace 4bf92f3577b34da6a3ce929d0e0e4736 on", "random hex", "4bf92f3577b34da6a3ce929d0e0e4736"),
    ],
)  # fmt: skip
def test_volatile_text_is_found(text: str, kind: str, found: str) -> None:
    (one,) = find_volatile(text)
    assert (one.kind.value, one.text.rstrip(".")) == (kind, found.rstrip("."))


@pytest.mark.parametrize(
    "text",
    [
        "Open from 09:00 to 17:00.",
        "# Changes\n## 2026-08-14\n- fixed\n2026-07-01\n- added",
        "Slots:\n09:00\n10:30\n",
        "Ids:\n1786720160\n1786720161",
        "Knowledge cutoff: 2026-01-31",
        "anthropic-version: 2023-06-01",
        "Use claude-sonnet-4-5-20250929 or text_editor_20250728.",
        "python 3.11.4 and node 20.10.0, foo==1.2.3",
        "A timestamp, e.g. 2026-08-14T15:09:20Z",
        "ISO 8601 date-time, for example 2024-01-01T00:00:00Z",
        "Prices as of 2026-08-14 in dollars.",
        "Effective date: 2024-03-01. Released 2024-03-01.",
        "The meeting was on 2024-05-01 at 10:00.",
        "You may use at most 10 tool calls. Step 1: read. Step 2: write.",
        "max tokens: 4096, timeout: 120000, port 8080, up to 2000 lines",
        "A UUID like 123e4567-e89b-12d3-a456-426614174000",
        f"picture: https://a.example/assets/{UUID}",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Run ./build/tools/golangci-lint-v2.11.4 in /home/user/project/src; write /tmp/output.txt",
        "ratio 16:9, John 3:16, file.py:12:30, RFC 2616, #4f2a1c, 1e10",
    ],
)
def test_text_that_stays_is_left_alone(text: str) -> None:
    assert find_volatile(text) == []


def test_a_lone_date_changes_daily_and_a_clock_with_every_request() -> None:
    paces = [v.pace for v in find_volatile("Today is 2026-08-14.\nTime is 10:11.")]
    assert paces == [Pace.DAY, Pace.REQUEST]


def test_a_finding_names_its_bytes() -> None:
    (found,) = find_volatile("Café ☕. Time is 15:09:20.")
    assert found.words == "clock '15:09:20' at byte 19, changes with every request"


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            ["Time is 15:09:20", "Today is 2026-08-14", UUID, "tokens used: 5", "\n", " ", "é",
             "/tmp/", "session_id: ", "12:30:", "req_", "a1b2c3d4", "e.g. ", "\ud800", ". ", "☕"]
        ),
        st.text(max_size=8),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@pytest.mark.fuzz
@given(pieces)
def test_findings_are_disjoint_ordered_and_true_to_the_text(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    end = 0
    for found in shapes(text):
        assert end <= found.start < found.end
        assert text[found.start : found.end] == found.text
        assert raw[found.at : found.at + found.size] == found.text.encode("utf-8", "surrogatepass")
        end = found.end
    assert set(find_volatile(text)) <= set(shapes(text))
    assert "".join(masked(text, [])) == text


HOSTILE = (
    "1:", "a", "0a", "req_", "/tmp/", "session_id: ", "2026-08-14 ", "/session/a", "tokens ",
    "12:30:", "-", "?sig=", "1,", "session/", "Sunday, ", "/runs/a1", "Jan ", "9 tokens ", "=:",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_is_searched_in_linear_time(piece: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = piece * (size // len(piece))
        return lambda: find_volatile(text)

    # Quadratic work would be sixteen times as long.
    for _ in range(3):
        if seconds_of(work(40_000)) < 9 * seconds_of(work(10_000)) + 0.02:
            return
    pytest.fail(f"searching {piece!r} repeated grows faster than the text")


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("Time is 15:09:20.", "Time is 15:09:34.", [Kind.CLOCK]),
        ("Served at 15:09 by Bo", "Served at 15:10 by Bo", [Kind.CLOCK]),
        ("Today is 2026-08-14.\nHelp.", "Today is 2026-08-15.\nHelp.", [Kind.DATE]),
        (f"id {UUID}", f"id {UUID[:-1]}8", [Kind.UUID]),
        ("id 0123456789abcdef", "id 1234567890123456", [Kind.HEX]),
        ("tokens used: 5", "tokens used: 17", [Kind.COUNTER]),
        ("You have 3 new mails.", "You have 12 new mails.", [Kind.COUNTER]),
        ("use at most 5 items", "use at most 6 items", [Other.EDITED]),
        ("- a\n- b\n- c", "- c\n- a\n- b", [Other.RERANKED]),
        ("Facts: a, b, c.", "Facts: c, a, b.", [Other.RERANKED]),
        ("x\nTime 10:00\n- a\n- b\n", "x\nTime 10:05\n- b\n- a\n", [Kind.CLOCK, Other.RERANKED]),
        ("You like tea.", "You like coffee.", [Other.EDITED]),
        ("a", "a\nb", [Other.EDITED]),
        ("\0clock\0", "10:00", [Other.EDITED]),
        ("same", "same", []),
    ],
)
def test_two_texts_are_told_apart_by_kind(
    before: str, after: str, kinds: list[Kind | Other]
) -> None:
    assert [change.kind for change in changes(before, after)] == kinds
    assert same_but_volatile(before, after) == (Other.EDITED not in kinds)


def test_a_change_says_where_and_what() -> None:
    (found,) = changes("é Time is 15:09:20.", "é Time is 15:09:34.")
    assert found == Change(Kind.CLOCK, 11, "15:09:20", "15:09:34")
    assert found.words == "clock at byte 11: '15:09:20' became '15:09:34'"


@pytest.mark.fuzz
@given(pieces, pieces)
def test_different_texts_have_a_change_and_equal_ones_none(before: str, after: str) -> None:
    found = changes(before, after)
    assert bool(found) == (before != after)
    assert [c.at for c in found] == sorted(c.at for c in found)
    assert all(c.before != c.after and c.words for c in found)
    if found:
        assert found[0].at <= first_difference(before, after)


@pytest.mark.fuzz
@given(st.lists(st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), min_size=2,
                unique=True), st.randoms())  # fmt: skip
def test_lines_in_another_order_are_re_ranked(lines: list[str], chance: object) -> None:
    other = sorted(lines, key=lambda line: hash((line, str(chance))))
    before, after = "\n".join(lines), "\n".join(other)
    assert {c.kind for c in changes(before, after)} <= {Other.RERANKED}


@pytest.mark.fuzz
@given(pieces, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_clock_that_ticks_is_the_only_change_named(
    text: str, hour: int, first: int, second: int
) -> None:
    before = f"{text}\nTime is {hour:02}:{first:02}.\n{text}"
    after = f"{text}\nTime is {hour:02}:{second:02}.\n{text}"
    assert [c.kind for c in changes(before, after)] == ([] if first == second else [Kind.CLOCK])


@pytest.mark.fuzz
@given(pieces, pieces)
def test_the_first_difference_is_where_the_bytes_part(before: str, after: str) -> None:
    left, right = (t.encode("utf-8", "surrogatepass") for t in (before, after))
    at = first_difference(before, after)
    assert (at < 0) == (left == right)
    if at >= 0:
        assert left[:at] == right[:at]
        assert left[at : at + 1] != right[at : at + 1]
