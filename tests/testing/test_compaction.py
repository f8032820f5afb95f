"""Compaction by the Messages API: asked for, by a threshold, and how its block comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic.types.beta import BetaMessage

from tenure.testing import Call, Failure, ModelServer, Reply
from tenure.testing.script import Body
from tests.testing.asked_badly import USER, result
from tests.testing.raw import events, post, with_betas

MODEL = "claude-opus-5-5"
COMPACT = "compact-2026-09-04"
THRESHOLD = "compact-2026-01-12"
SUMMARIZE = {"type": "summarize"}
OTHER: dict[str, Any] = {"role": "user", "content": "and now?"}
LONG = "the build log says nothing of note here. " * 200
Messages = list[dict[str, Any]]


def fine(_body: Body, step: int) -> Reply:
    return Reply("so it is", thinking=f"thought {step}")


def request(messages: Messages, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": messages, **more}


def ask(server: ModelServer, messages: Messages, **more: Any) -> BetaMessage:
    betas = more.pop("betas", [COMPACT])
    with anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0) as sdk:
        created: BetaMessage = sdk.beta.messages.create(betas=betas, **request(messages, **more))
    return created


def talk(server: ModelServer, turns: int = 2, **more: Any) -> Messages:
    messages: Messages = [USER]
    for _ in range(turns):
        said = ask(server, messages, **more).to_dict()["content"]
        messages = [*messages, {"role": "assistant", "content": said}, OTHER]
    return messages


def compacted(server: ModelServer, messages: Messages, **more: Any) -> dict[str, Any]:
    """The message that holds the block alone."""
    message = ask(server, messages, compaction=SUMMARIZE, **more).to_dict()
    return {"role": "assistant", "content": message["content"]}


def test_a_compaction_is_a_signed_block_alone_and_takes_no_step() -> None:
    with ModelServer([Reply("one")], summary=lambda _: Reply("the gist")) as server:
        message = ask(server, [USER], compaction=SUMMARIZE)
        ask(server, [USER])
    [block] = message.content
    assert block.type == "compaction"
    assert (block.content, bool(block.signature), block.tool_changes) == ("the gist", True, [])
    assert message.stop_reason == "compaction"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (0, 0)
    [spent] = message.usage.iterations or []
    assert spent.type == "compaction"
    assert spent.input_tokens > 0
    assert [request.step for request in server.requests] == [None, 0]


def test_a_streamed_compaction_block_arrives_whole() -> None:
    with ModelServer([], summary=lambda _: Reply("the gist")) as server:
        body = request([USER], compaction=SUMMARIZE)
        seen = list(events(server, "/v1/messages", body, headers=with_betas(COMPACT)))
        sdk = anthropic.Anthropic(base_url=server.url, api_key="any")
        with sdk, sdk.beta.messages.stream(betas=[COMPACT], **body) as stream:
            final = stream.get_final_message()
    [start] = [event for event in seen if event["type"] == "content_block_start"]
    assert start["content_block"]["content"] == "the gist"
    assert "content_block_delta" not in [event["type"] for event in seen]
    assert final.stop_reason == "compaction"
    assert final.content[0].to_dict() == start["content_block"]


def test_the_block_stands_first_in_place_of_what_it_summarised() -> None:
    with ModelServer(fine) as server:
        block = compacted(server, talk(server))
        assert ask(server, [block, OTHER]).stop_reason == "end_turn"
        in_a_user_message = {"role": "user", "content": [*block["content"], _text("and now?")]}
        assert ask(server, [in_a_user_message]).stop_reason == "end_turn"
        with pytest.raises(anthropic.BadRequestError, match=COMPACT):
            ask(server, [block, OTHER], betas=[])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"content": "another gist"}, "compaction_content_mismatch"),
        ({"tool_changes": None}, "compaction_tool_changes_mismatch"),
        ({"signature": "c2lnbmF0dXJl"}, "compaction_signature_invalid"),
        ({"signature": None}, "compaction_signature_invalid"),
    ],
)
def test_a_changed_block_is_refused_by_a_code(change: dict[str, Any], code: str) -> None:
    with ModelServer(fine) as server:
        block = compacted(server, [USER])
        changed = block | {"content": [block["content"][0] | change]}
        assert _code(server, [changed, OTHER]) == code


def test_a_misplaced_and_a_second_block_are_refused_by_a_code() -> None:
    with ModelServer(fine) as server:
        block = compacted(server, [USER])
        assert _code(server, [OTHER, block, OTHER]) == "compaction_block_misplaced"
        assert _code(server, [block, block, OTHER]) == "compaction_block_ambiguous"


def test_an_added_null_is_not_what_was_returned() -> None:
    with ModelServer(fine) as server:
        block = compacted(server, [USER])
        changed = block | {"content": [block["content"][0] | {"citations": None}]}
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs"):
            ask(server, [changed, OTHER])


def test_requests_that_cannot_be_compacted_have_codes() -> None:
    with ModelServer([Reply(calls=[Call("read")])]) as server:
        called = talk(server, 1)[:2]
        block = compacted(server, [USER])
        assert _code(server, called, compaction=SUMMARIZE) == "compaction_incomplete_turn"
        assert _code(server, [block], compaction=SUMMARIZE) == "compaction_nothing_to_summarize"


def test_a_compaction_may_fail_with_200_or_be_unavailable() -> None:
    unavailable = Failure(529, details={"error_code": "compaction_unavailable"})
    made: Iterator[Reply | Failure] = iter([Reply(stop="length"), unavailable])
    with ModelServer([], summary=lambda _: next(made)) as server:
        empty = ask(server, [USER], compaction=SUMMARIZE)
        with pytest.raises(anthropic.APIStatusError) as caught:
            ask(server, [USER], compaction=SUMMARIZE)
    assert (empty.content, empty.stop_reason) == ([], "max_tokens")
    assert (caught.value.status_code, caught.value.error_code) == (529, "compaction_unavailable")


def test_a_kept_tail_keeps_its_thinking() -> None:
    with ModelServer(fine) as server:
        whole = talk(server, 3)
        block = compacted(server, whole[:3])
        tail = whole[3:]
        assert tail[0]["role"] == "assistant"
        assert ask(server, [block, *tail]).stop_reason == "end_turn"


@pytest.mark.parametrize("kept", [slice(5, None), slice(2, None)])
def test_a_tail_that_does_not_follow_directly_loses_its_thinking(kept: slice) -> None:
    with ModelServer(fine) as server:
        whole = talk(server, 3)
        block = compacted(server, whole[:3])
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            ask(server, [block, *whole[kept]])


def test_a_tail_under_another_system_or_from_another_model_loses_its_thinking() -> None:
    with ModelServer(fine) as server:
        whole = talk(server, 2)
        block = compacted(server, whole[:3])
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            ask(server, [block, *whole[3:]], system="be brief")
        foreign = compacted(server, whole[:3], model="claude-opus-5")
        with pytest.raises(anthropic.BadRequestError, match="different conversation"):
            ask(server, [foreign, *whole[3:]])


def test_a_compaction_of_a_compacted_conversation_carries_the_tail_on() -> None:
    with ModelServer(fine) as server:
        whole = talk(server, 3)
        first = compacted(server, whole[:3])
        second = compacted(server, [first, *whole[3:5]])
        assert ask(server, [second, *whole[5:]]).stop_reason == "end_turn"


def test_counting_ignores_the_wish_and_counts_the_block() -> None:
    with ModelServer([], summary=lambda _: Reply("the gist")) as server:
        block = compacted(server, [USER | {"content": LONG}])
        headers = with_betas(COMPACT)
        path = "/v1/messages/count_tokens"
        plain = {"model": MODEL, "messages": [USER | {"content": LONG}]}
        whole = post(server, path, plain | {"compaction": SUMMARIZE}, headers=headers)[1]
        short = post(server, path, plain | {"messages": [block, OTHER]}, headers=headers)[1]
    assert whole["input_tokens"] > 2_000
    assert 100 > short["input_tokens"] > 0


def test_a_compaction_reads_the_cache_that_the_conversation_wrote() -> None:
    mark = {"type": "ephemeral"}
    with ModelServer(fine) as server:
        messages = [USER | {"content": LONG}]
        written = ask(server, messages, cache_control=mark).usage.cache_creation_input_tokens
        used = ask(server, messages, cache_control=mark, compaction=SUMMARIZE).usage
    assert written
    assert [spent.cache_read_input_tokens for spent in used.iterations or []] == [written]


THRESHOLD_EDIT = {
    "type": "compact_20260112",
    "trigger": {"type": "input_tokens", "value": 50_000},
}


def _threshold(**more: Any) -> dict[str, Any]:
    return {"betas": [THRESHOLD], "context_management": {"edits": [THRESHOLD_EDIT | more]}}


def test_a_threshold_compacts_before_the_answer_and_only_above_it() -> None:
    with ModelServer(fine, summary=lambda _: Reply("the gist")) as server:
        small = ask(server, [USER], **_threshold())
        large = ask(server, [USER | {"content": LONG * 30}], **_threshold())
    assert [block.type for block in small.content] == ["thinking", "text"]
    assert [block.type for block in large.content] == ["compaction", "thinking", "text"]
    assert [spent.type for spent in large.usage.iterations or []] == ["compaction", "message"]


def test_what_stands_before_an_unsigned_block_is_not_read() -> None:
    with ModelServer(fine, summary=lambda _: Reply("the gist")) as server:
        before = [USER | {"content": LONG * 30}]
        said = ask(server, before, **_threshold()).to_dict()["content"]
        longer = [*before, {"role": "assistant", "content": said}, OTHER]
        assert ask(server, longer, **_threshold()).usage.input_tokens < 1_000


def test_a_pause_after_the_compaction_leaves_the_answer_out() -> None:
    with ModelServer([], summary=lambda _: Reply("the gist")) as server:
        before = [USER | {"content": LONG * 30}]
        body = request(before, **_threshold(pause_after_compaction=True))
        del body["betas"]
        seen = list(events(server, "/v1/messages", body, headers=with_betas(THRESHOLD)))
        paused = ask(server, before, **_threshold(pause_after_compaction=True))
    deltas = [event["delta"] for event in seen if event["type"] == "content_block_delta"]
    assert [delta["type"] for delta in deltas] == ["compaction_delta"]
    assert deltas[0]["content"] == "the gist"
    assert ([block.type for block in paused.content], paused.stop_reason) == (
        ["compaction"],
        "compaction",
    )


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _code(server: ModelServer, messages: Messages, **more: Any) -> str | None:
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(server, messages, **more)
    return caught.value.error_code


def test_results_may_be_summarised_with_their_calls() -> None:
    with ModelServer([Reply(calls=[Call("read", id="toolu_1")])]) as server:
        called = talk(server, 1)[:2]
        results = {"role": "user", "content": [result("toolu_1")]}
        assert compacted(server, [*called, results])["content"][0]["type"] == "compaction"
