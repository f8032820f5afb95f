"""The provider's own edits: asked for beside what the caller asks for, and read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.server_edit import Applied, Wanted
from tenure.wire.server_edits import (
    BETA,
    applied_edits,
    asked_by_caller,
    with_beta,
    with_edits,
)

CLEAR = "clear_tool_uses_20250919"


def test_a_head_without_edits_is_the_same_object() -> None:
    head = {"model": "m"}
    assert with_edits(head, ()) is head


def test_the_edit_keeps_the_newest_tool_uses_whatever_the_size_of_the_request() -> None:
    made = with_edits({"model": "m"}, [Wanted(CLEAR, b'{"clear_tool_inputs":true}', 12, 5)])
    assert made["extra_body"] == {
        "context_management": {
            "edits": [
                {
                    "type": CLEAR,
                    "trigger": {"type": "tool_uses", "value": 7},
                    "keep": {"type": "tool_uses", "value": 5},
                    "clear_tool_inputs": True,
                }
            ]
        }
    }
    assert made["extra_headers"] == {"anthropic-beta": BETA}


HEADERS = st.dictionaries(
    st.sampled_from(["anthropic-beta", "Anthropic-Beta", "x-trace", "authorization"]),
    st.lists(st.sampled_from(["a-2025-01-01", BETA, "b-2026-02-02"]), max_size=3).map(",".join),
    max_size=2,
)


@given(HEADERS, st.sampled_from([BETA, "c-2026-03-03"]))
def test_a_beta_value_joins_the_header_and_replaces_nothing(
    headers: dict[str, str], value: str
) -> None:
    made: Any = with_beta({"model": "m", "extra_headers": headers}, value)
    after = made["extra_headers"]
    spoken = [v for k, v in after.items() if k.lower() == "anthropic-beta"]
    assert any(value in one.split(",") for one in spoken)
    for name, given_ in headers.items():
        kept = [one for one in given_.split(",") if one]
        assert [one for one in after[name].split(",") if one][: len(kept)] == kept
    assert with_beta(made, value) is made


def test_the_beta_client_is_told_by_its_own_parameter() -> None:
    made = with_beta({"betas": ["a"]}, "b")
    assert made == {"betas": ["a", "b"]}
    assert with_beta(made, "b") is made


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        ({"context_management": {"edits": []}}, True),
        ({"extra_body": {"context_management": {}}}, True),
        ({"extra_body": {"other": 1}}, False),
        ({}, False),
    ],
)
def test_what_the_caller_asks_for_is_seen(head: dict[str, Any], asked: bool) -> None:
    assert asked_by_caller(head) is asked


def test_the_report_of_a_reply_is_read() -> None:
    reply = {
        "context_management": {
            "applied_edits": [
                {"type": CLEAR, "cleared_tool_uses": 7, "cleared_input_tokens": 5_000},
                {
                    "type": "clear_thinking_20251015",
                    "cleared_thinking_turns": 2,
                    "cleared_input_tokens": 80,
                },
            ]
        }
    }
    assert applied_edits(reply) == [
        Applied(CLEAR, 7, 5_000),
        Applied("clear_thinking_20251015", 2, 80),
    ]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["applied_edits", "type", "cleared_tool_uses", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(JUNK)
def test_a_report_of_any_shape_is_read_without_raising(junk: Any) -> None:
    for one in applied_edits({"context_management": junk}):
        assert one.cleared >= 0
        assert one.tokens >= 0
