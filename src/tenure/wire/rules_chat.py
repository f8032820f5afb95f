"""The rules of OpenAI Chat Completions that eviction can break.

Invariant: linear in the number of messages, and the names of the rules are stable. Source: the
API's 400 text "An assistant message with 'tool_calls' must be followed by tool messages responding
to each 'tool_call_id'".
"""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core.message import JsonObject
from tenure.core.legal import Violation
from tenure.wire.values import is_array, is_object


def violations(messages: Sequence[JsonObject]) -> list[Violation]:
    """The rules that these messages break as a request, in order.

    empty-content, duplicate-call, unanswered-call, open-loop, orphan-result, duplicate-result.
    """
    found: list[Violation] = []
    waiting: dict[str, int] = {}
    known: set[str] = set()
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            _answer(message, number, waiting, known, found)
            continue
        if waiting:
            _unanswered("unanswered-call", waiting, found)
        waiting, known = {}, set()
        calls = message.get("tool_calls")
        if calls and is_array(calls):
            for call in calls:
                name = call.get("id") if is_object(call) else None
                _open(str(name), number, waiting, found)
            known = set(waiting)
        elif not _has_content(message):
            found.append(Violation("empty-content", number, "the message has no content"))
    if waiting:
        _unanswered("open-loop", waiting, found)
    return found


def _has_content(message: JsonObject) -> bool:
    content = message.get("content")
    if content or isinstance(content, str):
        return True
    if message.get("role") != "assistant":
        return False
    return any(message.get(key) for key in ("function_call", "refusal", "audio"))


def _open(call: str, number: int, waiting: dict[str, int], found: list[Violation]) -> None:
    if call in waiting:
        words = f"call id {call!r} occurs twice in one message"
        found.append(Violation("duplicate-call", number, words))
    waiting[call] = number


def _answer(
    message: JsonObject,
    number: int,
    waiting: dict[str, int],
    known: set[str],
    found: list[Violation],
) -> None:
    call = str(message.get("tool_call_id"))
    if waiting.pop(call, None) is None:
        if call in known:
            rule, words = "duplicate-result", f"call {call!r} is answered twice"
        else:
            rule, words = "orphan-result", f"result {call!r} has no call right before it"
        found.append(Violation(rule, number, words))
    if message.get("content") is None or message.get("content") == []:
        found.append(Violation("empty-content", number, "the tool message has no content"))


def _unanswered(rule: str, waiting: dict[str, int], found: list[Violation]) -> None:
    for call, number in waiting.items():
        words = f"call {call!r} is not answered by the tool messages right after it"
        found.append(Violation(rule, number, words))
