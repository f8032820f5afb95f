"""Preserved thinking as the real SDK meets it: refused, dropped and listed, or let pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessage

from tenure.testing import ModelServer, Reply
from tenure.testing.anthropic_thinking import reads
from tests.testing.asked_badly import USER, claude
from tests.testing.raw import events, post, with_betas

MODEL = "claude-opus-5-5"
BINDING = "thinking-binding-controls-2026-08-01"
EDITS = "context-management-2025-06-27"
DROP = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
REFUSE = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
SHORTER = USER | {"content": "shorter"}
Messages = list[dict[str, Any]]


def script(_body: Any, step: int) -> Reply:
    return Reply("so it is", thinking=f"thought {step}")


def client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)


def ask(
    server: ModelServer,
    messages: Messages,
    *,
    thinking: Any = DROP,
    betas: Sequence[str] = (BINDING,),
    **more: Any,
) -> BetaMessage:
    """One request by the SDK, as the beta client spells it."""
    with client(server) as sdk:
        body = {"model": MODEL, "max_tokens": 100, "messages": messages, **more}
        created: BetaMessage = sdk.beta.messages.create(
            thinking=thinking, betas=list(betas), **body
        )
    return created


def talk(server: ModelServer, messages: Messages, turns: int = 1, **more: Any) -> Messages:
    """The conversation, longer by some turns of both sides."""
    for _ in range(turns):
        said = ask(server, messages, **more).to_dict()["content"]
        messages = [*messages, {"role": "assistant", "content": said}, USER]
    return messages


def dropped(message: BetaMessage) -> list[tuple[str, str]]:
    return [(entry.type, entry.path) for entry in message.input_transformations or []]


def test_an_untouched_conversation_drops_nothing_and_says_so() -> None:
    with ModelServer(script) as server:
        message = ask(server, talk(server, [USER], 2))
    assert message.input_transformations == []


def test_a_changed_prefix_is_refused_and_the_error_names_the_way_out() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER])[1:]]
        for thinking in (REFUSE, {"type": "adaptive"}):
            with pytest.raises(anthropic.BadRequestError, match="different conversation"):
                ask(server, edited, thinking=thinking)


def test_drop_block_drops_what_is_unbound_and_lists_it() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER], 2)[1:]]
        message = ask(server, edited)
        sent, shown = (
            server.requests[-1].prompt,
            message.usage.input_tokens,
        )
    assert dropped(message) == [
        ("thinking_dropped", "messages.1.content.0"),
        ("thinking_dropped", "messages.3.content.0"),
    ]
    assert message.input_transformations is not None
    assert {entry.reason for entry in message.input_transformations} == {"prefix_binding_mismatch"}
    assert shown < sum(block.tokens for block in sent), "dropped blocks count for nothing"


def test_a_stream_lists_what_was_dropped_in_its_first_event() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER])[1:]]
        body = claude(*edited, thinking=DROP)
        first, *rest = events(server, "/v1/messages", body, headers=with_betas(BINDING))
        with client(server) as sdk:
            request: Any = {"model": MODEL, "max_tokens": 100, "messages": edited}
            with sdk.beta.messages.stream(thinking=DROP, betas=[BINDING], **request) as stream:  # type: ignore[arg-type]
                final = stream.get_final_message()
    [entry] = first["message"]["input_transformations"]
    assert (first["type"], entry["path"]) == ("message_start", "messages.1.content.0")
    assert all("input_transformations" not in event for event in rest)
    assert dropped(final) == [("thinking_dropped", "messages.1.content.0")]


def test_without_the_header_the_setting_itself_is_refused() -> None:
    with ModelServer(script) as server, pytest.raises(anthropic.BadRequestError, match=BINDING):
        ask(server, [USER], betas=())


def test_drop_block_once_used_has_to_stay() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER])[1:]]
        longer = talk(server, edited, 2)
        with pytest.raises(anthropic.BadRequestError, match=r"messages\.1\.content\.0"):
            ask(server, longer, thinking={"type": "adaptive"})
        kept = ask(server, longer)
    assert dropped(kept) == [("thinking_dropped", "messages.1.content.0")]


def test_thinking_after_the_break_outlives_the_broken_thinking() -> None:
    with ModelServer(script) as server:
        longer = talk(server, [SHORTER, *talk(server, [USER])[1:]], 2)
        bare = [*longer[:1], _bare(longer[1]), *longer[2:]]
        assert ask(server, bare, thinking=REFUSE).input_transformations == []


def test_thinking_missing_in_the_middle_takes_all_later_thinking_with_it() -> None:
    with ModelServer(script) as server:
        whole = talk(server, [USER], 4)
        holed = [*whole[:3], _bare(whole[3]), *whole[4:]]
        message = ask(server, holed)
    assert [path for _, path in dropped(message)] == [
        "messages.5.content.0",
        "messages.7.content.0",
    ]


def test_an_older_account_is_checked_only_where_it_asks_for_it() -> None:
    with ModelServer(script, preserved_thinking=False) as server:
        edited = [SHORTER, *talk(server, [USER])[1:]]
        passed = ask(server, edited, thinking={"type": "adaptive"})
        assert dropped(passed) == [("thinking_mismatch_allowed", "messages.1.content.0")]
        assert dropped(ask(server, edited)) == [("thinking_dropped", "messages.1.content.0")]
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            ask(server, edited, thinking=REFUSE)


def test_some_models_spare_no_account() -> None:
    with ModelServer(script, preserved_thinking=False) as server:
        edited = [SHORTER, *talk(server, [USER], model="claude-fable-5-2")[1:]]
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            ask(server, edited, thinking={"type": "adaptive"}, model="claude-fable-5-2")


def test_a_model_that_binds_nothing_takes_the_setting_and_drops_nothing() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER], model="claude-opus-5")[1:]]
        assert ask(server, edited, model="claude-opus-5").input_transformations == []


def test_thinking_that_the_model_may_not_read_is_dropped_without_an_error() -> None:
    with ModelServer(script) as server:
        messages = talk(server, [USER], model="claude-fable-5-1")
        message = ask(server, messages, thinking={"type": "adaptive"})
    [entry] = message.input_transformations or []
    assert (entry.type, entry.reason) == ("thinking_dropped", "model_binding_mismatch")


@pytest.mark.parametrize(
    ("reader", "thinker", "allowed"),
    [
        ("claude-fable-5-1", "claude-opus-5", True),
        ("claude-fable-5-1", "claude-opus-5-5", True),
        ("claude-opus-5-5", "claude-fable-5-1", False),
        ("claude-opus-5", "claude-fable-5-1", False),
        ("claude-opus-4-5", "claude-haiku-5-5", True),
        ("claude-haiku-5-5", "claude-opus-5", False),
        ("claude-haiku-5-5", "claude-haiku-5-5", True),
        ("claude-next", "claude-opus-5", False),
    ],
)
def test_newer_models_read_older_ones(reader: str, thinker: str, *, allowed: bool) -> None:
    assert reads(reader, thinker) is allowed


def test_redacted_and_omitted_thinking_come_back_as_they_left() -> None:
    def secretive(_body: Any, step: int) -> Reply:
        return Reply("so", thinking=f"thought {step}", redacted=step == 0)

    omitted = {"type": "adaptive", "display": "omitted"}
    with ModelServer(secretive) as server:
        messages = talk(server, [USER], 2, thinking=omitted)
        kinds = [messages[at]["content"][0]["type"] for at in (1, 3)]
        assert kinds == ["redacted_thinking", "thinking"]
        assert messages[3]["content"][0]["thinking"] == ""
        assert ask(server, messages).input_transformations == []
        edited = [SHORTER, *messages[1:]]
        assert [path for _, path in dropped(ask(server, edited))] == [
            "messages.1.content.0",
            "messages.3.content.0",
        ]


def test_the_providers_own_edits_unbind_nothing() -> None:
    clear = {"edits": [{"type": "clear_thinking_20251015", "keep": _last_turn()}]}
    with ModelServer(script) as server:
        messages = talk(server, [USER], 2)
        edited = {"context_management": clear, "betas": (BINDING, EDITS)}
        messages = talk(server, messages, 1, **edited)
        message = ask(server, messages, thinking=REFUSE)
    assert message.input_transformations == []


def test_counting_runs_the_same_check() -> None:
    with ModelServer(script) as server:
        edited = [SHORTER, *talk(server, [USER])[1:]]
        body = {"model": MODEL, "messages": edited}
        status, answer = post(server, "/v1/messages/count_tokens", body)
    assert status == 400
    assert "different conversation" in answer["error"]["message"]


def _last_turn() -> dict[str, Any]:
    return {"type": "thinking_turns", "value": 1}


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    return message | {"content": [block for block in message["content"] if "text" in block]}
