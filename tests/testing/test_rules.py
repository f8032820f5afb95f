"""Every rule refuses what breaks it, by name, and sound requests break none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tenure.testing import ModelServer, Reply
from tenure.testing.anthropic_rules import RULES as ANTHROPIC_RULES
from tenure.testing.chat_rules import RULES as CHAT_RULES
from tenure.testing.responses_rules import RULES as RESPONSES_RULES
from tests.testing import asked_badly as bad
from tests.testing import asked_newly as newer
from tests.testing.raw import post, with_betas

WINDOW = 2_000
PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
TABLES = {"anthropic": ANTHROPIC_RULES, "chat": CHAT_RULES, "responses": RESPONSES_RULES}
CASES = {"anthropic": bad.ANTHROPIC, "chat": bad.CHAT, "responses": bad.RESPONSES}
NEED_MORE_THAN_A_BODY = {
    "anthropic": {"version_header", "thinking_bound", "compaction_block_verbatim"},
    "chat": set[str](),
    "responses": {"reasoning_present", "references_known"},
}
"""Rules whose tests stand elsewhere: they look at headers, earlier answers, or answer 404."""


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda _body, _step: Reply("fine"), window=WINDOW) as running:
        yield running


@pytest.mark.parametrize(
    ("api", "rule", "body"),
    [(api, rule, body) for api, cases in CASES.items() for rule, body in cases],
)
def test_a_broken_rule_is_named_and_refused_with_400(
    server: ModelServer, api: str, rule: str, body: Mapping[str, Any]
) -> None:
    status, answer = post(server, PATHS[api], body)
    refusal = server.requests[-1].refusal
    assert refusal is not None, f"accepted: {body}"
    assert refusal.rule == rule, refusal.message
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert answer["error"]["message"] == refusal.message


@pytest.mark.parametrize(("rule", "betas", "body"), newer.BAD)
def test_a_broken_newer_rule_is_named_too(
    server: ModelServer, rule: str, betas: Sequence[str], body: Mapping[str, Any]
) -> None:
    status, answer = post(server, "/v1/messages", body, headers=with_betas(*betas))
    refusal = server.requests[-1].refusal
    assert refusal is not None, f"accepted: {body}"
    assert refusal.rule == rule, refusal.message
    assert (status, answer["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(("betas", "body"), newer.SOUND)
def test_a_sound_newer_request_breaks_none(
    server: ModelServer, betas: Sequence[str], body: Mapping[str, Any]
) -> None:
    status, answer = post(server, "/v1/messages", body, headers=with_betas(*betas))
    assert status == 200, answer


@pytest.mark.parametrize("api", TABLES)
def test_every_rule_has_a_request_that_breaks_it(api: str) -> None:
    covered = {rule for rule, _ in CASES[api]} | NEED_MORE_THAN_A_BODY[api]
    covered |= {rule for rule, _, _ in newer.BAD} if api == "anthropic" else set()
    assert covered == set(TABLES[api])


@pytest.mark.parametrize(
    ("api", "body"), [(api, body) for api, bodies in bad.SOUND.items() for body in bodies]
)
def test_a_sound_request_breaks_no_rule(
    server: ModelServer, api: str, body: Mapping[str, Any]
) -> None:
    status, answer = post(server, PATHS[api], body)
    assert status == 200, answer


def test_a_request_without_version_header_is_refused(server: ModelServer) -> None:
    status, _ = post(server, "/v1/messages", bad.SOUND["anthropic"][0], headers={"x-api-key": "x"})
    assert status == 400
    assert server.requests[-1].refusal is not None
    assert server.requests[-1].refusal.rule == "version_header"


def test_sampling_parameters_pass_on_the_older_api_version(server: ModelServer) -> None:
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    body = {**bad.SOUND["anthropic"][0], "temperature": 0.2}
    assert post(server, "/v1/messages", body, headers=headers)[0] == 200


def test_a_rule_put_to_sleep_refuses_nothing() -> None:
    rule, body = bad.CHAT[-1]
    with ModelServer([Reply("fine")], window=WINDOW, without_rules=[rule]) as lenient:
        assert post(lenient, PATHS["chat"], body)[0] == 200


@pytest.mark.parametrize("path", PATHS.values())
def test_a_request_without_credentials_is_401(server: ModelServer, path: str) -> None:
    assert post(server, path, {}, headers={})[0] == 401
