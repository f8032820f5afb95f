"""Media count by size, alike in every spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.tokens.media import (
    PDF_PAGE,
    UNKNOWN_AUDIO,
    UNKNOWN_DOCUMENT,
    UNKNOWN_PICTURE,
    media_tokens,
    picture_tokens,
)
from tests.tokens import pictures

PROVIDERS = ["anthropic", "openai", "somebody-else"]


def spellings(data: str, media_type: str = "image/png") -> list[Mapping[str, Any]]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    url = f"data:{media_type};base64,{data}"
    return [
        source,
        {"type": "image", "source": source},
        {"type": "url", "url": url},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "image_url", "image_url": url},
        {"type": "input_image", "image_url": url},
        {"type": "input_image", "image_url": url, "detail": "auto"},
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "image", "source": source}]},
        },
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
@given(width=st.integers(1, 5000), height=st.integers(1, 5000))
def test_a_picture_costs_the_same_in_every_spelling(provider: str, width: int, height: int) -> None:
    parts = spellings(pictures.png(width, height))
    assert len({media_tokens(provider, part) for part in parts}) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_400_kilobytes_of_base64_cost_a_picture_and_not_their_length(provider: str) -> None:
    for data in (pictures.png(1200, 900, filler=300_000), "A" * 400_000):
        for part in spellings(data):
            assert 200 <= media_tokens(provider, part) <= 3000


def test_a_big_picture_costs_clearly_more_than_a_small_one_up_to_a_cap() -> None:
    small, big, huge = (picture_tokens("anthropic", width=n, height=n) for n in (64, 1000, 9000))
    assert small == 6
    assert big == 1334
    assert huge == UNKNOWN_PICTURE


def test_a_wide_picture_is_scaled_to_its_long_edge() -> None:
    assert picture_tokens("anthropic", width=3136, height=750) == 784


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(1024, 1024, 1024), (512, 512, 256), (64, 64, 255), (4096, 512, 1536)],
)
def test_an_openai_picture_costs_the_dearer_of_tiles_and_patches(
    width: int, height: int, tokens: int
) -> None:
    assert picture_tokens("openai", width=width, height=height) == tokens


def test_low_detail_is_a_flat_price() -> None:
    part = {
        "type": "input_image",
        "detail": "low",
        "image_url": "data:image/png;base64," + pictures.png(2000, 2000),
    }
    assert media_tokens("openai", part) == 85


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "url", "url": "https://example.org/a.png"}, UNKNOWN_PICTURE),
        ({"type": "input_image", "file_id": "file-1"}, UNKNOWN_PICTURE),
        ({"type": "file", "file_id": "file_1"}, UNKNOWN_PICTURE),
        ({"type": "document", "source": {"type": "file", "file_id": "file_1"}}, UNKNOWN_DOCUMENT),
        (
            {"type": "document", "source": {"type": "url", "url": "https://e.org/x"}},
            UNKNOWN_DOCUMENT,
        ),
        ({"type": "input_file", "file_url": "https://e.org/x"}, UNKNOWN_DOCUMENT),
        ({"type": "file", "file": {"file_id": "file-1"}}, UNKNOWN_DOCUMENT),
        ({"type": "input_audio", "input_audio": {}}, UNKNOWN_AUDIO),
        (
            {"type": "base64", "media_type": "image/png", "data": "bm90IGEgcGljdHVyZQ=="},
            UNKNOWN_PICTURE,
        ),
    ],
)
def test_what_cannot_be_measured_costs_its_stated_default(
    part: Mapping[str, Any], tokens: int
) -> None:
    assert media_tokens("anthropic", part) == tokens


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_pdf_costs_by_its_pages_in_every_spelling(provider: str) -> None:
    pages = b"<< /Type /Pages >>" + b"<< /Type /Page /Parent 1 0 R >> " * 7
    data = pictures.encoded(b"%PDF-1.7\n" + pages)
    url = "data:application/pdf;base64," + data
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    for part in (
        {"type": "document", "source": source},
        {"type": "input_file", "file_data": url, "filename": "a.pdf"},
        {"type": "file", "file": {"file_data": url}},
        {"type": "file", "file": {"file_data": data}},
    ):
        assert media_tokens(provider, part) == 7 * PDF_PAGE


def test_a_pdf_that_hides_its_pages_costs_by_size() -> None:
    data = pictures.encoded(b"%PDF-1.7\n" + bytes(240_000))
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    assert media_tokens("anthropic", source) == 5 * PDF_PAGE


def test_text_documents_cost_their_text() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 40
    whole = media_tokens("openai", {"type": "text", "media_type": "text/plain", "data": text})
    assert whole == 401
    url = "data:text/plain;base64," + pictures.encoded(text.encode())
    assert media_tokens("openai", {"type": "input_file", "file_data": url}) == whole
    block = {"type": "document", "source": {"type": "content", "content": text}}
    assert media_tokens("openai", block) == whole


def test_wav_costs_by_its_duration() -> None:
    for seconds, tokens in ((1, 11), (10, 101)):  # the header's 44 bytes begin another 100 ms
        part = {
            "type": "input_audio",
            "input_audio": {"data": pictures.wav(seconds), "format": "wav"},
        }
        assert media_tokens("openai", part) == tokens


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "source", "data", "url", "content", "file", "file_data", "image_url"]
            ),
            inner
            | st.sampled_from(
                ["base64", "text", "content", "url", "file", "input_file", "image_url"]
            ),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "source", "image_url", "file", "data"]), JSON))
def test_no_part_however_malformed_makes_counting_raise(part: Mapping[str, Any]) -> None:
    for provider in ("anthropic", "openai"):
        assert media_tokens(provider, part) >= 0
