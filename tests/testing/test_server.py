"""What the server records, says about prefixes and bills, and how a script fails."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tenure.errors import ConfigError
from tenure.testing import HEAD, Call, Failure, ModelServer, PrefixBreak, Reply, SharedPrefix
from tenure.testing.script import Body
from tests.testing.asked_badly import MARK, USER, answer, claude, gpt, heard, said, text
from tests.testing.raw import post

LONG = "the build log says nothing of note here. " * 200


def fine(_body: Body, _step: int) -> Reply:
    return Reply("fine")


def test_a_request_is_recorded_as_it_came() -> None:
    with ModelServer([Reply("fine")], clock=lambda: 1_234.5) as server:
        post(server, "/v1/messages?beta=true", b'{"model":"m","max_tokens":1e0}')
        post(server, "/v1/chat/completions", b"no json")
    first, second = server.requests
    assert first.body == b'{"model":"m","max_tokens":1e0}'
    assert (first.index, first.method, first.path, first.time) == (
        0,
        "POST",
        "/v1/messages",
        1_234.5,
    )
    assert first.headers["anthropic-version"] == "2026-10-21"
    assert first.json == {"model": "m", "max_tokens": 1.0}
    assert (second.index, second.status, second.json) == (1, 400, None)


def test_appending_breaks_no_prefix_and_a_changed_message_does() -> None:
    first = [USER]
    second = [USER, said(text("so")), heard(text("go on"))]
    changed = [USER, said(text("so!")), heard(text("go on")), said(text("ok")), USER]
    with ModelServer(fine) as server:
        for messages in (first, second, changed):
            post(server, "/v1/messages", claude(*messages))
    assert server.prefix_breaks == [PrefixBreak(request=2, message=1)]
    assert server.prefix_breaks == [(2, 1)]
    shared = [server.shared_prefix(index) for index in range(3)]
    assert shared[0] is None
    assert shared[1] is not None
    assert (shared[1].messages, shared[1].whole) == (1, True)
    assert shared[2] == SharedPrefix(1, shared[1].bytes, whole=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": "be slow"}, HEAD),
        ({"tools": [{"name": "b", "input_schema": {}}]}, HEAD),
        ({"messages": [USER]}, 1),
        ({"messages": [USER, said(text("so"), text("then")), USER]}, 1),
        ({"messages": [said(text("so")), USER, USER]}, 0),
        ({"messages": [USER, said(text("so")), USER | {"role": "assistant"}]}, 2),
    ],
)
def test_the_first_differing_message_is_named(change: dict[str, Any], message: int) -> None:
    before = claude(USER, said(text("so")), USER, system="be brief")
    rules = ["first_message", "last_message"]
    with ModelServer(fine, without_rules=rules) as server:
        assert post(server, "/v1/messages", before)[0] == 200
        assert post(server, "/v1/messages", before | change)[0] == 200
    assert server.prefix_breaks == [(1, message)]


def test_cache_marks_move_without_breaking_the_prefix() -> None:
    marked = {"role": "user", "content": [text(str(USER["content"]), cache_control=MARK)]}
    with ModelServer(fine) as server:
        post(server, "/v1/messages", claude(marked, system=[text("be", cache_control=MARK)]))
        post(server, "/v1/messages", claude(USER, said(text("so")), marked, system="be"))
    assert server.prefix_breaks == []


def test_a_number_spelled_otherwise_is_another_prompt() -> None:
    body = b'{"model":"m","max_tokens":9,"messages":[%s]}'
    call = b'{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":%s}]}'
    result = b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}'
    user = b'{"role":"user","content":"hi"}'
    with ModelServer(fine) as server:
        for number in (b'{"x":1e3}', b'{"x":1000.0}', b'{"x":1000.0}'):
            post(server, "/v1/messages", body % b",".join([user, call % number, result]))
    assert server.prefix_breaks == [(1, 1)]


def test_refused_requests_and_other_conversations_are_not_compared() -> None:
    headers = {"authorization": "Bearer any", "x-conversation": "b"}
    with ModelServer([Reply("a"), Reply("b"), Failure(500), Reply("c")]) as server:
        post(server, "/v1/responses", answer(USER))
        post(server, "/v1/responses", answer(USER | {"content": "other"}), headers=headers)
        post(server, "/v1/responses", answer(USER | {"content": "refused"}))
        post(server, "/v1/responses", answer(USER, {"role": "user", "content": "go on"}))
    assert server.prefix_breaks == []


def test_tools_of_chat_and_instructions_of_responses_are_the_head() -> None:
    tools = [{"type": "function", "function": {"name": "read"}}]
    with ModelServer(fine) as server:
        post(server, "/v1/chat/completions", gpt(USER, tools=tools))
        post(server, "/v1/chat/completions", gpt(USER))
        post(server, "/v1/responses", answer(USER, instructions="be brief"))
        post(server, "/v1/responses", answer(USER, instructions="be slow"))
    assert server.prefix_breaks == [(1, HEAD), (3, HEAD)]


def test_the_cache_reads_what_it_wrote_until_it_expires() -> None:
    now = [0.0]
    with ModelServer(fine, clock=lambda: now[0]) as server:
        used = []
        for moment in (0.0, 299.0, 600.0):
            now[0] = moment
            body = claude({"role": "user", "content": LONG}, cache_control=MARK)
            used.append(post(server, "/v1/messages", body)[1]["usage"])
    size = used[0]["cache_creation_input_tokens"]
    assert size > 2_000
    assert [usage["cache_read_input_tokens"] for usage in used] == [0, size, 0]
    assert [usage["cache_creation_input_tokens"] for usage in used] == [size, 0, size]
    assert [usage["input_tokens"] for usage in used] == [0, 0, 0]


def test_a_mark_of_an_hour_is_billed_as_such() -> None:
    body = claude({"role": "user", "content": LONG}, cache_control={**MARK, "ttl": "1h"})
    with ModelServer(fine) as server:
        usage = post(server, "/v1/messages", body)[1]["usage"]
    assert usage["cache_creation"] == {
        "ephemeral_5m_input_tokens": 0,
        "ephemeral_1h_input_tokens": usage["cache_creation_input_tokens"],
    }


def test_limits_are_those_of_the_requested_model_unless_given() -> None:
    body = claude(USER)
    with ModelServer(fine) as server:
        assert post(server, "/v1/messages", body | {"max_tokens": 400_000})[0] == 200
        small = body | {"model": "claude-haiku-4-5", "max_tokens": 400_000}
        assert post(server, "/v1/messages", small)[0] == 400
    with ModelServer(fine, window=500_000) as server:
        assert post(server, "/v1/messages", small)[0] == 200


def test_chat_usage_counts_cached_tokens_inside_the_prompt() -> None:
    first = {"role": "user", "content": LONG}
    with ModelServer(fine) as server:
        cold = post(server, "/v1/chat/completions", gpt(first))[1]["usage"]
        warm = post(server, "/v1/chat/completions", gpt(first, USER))[1]["usage"]
    assert cold["prompt_tokens_details"]["cached_tokens"] == 0
    cached = warm["prompt_tokens_details"]["cached_tokens"]
    assert 0 <= cold["prompt_tokens"] - cached < 128
    assert warm["prompt_tokens"] > cold["prompt_tokens"]


def test_the_counter_can_be_replaced() -> None:
    with ModelServer(fine, counter=len) as server:
        status, answer_ = post(
            server, "/v1/messages/count_tokens", {"model": "m", "messages": [USER]}
        )
    assert status == 200
    assert answer_ == {"input_tokens": len("text\n" + USER["content"])}


def test_a_script_may_answer_by_what_was_asked() -> None:
    def script(body: Body, step: int) -> Reply:
        return Reply(f"{step}: {body['messages'][-1]['content']}")

    with ModelServer(script) as server:
        said_ = [post(server, "/v1/messages", claude(USER))[1]["content"][0]["text"] for _ in "ab"]
    assert said_ == [f"0: {USER['content']}", f"1: {USER['content']}"]


def test_ids_are_the_same_every_time() -> None:
    reply = Reply("so", thinking="hm", calls=[Call("a"), Call("b", id="toolu_mine")])

    def once() -> Any:
        with ModelServer([reply], clock=lambda: 5.0) as server:
            return [post(server, "/v1/messages", claude(USER)), server.requests[0].time]

    first = once()
    assert first == once()
    assert [block.get("id") for block in first[0][1]["content"][2:]] == [
        "toolu_000000_0",
        "toolu_mine",
    ]


def test_a_script_that_runs_out_answers_500_and_says_so_at_the_end() -> None:
    server = ModelServer([Reply("a")])
    server.__enter__()
    assert post(server, "/v1/messages", claude(USER))[0] == 200
    assert post(server, "/v1/messages", claude(USER))[0] == 500
    with pytest.raises(ConfigError, match="1 steps and request 2 asks"):
        server.__exit__(None, None, None)


def test_a_script_that_raises_is_noted_on_the_tests_own_error() -> None:
    def script(_body: Body, _step: int) -> Reply:
        raise ZeroDivisionError("oh")

    own = KeyError("the test's own")
    server = ModelServer(script)
    server.__enter__()
    assert post(server, "/v1/responses", answer(USER))[0] == 500
    server.__exit__(KeyError, own, None)
    assert "ZeroDivisionError('oh')" in own.__notes__[0]


def test_requests_are_answered_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)

    def script(_body: Body, _step: int) -> Reply:
        both.wait()
        return Reply("met")

    with ModelServer(script) as server:
        threads = [
            threading.Thread(target=post, args=(server, "/v1/messages", claude(USER)))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [request.status for request in server.requests] == [200, 200]
    assert sorted(request.step for request in server.requests if request.step is not None) == [0, 1]


def test_models_are_listed_in_each_providers_spelling() -> None:
    with ModelServer([], window=1_000, models=["a", "b"]) as server:
        status, listed = post(server, "/v1/models", b"", method="GET")
        assert status == 200
        assert [(model["id"], model["object"]) for model in listed["data"]] == [
            ("a", "model"),
            ("b", "model"),
        ]
        headers = {"x-api-key": "any", "anthropic-version": "2026-10-21"}
        _, one = post(server, "/v1/models/b", b"", headers=headers, method="GET")
        assert (one["id"], one["type"], one["max_input_tokens"]) == ("b", "model", 1_000)
        assert post(server, "/v1/models/c", b"", headers=headers, method="GET")[0] == 404


def test_an_unknown_path_is_404() -> None:
    with ModelServer([]) as server:
        assert post(server, "/v1/completions", {})[0] == 404


def test_leaving_the_context_closes_the_port() -> None:
    with ModelServer(fine) as server:
        post(server, "/v1/messages", claude(USER))
    with pytest.raises(ConnectionError):
        post(server, "/v1/messages", claude(USER))
