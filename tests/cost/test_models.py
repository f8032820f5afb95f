"""Profiles: names resolve, the committed table is what the script makes, unknown names say so."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from genai_prices import Usage as ListedUsage
from genai_prices import calc_price

from scripts.make_models import DATA, PROVIDERS, make_table
from tenure.core.usage import Usage
from tenure.cost.models import Cliff, known_models, profile
from tenure.cost.price import price_usd


def test_the_committed_table_is_what_the_script_makes() -> None:
    assert (DATA / "models.json").read_bytes() == make_table()


def test_every_overlay_family_names_its_source() -> None:
    families = tomllib.loads((DATA / "overlay.toml").read_text(encoding="utf-8"))["family"]
    assert families
    assert all(family["source"] and family["provider"] in PROVIDERS for family in families)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-haiku-5.5", "claude-haiku-5-5"),
        ("vertex_ai/claude-opus-5-5@20261001", "claude-opus-5-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-5.1-codex", "gpt-5.1"),
        ("gpt-5.3-codex-2026-02-05", "gpt-5.3-codex"),
        ("azure/gpt-4.1-2025-04-14", "gpt-4.1"),
        ("models/gemini-3.8-flash", "gemini-3.8-flash"),
        ("  GPT-4o ", "gpt-4o"),
    ],
)
def test_a_model_is_found_by_any_of_its_names(name: str, found: str) -> None:
    assert profile(name).name == found
    assert profile(name).known


def test_every_name_in_the_table_resolves_to_itself_and_is_plausible() -> None:
    for name in known_models():
        one = profile(name)
        assert one.name == name
        assert one.known
        assert 0 < one.read <= 1 <= one.write <= 2
        assert one.write_long is None or one.write_long >= one.write
        assert 0 < one.max_output < one.context_window
        assert one.output > 0
        assert one.automatic == (one.max_marks == 0)
        assert one.cache_minimum > 0
        assert one.ttl_short > 0


def test_an_unknown_model_gets_a_default_that_says_so() -> None:
    for name, provider in (("gpt-99", "openai"), ("claude-x", "anthropic"), ("zzz", "unknown")):
        one = profile(name)
        assert one.name == f"default (unknown model {name!r})"
        assert not one.known
        assert one.provider == provider


def test_an_unknown_claude_is_taken_to_preserve_thinking() -> None:
    assert profile("claude-mythos-9").preserved_thinking


@pytest.mark.parametrize(
    ("name", "read", "minimum", "preserved"),
    [
        # providers.md 1.4 and 1.5
        ("claude-fable-5-2", 0.025, 1024, True),
        ("claude-fable-5-1", 0.025, 512, True),
        ("claude-fable-5", 0.1, 512, False),
        ("claude-opus-5-5", 0.05, 512, True),
        ("claude-sonnet-5-5", 0.05, 512, True),
        ("claude-haiku-5-5", 0.1, 512, True),
        ("claude-opus-4-8", 0.1, 1024, False),
        ("claude-opus-4-7", 0.1, 2048, False),
        ("claude-opus-4-6", 0.1, 4096, False),
        ("claude-haiku-4-5", 0.1, 4096, False),
    ],
)
def test_claude_models_have_the_documented_read_price_and_minimum(
    name: str, read: float, minimum: int, preserved: bool
) -> None:
    one = profile(name)
    assert (one.read, one.cache_minimum, one.preserved_thinking) == (read, minimum, preserved)
    assert (one.write, one.write_long, one.lookback, one.max_marks) == (1.25, 2, 20, 4)
    assert (one.ttl_short, one.ttl_long) == (300, 3600)


def test_openai_charges_for_writes_from_gpt_5_6_on() -> None:
    assert profile("gpt-5.5").write == 1
    assert profile("gpt-5.6-sol").write == 1.25
    assert (profile("gpt-6.1-sol").write_long, profile("gpt-6.1-sol").ttl_long) == (2, 43200)
    assert profile("gpt-6.1-sol").lookback is None


def test_price_cliffs_are_known() -> None:
    assert profile("claude-haiku-5-5").cliff == Cliff(100_000, 5, 5)
    assert profile("gpt-6-astra").cliff == Cliff(272_000, 2, 1.5)
    assert profile("claude-opus-5-5").cliff is None


def test_a_user_can_set_a_factor() -> None:
    changed = profile("claude-opus-4-6").with_(read=0.025)
    assert changed.read == 0.025
    assert profile("claude-opus-4-6").read == 0.1
    with pytest.raises(TypeError):
        changed.with_(colour="red")


@pytest.mark.parametrize(
    "name", ["claude-opus-4-5", "claude-haiku-5-5", "gpt-6.1-sol", "gpt-4o", "gemini-2.5-pro"]
)
@pytest.mark.parametrize("scale", [1, 100])
def test_a_request_costs_what_the_price_list_says(name: str, scale: int) -> None:
    one = profile(name)
    wrote = 1000 * scale if one.write != 1 else 0
    usage = Usage(3000 * scale, 5000 * scale, wrote, 0, 700)
    listed = calc_price(
        ListedUsage(
            input_tokens=usage.prompt,
            cache_read_tokens=usage.cache_read,
            cache_write_tokens=usage.cache_write,
            output_tokens=usage.output,
        ),
        name,
        provider_id=one.provider,
    )
    assert price_usd(usage, one) == pytest.approx(float(listed.total_price), rel=1e-9)


def test_importing_the_package_reads_no_table() -> None:
    script = (
        "import tenure.core.data as data\n"
        "data.read_data = None\n"  # a call would fail
        "import tenure.cost.models, tenure.cost.prefix_cache, tenure.cost.diagnose\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
