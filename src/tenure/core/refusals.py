"""What a session refuses, in words: calls that do not fit its state, requests that do not fit.

Invariant: each function raises or does nothing; none changes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tenure.core.budget import Budget
from tenure.core.edit import Delegated, Edit
from tenure.core.legal import Violation
from tenure.core.message import BlockKind, Message, Origin
from tenure.core.nesting import MAX_NESTING, nests_too_deep
from tenure.core.plan import Plan, spans_of
from tenure.core.protocols import Wire
from tenure.core.transcript import Transcript
from tenure.errors import BudgetError, RequestError, SessionError, WireError


def while_open(outgoing: object, what: str) -> None:
    """An append while a request is open."""
    if outgoing is not None:
        raise SessionError(
            f"{what} while a request is open: give its reply, or cancel() it", state="open"
        )


def in_between(transcript: Transcript, messages: Sequence[Message], since: int) -> None:
    """Other words while calls of a reply wait for results: no provider takes them.

    Calls before message number `since` came from a stored history, which is taken as it is.
    """
    waiting = {b.call_id for b in transcript.open_calls.values() if b.index >= since}
    for message in messages:
        if not waiting or nests_too_deep(message.data):  # `unreadable` refuses it, and says why
            return
        lenses = transcript.wire.lenses(message.data)
        answers = {lens.call_id for lens in lenses if lens.kind is BlockKind.TOOL_RESULT}
        if message.origin is not Origin.ASSISTANT and not answers:
            raise SessionError(
                f"the calls {sorted(waiting)} wait for results, and nothing may come in between; "
                "give results(), or cancel() them",
                state="calls pending",
            )
        waiting -= answers


def unready(transcript: Transcript) -> None:
    """A request before anything was said, or while calls wait."""
    if not len(transcript):
        raise SessionError("nothing was said yet; call user() first", state="empty")
    if transcript.open_calls:
        raise SessionError(
            f"the calls {[b.call_id for b in transcript.open_calls.values()]} wait for results; "
            "call results() first",
            state="calls pending",
        )


def wrong_results(given: Mapping[str, Any], wanted: Collection[str]) -> None:
    """Results that are missing, or that answer no pending call."""
    missing, strange = sorted(set(wanted) - given.keys()), sorted(given.keys() - set(wanted))
    unknown = f"; {strange} answer no pending call" if strange else ""
    if missing:
        raise SessionError(
            f"no result for the calls {missing}; every call of a reply needs one, an error text "
            f"will do{unknown}",
            state="calls pending",
        )
    if strange:
        raise SessionError(
            f"results {strange} answer no pending call; pending are {sorted(wanted)}",
            state="calls pending",
        )


def too_large(tokens: int, budget: Budget) -> None:
    """A request that has no room with all that may go gone, however short the reply."""
    if tokens > budget.most:
        raise BudgetError(
            f"the request needs about {tokens} input tokens and the budget allows {budget.most}; "
            "what is left may not be evicted: compact it, shorten the pinned text, or use a larger "
            "window",
            needed=tokens,
            available=budget.most,
        )


def unreadable(wire: Wire, messages: Sequence[Message], kind: type[WireError]) -> None:
    """A message that can't be read or written as JSON: found before anything is stored."""
    for number, message in enumerate(messages, 1):
        try:
            if nests_too_deep(message.data):
                raise kind(
                    f"message {number} of the {len(messages)} given (origin {message.origin.value}) "
                    f"nests values more than {MAX_NESTING} deep; give the deep part as text; "
                    "nothing was stored",
                    format=wire.name,
                )
            wire.lenses(message.data)
            assert message.raw
        except (TypeError, ValueError, RecursionError) as error:
            raise kind(
                f"a message can't be read as JSON values: {error}; nothing was stored",
                format=wire.name,
            ) from error


def illegal(wire: Wire, violations: Sequence[Violation]) -> None:
    """A request that the provider would refuse and that has no right mend."""
    fatal = [v for v in violations if wire.rules[v.rule].fatal]
    if not fatal:
        return
    first, more = fatal[0], f" (and {len(fatal) - 1} more)" if len(fatal) > 1 else ""
    where = f"message {first.message}" if first.message >= 0 else "the request"
    raise RequestError(
        f"{where} breaks the rule {first.rule}: {first.words}{more}; no mend is right for it, and "
        "the provider would refuse the request",
        format=wire.name,
        path=".".join(map(str, first.path)),
    )


def undo_behind_thinking(transcript: Transcript, plan: Plan, edits: Sequence[Edit]) -> None:
    """An undo that later thinking, bound to what stands before it, would not survive."""
    # What the provider clears on its side is no change of what was sent.
    mine = [e for e in edits if not isinstance(e, Delegated) or e.span]
    places = [transcript.block(t).index for e in mine for t in e.targets if isinstance(t, str)]
    places += [span.bounds[0] for e in mine for span in spans_of(e)]
    first = min(places, default=len(transcript))
    bound = any(
        b.kind is BlockKind.THINKING and b.signed and b.key not in plan.by_key
        for blocks in transcript.blocks[first:]
        for b in blocks
    )
    if bound:
        raise SessionError(
            f"taking back an edit of message {first} would invalidate the thinking after it, which "
            "this model binds to its prefix; recall() gives the original, or append it anew",
            state="thinking bound",
        )
