"""The messages by which a replayed model fetches an evicted result again.

Invariant: what is made here is what a model would have sent through the API: a call of the recall
tool, legal in its wire format, with an id that no recorded call has.
"""

from __future__ import annotations

import json

from tenure.core.message import JsonObject
from tenure.core.protocols import ToolCall
from tenure.core.recall import NAME


def recall_call(number: int, handle: str) -> ToolCall:
    """The call that asks for a handle; `number` is that of its message, so no fork uses it again."""
    return ToolCall(f"recall_{number:06d}", NAME, {"handle": handle})


def call_message(wire: str, call: ToolCall) -> JsonObject:
    """The assistant message that makes the call, in the wire format of that name."""
    arguments = json.dumps(call.input)
    match wire:
        case "anthropic_messages":
            block = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
            return {"role": "assistant", "content": [block]}
        case "openai_chat":
            function = {"name": call.name, "arguments": arguments}
            made = {"id": call.id, "type": "function", "function": function}
            return {"role": "assistant", "content": None, "tool_calls": [made]}
        case "openai_responses":
            return {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": arguments,
            }
        case _:
            raise ValueError(
                f"no recall call can be spelled in {wire!r}; accepted are anthropic_messages, "
                "openai_chat and openai_responses"
            )
