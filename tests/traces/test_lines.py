"""Whatever happened to a file, what is whole of it is read and the rest is named."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.nesting import MAX_NESTING
from tenure.traces.damage import Found, salvage
from tenure.traces.lines import Records, records_of, unpack
from tests.cases import case_input
from tests.effort import seconds_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 10**6) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "role", "content", "input"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    """A row with the keys that rows have, and anything within."""
    kind = draw(st.sampled_from(["user", "assistant", "progress"]))
    message = {"role": kind, "content": draw(VALUES)}
    row = {"type": kind, "uuid": draw(st.uuids()).hex, "message": message}
    return row | ({"extra": draw(VALUES)} if draw(st.booleans()) else {})


def read(data: bytes) -> tuple[list[Any], dict[int, str]]:
    found: Records = records_of(data)
    return [one.value for one in found.records], {one.line: one.words for one in found.damage}


def dump(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode()


def test_a_torn_last_line_is_named_by_its_byte_and_costs_no_other_record() -> None:
    data = case_input("132")["file_text"].encode()
    found = records_of(data)
    assert [one.value["message"]["content"] for one in found.records] == ["one", "two"]
    (damage,) = found.damage
    start = data.rindex(b"\n") + 1
    assert (damage.line, damage.offset) == (3, start)
    assert damage.words.startswith(f"torn last line at byte {start}")


def test_nuls_before_a_record_are_taken_out_and_told() -> None:
    values, damage = read(bytes.fromhex(case_input("134")["hex"]))
    assert values == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert damage == {2: "16 NUL bytes taken out: the record is read"}


def test_a_record_behind_a_cut_one_and_both_of_a_welded_line_are_read() -> None:
    values, damage = read(case_input("135")["file_text"].encode())
    assert [value["id"] for value in values] == ["bb", "cc", "dd"]
    assert "cut off: 27 bytes lost" in damage[1]
    assert damage[2] == "2 records welded into one line: all are read"


def test_bytes_that_are_no_utf8_cost_no_record() -> None:
    values, damage = read(bytes.fromhex(case_input("137")["hex"]))
    assert values == [{"t": "\ufffd\ufffdA"}, {"t": "ok"}]
    assert damage == {1: "2 bytes that are no UTF-8 read as U+FFFD: the record is read"}


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.data())
def test_a_line_of_nuls_alone_is_named_for_what_it_is(
    lines: list[bool], data: st.DataObject
) -> None:
    told: dict[int, str] = {}
    written: list[bytes] = []
    for number, empty in enumerate(lines, 1):
        if not empty:
            written.append(b'{"n":1}')
            continue
        nuls = data.draw(st.integers(1, 40))
        spaces = b" " * data.draw(st.integers(0, 2))
        written.append(spaces + b"\x00" * nuls + spaces)
        unit = "byte" if nuls == 1 else "bytes"
        told[number] = f"{nuls} NUL {unit} and nothing else: skipped"
    ending = b"\n" * data.draw(st.integers(0, 1))
    values, damage = read(b"\n".join(written) + ending)
    assert values == [{"n": 1}] * lines.count(False)
    assert damage == told


@given(st.lists(rows(), min_size=1, max_size=5), st.booleans(), st.booleans(), st.booleans())
def test_an_undamaged_file_is_read_whole_however_its_lines_end(
    written: list[Any], crlf: bool, bom: bool, blank: bool
) -> None:
    end = b"\r\n" if crlf else b"\n"
    data = b"\xef\xbb\xbf" * bom + b"".join(dump(row) + end * (1 + blank) for row in written)
    assert read(data) == (written, {})
    assert read(data.rstrip()) == (written, {})


@given(st.lists(rows(), min_size=3, max_size=6), st.data())
def test_a_record_cut_anywhere_before_another_is_the_only_one_lost(
    written: list[Any], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(written) - 2))
    whole = dump(written[place])
    cut = data.draw(st.integers(1, len(whole) - 1))
    lines = [dump(row) for row in written]
    lines[place : place + 2] = [whole[:cut] + lines[place + 1]]
    values, damage = read(b"\n".join(lines) + b"\n")
    assert values == written[:place] + written[place + 1 :]
    assert list(damage) == [place + 1]
    assert "cut off" in damage[place + 1]


@given(st.lists(rows(), min_size=2, max_size=5), st.data())
def test_a_file_torn_anywhere_loses_its_last_record_only(
    written: list[Any], data: st.DataObject
) -> None:
    last = dump(written[-1])
    cut = data.draw(st.integers(1, len(last) - 1))
    whole = b"".join(dump(row) + b"\n" for row in written[:-1])
    found = records_of(whole + last[:cut])
    assert [one.value for one in found.records] == written[:-1]
    (damage,) = found.damage
    assert (damage.line, damage.offset) == (len(written), len(whole))
    assert f"torn last line at byte {len(whole)}: {cut} bytes lost" in damage.words


@given(st.lists(rows(), min_size=2, max_size=5), st.data())
def test_a_run_of_nuls_before_behind_or_between_records_costs_none(
    written: list[Any], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(written) - 1))
    nuls = b"\x00" * data.draw(st.integers(1, 40))
    lines = [dump(row) + b"\n" for row in written]
    before = data.draw(st.booleans())
    joint = data.draw(st.booleans()) and place > 0
    lines[place] = nuls + lines[place] if before or joint else lines[place][:-1] + nuls + b"\n"
    if joint:
        lines[place - 1] = lines[place - 1].rstrip(b"\n")
    values, damage = read(b"".join(lines))
    assert values == written
    assert list(damage) == [place + (not joint)]


@given(st.lists(rows(), min_size=2, max_size=5), st.data())
def test_welded_records_are_all_read(written: list[Any], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(written) - 2))
    gap = data.draw(st.sampled_from([b"", b" ", b"\t"]))
    lines = [dump(row) for row in written]
    lines[place : place + 2] = [lines[place] + gap + lines[place + 1]]
    values, damage = read(b"\n".join(lines))
    assert values == written
    assert damage == {place + 1: "2 records welded into one line: all are read"}


@given(st.lists(rows(), min_size=1, max_size=4), st.data())
def test_bad_bytes_within_a_text_cost_no_record(written: list[Any], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(written) - 1))
    bad = data.draw(st.sampled_from([b"\xff", b"\xfe\xff", b"\x80", b"\xc3"]))
    lines = [dump(row) for row in written]
    lines[place] = lines[place].replace(b'"uuid": "', b'"uuid": "' + bad)
    values, damage = read(b"\n".join(lines))
    assert [value["uuid"].lstrip("\ufffd") for value in values] == [one["uuid"] for one in written]
    assert list(damage) == [place + 1]


@given(st.binary(max_size=300), st.binary(max_size=40))
def test_no_content_raises(data: bytes, more: bytes) -> None:
    for each in (data, b'{"a":' + data, b"\x1f\x8b" + data, b'{"a":1}\n' + data + b"{" + more):
        records_of(unpack(each)[0])


@given(st.text(alphabet='{}[]":,\\a1 \x00', max_size=60), st.booleans())
def test_every_character_of_a_damaged_line_is_in_a_record_or_named_as_lost(
    text: str, known: bool
) -> None:
    parts = salvage(text, {frozenset("a")} if known else set())
    at = 0
    for part in parts:
        assert text[at : part.start].strip(" \x00") == ""
        assert part.start < part.end
        at = part.end
        if isinstance(part, Found):
            assert json.loads(text[part.start : part.end]) == part.value
    assert text[at:].strip(" \x00") == ""


def test_an_object_within_a_torn_record_is_not_taken_for_one() -> None:
    whole = b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a"}]}}\n'
    for torn in (b'{"type":"user","message":{"role":"user","content":"x"}', whole[:-4]):
        values, damage = read(whole + torn)
        assert len(values) == 1
        assert list(damage) == [2]


def test_a_backslash_that_starts_no_escape_is_read_as_it_stands() -> None:
    values, damage = read(rb'{"path":"\lesi\u00e9\n"}')
    assert values == [{"path": "\\lesi\u00e9\n"}]
    assert damage == {1: "backslashes that start no escape read literally: the record is read"}


def test_a_line_that_is_no_record_is_named_and_skipped() -> None:
    values, damage = read(b'{"n":1}\n42\nplain words\n{"n":2}\n')
    assert values == [{"n": 1}, {"n": 2}]
    assert damage == {
        2: "a JSON value that is no record: skipped",
        3: "a record is cut off: 11 bytes lost",
    }


def test_a_document_over_many_lines_is_one_record() -> None:
    values, damage = read(json.dumps({"messages": [1, {"a": 2}]}, indent=2).encode())
    assert (values, damage) == ([{"messages": [1, {"a": 2}]}], {})


LONG = st.integers(4_301, 6_500).flatmap(
    lambda size: st.sampled_from(["9" * size, "-1" + "0" * size])
)


@given(
    st.lists(st.lists(st.sampled_from([1, "9" * 5_000, 2.5]) | LONG, max_size=3), min_size=1), LONG
)
def test_an_integer_too_long_for_python_is_read_as_text_and_told(
    held: list[list[Any]], long: str
) -> None:
    def spelled(value: Any) -> str:
        return value if value is long else json.dumps(value)

    held = [[*values, long] for values in held]
    lines = ['{"n":[' + ",".join(map(spelled, values)) + "]}" for values in held]
    values, damage = read("\n".join(['{"n":[]}', *lines, '{"n":[2]}']).encode())
    assert values == [{"n": []}, *({"n": values} for values in held), {"n": [2]}]
    words = "1 integer of more digits than Python reads, read as text: the record is read"
    assert damage == dict.fromkeys(range(2, len(held) + 2), words)


@pytest.mark.parametrize("after", ["", "\n", '{"a":2}', '{"a":2'])
def test_a_long_integer_costs_no_record_of_a_document_or_of_a_torn_line(after: str) -> None:
    whole = '{"a":' + "7" * 5_000 + "}"
    found = records_of((whole + after).encode())
    assert found.records[0].value == {"a": "7" * 5_000}
    assert [one.offset for one in found.records[1:]] == [len(whole)] * (after == '{"a":2}')
    assert any("1 integer of more digits" in one.words for one in found.damage)
    torn = [one.offset for one in found.damage if "torn" in one.words]
    assert torn == [len(whole)] * (after == '{"a":2')
    document = records_of(f'{{"n": 1,\n "big": -{"3" * 5_000}}}'.encode())
    assert [one.value for one in document.records] == [{"n": 1, "big": "-" + "3" * 5_000}]
    assert [one.line for one in document.damage] == [1]


CODECS = ["utf-8", "utf-8-sig"]
CODECS += [f"{wide}{order}" for wide in ("utf-16", "utf-32") for order in ("", "-le", "-be")]
MARKED_BE = {"utf-16-be": b"\xfe\xff", "utf-32-be": b"\x00\x00\xfe\xff"}


@pytest.mark.parametrize("codec", CODECS)
@given(st.lists(rows(), min_size=1, max_size=4), st.booleans(), st.integers(0, 1), st.text())
def test_a_file_in_another_spelling_of_unicode_is_read_whole_where_it_stands(
    codec: str, values: list[Any], marked: bool, ended: int, words: str
) -> None:
    values = [value | {"words": words} for value in values]
    lines = [json.dumps(value, ensure_ascii=False) for value in values]
    mark = MARKED_BE.get(codec, b"") if marked else b""
    data = mark + ("\n".join(lines) + "\n" * ended).encode(codec, "surrogatepass")
    found = records_of(data)
    assert [one.value for one in found.records] == values
    assert found.damage == []
    # The byte order of this machine, where the name leaves it open.
    plain = codec.removesuffix("-sig")
    plain += "-le" if plain in {"utf-16", "utf-32"} else ""
    for record, line in zip(found.records, lines, strict=True):
        assert data[record.offset :].decode(plain, "surrogatepass").startswith(line)


@pytest.mark.parametrize("codec", CODECS)
def test_damage_of_such_a_file_is_named_at_its_own_byte(codec: str) -> None:
    good, torn = '{"n":"\u00e9\U0001f600"}\n', '{"n":"\u4e2d'
    data = (good + torn).encode(codec)
    found = records_of(data)
    assert [one.value for one in found.records] == [{"n": "\u00e9\U0001f600"}]
    (damage,) = found.damage
    size = len(data) - len(torn.encode("utf-16-le" if "16" in codec else "utf-8"))
    size = len(data) - 4 * len(torn) if "32" in codec else size
    assert (damage.line, damage.offset) == (2, size)
    assert damage.words.startswith(f"torn last line at byte {size}: ")


def test_a_byte_order_mark_between_joined_files_costs_nothing() -> None:
    part = b'\xef\xbb\xbf{"n":1}\n'
    found = records_of(part * 3)
    assert [(one.value, one.line, one.offset) for one in found.records] == [
        ({"n": 1}, line, (line - 1) * len(part) + 3) for line in (1, 2, 3)
    ]
    assert found.damage == []


def test_gzip_is_told_by_content_and_a_cut_one_gives_what_it_still_holds() -> None:
    lines = b"".join(dump({"n": n, "text": str(n) * 50}) + b"\n" for n in range(4_000))
    packed = gzip.compress(lines)
    assert unpack(packed) == (lines, [])
    assert unpack(packed + gzip.compress(b"more")) == (lines + b"more", [])
    part, (damage,) = unpack(packed[: len(packed) // 2])
    assert lines.startswith(part)
    assert len(part) > len(lines) // 4
    assert (damage.offset, "ends early" in damage.words) == (len(part), True)


def test_a_broken_gzip_stream_gives_what_comes_before_the_break() -> None:
    lines = b"".join(dump({"n": n, "text": str(n * n)}) + b"\n" for n in range(40_000))
    packed = bytearray(gzip.compress(lines))
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    part, damage = unpack(bytes(packed))
    assert len(damage) == 1
    assert part[:100_000] == lines[:100_000]


@pytest.mark.parametrize(
    "piece",
    [b'{"a":', b'{"a":"', b'{"a":1},', b"{", b'{\x00"', b'{"a":1}'],
    ids=["nested", "cut in strings", "with commas", "braces", "nuls", "welded"],
)
def test_the_work_on_a_hostile_line_grows_with_its_length(piece: bytes) -> None:
    """Sixteen times the line would take 256 times as long if anything in it were quadratic."""
    short, long = (
        partial(read_behind, piece * (size // len(piece))) for size in (100_000, 1_600_000)
    )
    allowed = 100 * max(seconds_of(short), 0.01)
    # A busy machine slows one measurement down, never three.
    assert any(seconds_of(long) < allowed for _ in range(3))


def read_behind(line: bytes) -> None:
    """Reads a hostile line and a good one behind it, which must be found."""
    values, damage = read(line + b'\n{"n":2}\n')
    assert values[-1] == {"n": 2}
    assert list(damage) == [1]


@pytest.mark.parametrize("levels", [MAX_NESTING, MAX_NESTING + 1, 500, 900, 5_000, 100_000])
@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
@pytest.mark.parametrize("place", ["alone", "first", "behind", "torn"])
def test_a_record_nested_too_deep_is_named_and_costs_no_other(
    levels: int, opens: bytes, closes: bytes, place: str
) -> None:
    times = levels // (opens.count(b"[") + opens.count(b"{"))
    times += levels % 2 if len(opens) > 5 else 0
    deep = opens * times + b"1" + closes * times
    line = {
        "alone": deep,
        "first": deep + b'{"n":2}',
        "behind": b'{"n":2}' + deep,
        "torn": b'{"n":2}\n' + deep[: len(deep) - len(closes)],
    }[place]
    values, damage = read(b'{"n":1}\n' + line + b'\n{"n":3}\n')
    assert values[0] == {"n": 1}
    assert values[-1] == {"n": 3}
    if levels <= MAX_NESTING:
        assert (damage == {}) == (place == "alone")
    elif place == "torn":
        assert set(damage) == {3}
    else:
        assert "nested more than 200 levels deep" in damage[2]
        # Python itself may not find where a deep record ends: then what is behind it goes with it.
        assert {"n": 2} in values or place == "alone" or (place, levels > 900) == ("first", True)


@pytest.mark.parametrize("key", ["arguments", "input"])
@pytest.mark.parametrize("levels", [MAX_NESTING, MAX_NESTING + 1, 900, 5_000, 100_000])
def test_arguments_spelled_as_text_count_as_what_they_spell(key: str, levels: int) -> None:
    spelled = "[" * levels + "]" * levels
    values, damage = read(dump({"call": [{key: spelled}]}) + b'\n{"text":"' + b"[" * 300 + b'"}\n')
    assert len(values) == (2 if levels <= MAX_NESTING else 1)
    assert list(damage) == ([] if levels <= MAX_NESTING else [1])


def test_an_unclosed_pile_of_brackets_is_no_deep_record() -> None:
    values, damage = read(dump({"input": "f(" + "[" * 5_000}) + b"\n")
    assert (len(values), damage) == (1, {})
