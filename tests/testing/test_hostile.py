"""Whatever JSON comes in, the server answers with a status and stays up."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.testing import ModelServer, Reply
from tests.testing import asked_badly as bad
from tests.testing import asked_newly as newer
from tests.testing.raw import OPENAI_HEADERS, post, with_betas

PATHS = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
BETAS = (
    *newer.BINDING,
    *newer.CLEAR_AT,
    *newer.COMPACT,
    *newer.EDITS,
    *newer.THRESHOLD,
    *newer.EFFORT,
)
JUNK: list[Any] = [
    None, True, 0, -1, 10**30, 1.5, "", " ", "\x00", "text", [], [[]], [None], ["text"], {},
    {"type": []}, {"type": "text"}, {"type": "tool_use"}, {"type": "image", "source": 5},
]  # fmt: skip
ROUNDS = 40


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda _body, _step: Reply("fine")) as running:
        yield running  # leaving the context raises whatever a handler raised


@pytest.mark.parametrize("api", PATHS)
def test_a_body_with_junk_in_any_place_is_answered(server: ModelServer, api: str) -> None:
    chance = random.Random(api)
    headers = with_betas(*BETAS) if api == "anthropic" else OPENAI_HEADERS
    bodies = list(bad.SOUND[api])
    if api == "anthropic":
        bodies += [body for _, body in newer.SOUND] + [body for _, _, body in newer.BAD[::3]]
    for body in bodies:
        for _ in range(ROUNDS):
            broken = copy.deepcopy(body)
            for _ in range(chance.choice((1, 1, 2))):
                spot = chance.choice(list(_spots(broken)))
                spot[0][spot[1]] = copy.deepcopy(chance.choice(JUNK))
            status, answer = post(server, PATHS[api], broken, headers=headers)
            assert status in (200, 400, 404), (broken, answer)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key in a JSON value."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _spots(value[key])
