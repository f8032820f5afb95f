"""Which wire format a name or a body stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenure.core.protocols import SessionWire
from tenure.errors import ConfigError, RequestError
from tenure.wire.detect import WIRES, detect, wire_for
from tests.wire.corpus import NAMES, body

SAY = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("name", NAMES)
def test_the_bodies_of_the_corpus_are_told_apart(name: str) -> None:
    whole = json.loads(body(name))
    assert detect(whole) is WIRES[name]
    key = WIRES[name].key
    assert detect({key: whole[key]}) is WIRES[name]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"input": "hi"}, "openai_responses"),
        ({"messages": SAY, "model": "claude-opus-5-5"}, "anthropic_messages"),
        ({"messages": SAY, "max_tokens": 5}, "anthropic_messages"),
        ({"messages": SAY, "max_tokens": 5, "model": "gpt-5"}, "openai_chat"),
        ({"messages": SAY}, "openai_chat"),
        ({"messages": SAY, "system": "x"}, "anthropic_messages"),
        ({"messages": SAY, "tools": [{"name": "x", "input_schema": {}}]}, "anthropic_messages"),
        ({"messages": SAY, "tools": [{"type": "function", "function": {}}]}, "openai_chat"),
        ({"messages": [{"role": "system", "content": "x"}, *SAY]}, "openai_chat"),
        ({"messages": [{"role": [], "content": [1, {"type": {}}]}, 3]}, "openai_chat"),
    ],
)
def test_a_body_is_told_by_what_only_one_api_spells_so(given: dict[str, Any], name: str) -> None:
    assert detect(given).name == name


def test_a_body_without_messages_is_refused() -> None:
    with pytest.raises(RequestError, match="neither"):
        detect({"model": "claude"})


def test_a_wire_format_is_found_by_name_or_the_accepted_names_are_told() -> None:
    wire: SessionWire = wire_for("openai_chat")
    assert wire.name == "openai_chat"
    with pytest.raises(ConfigError, match="anthropic_messages, openai_chat, openai_responses"):
        wire_for("gemini")
