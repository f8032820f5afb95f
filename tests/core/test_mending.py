"""The outgoing copy of a session: whose words it says, after messages moved, went and came."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core.legal import Terms
from tenure.core.mending import Copy, Mender
from tenure.core.message import JsonObject, Origin
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import apply
from tenure.wire.detect import WIRES

A = WIRES["anthropic_messages"]
U: JsonObject = {"role": "user", "content": "go"}
SYSTEM: JsonObject = {"role": "system", "content": "be brief"}


def thought(text: str) -> JsonObject:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": text}]}


def asks(*ids: str) -> JsonObject:
    calls = [{"type": "tool_use", "id": id_, "name": "read", "input": {}} for id_ in ids]
    return {"role": "assistant", "content": calls}


def answers(*ids: str) -> JsonObject:
    results = [{"type": "tool_result", "tool_use_id": id_, "content": "x"} for id_ in ids]
    return {"role": "user", "content": results}


class Sending:
    """A conversation that grows and is sent after each step."""

    def __init__(self, terms: Terms | None = None) -> None:
        self.transcript = Transcript(A)
        self.mender = Mender(A, terms or Terms())

    def send(self, *messages: JsonObject) -> Copy:
        for data in messages:
            self.transcript.append(A.message(data))
        copy = self.mender.update(apply(self.transcript, Plan()))
        self.mender.sent()
        return copy


def thoughts(copy: Copy) -> list[str]:
    """The texts of the messages that still have thinking."""
    found: list[str] = []
    for message in copy.data:
        content: Any = message["content"]
        if isinstance(content, list) and content[0].get("type") == "thinking":
            found.append(content[1]["text"])
    return found


def test_thinking_of_another_model_goes_by_its_message_however_the_copy_is_numbered() -> None:
    made_by = {2: "gpt-6", 4: "model-b", 6: "gpt-6"}
    sending = Sending(Terms(model="model-b", made_by=made_by))
    # The first message leaves the copy, so that all others have a lower number there.
    sending.send({"role": "user", "content": " "}, U, thought("not mine"), U)
    assert thoughts(sending.send()) == []
    assert thoughts(sending.send(thought("mine"), U)) == ["mine"]
    assert thoughts(sending.send(thought("not mine either"), U)) == ["mine"]
    foreign = [k.source for k in sending.mender.mends if k.mend.rule == "foreign-thinking"]
    assert foreign == ["m2", "m6"]
    assert sending.mender.violations == []


@pytest.mark.parametrize("steps", [1, 5])
def test_what_moved_is_still_said_by_the_one_who_said_it(steps: int) -> None:
    messages = [
        U,
        asks("c"),
        SYSTEM,
        answers("c"),
        {"role": "user", "content": " "},
        thought("so"),
        U,
    ]
    sending = Sending()
    size = -(-len(messages) // steps)
    for at in range(0, len(messages), size):
        sending.send(*messages[at : at + size])
    copy = sending.send()
    by_role = {"system": Origin.SYSTEM, "assistant": Origin.ASSISTANT}
    for message in copy.messages:
        wanted = by_role.get(message.data["role"], A.origin(message.data))
        assert message.origin is wanted, message
    assert Origin.SYSTEM in {message.origin for message in copy.messages}


def test_what_is_made_up_is_by_nobody_of_the_message_it_stands_beside() -> None:
    copy = Sending().send(thought("so"), U, asks("c"), U)
    assert [message.origin for message in copy.messages] == [
        Origin.USER, Origin.ASSISTANT, Origin.USER, Origin.ASSISTANT, Origin.TOOL, Origin.USER,
    ]  # fmt: skip
