"""What lint says of generated pairs, against what the scripted provider billed for them.

Invariant: every request goes over real HTTP, and lint reads the very bytes that arrived.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tenure.replay.lint_requests import Request, lint_requests
from tenure.testing import ModelServer, Reply
from tests.replay.mutations import PATHS, Pair, pairs
from tests.testing.raw import post


@dataclass(frozen=True)
class Sent:
    """A pair as it arrived, and the tokens that were in the cache before the second request and
    were not read by it."""

    pair: Pair
    bodies: tuple[Any, Any]
    held: int
    lost: int

    @property
    def said(self) -> list[str]:
        """The causes that lint names."""
        requests = [Request(body, "pair", at) for at, body in enumerate(self.bodies)]
        findings = lint_requests(requests)
        return [one.rule for one in findings if one.offset is not None]


@pytest.fixture(scope="module")
def sent() -> list[Sent]:
    with ModelServer([Reply("noted")] * 400) as server:
        return list(_all(server))


def _all(server: ModelServer) -> Iterator[Sent]:
    for pair in pairs():
        usages = [_usage(server, pair.wire, body) for body in (pair.earlier, pair.later)]
        arrived = [json.loads(request.body) for request in server.requests[-2:]]
        held = sum(usages[0])
        # A later prompt that is shorter can't read more than itself.
        lost = held - usages[1][0]
        yield Sent(pair, (arrived[0], arrived[1]), held, lost)


def _usage(server: ModelServer, wire: str, body: Any) -> tuple[int, int]:
    """Tokens read from the cache, and written to it."""
    status, answer = post(server, PATHS[wire], body)
    assert status == 200, answer
    usage = answer["usage"]
    if wire == "anthropic_messages":
        return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
    details = usage.get("prompt_tokens_details") or usage["input_tokens_details"]
    return details["cached_tokens"], details["cache_write_tokens"]


def test_every_pair_is_cached_at_first(sent: list[Sent]) -> None:
    assert [one.pair.kind for one in sent if one.held == 0] == []


def test_the_right_cause_is_named_for_every_pair(sent: list[Sent]) -> None:
    wrong = [
        (one.pair.kind, one.pair.wire, one.said)
        for one in sent
        if one.said != [one.pair.rule] * bool(one.pair.rule)
    ]
    assert wrong == []


def test_precision_and_recall_of_the_causes_are_one(sent: list[Sent]) -> None:
    named = [(n, rule) for n, one in enumerate(sent) for rule in one.said]
    true = [(n, one.pair.rule) for n, one in enumerate(sent) if one.pair.rule]
    right = len(set(named) & set(true))
    assert right / len(named) == 1.0
    assert right / len(true) == 1.0
    assert len(sent) == 200
    assert len({one.pair.kind for one in sent}) >= 14


def test_the_provider_bills_a_miss_exactly_where_lint_says_so(sent: list[Sent]) -> None:
    wrong = [
        (one.pair.kind, one.pair.wire, one.held, one.lost)
        for one in sent
        if (one.lost > 0) is not one.pair.costs
    ]
    assert wrong == []
