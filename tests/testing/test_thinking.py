"""Signed thinking: what the server accepts back, with and without preserved thinking."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.testing import ModelServer, Reply
from tests.testing.asked_badly import MARK, USER, claude, text
from tests.testing.raw import post, with_betas

OTHER = {"role": "user", "content": "and now?"}


def conversation(server: ModelServer, turns: int) -> list[dict[str, Any]]:
    """User and assistant in turn, the server's own thinking in each answer."""
    messages: list[dict[str, Any]] = [USER]
    for _ in range(turns):
        _, answer = post(server, "/v1/messages", claude(*messages))
        messages += [{"role": "assistant", "content": answer["content"]}, OTHER]
    return messages


def status(messages: list[dict[str, Any]], *, preserved: bool, **more: Any) -> int:
    """How the last of these messages is received; `thinking` texts differ from turn to turn."""
    with ModelServer(script, preserved_thinking=preserved) as server:
        return post(server, "/v1/messages", claude(*messages, **more))[0]


def script(_body: Any, step: int) -> Reply:
    return Reply("so it is", thinking=f"thought {step}")


@pytest.fixture(scope="module")
def messages() -> list[dict[str, Any]]:
    with ModelServer(script) as server:
        return conversation(server, 3)


@pytest.mark.parametrize("preserved", [True, False])
def test_an_untouched_conversation_is_accepted(
    messages: list[dict[str, Any]], *, preserved: bool
) -> None:
    assert status(messages, preserved=preserved) == 200


@pytest.mark.parametrize("preserved", [True, False])
def test_changed_thinking_is_refused(messages: list[dict[str, Any]], *, preserved: bool) -> None:
    changed = messages[3]["content"][0] | {"thinking": "another thought"}
    edited = [*messages[:3], _with(messages[3], 0, changed), *messages[4:]]
    assert status(edited, preserved=preserved) == 400


def test_an_edited_message_unbinds_the_thinking_after_it_where_thinking_is_preserved(
    messages: list[dict[str, Any]],
) -> None:
    edited = [USER | {"content": "shorter"}, *messages[1:]]
    assert status(edited, preserved=False) == 200
    assert status(edited, preserved=True) == 400
    assert status(messages, preserved=True, system="new") == 400


@pytest.mark.parametrize(
    ("model", "expected"), [("claude-opus-5-5", 400), ("claude-opus-4-5", 200)]
)
def test_whether_thinking_is_bound_is_the_models_own_affair(
    messages: list[dict[str, Any]], model: str, expected: int
) -> None:
    edited = claude(USER | {"content": "shorter"}, *messages[1:]) | {"model": model}
    with ModelServer(script) as server:
        assert post(server, "/v1/messages", edited)[0] == expected


def test_an_edit_is_accepted_once_all_later_thinking_is_stripped(
    messages: list[dict[str, Any]],
) -> None:
    bare = [
        _without_thinking(message) if message["role"] == "assistant" else message
        for message in messages[1:]
    ]
    assert status([USER | {"content": "shorter"}, *bare], preserved=True) == 200


def test_thinking_may_go_from_the_front_but_not_from_the_middle(
    messages: list[dict[str, Any]],
) -> None:
    front = [USER, _without_thinking(messages[1]), *messages[2:]]
    middle = [*messages[:3], _without_thinking(messages[3]), *messages[4:]]
    assert status(front, preserved=True) == 200
    assert status(middle, preserved=True) == 400


@pytest.mark.parametrize("edited", range(7))
def test_an_edit_unbinds_exactly_the_thinking_after_it(
    messages: list[dict[str, Any]], edited: int
) -> None:
    changed = list(messages)
    content = changed[edited]["content"]
    spoken = [*content] if isinstance(content, list) else [text(content)]
    changed[edited] = changed[edited] | {"content": [*spoken, text("and one thing more")]}
    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    headers = with_betas("thinking-binding-controls-2026-08-01")
    with ModelServer(script) as server:
        body = claude(*changed, thinking=drop)
        _, answer = post(server, "/v1/messages", body, headers=headers)
    dropped = [entry["path"] for entry in answer["input_transformations"]]
    assert dropped == [f"messages.{at}.content.0" for at in (1, 3, 5) if at > edited]


@pytest.mark.parametrize("stripped", range(4))
def test_any_number_of_thinking_blocks_may_go_from_the_front(
    messages: list[dict[str, Any]], stripped: int
) -> None:
    bare = [
        _without_thinking(message) if at in (1, 3, 5)[:stripped] else message
        for at, message in enumerate(messages)
    ]
    assert status(bare, preserved=True) == 200


def test_cache_marks_unbind_nothing(messages: list[dict[str, Any]]) -> None:
    first = {"role": "user", "content": [text(str(USER["content"]), cache_control=MARK)]}
    assert status([first, *messages[1:]], preserved=True) == 200


def _with(message: dict[str, Any], place: int, block: dict[str, Any]) -> dict[str, Any]:
    content = list(message["content"])
    content[place] = block
    return message | {"content": content}


def _without_thinking(message: dict[str, Any]) -> dict[str, Any]:
    kept = [block for block in message["content"] if block["type"] != "thinking"]
    return message | {"content": kept}
