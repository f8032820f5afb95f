"""Make src/tenure/cost/data/models.json: prices of genai-prices, rules of overlay.toml.

Invariant: the same genai-prices, overlay and AS_OF give the same bytes, with no network.

    python -m scripts.make_models            write the table
    python -m scripts.make_models --check    exit 1 when the committed table differs
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ConditionalPrice,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    StartDateConstraint,
    TieredPrices,
)

AS_OF = date(2026, 11, 30)
"""Of start-dated prices, the last one that had begun on this day is taken."""

PROVIDERS = ("anthropic", "openai", "google", "deepseek", "x-ai", "moonshotai")

NOT_TEXT = (
    *(
        "audio",
        "computer-use",
        "embedding",
        "image",
        "live",
        "moderation",
        "nano-banana",
        "omni",
        "realtime",
    ),
    *("robotics", "transcribe", "tts", "vision", "voice", "whisper", "instruct"),
)
"""Words in the name of a model that does not hold a text conversation."""

DATA = Path(__file__).resolve().parent.parent / "src" / "tenure" / "cost" / "data"

Row = dict[str, object]


def make_table() -> bytes:
    """The table as committed: one model a line, in the price list's order (first match wins)."""
    families = tomllib.loads((DATA / "overlay.toml").read_text(encoding="utf-8"))["family"]
    rows = [
        row
        for provider in get_snapshot().providers
        if provider.id in PROVIDERS
        for model in provider.models
        if (row := _row(provider.id, model, families)) is not None
    ]
    rows.sort(key=lambda row: PROVIDERS.index(str(row["provider"])))  # stable: order within stays
    lines = ",\n".join(json.dumps(row, ensure_ascii=True, sort_keys=True) for row in rows)
    return f'{{"as_of": "{AS_OF}", "models": [\n{lines}\n]}}\n'.encode()


def _row(provider: str, model: ModelInfo, families: list[Mapping[str, object]]) -> Row | None:
    """One model's line, or None when it is no text model or lacks a price or a window."""
    rules = _rules(provider, model.id, families)
    price = _current_price(model)
    if price is None or not rules or any(word in model.id for word in NOT_TEXT):
        return None
    base = _base(price.input_mtok)
    window = rules.pop("context_window", model.context_window)
    if not base or not _base(price.output_mtok) or not window:
        return None

    def factor(value: Decimal | TieredPrices | None, default: float) -> float:
        return round(float(_base(value) / base), 9) if value is not None else default

    cliff = _cliff(price)
    return rules | {
        "name": model.id,
        "provider": provider,
        "match": _clause(model.match),
        "context_window": window,
        "input_price": float(base / 1_000_000),
        "output": factor(price.output_mtok, 0.0),
        "read": factor(price.cache_read_mtok, 1.0),
        "write": factor(price.cache_write_mtok, 1.0),
        "write_long": factor(price.cache_write_1h_mtok, 0.0) or rules.get("write_long") or None,
        **({"cliff": cliff} if cliff else {}),
    }


def _rules(provider: str, name: str, families: list[Mapping[str, object]]) -> Row:
    found: Row = {}
    for family in families:
        patterns = family["models"]
        assert isinstance(patterns, list)
        if family["provider"] == provider and any(fnmatchcase(name, p) for p in patterns):
            found.update(family)
    for key in ("models", "source"):
        found.pop(key, None)
    return found


def _current_price(model: ModelInfo) -> ModelPrice | None:
    if isinstance(model.prices, ModelPrice):
        return model.prices
    chosen = None
    for dated in model.prices:
        assert isinstance(dated, ConditionalPrice)
        begun = dated.constraint is None or (
            isinstance(dated.constraint, StartDateConstraint)
            and dated.constraint.start_date <= AS_OF
        )
        if begun:
            chosen = dated.prices
    return chosen


def _base(value: Decimal | TieredPrices | None) -> Decimal:
    if value is None:
        return Decimal(0)
    return value.base if isinstance(value, TieredPrices) else value


def _cliff(price: ModelPrice) -> list[float] | None:
    """[prompt tokens above which all is dearer, factor on input, factor on output]."""
    if not isinstance(price.input_mtok, TieredPrices) or not price.input_mtok.tiers:
        return None
    first = price.input_mtok.tiers[0]
    output = price.output_mtok
    out = output.tiers[0].price / output.base if isinstance(output, TieredPrices) else Decimal(1)
    return [first.start, float(first.price / price.input_mtok.base), float(out)]


def _clause(clause: MatchLogic) -> list[object]:
    match clause:
        case ClauseEquals():
            return ["is", clause.equals.lower()]
        case ClauseStartsWith():
            return ["starts", clause.starts_with.lower()]
        case ClauseEndsWith():
            return ["ends", clause.ends_with.lower()]
        case ClauseContains():
            return ["has", clause.contains.lower()]
        case ClauseRegex():
            return ["regex", clause.regex]
        case ClauseOr():
            return ["any", *(_clause(part) for part in clause.or_)]
        case ClauseAnd():
            return ["all", *(_clause(part) for part in clause.and_)]
    raise TypeError(f"unknown clause {clause!r}: teach scripts/make_models.py its meaning")


def main() -> int:
    path = DATA / "models.json"
    made = make_table()
    if "--check" in sys.argv[1:]:
        same = path.read_bytes() == made
        print("models.json is current" if same else "models.json differs: run `make models`")
        return 0 if same else 1
    path.write_bytes(made)
    print(f"{path.name}: {made.count(bytes([10])) - 2} models, prices as of {AS_OF}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
