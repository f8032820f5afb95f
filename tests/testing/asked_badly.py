"""Requests that break one rule each, by the rule's name, and requests that break none.

Invariant: a broken request differs from a sound one in what its rule is about.
"""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

USER: Body = {"role": "user", "content": "why did the nightly build break?"}
MARK: Body = {"type": "ephemeral"}
HOUR: Body = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def use(id_: str = "toolu_1", **more: Any) -> Body:
    return {"type": "tool_use", "id": id_, "name": "read", "input": {}, **more}


def result(id_: str = "toolu_1", **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": id_, "content": "cold cache", **more}


def said(*blocks: Body) -> Body:
    return {"role": "assistant", "content": list(blocks)}


def heard(*blocks: Body) -> Body:
    return {"role": "user", "content": list(blocks)}


def claude(*messages: Body, **more: Any) -> Body:
    return {"model": "claude-opus-5-5", "max_tokens": 100, "messages": list(messages), **more}


LONG_THOUGHT = {"type": "enabled", "budget_tokens": 1_500}
OTHERS_THOUGHT: Body = {"type": "thinking", "thinking": "", "signature": "c2lnbmVkIGVsc2V3aGVyZQ=="}

ANTHROPIC: list[tuple[str, Body]] = [
    ("required_fields", {"model": "claude-opus-5-5", "messages": [USER]}),
    ("required_fields", {"max_tokens": 9, "messages": [USER]}),
    ("required_fields", claude() | {"messages": "hello"}),
    ("message_shape", claude()),
    ("message_shape", claude({"role": "tool", "content": "x"})),
    ("message_shape", claude({"role": "user", "content": [{"text": "no type"}]})),
    ("first_message", claude(said(text("hello")), USER)),
    ("text_not_empty", claude(heard(text("")))),
    ("text_not_empty", claude(USER, said(), USER)),
    ("text_not_empty", claude(USER, system=[text("")])),
    ("tool_names", claude(USER, tools=[{"name": "two words", "input_schema": {}}])),
    ("tool_names", claude(USER, tools=[{"name": "a", "input_schema": {}}] * 2)),
    ("tool_names", claude(USER, tools=[{"name": "a"}])),
    ("pair_fields", claude(USER, said(use("no spaces")), heard(result("no spaces")))),
    ("pair_fields", claude(USER, said(use(input="{}")), heard(result()))),
    ("pair_fields", claude(heard(use()))),
    ("pair_fields", claude(USER, said(result()), USER)),
    ("calls_unique", claude(USER, said(use(), use()), heard(result()))),
    ("calls_unique", claude(USER, *[said(use()), heard(result())] * 2)),
    ("calls_answered", claude(USER, said(use()))),
    ("calls_answered", claude(USER, said(use()), USER)),
    ("calls_answered", claude(USER, said(use("a"), use("b")), heard(result("a")))),
    ("calls_answered", claude(USER, said(use()), USER, heard(result()))),
    ("calls_answered", claude(USER, said(use()), heard(text("first"), result()))),
    (
        "calls_answered",
        claude(USER, said(use()), {"role": "system", "content": "hm"}, heard(result())),
    ),
    ("results_expected", claude(heard(result()))),
    ("results_expected", claude(USER, said(use("a")), heard(result("a"), result("b")))),
    ("results_single", claude(USER, said(use("a")), heard(result("a")), heard(result("a")))),
    (
        "results_expected",
        claude(USER, said(use("a")), heard(result("a")), said(text("ok")), heard(result("a"))),
    ),
    ("results_single", claude(USER, said(use()), heard(result(), result()))),
    ("last_message", claude(USER, said(text("The answer is")))),
    ("last_message", claude(USER, said(text("The answer is ")))),
    ("system_place", claude(USER, {"role": "system", "content": "hm"}, USER)),
    ("mark_shape", claude(heard(text("hi", cache_control={"type": "forever"})))),
    ("mark_shape", claude(heard(text("hi", cache_control=MARK | {"ttl": "2h"})))),
    ("mark_count", claude(heard(*[text("hi", cache_control=MARK)] * 5))),
    ("mark_count", claude(heard(*[text("hi", cache_control=MARK)] * 4), cache_control=MARK)),
    (
        "mark_place",
        claude(USER, said(OTHERS_THOUGHT | {"cache_control": MARK}, text("so")), USER),
    ),
    (
        "mark_order",
        claude(heard(text("hi", cache_control=HOUR)), system=[text("be", cache_control=MARK)]),
    ),
    ("no_sampling", claude(USER, temperature=0.5)),
    ("thinking_settings", claude(USER, thinking={"type": "enabled", "budget_tokens": 1_000})),
    ("thinking_settings", claude(USER, thinking=LONG_THOUGHT)),
    ("thinking_untouched", claude(USER, said(OTHERS_THOUGHT, text("so")), USER)),
    ("cache_warming", claude(USER, stream=True) | {"max_tokens": 0}),
    ("window", claude({"role": "user", "content": "long " * 2_000})),
    ("window", claude(USER) | {"max_tokens": 1_999}),
]


def gpt(*messages: Body, **more: Any) -> Body:
    return {"model": "gpt-6.1-sol", "messages": list(messages), **more}


def calls(*ids: str) -> Body:
    made = [
        {"id": id_, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for id_ in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(id_: str) -> Body:
    return {"role": "tool", "tool_call_id": id_, "content": "cold cache"}


CHAT: list[tuple[str, Body]] = [
    ("required_fields", {"messages": [USER]}),
    ("required_fields", gpt()),
    ("field_types", gpt(USER, max_tokens="9")),
    ("message_shape", gpt({"role": "robot", "content": "x"})),
    ("message_shape", gpt(USER, {"role": "assistant", "content": None})),
    ("message_shape", gpt({"role": "user", "content": 5})),
    ("call_shape", gpt(USER, calls() | {"content": "so"})),
    ("call_shape", gpt(USER, {"role": "assistant", "tool_calls": [{"id": "a"}]})),
    ("tool_content", gpt(USER, {"role": "tool", "content": "x"})),
    ("content_types", gpt(USER, calls("a"), tool("a") | {"content": [{"type": "image_url"}]})),
    ("call_shape", gpt(USER, calls("a" * 41), tool("a" * 41))),
    ("call_shape", gpt(USER, calls("a") | {"tool_calls": "read"})),
    ("call_shape", gpt(USER, calls("a") | {"role": "user", "content": "x"})),
    ("calls_unique", gpt(USER, calls("a", "a"), tool("a"))),
    ("content_types", gpt(USER, {"role": "assistant", "content": [{"type": "image_url"}]})),
    ("content_types", gpt(USER | {"content": [{"type": "tool_use"}]})),
    ("cache_options", gpt(USER, prompt_cache_options={"ttl": "1h"})),
    ("cache_options", gpt(USER, prompt_cache_options={"mode": "explicit"}) | {"model": "gpt-4o"}),
    (
        "cache_breakpoints",
        gpt(USER | {"content": [text("hi", prompt_cache_breakpoint={"mode": "implicit"})]}),
    ),
    ("calls_answered", gpt(USER, calls("a"))),
    ("calls_answered", gpt(USER, calls("a", "b"), tool("a"))),
    ("calls_answered", gpt(USER, calls("a"), USER, tool("a"))),
    ("results_expected", gpt(USER, tool("a"))),
    ("results_expected", gpt(USER, calls("a"), tool("a"), tool("a"))),
    ("window", gpt({"role": "user", "content": "long " * 2_000})),
    ("window", gpt(USER, max_completion_tokens=2_000)),
]


def answer(*items: Body, **more: Any) -> Body:
    return {"model": "gpt-6.1-sol", "input": list(items), **more}


def call(id_: str = "call_1", **more: Any) -> Body:
    return {"type": "function_call", "call_id": id_, "name": "read", "arguments": "{}", **more}


def output(id_: str = "call_1") -> Body:
    return {"type": "function_call_output", "call_id": id_, "output": "cold cache"}


def told(words: str, **more: Any) -> Body:
    return {"type": "input_text", "text": words, **more}


THOUGHT: Body = {"type": "reasoning", "id": "rs_1", "summary": []}
ANSWERED: Body = {"role": "assistant", "content": "the cache was cold"}

RESPONSES: list[tuple[str, Body]] = [
    ("required_fields", {"input": "hello"}),
    ("required_fields", answer() | {"input": 5}),
    ("field_types", answer(USER, previous_response_id=["resp_1"])),
    ("previous_known", answer(USER, previous_response_id="resp_unknown")),
    ("item_shape", answer()),
    ("item_shape", answer({"content": "whose?"})),
    ("item_shape", answer(USER, call() | {"arguments": {}}, output())),
    ("item_shape", answer(USER, {"type": "function_call_output", "output": "x"})),
    ("item_shape", answer(USER, call("c" * 65), output("c" * 65))),
    ("item_shape", answer(USER, call(name="two words"), output())),
    ("item_shape", answer(USER, {"type": "reasoning", "id": "rs_1"}, ANSWERED, USER)),
    ("required_fields", answer({"type": ["message"], "role": "user"})),
    ("content_types", answer({"role": "user", "content": [told("hi", type="output_text")]})),
    ("content_types", answer(USER, ANSWERED | {"content": [told("so")]}, USER)),
    ("content_types", answer(USER, call(), output() | {"output": 5})),
    ("sealed_content", answer(USER, THOUGHT | {"encrypted_content": "gAAA"}, ANSWERED, USER)),
    ("sealed_content", answer({"type": "compaction", "encrypted_content": "gAAA"}, USER)),
    ("sealed_content", answer({"type": "compaction"}, USER)),
    ("compaction_settings", answer(USER, context_management=[{"type": "clear"}])),
    ("cache_options", answer(USER, prompt_cache_options={"mode": "off"})),
    (
        "cache_breakpoints",
        answer(
            {
                "role": "user",
                "content": [told("hi", prompt_cache_breakpoint={"mode": "explicit", "ttl": "5m"})],
            }
        ),
    ),
    ("items_unique", answer(USER, call(), output(), call(), output())),
    ("items_unique", answer(USER, call("a", id="fc_1"), call("b", id="fc_1"))),
    ("outputs_expected", answer(USER, output())),
    ("outputs_expected", answer(USER, output(), call())),
    ("calls_answered", answer(USER, call())),
    ("calls_answered", answer(USER, call("a"), call("b"), output("a"))),
    ("calls_answered", answer(USER, {"type": "shell_call", "call_id": "a"}, USER)),
    ("outputs_expected", answer(USER, call(), output() | {"type": "shell_call_output"})),
    ("content_types", answer({"role": "user"})),
    ("reasoning_followed", answer(USER, THOUGHT)),
    ("reasoning_followed", answer(USER, THOUGHT, USER)),
    ("reasoning_followed", answer(USER, call(), THOUGHT, output(), ANSWERED)),
    ("trigger_last", answer(USER, {"type": "compaction_trigger"}, USER)),
    ("window", answer({"role": "user", "content": "long " * 2_000})),
]

SOUND: dict[str, list[Body]] = {
    "anthropic": [
        claude(USER),
        claude(USER, USER, said(text("so")), said(text("then")), USER),
        claude(USER, said(use("a"), use("b")), heard(result("b"), result("a"), text("go on"))),
        claude(USER, said(use()), heard(result()), {"role": "system", "content": "hurry"}),
        claude(
            heard(text("hi", cache_control=MARK)),
            system=[text("be", cache_control=HOUR)],
            cache_control=MARK,
        ),
        claude(USER, said({"type": "not_invented_yet", "x": 1}), USER, unknown_field=1),
        claude(USER, said(use(input={"cache_control": 5, "signature": 1})), heard(result())),
    ],
    "chat": [
        gpt(USER),
        gpt({"role": "developer", "content": "be brief"}, USER, USER),
        gpt(USER, calls("a", "b"), tool("b"), tool("a"), USER, calls("a"), tool("a")),
        gpt(USER | {"content": [{"type": "text", "text": "hi"}], "reasoning": None}),
    ],
    "responses": [
        answer() | {"input": "hello"},
        answer(USER, call("a"), call("b"), output("b"), output("a")),
        answer(
            USER,
            {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}},
            {"type": "computer_call_output", "call_id": "a", "output": {"type": "x"}},
        ),
        answer(USER, THOUGHT, call(), output(), ANSWERED, USER),
        answer(USER, {"type": "not_invented_yet", "x": 1}, {"type": "compaction_trigger"}),
        answer({"role": "user", "content": "long " * 2_000}, truncation="auto"),
    ],
}
