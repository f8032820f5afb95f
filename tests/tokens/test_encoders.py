"""OpenAI's vocabularies count as tiktoken does, whatever the text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import ConfigError
from tenure.tokens.encoders import (
    ENCODINGS,
    Encoder,
    QuicktokEncoder,
    TiktokenEncoder,
    encoder,
    without_surrogates,
)
from tests.tokens.reference import tiktoken_encoding
from tests.tokens.texts import ANY_TEXT, HOSTILE, recorded_lines

quicktok = pytest.importorskip("quicktok", reason="no quicktok wheel for this machine")
tiktoken = pytest.importorskip("tiktoken")


def alike(name: str, text: str) -> None:
    ours, theirs = QuicktokEncoder(quicktok.get_encoding(name)), tiktoken_encoding(name)
    assert ours.ids(text) == theirs.encode_ordinary(text)
    assert ours.count(text) == len(theirs.encode_ordinary(text))
    assert TiktokenEncoder(theirs).ids(text) == ours.ids(text)


@pytest.mark.parametrize("name", ENCODINGS)
def test_the_tables_are_whole(name: str) -> None:
    sizes = {"cl100k_base": 100_256, "o200k_base": 199_998}
    assert len(quicktok.get_encoding(name).token_byte_values()) == sizes[name]
    assert tiktoken_encoding(name).n_vocab == quicktok.get_encoding(name).n_vocab


@pytest.mark.parametrize("name", ENCODINGS)
@given(text=ANY_TEXT)
def test_any_text_has_the_tokens_of_tiktoken(name: str, text: str) -> None:
    alike(name, text)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ENCODINGS)
@given(text=st.text(max_size=3000))
def test_long_random_texts_have_the_tokens_of_tiktoken(name: str, text: str) -> None:
    alike(name, text)


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_has_the_tokens_of_tiktoken(name: str, text: str) -> None:
    alike(name, text)


@pytest.mark.parametrize("name", ENCODINGS)
def test_recorded_text_has_the_tokens_of_tiktoken(
    name: str, shared_data: Callable[..., Path]
) -> None:
    alike(name, recorded_lines(shared_data("data", "agent-sessions-dev")))


def test_the_stand_in_survives_a_million_spaces_and_over_counts_by_little() -> None:
    text = "x" + " " * 1_000_000 + "y"
    exact = QuicktokEncoder(quicktok.get_encoding("o200k_base")).count(text)
    assert (
        exact
        <= TiktokenEncoder(tiktoken_encoding("o200k_base")).count(text)
        <= exact + len(text) / 8000
    )


def test_a_vocabulary_is_loaded_once() -> None:
    assert encoder("o200k_base") is encoder("o200k_base")


def test_an_unknown_vocabulary_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="'p50k_base' is not a vocabulary"):
        encoder("p50k_base")


def test_without_quicktok_tiktoken_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    tiktoken_encoding("cl100k_base")  # Its tables are quicktok's: made while that can be imported.
    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setattr(tiktoken, "get_encoding", tiktoken_encoding)
    stand_in: Encoder = encoder.__wrapped__("cl100k_base")
    assert isinstance(stand_in, TiktokenEncoder)
    assert stand_in.count("hello world") == 2


def test_without_any_tokenizer_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ConfigError, match="install quicktok-v1"):
        encoder.__wrapped__("o200k_base")


def test_a_failed_download_says_where_tiktoken_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise ConnectionError

    monkeypatch.setitem(sys.modules, "quicktok", None)
    monkeypatch.setattr(tiktoken, "get_encoding", refuse)
    with pytest.raises(ConfigError, match="TIKTOKEN_CACHE_DIR"):
        encoder.__wrapped__("o200k_base")


@given(ANY_TEXT)
def test_what_has_no_surrogates_stays_as_it_is(text: str) -> None:
    clean = without_surrogates(text)
    assert without_surrogates(clean) == clean
    assert clean.encode() if text else clean == ""
    if not any("\ud800" <= ch <= "\udfff" for ch in text):
        assert clean == text
