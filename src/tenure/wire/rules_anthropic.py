"""The rules of Anthropic Messages that eviction can break.

Invariant: linear in the number of blocks, and the names of the rules are stable. Rules are checked
per turn, since the API merges consecutive messages of one role. Sources: providers' documentation
of tool use, of system messages inside `messages`, and the API's own 400 texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.legal import Violation
from tenure.core.message import JsonObject
from tenure.wire.values import is_object


class _Calls(NamedTuple):
    """What the last assistant turn asked for: call id -> number of its message."""

    client: dict[str, int]
    server: dict[str, int]


_NONE = _Calls({}, {})
_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})
_THINKING = frozenset({"thinking", "redacted_thinking"})


def violations(messages: Sequence[JsonObject]) -> list[Violation]:
    """The rules that these messages break as a request, in order.

    first-message, empty-content, empty-text, duplicate-call, unanswered-call, open-loop,
    orphan-result, duplicate-result, results-first, server-call-pending, server-result-alone,
    thinking-last, system-place.
    """
    found: list[Violation] = []
    calls = _NONE
    number, total = 0, len(messages)
    if messages:
        _check_first(messages[0], found)
    while number < total:
        role = messages[number].get("role")
        end = number + 1
        while end < total and messages[end].get("role") == role:
            end += 1
        if role == "assistant":
            _check_answers(calls.client, number, found)
            calls = _assistant_turn(messages, number, end, calls.server, found)
        elif role == "user":
            calls = _user_turn(messages, number, end, calls, found)
        else:
            _system_turn(messages, number, end, calls, found)
        number = end
    if calls.client:
        _check_answers(calls.client, None, found)
    return found


def _check_first(message: JsonObject, found: list[Violation]) -> None:
    if message.get("role") == "user":
        return
    content = message.get("content")
    blocks = content if isinstance(content, list | tuple) else ()
    # A conversation may begin with the summary the API itself made.
    summary = len(blocks) == 1 and _kind(blocks[0]) == "compaction"
    if summary and message.get("role") == "assistant":
        return
    found.append(Violation("first-message", 0, "the first message must be the user's"))


def _assistant_turn(
    messages: Sequence[JsonObject],
    start: int,
    end: int,
    server: dict[str, int],
    found: list[Violation],
) -> _Calls:
    client: dict[str, int] = {}
    pending = dict(server) if server else {}
    last = ""
    for number in range(start, end):
        content = messages[number].get("content")
        if isinstance(content, str):
            last = ""
            if not content or content.isspace():
                found.append(Violation("empty-content", number, "the message has no text"))
            continue
        if not content or not isinstance(content, list | tuple):
            found.append(Violation("empty-content", number, "the message has no blocks"))
            continue
        for block in content:
            last = kind = _kind(block)
            if kind == "tool_use":
                _open(client, str(block.get("id")), number, found)
            elif kind == "text":
                _check_text(block, number, found)
            elif kind in _SERVER_CALLS:
                pending[str(block.get("id"))] = number
            elif kind.endswith("_tool_result"):
                _close_server(pending, block, number, found)
    if last in _THINKING:
        found.append(
            Violation("thinking-last", end - 1, "the last block of an assistant turn is reasoning")
        )
    return _Calls(client, pending)


def _user_turn(
    messages: Sequence[JsonObject], start: int, end: int, calls: _Calls, found: list[Violation]
) -> _Calls:
    answered: set[str] = set()
    other = -1
    for number in range(start, end):
        content = messages[number].get("content")
        if isinstance(content, str):
            other = number if other < 0 else other
            if not content or content.isspace():
                found.append(Violation("empty-content", number, "the message has no text"))
            continue
        if not content or not isinstance(content, list | tuple):
            found.append(Violation("empty-content", number, "the message has no blocks"))
            continue
        for block in content:
            kind = _kind(block)
            if kind == "tool_result":
                _answer(str(block.get("tool_use_id")), calls.client, answered, number, found)
                if other >= 0:
                    words = "a tool result stands behind other content of its turn"
                    found.append(Violation("results-first", number, words))
                continue
            other = number if other < 0 else other
            if kind == "text":
                _check_text(block, number, found)
    if len(answered) < len(calls.client):
        missing = {k: v for k, v in calls.client.items() if k not in answered}
        _check_answers(missing, start, found)
    if calls.server and other >= 0:
        words = "a server tool call is not finished, so only tool results may follow"
        found.append(Violation("server-call-pending", other, words))
    return _Calls({}, calls.server) if calls.server and other < 0 else _NONE


def _system_turn(
    messages: Sequence[JsonObject], start: int, end: int, calls: _Calls, found: list[Violation]
) -> None:
    for number in range(start, end):
        content = messages[number].get("content")
        if not content and messages[number].get("output_config"):
            return  # Only sets the effort; exempt from the rules of place.
    before = messages[start - 1].get("role") if start else None
    after = messages[end].get("role") if end < len(messages) else "assistant"
    if (
        calls.client
        or after != "assistant"
        or (before != "user" and not _server_end(messages, start))
    ):
        words = "a system message must stand between a user's turn and an assistant's"
        found.append(Violation("system-place", start, words))


def _server_end(messages: Sequence[JsonObject], start: int) -> bool:
    content = messages[start - 1].get("content") if start else None
    return isinstance(content, list) and bool(content) and _kind(content[-1]).endswith("_result")


def _kind(block: Any) -> str:
    # The hot line of the rules: the first test is the one that json.loads makes true.
    kind = block.get("type") if type(block) is dict or is_object(block) else None
    return kind if type(kind) is str else ""


def _check_text(block: JsonObject, number: int, found: list[Violation]) -> None:
    text = block.get("text")
    if not isinstance(text, str) or not text or text.isspace():
        found.append(Violation("empty-text", number, "a text block has no text"))


def _open(calls: dict[str, int], call: str, number: int, found: list[Violation]) -> None:
    if call in calls:
        words = f"call id {call!r} occurs twice in one turn"
        found.append(Violation("duplicate-call", number, words))
    calls[call] = number


def _answer(
    call: str, calls: dict[str, int], answered: set[str], number: int, found: list[Violation]
) -> None:
    if call not in calls:
        words = f"result {call!r} has no call in the assistant turn before it"
        found.append(Violation("orphan-result", number, words))
    elif call in answered:
        found.append(Violation("duplicate-result", number, f"call {call!r} is answered twice"))
    else:
        answered.add(call)


def _close_server(
    pending: dict[str, int], block: JsonObject, number: int, found: list[Violation]
) -> None:
    if pending.pop(str(block.get("tool_use_id")), None) is None:
        words = f"server tool result {block.get('tool_use_id')!r} has no call before it"
        found.append(Violation("server-result-alone", number, words))


def _check_answers(calls: dict[str, int], follows: int | None, found: list[Violation]) -> None:
    """Reports calls left unanswered by what follows; None: nothing follows, the loop is open."""
    rule = "open-loop" if follows is None else "unanswered-call"
    for call, number in calls.items():
        words = f"call {call!r} is not answered in the turn right after it"
        found.append(Violation(rule, number, words))
