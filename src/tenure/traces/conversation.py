"""A conversation given as one list of messages, as steps.

Invariant: every message is in the thread once, in order, exactly as it was given.

Such files hold no usage and no times. A run of assistant messages is one reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from tenure.core.message import Message, Origin
from tenure.replay.trace import Step, Thread


class Conversation(NamedTuple):
    """What one trace is made of: its messages, and what else the file says about it."""

    messages: Sequence[dict[str, Any]]
    head: dict[str, Any]
    model: str = ""
    name: str = ""


def thread_of(talk: Conversation, origin_of: Callable[[dict[str, Any]], Origin]) -> Thread:
    """The thread of a conversation."""
    messages = [Message(data, origin=origin_of(data)) for data in talk.messages]
    steps: list[Step] = []
    arrivals: tuple[Message, ...] = ()
    for is_reply, run in groupby(messages, lambda one: one.origin is Origin.ASSISTANT):
        if is_reply:
            steps.append(Step(arrivals=arrivals, reply=tuple(run), model=talk.model))
            arrivals = ()
        else:
            arrivals = tuple(run)
    return Thread(name="main", kind="main", steps=tuple(steps), tail=arrivals)


def joined(talks: Iterable[Conversation]) -> list[Conversation]:
    """The conversations of consecutive request bodies: one that a later body extends is that one.

    Cache marks move from request to request, so they do not count.
    """
    found: list[Conversation] = []
    for talk in talks:
        if found and _extends(talk, found[-1]):
            found[-1] = talk
        else:
            found.append(talk)
    return found


def _extends(talk: Conversation, before: Conversation) -> bool:
    shared = len(before.messages)
    if talk.name != before.name or not shared or len(talk.messages) < shared:
        return False
    # Most bodies of one file either grow or have nothing in common: the last message tells soonest.
    pairs = zip(reversed(before.messages), reversed(talk.messages[:shared]), strict=True)
    try:
        return all(_unmarked(old) == _unmarked(new) for old, new in pairs)
    except RecursionError:  # nested too deep to compare: two conversations then
        return False


def _unmarked(value: Any) -> Any:
    """The value without cache marks, and with a text as the one text block that it stands for."""
    if isinstance(value, list):
        return [_unmarked(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
    if isinstance(plain.get("content"), str) and "role" in plain:
        plain["content"] = [{"type": "text", "text": plain["content"]}]
    return plain
