"""`context_management.edits` carried out by the scripted server, as the real SDK sees it."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessage

from tenure.testing import ModelServer, Reply
from tenure.testing.script import Body
from tests.testing.asked_badly import USER, claude, heard, result, said, text, use
from tests.testing.raw import events, with_betas

MODEL = "claude-opus-5-5"
EDITS = "context-management-2025-06-27"
CLEAR: dict[str, Any] = {
    "type": "clear_tool_uses_20250919",
    "trigger": {"type": "tool_uses", "value": 2},
    "keep": {"type": "tool_uses", "value": 1},
}
THINKING: dict[str, Any] = {
    "type": "clear_thinking_20251015",
    "keep": {"type": "thinking_turns", "value": 1},
}
OUTPUT = "a line of the build log. " * 100
ARGUMENT = {"path": "a very long path " * 50}
Messages = list[dict[str, Any]]


def fine(_body: Body, step: int) -> Reply:
    return Reply("so it is", thinking=f"thought {step}: " + "because " * 50)


def ask(server: ModelServer, messages: Messages, *edits: Body, **more: Any) -> BetaMessage:
    managed = {"context_management": {"edits": list(edits)}} if edits else {}
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as sdk:
        body: Any = {"model": MODEL, "max_tokens": 100, "messages": messages, **managed, **more}
        created: BetaMessage = sdk.beta.messages.create(betas=[EDITS], **body)
    return created


def calls(number: int) -> Messages:
    """A conversation with that many calls in a row, of tools `read` and `list` in turn."""
    messages: Messages = [USER]
    for at in range(number):
        name = ("read", "list")[at % 2]
        messages.append(said(use(f"toolu_{at}", name=name, input=ARGUMENT)))
        messages.append(heard(result(f"toolu_{at}", content=OUTPUT)))
    return messages


def applied(message: BetaMessage) -> list[dict[str, Any]]:
    assert message.context_management is not None
    return [edit.to_dict() for edit in message.context_management.applied_edits]


def test_old_results_are_cleared_and_the_report_adds_up() -> None:
    with ModelServer(fine) as server:
        before = ask(server, calls(4)).usage.input_tokens
        message = ask(server, calls(4), CLEAR)
    [edit] = applied(message)
    assert (edit["type"], edit["cleared_tool_uses"]) == (CLEAR["type"], 3)
    assert edit["cleared_input_tokens"] > 1_500
    assert message.usage.input_tokens + edit["cleared_input_tokens"] == before


def test_at_the_trigger_nothing_happens_and_the_report_is_empty() -> None:
    with ModelServer(fine) as server:
        before = ask(server, calls(2)).usage.input_tokens
        message = ask(server, calls(2), CLEAR)
    assert (applied(message), message.usage.input_tokens) == ([], before)


def test_a_trigger_in_tokens_counts_the_whole_prompt() -> None:
    with ModelServer(fine) as server:
        size = ask(server, calls(4)).usage.input_tokens
        for value, done in ((size, 0), (size - 1, 1)):
            trigger = {"type": "input_tokens", "value": value}
            assert len(applied(ask(server, calls(4), CLEAR | {"trigger": trigger}))) == done


def test_the_defaults_are_a_hundred_thousand_tokens_and_three_uses() -> None:
    plain = {"type": CLEAR["type"]}
    with ModelServer(fine) as server:
        assert applied(ask(server, calls(5), plain)) == []
        [edit] = applied(ask(server, calls(120), plain))
    assert edit["cleared_tool_uses"] == 117


def test_excluded_tools_are_left_alone() -> None:
    with ModelServer(fine) as server:
        [edit] = applied(ask(server, calls(5), CLEAR | {"exclude_tools": ["list"]}))
        assert edit["cleared_tool_uses"] == 2
        assert applied(ask(server, calls(5), CLEAR | {"exclude_tools": ["list", "read"]})) == []


@pytest.mark.parametrize(
    ("inputs", "more"), [(False, False), (True, True), (["list"], True), (["other"], False)]
)
def test_inputs_are_cleared_only_where_asked(inputs: bool | list[str], *, more: bool) -> None:
    with ModelServer(fine) as server:
        [plain] = applied(ask(server, calls(4), CLEAR))
        [edit] = applied(ask(server, calls(4), CLEAR | {"clear_tool_inputs": inputs}))
    assert (edit["cleared_input_tokens"] > plain["cleared_input_tokens"]) is more
    assert edit["cleared_tool_uses"] == plain["cleared_tool_uses"]


def test_clear_at_least_is_all_or_nothing() -> None:
    with ModelServer(fine) as server:
        [edit] = applied(ask(server, calls(4), CLEAR))
        saved = edit["cleared_input_tokens"]
        for value, done in ((saved, 1), (saved + 1, 0)):
            least = {"type": "input_tokens", "value": value}
            assert len(applied(ask(server, calls(4), CLEAR | {"clear_at_least": least}))) == done


def test_old_turns_lose_their_thinking_and_keep_their_words() -> None:
    with ModelServer(fine) as server:
        messages = _talk(server, 3)
        before = ask(server, messages).usage.input_tokens
        message = ask(server, messages, THINKING)
        kept = ask(server, messages, THINKING | {"keep": "all"})
        default = ask(server, messages, {"type": THINKING["type"]})
    [edit] = applied(message)
    assert edit["cleared_thinking_turns"] == 2
    assert message.usage.input_tokens == before - edit["cleared_input_tokens"] < before
    assert applied(kept) == applied(default) == []


def test_older_models_keep_the_last_turns_thinking_by_default() -> None:
    with ModelServer(fine) as server:
        messages = _talk(server, 3, model="claude-haiku-4-5")
        edit = {"type": THINKING["type"]}
        [done] = applied(ask(server, messages, edit, model="claude-haiku-4-5"))
    assert done["cleared_thinking_turns"] == 2


def test_both_edits_are_reported_in_their_order() -> None:
    with ModelServer(fine) as server:
        messages = [*_talk(server, 2), *calls(4)[1:]]
        kinds = [edit["type"] for edit in applied(ask(server, messages, THINKING, CLEAR))]
    assert kinds == [THINKING["type"], CLEAR["type"]]


def test_a_stream_reports_applied_edits_with_its_last_delta() -> None:
    body = claude(*calls(4), context_management={"edits": [CLEAR]})
    with ModelServer(fine) as server:
        seen = list(events(server, "/v1/messages", body, headers=with_betas(EDITS)))
        sdk = anthropic.Anthropic(base_url=server.url, api_key="any")
        with sdk, sdk.beta.messages.stream(betas=[EDITS], **body) as stream:
            final = stream.get_final_message()
    [delta] = [event for event in seen if event["type"] == "message_delta"]
    assert delta["context_management"]["applied_edits"] == applied(final)
    assert applied(final)[0]["cleared_tool_uses"] == 3
    assert "context_management" not in seen[0]["message"]


def test_counting_says_what_it_was_before() -> None:
    with (
        ModelServer(fine) as server,
        anthropic.Anthropic(base_url=server.url, api_key="any") as sdk,
    ):
        plain: Any = {"model": MODEL, "messages": calls(4)}
        before = sdk.beta.messages.count_tokens(**plain)
        managed: Any = {"edits": [CLEAR]}
        after = sdk.beta.messages.count_tokens(betas=[EDITS], context_management=managed, **plain)
        [edit] = applied(ask(server, calls(4), CLEAR))
    assert before.context_management is None
    assert after.context_management is not None
    assert after.context_management.original_input_tokens == before.input_tokens
    assert after.input_tokens == before.input_tokens - edit["cleared_input_tokens"]


def test_the_cache_breaks_where_the_clearing_begins_and_holds_after_it() -> None:
    mark = {"type": "ephemeral"}
    clear = CLEAR | {"keep": {"type": "tool_uses", "value": 4}}
    with ModelServer(fine) as server:
        first = ask(server, calls(5), cache_control=mark).usage
        cleared = ask(server, calls(5), clear, cache_control=mark).usage
        again = ask(server, [*calls(5), said(text("so")), USER], clear, cache_control=mark).usage
    assert first.cache_creation_input_tokens
    assert cleared.cache_read_input_tokens == 0
    assert cleared.cache_creation_input_tokens
    assert again.cache_read_input_tokens == cleared.cache_creation_input_tokens


def test_the_client_sent_the_whole_so_its_prefix_is_unbroken() -> None:
    with ModelServer(fine) as server:
        ask(server, calls(4), CLEAR)
        ask(server, [*calls(4), said(text("so")), USER], CLEAR)
        assert server.prefix_breaks == []


def test_without_its_header_the_field_is_unknown() -> None:
    with ModelServer(fine) as server:
        sdk = anthropic.Anthropic(base_url=server.url, api_key="any")
        managed: Any = {"edits": [CLEAR]}
        with sdk, pytest.raises(anthropic.BadRequestError, match=EDITS):
            sdk.beta.messages.create(
                model=MODEL,
                max_tokens=9,
                messages=[{"role": "user", "content": "hi"}],
                context_management=managed,
            )


def _talk(server: ModelServer, turns: int, **more: Any) -> Messages:
    messages: Messages = [USER]
    for _ in range(turns):
        content = ask(server, messages, **more).to_dict()["content"]
        messages = [*messages, {"role": "assistant", "content": content}, USER]
    return messages
