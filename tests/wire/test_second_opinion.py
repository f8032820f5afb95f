"""What leaves is taken by the scripted server, whose rules are its own, or is known to be refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.testing import ModelServer, Reply
from tenure.wire.detect import WIRES
from tests.testing import raw
from tests.wire.second_opinion import BETAS, RULES, Asking, asking, refers, refusal, unseen

ANY_WIRE = pytest.mark.parametrize("name", RULES)
PATHS = {
    "anthropic_messages": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
}
# Few fewer rules are broken by the first five hundred; those of a whole request have their own tests.
BROKEN_AT_LEAST = {"anthropic_messages": 30, "openai_chat": 18, "openai_responses": 22}
PASSES = {"part-type"}  # Named, but sent: a host may have parts of its own.


def is_foreseen(asked: Asking) -> bool:
    """Whether the check says that the provider would refuse the copy."""
    rules = WIRES[asked.wire].rules
    return any(rules[name].fatal for name in asked.left - PASSES)


@ANY_WIRE
def test_no_mended_copy_is_refused_for_a_rule_that_is_not_named(name: str) -> None:
    taken, broken = 0, set[str]()
    for seed in range(500):
        asked = asking(name, seed)
        refused = refusal(asked)
        assert refused is None or asked.left, (seed, refused)
        taken += refused is None
        broken |= {mend.rule for mend in asked.mended.mends}
    assert taken > 450
    assert len(broken) >= BROKEN_AT_LEAST[name], sorted(WIRES[name].rules.keys() - broken)


@pytest.mark.fuzz
@ANY_WIRE
@given(st.integers(500, 2**40))
def test_neither_is_any_other(name: str, seed: int) -> None:
    asked = asking(name, seed)
    refused = refusal(asked)
    assert refused is None or asked.left, refused
    # What the check calls fatal is no more than what is refused: a rule too many would cost a copy.
    assert refused is not None or not is_foreseen(asked), asked.left


@ANY_WIRE
def test_the_same_over_http(name: str) -> None:
    # Thinking was signed for another prompt: that is for the planner, not for the rules.
    with ModelServer(lambda _body, _step: Reply("ok"), preserved_thinking=False) as server:
        for seed in range(100):
            asked = asking(name, seed)
            if asked.left or refers(asked):
                continue
            headers = None
            if name == "anthropic_messages":
                headers = raw.with_betas(*BETAS) | {"anthropic-version": asked.terms.api_version}
            sent = json.dumps(asked.body, ensure_ascii=False).encode()
            status, _ = raw.post(server, PATHS[name], sent, headers=headers)
            refused = server.requests[-1].refusal
            assert status == 200 or (refused and unseen(refused)), (seed, refused)
        assert len(server.requests) > 60
