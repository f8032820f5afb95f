"""Having the provider summarise the older part, where eviction is not enough or dearer.

Invariant: what is summarised begins at the first message and ends in a complete exchange; pinned and
restored messages, pictures of the user and the tail stay out of it. The user's words in it, and what
system messages in it say, are said again word for word behind the last message: the kept messages
must directly follow the summary, or their thinking would be bound to something else.

Source: providers.md 2.3. The request for a summary reads s tokens of the prompt at the cache's rate
and writes m of output; then the prompt is written anew from the summary on:
r s + output m + (w - r)(n - a) - w f, for f tokens freed of the n from offset a on. m is not known
before: `SUMMARY_TOKENS` is our guess.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tenure.core.edit import Delegated, Edit, Insert, Reason, Replace, Span, Weighed
from tenure.core.message import Block, BlockKind, Message, Origin, json_bytes, message_id
from tenure.core.policy import Situation
from tenure.core.server_edit import CLEAR_RESULTS, COMPACT
from tenure.policies.delegate import rewrite
from tenure.policies.protect import tail_starts
from tenure.policies.tombstone import handle_for

SUMMARY_TOKENS = 3_000
# The room that a request for a summary leaves for it and for the thinking on it, tokens: at least, so
# that it gets done, and at most (an SDK wants a stream above 21,333).
_LEAST_ROOM, _MOST_ROOM = 6_000, 16_000
# What it must free at least, as a share of the limit: one summary follows another otherwise.
_LEAST_SHARE = 0.25
_KEEP_STEPS = 2


class Compaction(NamedTuple):
    """A summary that may be asked for: of so many messages, what it costs once beyond doing nothing,
    the tokens that they hold and that it frees, the room for it, and what is said again (by the user, by the system)."""

    messages: int
    price: float
    held: int
    frees: int
    room: int
    user: str
    system: str


def possible(situation: Situation) -> Compaction | str:
    """The summary that may be asked for now, or why none may."""
    if not situation.compacts:
        return "not to be asked of the provider"
    transcript, meter, plan = situation.transcript, situation.meter, situation.plan
    if transcript.messages[-1].origin is Origin.ASSISTANT:
        return "the last word is the model's"
    cleared = [e for e in plan.delegated if e.edit == CLEAR_RESULTS]
    # The provider clears nothing while it summarises.
    sent = plan.without(*cleared)
    n = meter.before(len(transcript), plan)
    measure = max(1.0, meter.resident(plan) / max(1, n))
    most = int((situation.budget.window - _LEAST_ROOM) / measure)
    ends = [end for end in _ends(situation) if meter.before(end, sent) <= most]
    if not ends:
        return "there is no complete exchange that may go and can be summarised"
    count = max(ends)
    user, system = _said_again(situation, count)
    a, b, whole = meter.before(0, plan), meter.before(count, plan), meter.before(count, sent)
    again = meter.text(user) + meter.text(system)
    frees = b - a - SUMMARY_TOKENS - again
    if frees < _LEAST_SHARE * situation.budget.limit:
        return "it would free too little"
    profile = situation.profile
    rate = profile.write if situation.cold else profile.read
    call = rate * whole + profile.output * SUMMARY_TOKENS
    price = call + rewrite(situation, 0) - profile.write * frees
    room = min(_MOST_ROOM, situation.budget.window - int(whole * measure))
    return Compaction(count, price, b - a, frees, room, user, system)


def way(situation: Situation, found: Compaction | str) -> Weighed:
    """It as one of the ways to make room."""
    if isinstance(found, str):
        return Weighed(COMPACT, 0.0, 0.0, found)
    return Weighed(COMPACT, found.price, situation.profile.read * found.frees)


def asked(
    situation: Situation, found: Compaction, *, policy: str, weighed: tuple[Weighed, ...] = ()
) -> list[Edit]:
    """The edits that ask for it, and say again what must be said."""
    handle = handle_for(situation.nonce, f"c:{found.messages}")
    reason = Reason(
        policy,
        "the provider summarises what is older, and thinking behind it stays valid",
        "forced",
        found.held,
        SUMMARY_TOKENS,
        price=found.price,
        saves=situation.profile.read * found.frees,
        step=situation.step,
        about=f"the first {found.messages} messages",
        weighed=weighed,
    )
    span = Span(message_id(0), message_id(found.messages - 1))
    options = json_bytes({"max_tokens": found.room})
    made: list[Edit] = [Delegated(COMPACT, (), reason, handle, options, span=span)]
    back = _RECALL.format(handle=handle) if situation.recall else ""
    texts = [("user", _USER.format(handle=handle, recall=back) + found.user)]
    if found.system:
        texts.append(("system", found.system))
    last = message_id(len(situation.transcript) - 1)
    for role, text in texts:
        size = situation.meter.text(text)
        words = f"says again what the {role} said in what was summarised"
        why = Reason(
            policy, words, "forced", 0, size, step=situation.step, about=f"note of {handle}"
        )
        said = Message({"role": role, "content": text}, origin=Origin.HARNESS)
        made.append(Insert(last, said, why))
    return made


_USER = (
    "[tenure {handle}: to save room, the conversation up to a point was replaced by the summary that "
    "it begins with. {recall}What the user wrote there is, word for word:]\n\n"
)
_RECALL = (
    'recall brings the original back: handle "{handle}" alone lists it, "{handle}.1" is the first '
    'text, a pattern with "{handle}" searches it. '
)


def _ends(situation: Situation) -> list[int]:
    """So many of the first messages may be summarised."""
    transcript = situation.transcript
    most = min(tail_starts(situation, _KEEP_STEPS), len(transcript) - 1)
    for index in range(most):
        message, blocks = transcript.messages[index], transcript.blocks[index]
        stays = any(b.key in situation.restored or _is_users_picture(b) for b in blocks)
        if message.pinned or stays:
            most = index
            break
    return [end for end in range(1, most + 1) if _may_end(situation, end)]


def _is_users_picture(block: Block) -> bool:
    return block.kind is BlockKind.MEDIA and block.origin is Origin.USER


def _may_end(situation: Situation, end: int) -> bool:
    """Whether message number `end` may follow a summary of those before it."""
    transcript = situation.transcript
    last, kept = (transcript.messages[i].data.get("role") for i in (end - 1, end))
    if kept in (last, "system") or last == "system":
        return False
    return all(b.kind is not BlockKind.TOOL_CALL for b in transcript.blocks[end - 1])


def _said_again(situation: Situation, count: int) -> tuple[str, str]:
    """What the user and what system messages say in the first messages, as it stands in the view."""
    users, systems = list[str](), list[str]()
    for message, blocks in zip(
        situation.transcript.messages[:count], situation.transcript.blocks, strict=False
    ):
        by_system = message.data.get("role") == "system"
        for block in blocks:
            if block.kind is BlockKind.TEXT and (by_system or block.origin is Origin.USER):
                (systems if by_system else users).extend(_shown(situation, block))
    return "\n\n".join(users), "\n\n".join(systems)


def _shown(situation: Situation, block: Block) -> Iterator[str]:
    """The text of a block; what stands for it where it was shortened."""
    edit = situation.plan.by_key.get(block.key)
    if edit is None:
        yield block.text
    elif isinstance(edit, Replace):
        value: Any = json.loads(edit.body[0])
        yield value if isinstance(value, str) else str(value.get("text", ""))
