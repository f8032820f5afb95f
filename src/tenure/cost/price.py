"""What one request costs.

Invariant: `price` is in units of the model's base input price per token (a fresh prompt token below
any cliff costs 1), so that models compare by their factors; `price_usd` is that times the price.
"""

from __future__ import annotations

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile


def price(usage: Usage, profile: ModelProfile) -> float:
    """The cost of one request in base input tokens.

    `fresh + r read + w short writes + w_long long writes + o output`, the input parts and the output
    each times their cliff factor when the prompt is above the cliff (the whole request is dearer,
    not only what is above). Where a model has no long TTL, tokens reported as long writes are
    charged as short ones. Source: the providers' price pages as collected by genai-prices.

    >>> from tenure.cost.models import profile
    >>> price(Usage(fresh=10, cache_read=1000, output=2), profile("claude-opus-4-6"))
    120.0
    """
    on_input, on_output = cliff_factors(usage.prompt, profile)
    return input_price(usage, profile) * on_input + usage.output * profile.output * on_output


def price_usd(usage: Usage, profile: ModelProfile) -> float:
    """The cost of one request in US dollars."""
    return price(usage, profile) * profile.input_price


def input_price(usage: Usage, profile: ModelProfile) -> float:
    """The prompt's part in base input tokens, below any cliff."""
    long_factor = profile.write if profile.write_long is None else profile.write_long
    short = usage.cache_write - usage.cache_write_1h
    return (
        usage.fresh
        + usage.cache_read * profile.read
        + short * profile.write
        + usage.cache_write_1h * long_factor
    )


def cliff_factors(prompt: int, profile: ModelProfile) -> tuple[float, float]:
    """The factors on input and output that a prompt of this many tokens brings."""
    if profile.cliff is None or prompt <= profile.cliff.prompt:
        return 1.0, 1.0
    return profile.cliff.input, profile.cliff.output
