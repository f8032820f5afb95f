"""The rules of OpenAI Responses that eviction can break.

Invariant: linear in the number of items, and the names of the rules are stable. Sources: the API's
400 texts "No tool output found for function call", "No tool call found for function call output",
"Item of type 'reasoning' was provided without its required following item".
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.message import JsonObject
from tenure.core.legal import Violation
from tenure.wire.values import call_of_output, text_of

CLIENT_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "computer_call",
    }
)
CALL_OUTPUTS = frozenset(f"{call}_output" for call in CLIENT_CALLS)


# Items that a client writes; none of them is what a reasoning item led to.
_CLIENT_ITEMS = frozenset(
    {"additional_tools", "configuration_update", "compaction_trigger", "mcp_approval_response"}
)


def violations(messages: Sequence[JsonObject]) -> list[Violation]:
    """The rules that these items break as the input of a request that names no previous one.

    empty-content, duplicate-call, unanswered-call, open-loop, orphan-result, duplicate-result,
    result-before-call, reasoning-alone, trigger-not-last.
    """
    found: list[Violation] = []
    pairs = _Pairs(found)
    reasoning = last_said = -1
    for number, item in enumerate(messages):
        kind = text_of(item.get("type")) or "message"
        if kind == "reasoning":
            reasoning = number
            continue
        if reasoning >= 0:
            if not made_by_model(item, kind):
                found.append(_alone(reasoning))
            reasoning = -1
        if kind in CLIENT_CALLS:
            pairs.open(str(item.get("call_id")), number)
        elif kind in CALL_OUTPUTS:
            pairs.close(str(call_of_output(item)), number)
        elif kind == "message":
            if item.get("role") != "assistant":
                last_said = number
            if item.get("content") in ([], None):
                found.append(Violation("empty-content", number, "the message has no content"))
        elif kind == "compaction_trigger" and number != len(messages) - 1:
            words = "a compaction trigger must be the last item"
            found.append(Violation("trigger-not-last", number, words))
    if reasoning >= 0:
        found.append(_alone(reasoning))
    pairs.finish(last_said)
    return sorted(found, key=lambda v: v.message) if len(found) > 1 else found


def made_by_model(item: JsonObject, kind: str) -> bool:
    """True for an item that came out of the model, so that reasoning may lead to it."""
    if kind == "message":
        return item.get("role") == "assistant"
    return not kind.endswith("_output") and kind not in _CLIENT_ITEMS


class _Pairs:
    """Calls and outputs by call id, while the items go by."""

    __slots__ = ("closed", "early", "found", "waiting")

    def __init__(self, found: list[Violation]) -> None:
        self.found = found
        self.waiting: dict[str, int] = {}
        self.early: dict[str, int] = {}
        self.closed: set[str] = set()

    def open(self, call: str, number: int) -> None:
        if call in self.waiting:
            words = f"call id {call!r} occurs twice before it is answered"
            self.found.append(Violation("duplicate-call", number, words))
        early = self.early.pop(call, None)
        if early is not None:
            words = f"output {call!r} stands before its call"
            self.found.append(Violation("result-before-call", early, words))
            return
        self.waiting[call] = number
        self.closed.discard(call)

    def close(self, call: str, number: int) -> None:
        if self.waiting.pop(call, None) is not None:
            self.closed.add(call)
        elif call in self.closed:
            words = f"call {call!r} is answered twice"
            self.found.append(Violation("duplicate-result", number, words))
        else:
            self.early[call] = number

    def finish(self, last_said: int) -> None:
        for call, number in self.early.items():
            words = f"output {call!r} has no call before it"
            self.found.append(Violation("orphan-result", number, words))
        for call, number in self.waiting.items():
            rule = "unanswered-call" if number < last_said else "open-loop"
            self.found.append(Violation(rule, number, f"call {call!r} has no output"))


def _alone(number: int) -> Violation:
    words = "a reasoning item is not followed by the item that it led to"
    return Violation("reasoning-alone", number, words)
