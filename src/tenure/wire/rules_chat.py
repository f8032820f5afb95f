"""The rules of OpenAI Chat Completions: by name, and the check of a growing conversation.

Invariant: linear in the number of messages, the names of the rules are stable, and a check after an
append equals one from scratch. A call that waits on purpose (`Terms.pending`) keeps its id: a request
that holds it can't be sent yet. Broken JSON in arguments is no breach, since the API takes any text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tenure.core.legal import Rule, Terms, Violation
from tenure.core.message import JsonObject
from tenure.wire.growing import Growing
from tenure.wire.rules_chat_shape import LONGEST_ID, shaped
from tenure.wire.rules_openai_ids import call_key, id_fault
from tenure.wire.shape import UNSENDABLE, Fault, Takes, head_faults, takes_of
from tenure.wire.values import is_array, is_object

_PARAMS = "openai 3.57.0, types/chat/chat_completion_*_message_param.py"
_ANSWERED = (
    "400 \"An assistant message with 'tool_calls' must be followed by tool messages responding to "
    "each 'tool_call_id'\""
)
_EXPECTED = (
    "400 \"messages with role 'tool' must be a response to a preceding message with 'tool_calls'\""
)
_NAME = '400 "string does not match pattern. Expected a string that matches ..."'
_HOSTS = "reports of hosts that refuse other ids, public issues up to August 2026"

RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        UNSENDABLE,
        Rule("message-object", "a message is an object", _PARAMS, "sent as a user's text"),
        Rule("role-known", "a message has one of the six roles", _PARAMS, "sent as a user's text"),
        Rule(
            "content-parts",
            "content is text or a list of parts with a type",
            _PARAMS,
            "parts that say the same",
        ),
        Rule(
            "text-only",
            "only a user's content holds pictures, sound and documents",
            "providers.md 3.1: tool content is text or text parts; " + _PARAMS,
            "a label in its place",
        ),
        Rule(
            "empty-content",
            "content is there unless an assistant message calls tools",
            _PARAMS,
            "empty text",
        ),
        Rule("empty-calls", "tool_calls are not an empty list", "400 \"[] is too short\"", "left out"),
        Rule(
            "broken-call",
            "a call names its tool and stands in an assistant message",
            _PARAMS,
            "left out, kept under a handle",
        ),
        Rule("call-type", "a call has the type of what it holds", _PARAMS, "that type"),
        Rule("call-name", "a tool name has letters, digits, _ and - only", _NAME, "others become _"),
        Rule("arguments-text", "arguments of a call are text", _PARAMS, "the JSON text of them"),
        Rule(
            "breakpoint",
            "a cache breakpoint is explicit, for 30m or 12h, and the model knows it",
            "openai 3.57.0, chat_completion_content_part_text_param; providers.md 3.1",
            "taken off, or its lifetime",
        ),
        Rule(
            "part-type",
            "a part is of a type that the API has; a host may have others",
            '400 "Invalid value: ... Supported values are: ..."',
            fatal=False,
        ),
        Rule("call-id", "a call and its results have an id that is text", _PARAMS, "a new id"),
        Rule("id-spaces", "no blanks stand around a call id", _HOSTS, "taken off on both sides"),
        Rule(
            "id-shape",
            f"a call id has at most {LONGEST_ID} characters and the shape that the host wants",
            f'400 "Expected a string with maximum length {LONGEST_ID}"; {_HOSTS}',
            "a new id",
        ),
        Rule("duplicate-call", "no two calls of one message share an id", _ANSWERED, "a new id"),
        Rule(
            "reused-id",
            "no two calls of a conversation share an id",
            "reports of relays that count from call_0 in every turn, public issues",
            "the later call and its results get a new id",
            fatal=False,
        ),
        Rule(
            "unanswered-call",
            "tool messages right behind a call answer it",
            _ANSWERED,
            "its result moved there, or one that says that none was recorded",
        ),
        Rule("open-loop", "the calls at the end are answered before the next request", _ANSWERED),
        Rule("pending-call", "a call that waits on purpose is answered before others speak", _ANSWERED),
        Rule(
            "orphan-result",
            "a tool message answers a call of the message it follows",
            _EXPECTED,
            "moved to its call, or a user's labelled text",
        ),
        Rule("duplicate-result", "a call is answered once", _EXPECTED, "a user's labelled text"),
    )
}  # fmt: skip


class Reading(NamedTuple):
    """What the walk needs to know of a message, whatever stands around it."""

    is_tool: bool
    calls: tuple[str, ...]
    faults: tuple[Fault, ...]
    id_faults: tuple[tuple[str, Fault], ...]


_SILENT = Reading(is_tool=False, calls=(), faults=(), id_faults=())


def violations(messages: Sequence[JsonObject], terms: Terms | None = None) -> list[Violation]:
    """The rules that these messages break as a request, in order."""
    return checker(terms or Terms()).check(messages)


def checker(terms: Terms) -> Growing[Reading]:
    """See `Wire.checker`."""
    takes = takes_of(terms, LONGEST_ID)
    _, faults = head_faults(terms.head)

    def read(message: JsonObject) -> Reading:
        return reading(message, takes)

    return Growing(read, lambda: _Pairs(terms.pending), [fault.violation(-1) for fault in faults])


def reading(message: Any, takes: Takes) -> Reading:
    """The reading of one message; its calls are those that are left when it is sound."""
    sound, mended, left = shaped(message, takes)
    faults = (*mended, *left)
    is_tool = sound.get("role") == "tool"
    if not is_tool and "tool_calls" not in sound and not faults:
        return _SILENT
    ids = [sound.get("tool_call_id")] if is_tool else call_ids(sound)
    found = []
    for value in ids:
        fault = id_fault(value, takes.fits)
        if fault is not None:
            found.append((call_key(value), fault))
    return Reading(is_tool, tuple(map(call_key, ids)), faults, tuple(found))


def call_ids(message: JsonObject) -> list[Any]:
    """The ids of the calls of a sound message, as they stand there."""
    calls = message.get("tool_calls")
    return [c.get("id") if is_object(c) else None for c in calls] if is_array(calls) else []


class _Pairs:
    """Calls and results by id, while the messages go by."""

    __slots__ = ("_found", "_known", "_pending", "_used", "_waiting")

    def __init__(self, pending: frozenset[str]) -> None:
        self._pending = frozenset(map(call_key, pending))
        self._found: list[Violation] = []
        self._waiting: dict[str, int] = {}
        self._known: set[str] = set()
        self._used: set[str] = set()

    def see(self, number: int, facts: Reading) -> None:
        """See `Walk.see`."""
        is_tool, calls, faults, id_faults = facts
        # The unanswered are noticed here but concern an earlier message.
        if not is_tool:
            if self._waiting:
                self._unanswered()
            self._waiting, self._known = {}, set()
        if faults:
            self._found += (fault.violation(number) for fault in faults)
        for key, fault in id_faults:
            if key not in self._pending:
                self._found.append(fault.violation(number))
        if is_tool:
            self._answer(calls[0], number)
        elif calls:
            self._open(calls, number)

    def finish(self) -> list[Violation]:
        """See `Walk.finish`."""
        rest = [
            Violation("open-loop", number, f"call {call!r} is not answered yet")
            for call, number in self._waiting.items()
        ]
        found = [*self._found, *rest]
        return sorted(found, key=lambda v: v.message) if len(found) > 1 else found

    def _open(self, calls: tuple[str, ...], number: int) -> None:
        for call in calls:
            if call in self._waiting:
                words = f"call id {call!r} occurs twice in one message"
                self._report("duplicate-call", number, call, words)
            elif call in self._used:
                words = f"call id {call!r} was used by an earlier call"
                self._report("reused-id", number, call, words)
            self._waiting[call] = number
        self._used.update(calls)
        self._known = set(self._waiting)

    def _report(self, rule: str, number: int, call: str, words: str) -> None:
        if call and call not in self._pending:
            self._found.append(Violation(rule, number, words))

    def _answer(self, call: str, number: int) -> None:
        if self._waiting.pop(call, None) is not None:
            return
        if call in self._known:
            rule, words = "duplicate-result", f"call {call!r} is answered twice"
        else:
            rule, words = "orphan-result", f"result {call!r} has no call right before it"
        self._found.append(Violation(rule, number, words))

    def _unanswered(self) -> None:
        for call, number in self._waiting.items():
            pending = call in self._pending
            words = f"call {call!r} is not answered by the tool messages right after it"
            if pending:
                words = f"call {call!r} waits on purpose, and others speak behind it"
            rule = "pending-call" if pending else "unanswered-call"
            self._found.append(Violation(rule, number, words))
