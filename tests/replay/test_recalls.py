"""A re-fetch is spelled as a model would send it, in each wire format."""

from __future__ import annotations

import pytest

from tenure.core.message import BlockKind
from tenure.core.recall import NAME
from tenure.replay.recalls import call_message, recall_call
from tenure.wire.detect import WIRES, wire_for


@pytest.mark.parametrize("name", sorted(WIRES))
def test_a_recall_call_and_its_result_are_legal(name: str) -> None:
    wire, call = wire_for(name), recall_call(7, "t-4f9c21ab")
    asked = call_message(name, call)
    (block,) = wire.lenses(asked)
    assert (block.kind, block.call_id, block.tool) == (BlockKind.TOOL_CALL, call.id, NAME)
    assert "t-4f9c21ab" in block.text
    messages = [*wire.user("go"), asked, *wire.results([(call, "original", False)])]
    assert wire.violations(messages) == []


def test_an_unknown_wire_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'morse'"):
        call_message("morse", recall_call(0, "t-1"))
