"""Pictures' sizes come from their headers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.picture_size import Base64Bytes, picture_size
from tests.tokens import pictures

MAKERS: list[Callable[[int, int], str]] = [
    pictures.png,
    pictures.gif,
    pictures.jpeg,
    pictures.webp_lossy,
    pictures.webp_lossless,
    pictures.webp_extended,
]


@pytest.mark.parametrize("make", MAKERS)
@given(width=st.integers(1, 16_000), height=st.integers(1, 16_000))
def test_each_format_states_its_size(
    make: Callable[[int, int], str], width: int, height: int
) -> None:
    assert picture_size(make(width, height)) == (width, height)


def test_a_jpeg_frame_behind_200_kilobytes_of_metadata_is_found() -> None:
    assert picture_size(pictures.jpeg(640, 480, metadata=200_000)) == (640, 480)


def test_fill_bytes_before_a_jpeg_marker_are_passed_over() -> None:
    assert picture_size(pictures.jpeg(640, 480, fill=True)) == (640, 480)


def test_base64_in_lines_is_read_like_base64_in_one_line() -> None:
    data = pictures.jpeg(640, 480, metadata=5000)
    lines = "\n".join(data[at : at + 76] for at in range(0, len(data), 76))
    assert picture_size(lines) == (640, 480)


def test_url_safe_base64_is_read() -> None:
    data = pictures.png(63 << 8 | 255, 62 << 8 | 190)
    assert picture_size(data.replace("+", "-").replace("/", "_")) == picture_size(data)


@pytest.mark.parametrize(
    "data",
    ["", "=", "!", "bm90IGEgcGljdHVyZQ==", "iVBORw0KGgo=", "/9j/", "UklGRgAAAABXRUJQ", "漢字"],
)
def test_what_is_no_picture_has_no_size(data: str) -> None:
    assert picture_size(data) is None


@pytest.mark.parametrize("make", MAKERS)
@given(cut=st.integers(0, 60))
def test_a_cut_picture_never_raises(make: Callable[[int, int], str], cut: int) -> None:
    assert picture_size(make(300, 200)[:cut]) in {None, (300, 200)}


@given(raw=st.binary(max_size=200), start=st.integers(0, 220), length=st.integers(0, 220))
def test_reading_a_part_of_base64_equals_the_part_of_the_bytes(
    raw: bytes, start: int, length: int
) -> None:
    source = Base64Bytes(pictures.encoded(raw))
    assert source.read(start, length) == raw[start : start + length]
    assert len(source) == len(raw)
    assert source.all() == raw
