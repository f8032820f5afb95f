"""Limits, prices, cache rules and abilities of one model.

Invariant: a `ModelProfile` is a frozen value; the table behind `profile` is read once, at the first
call, and importing this module reads nothing. Prices in the table are those of its `as_of` day.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

from tenure.core.data import read_data

TABLE = "cost/data/models.json"


class Cliff(NamedTuple):
    """Above `prompt` tokens the whole request is dearer: input parts and output by these factors.

    Haiku 5.5 costs five times as much above 100k, OpenAI's newer models twice above 272k: treat a
    cliff as a soft budget.
    """

    prompt: int
    input: float
    output: float


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """One model as the economics see it.

    `input_price` is USD per token of plain input. `output`, `read`, `write` and `write_long` are
    factors to it: r and w of the formulas are `read` and `write`. TTLs are in seconds, all sizes in
    tokens. `write_long` is None and `ttl_long` 0 where there is no long TTL; `lookback` is None
    where a read may reach back without limit. `automatic` providers cache without marks, in
    multiples of `step` tokens; `max_marks` is 0 there. `known` is False when the name was not in
    the table and the values are a stated default.

    >>> profile("anthropic/claude-opus-4-5-20251101").read
    0.1
    """

    name: str
    provider: str
    context_window: int
    max_output: int
    input_price: float
    output: float
    read: float
    write: float
    write_long: float | None = None
    cache_minimum: int = 1024
    ttl_short: float = 300
    ttl_long: float = 0
    lookback: int | None = None
    max_marks: int = 0
    automatic: bool = True
    step: int = 1
    preserved_thinking: bool = False
    server_edits: bool = False
    compaction: bool = False
    cliff: Cliff | None = None
    known: bool = True

    @property
    def cache_ttl(self) -> float:
        """Seconds a cached prefix lives without being read: the short TTL."""
        return self.ttl_short

    @property
    def caches(self) -> bool:
        """Whether reading from the cache is cheaper than sending anew."""
        return self.read < 1

    def with_(self, **changes: Any) -> ModelProfile:
        """This profile with some fields replaced, e.g. `profile("gpt-5.1").with_(read=0.025)`.

        Raises TypeError for a field that a profile does not have.
        """
        return replace(self, **changes)


_ANTHROPIC_DEFAULT = ModelProfile(
    name="",
    provider="anthropic",
    context_window=200_000,
    max_output=32_000,
    input_price=5e-6,
    output=5,
    read=0.1,
    write=1.25,
    write_long=2,
    cache_minimum=4096,
    ttl_long=3600,
    lookback=20,
    max_marks=4,
    automatic=False,
    # A Claude newer than the table is more likely to bind thinking than not; being wrong in this
    # direction strips thinking, being wrong in the other is a 400.
    preserved_thinking=True,
    known=False,
)

_DEFAULT = ModelProfile(
    name="",
    provider="unknown",
    context_window=128_000,
    max_output=16_000,
    input_price=2e-6,
    output=5,
    read=0.1,
    write=1.25,
    step=128,
    known=False,
)

DEFAULTS = {"claude": _ANTHROPIC_DEFAULT, "gpt": replace(_DEFAULT, provider="openai")}
"""What an unknown name gets, by a word in it; cautious where models differ: the smaller window, the
dearer write, the larger cache minimum. A name without such a word gets provider "unknown"."""


@lru_cache(maxsize=256)
def profile(model: str) -> ModelProfile:
    """The profile of a model by any of its names.

    Dated names, provider prefixes (`anthropic/`, `us.anthropic.`), `@20250929`, Bedrock's `-v1:0`
    and Claude Code's `[1m]` are understood. An unknown name gets a default that says so in its
    `name` and has `known` False.

    >>> profile("no-such-model").name
    "default (unknown model 'no-such-model')"
    """
    for name in _spellings(model):
        for matches, found in _table():
            if _matches(matches, name):
                return found
    default = next((d for word, d in DEFAULTS.items() if word in model.lower()), _DEFAULT)
    return replace(default, name=f"default (unknown model {model!r})")


def known_models() -> tuple[str, ...]:
    """The names in the table, in its order."""
    return tuple(found.name for _, found in _table())


_PREFIX = re.compile(r"^.*/|^(?:[a-z-]+\.)?(?:anthropic|openai|google|deepseek|moonshotai|x-ai)\.")
_SUFFIX = re.compile(r"\[1m\]$|-v\d+(?::\d+)?$|:[a-z]+$")
_DATE = re.compile(r"[-@](?:latest|default|preview|20\d{6}|20\d{2}-\d{2}-\d{2})$")


def _spellings(model: str) -> list[str]:
    """Names to try, the most literal first: an exact entry beats a guess."""
    literal = model.strip().lower()
    bare = literal
    while (shorter := _SUFFIX.sub("", _PREFIX.sub("", bare))) != bare:
        bare = shorter
    dated = bare.replace("@", "-")
    undated = _DATE.sub("", bare)
    dashed = re.sub(r"(?<=\d)\.(?=\d)", "-", undated)
    return list(dict.fromkeys([literal, bare, dated, undated, dashed]))


def _matches(clause: Sequence[Any], name: str) -> bool:
    """Whether a match clause of the price list holds for a lower-case name."""
    kind, *parts = clause
    match kind:
        case "any":
            return any(_matches(part, name) for part in parts)
        case "all":
            return all(_matches(part, name) for part in parts)
        case "is":
            return name == str(parts[0])
        case "starts":
            return name.startswith(str(parts[0]))
        case "ends":
            return name.endswith(str(parts[0]))
        case "has":
            return str(parts[0]) in name
        case _:
            return re.search(parts[0], name) is not None


@cache
def _table() -> tuple[tuple[Sequence[Any], ModelProfile], ...]:
    rows = json.loads(read_data(TABLE))["models"]
    return tuple((row.pop("match"), _profile(row)) for row in rows)


def _profile(row: dict[str, Any]) -> ModelProfile:
    cliff = row.pop("cliff", None)
    row["lookback"] = row.get("lookback") or None
    return ModelProfile(**row, cliff=Cliff(*cliff) if cliff else None)
