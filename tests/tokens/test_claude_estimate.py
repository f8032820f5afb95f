"""The Claude estimate against the reference tokenizer, where that is installed.

The figures over many kinds of text are `benchmarks/tokens.py`'s; this is the alarm that rings when
weights, vocabulary and code no longer fit each other.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("ctok", reason="the reference tokenizer ctok needs Python 3.12 or newer")

from scripts.claude_reference import byte_costs, count
from scripts.token_corpus import Text, pieces, read_folder
from tenure.tokens.families import CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8, Family, byte_bound
from tests.tokens.texts import ANY_TEXT, HOSTILE

FAMILIES = [CLAUDE_3, CLAUDE_4_7, CLAUDE_4_8]
BY_NAME = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def judged(texts: list[Text], family: Family) -> list[tuple[int, int, int]]:
    """(true, estimate, upper) of each piece of texts that the fit never read."""
    cut = [piece for text in texts for piece in pieces(text.text)][:25]
    assert len(cut) >= 5
    return [(count(piece, family.name), *family.count(piece)) for piece in cut]


def assert_close(figures: list[tuple[int, int, int]]) -> None:
    assert median(abs(estimate / true - 1) for true, estimate, _ in figures) < 0.03
    assert max(abs(estimate / true - 1) for true, estimate, _ in figures) < 0.12
    assert sum(true > upper for true, _, upper in figures) <= 1


@BY_NAME
def test_python_sources_are_counted_closely(family: Family) -> None:
    library = Path(sysconfig.get_paths()["stdlib"]) / "asyncio"
    texts = read_folder(library, share="judge", budget=400_000)
    assert_close(judged([text for text in texts if text.kind == "code"], family))


@BY_NAME
def test_recorded_sessions_are_counted_closely(
    family: Family, shared_data: Callable[..., Path]
) -> None:
    texts = read_folder(shared_data("data", "agent-sessions-dev"), share="judge", budget=400_000)
    assert_close(judged(texts, family))


@BY_NAME
@given(text=ANY_TEXT)
def test_the_byte_bound_is_never_exceeded(family: Family, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert count(text, family.name) <= byte_bound(size, family, ascii=text.isascii())


# The dearest alphabet: rare capitals, letters that grow when lowered, signs that decompose.
DEAR = st.text(
    st.sampled_from("1 !ZQYJzqȺȾՖ\u0344\u0958\ufb2c\U0001d160\u0345ẞ\u0130'"), max_size=40
)


@pytest.mark.fuzz
@BY_NAME
@given(text=DEAR | st.text(st.sampled_from("ZQYJKXVzqj10!. '"), max_size=30))
def test_the_dearest_letters_stay_within_the_byte_bound(family: Family, text: str) -> None:
    size = len(text.encode())
    assert count(text, family.name) <= byte_bound(size, family, ascii=text.isascii())


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@BY_NAME
def test_hostile_text_stays_within_the_byte_bound(family: Family, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    assert count(text, family.name) <= byte_bound(size, family)


@pytest.mark.parametrize("family", ["claude-3", "claude-4.8"])
@pytest.mark.parametrize(
    "text",
    ["The parser's OPTIONS: getName(x, 12)\r\n  — “quoted” text", "漢字かな 한국 Ünï 👩‍👩‍👧"],
)
def test_the_costs_of_a_text_s_bytes_add_up_to_its_count(text: str, family: str) -> None:
    costs = byte_costs(text, family)
    assert costs is not None
    assert len(costs) == len(text.encode())
    assert sum(costs) == pytest.approx(count(text, family))


def test_the_reference_is_the_version_that_was_fitted() -> None:
    assert sys.version_info >= (3, 12)
    assert count("hello, world", "claude-4.8") == 4
