"""Recordings that begin in the middle: what is left of them is replayed all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.cli.main import main


def anthropic(call: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call, "name": "r", "input": {}}
    return {"role": "assistant", "content": [block]}


def chat(call: str) -> dict[str, Any]:
    function = {"name": "r", "arguments": "{}"}
    calls = [{"id": call, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


@pytest.mark.parametrize("command", ["inspect", "replay", "forecast"])
@given(
    spelled=st.sampled_from([("claude-opus-4-5", anthropic), ("gpt-4.1", chat)]),
    calls=st.integers(1, 3),
    turns=st.integers(1, 3),
)
def test_a_thread_that_begins_with_calls_without_results_is_read(
    tmp_path_factory: pytest.TempPathFactory, command: str, spelled: Any, calls: int, turns: int
) -> None:
    model, spell = spelled
    messages = [spell(f"c{number}") for number in range(calls)]
    for number in range(turns):
        messages += [
            {"role": "user", "content": f"go on {number}"},
            {"role": "assistant", "content": f"ok {number}"},
        ]
    file = Path(tmp_path_factory.mktemp("heads")) / "session.json"
    file.write_text(json.dumps({"model": model, "messages": messages}))
    assert main([command, str(file), "--json", "--quiet"]) == 0
