"""What is said late: text behind the stable part, and messages replayed as they were stored.

Invariant: a message that was sent is never touched; late text is a message of its own at the end, in
a place where the provider takes it, or it is not said and the answer says so.
Sources: providers.md 1.2 (system messages inside `messages`), 1.3 (results first; consecutive user
messages are one turn), 3.1 (tool messages right behind their calls), 3.2 (trigger last).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tenure.core.message import JsonObject
from tenure.wire.layout_stays import changed_lines, stays
from tenure.wire.values import text_of

_OPEN_ITEMS = frozenset({"reasoning", "function_call", "custom_tool_call"})


def late_message(format: str, text: str, *, system_role: str = "") -> dict[str, Any]:
    """The message that says a text late. `system_role` is the role that carries instructions:
    system or developer for the OpenAI APIs (by default what they name it), system for Anthropic
    models that take it inside `messages`; without it there the user's, as a reminder of the harness.
    """
    if format == "anthropic_messages":
        if system_role:
            return {"role": system_role, "content": text}
        reminder = f"<system-reminder>\n{text}\n</system-reminder>"
        return {"role": "user", "content": reminder}
    default = "developer" if format == "openai_responses" else "system"
    return {"role": system_role or default, "content": text}


def takes_late(format: str, messages: Sequence[JsonObject]) -> bool:
    """Whether a late message may follow these: not while a call waits for its result, and not
    behind the model's own words, which the reply is to continue."""
    if not messages:
        return False
    last = messages[-1]
    if format == "openai_responses":
        kind = text_of(last.get("type")) or "message"
        return kind not in _OPEN_ITEMS and last.get("role") != "assistant"
    return last.get("role") != "assistant"


def with_late(
    format: str,
    messages: Sequence[JsonObject],
    texts: Sequence[str],
    *,
    system_role: str = "",
) -> Sequence[JsonObject]:
    """The messages with the texts said at their end; the very list when there is nothing to say or
    no place to say it (see `takes_late`)."""
    said = "\n".join(text for text in texts if text.strip())
    items, trigger = list(messages), []
    if items and text_of(items[-1].get("type")) == "compaction_trigger":
        trigger = [items.pop()]
    if not said or not takes_late(format, items):
        return messages
    after_system = system_role if items[-1].get("role") == "user" else ""
    role = system_role if format != "anthropic_messages" else after_system
    return [*items, late_message(format, said, system_role=role), *trigger]


class Replayed(NamedTuple):
    """Messages as stored where they came again with other volatile text; `late` is what they say
    now. From message `since` on they are as given."""

    messages: Sequence[JsonObject]
    late: tuple[str, ...]
    notes: tuple[str, ...]
    since: int


def replay_stored(stored: Sequence[JsonObject], given: Sequence[JsonObject]) -> Replayed:
    """The given messages with those that were sent before as they were sent.

    A client that builds its first message anew, with the date of today, gets the prefix it had:
    the stored message goes out, and the new line is said late. The first message that differs in
    more than volatile text is where the conversation really parts.
    """
    sent: list[JsonObject] = []
    late: list[str] = []
    notes: list[str] = []
    for number, (old, new) in enumerate(zip(stored, given, strict=False)):
        words = () if old is new else stays(old, new, live=True)
        if words is None:
            break
        sent.append(old if words else new)
        if words:
            late += [
                f"[tenure] Message {number + 1} now reads: {x}" for x in changed_lines(old, new)
            ]
            notes.append(f"message {number + 1} is sent as before: {'; '.join(words)}")
    since = len(sent)
    return Replayed([*sent, *given[since:]] if notes else given, tuple(late), tuple(notes), since)
