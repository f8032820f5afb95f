"""Model names find their tokenizer; counts never raise and bounds hold."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.tokens.encoders import encoder
from tenure.tokens.families import (
    CL100K,
    CLAUDE_3,
    CLAUDE_4_7,
    CLAUDE_4_8,
    O200K,
    UNKNOWN,
    Family,
    byte_bound,
    family_of,
)
from tests.tokens.texts import ANY_TEXT, HOSTILE

FAMILIES = [CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8, O200K, CL100K, UNKNOWN]

MODELS = {
    CLAUDE_3: """claude-3-opus-20240229 claude-3-5-sonnet-20241022 claude-3.7-sonnet claude-3-5-haiku-latest
        claude-2.1 claude-instant-1.2 claude-sonnet-4-20250514 claude-opus-4-1 claude-sonnet-4-5
        claude-haiku-4-5-20251001 claude-opus-4-6 anthropic/claude-sonnet-4.5 claude-opus-4
        us.anthropic.claude-sonnet-4-5-20250929-v1:0 anthropic.claude-v2:1 claude-sonnet-4@20250514""",
    CLAUDE_4_7: "claude-opus-4-7 anthropic/claude-opus-4.7 claude-opus-4-7-20260401",
    CLAUDE_4_8: """claude-opus-4-8 claude-opus-5-5 claude-sonnet-5 claude-fable-5-2 claude-mythos-5-2
        claude-haiku-5-5 claude claude-opus-latest opus sonnet haiku opusplan sonnet[1m]
        CLAUDE-OPUS-5-5 claude-opus-10-1 claude-sonnet-5-20260901""",
    O200K: """gpt-4o gpt-4o-mini-2024-07-18 gpt-4.1 gpt-4.1-nano gpt-4.5-preview chatgpt-4o-latest o1 o1-mini
        o3 o3-mini o4-mini-high gpt-5 gpt-5.5 gpt-5-codex gpt-6-astra gpt-6.1-sol gpt-6.2-terra
        openai/gpt-4o ft:gpt-4o-mini:org::id azure/o3 codex-mini-latest gpt-oss-120b gpt-10""",
    CL100K: "gpt-4 gpt-4-turbo gpt-4-0613 gpt-4-32k gpt-3.5-turbo gpt-35-turbo azure/gpt-4-turbo",
    UNKNOWN: "gemini-3.8-flash llama-3.3-70b mistral-large qwen3 grok-4 model \ud800 deepseek-v3 ''",
}


@pytest.mark.parametrize(
    ("model", "family"), [(m, f) for f, models in MODELS.items() for m in models.split()]
)
def test_a_model_name_finds_its_family(model: str, family: Family) -> None:
    assert family_of(model) is family


@given(ANY_TEXT)
def test_every_name_has_a_family(model: str) -> None:
    assert family_of(model) in FAMILIES


@given(text=ANY_TEXT)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_any_text_has_a_count_within_its_bounds(family: Family, text: str) -> None:
    estimate, upper = family.count(text)
    assert 0 <= estimate <= upper
    assert (estimate > 0) == bool(text)
    if family.exact:
        assert estimate == upper
        size = len(text.encode("utf-8", "surrogatepass"))
        assert estimate <= byte_bound(size, family)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_hostile_text_is_counted(family: Family, text: str) -> None:
    estimate, upper = family.count(text)
    assert (estimate > 0) == bool(text)
    assert estimate <= upper


@pytest.mark.parametrize("family", [CLAUDE_4_8, O200K, CL100K], ids=lambda family: family.name)
@pytest.mark.parametrize("unit", ["a", " ", "\n", "漢", "\u0301", "<|endoftext|>", "\ud800"])
def test_a_million_repeats_are_counted_in_linear_time(family: Family, unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    family.count("warm")
    start = time.process_time()
    family.count(text)
    assert time.process_time() - start < 5  # 0.6 s at most here; anything quadratic takes minutes


def test_a_line_of_5_megabytes_is_counted_in_linear_time() -> None:
    line = "".join(f'{{"key_{n}": "Value {n * n}", "汉字": null}}, ' for n in range(130_000))
    assert len(line.encode()) > 5_000_000
    start = time.process_time()
    CLAUDE_4_8.count(line)
    assert time.process_time() - start < 10  # 0.4 s here


@given(n=st.integers(0, 10_000_000))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_byte_bound_grows_with_the_bytes(family: Family, n: int) -> None:
    assert byte_bound(n, family) <= byte_bound(n + 1, family)
    assert n <= byte_bound(n, family, ascii=True) <= byte_bound(n, family)


@pytest.mark.parametrize(
    "family", [CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8, UNKNOWN], ids=lambda family: family.name
)
@pytest.mark.parametrize("word", ["漢字", "한국", "かな"])
def test_an_estimate_of_200_pairs_of_wide_characters_is_not_that_of_english(
    family: Family, word: str
) -> None:
    estimate, _ = family.count(word * 200)
    assert 240 <= estimate <= 700


@pytest.mark.parametrize("family", [O200K, CL100K], ids=lambda family: family.name)
def test_400_english_letters_stay_near_100(family: Family) -> None:
    assert 80 <= family.count("word" * 100).estimate <= 130


def test_the_unknown_family_is_not_below_any_other_on_wide_characters() -> None:
    for word in ("漢字", "한국", "かな"):
        counts = [family.count(word * 200).estimate for family in (O200K, CLAUDE_3, UNKNOWN)]
        assert counts[-1] >= 0.95 * max(counts)


def test_exact_families_count_what_the_vocabulary_says() -> None:
    text = "for line in lines: print(line)\n" * 20
    assert O200K.count(text).estimate == encoder("o200k_base").count(text)
    assert CL100K.count(text).estimate == encoder("cl100k_base").count(text)
