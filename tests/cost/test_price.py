"""What one request costs, by hand."""

from __future__ import annotations

import pytest

from tenure.core.usage import Usage
from tenure.cost.models import Cliff, profile
from tenure.cost.price import price, price_usd

OPUS = profile("claude-opus-4-6")


def test_each_kind_of_token_has_its_factor() -> None:
    assert price(Usage(fresh=100), OPUS) == 100
    assert price(Usage(cache_read=100), OPUS) == pytest.approx(10)
    assert price(Usage(cache_write=100), OPUS) == 125
    assert price(Usage(cache_write=100, cache_write_1h=100), OPUS) == 200
    assert price(Usage(cache_write=100, cache_write_1h=40), OPUS) == 60 * 1.25 + 40 * 2
    assert price(Usage(output=100), OPUS) == 500


def test_dollars_are_units_times_the_input_price() -> None:
    assert price_usd(Usage(fresh=1_000_000), OPUS) == pytest.approx(5)


def test_above_the_cliff_the_whole_request_is_dearer() -> None:
    dear = OPUS.with_(cliff=Cliff(1000, 2, 1.5))
    assert price(Usage(fresh=1000, output=10), dear) == 1000 + 50
    assert price(Usage(fresh=1001, output=10), dear) == 2002 + 75


def test_a_long_write_costs_a_short_one_where_there_is_no_long_ttl() -> None:
    usage = Usage(cache_write=100, cache_write_1h=100)
    assert price(usage, OPUS.with_(write_long=None)) == 125
