"""Legal plans over generated transcripts, for the laws of plan and view."""

from __future__ import annotations

from hypothesis import strategies as st

from tenure.core.edit import Delegated, Drop, Edit, Insert, Reason, Replace, Span
from tenure.core.message import BlockKind, Message, Origin, json_bytes, message_id
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.wire.detect import WIRES
from tests.wire.strategies import conversations

WHY = Reason("test", "for the law")


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """A transcript of a few steps in any wire format, its messages held raw or as dicts."""
    wire = draw(st.sampled_from(list(WIRES.values())))
    transcript = Transcript(wire)
    for data in draw(conversations(wire)):
        raw = json_bytes(data) if draw(st.booleans()) else None
        transcript.append(Message(None if raw else data, raw, origin=wire.origin(data)))
    return transcript


@st.composite
def edits(draw: st.DrawFn, transcript: Transcript) -> list[Edit]:
    """Edits that may stand in one plan, in an order of their own."""
    found: list[Edit] = []
    cleared: list[str] = []
    for block in transcript.all_blocks():
        match draw(st.sampled_from(["keep", "keep", "drop", "replace", "clear"])):
            case "clear" if block.kind is BlockKind.TOOL_RESULT:
                cleared.append(block.key)
            case "drop":
                found.append(Drop((block.key,), WHY))
            case "replace":
                message = transcript.messages[block.index]
                body = transcript.wire.stand_in(block, message, f"[{block.key}]")
                found.append(Replace(block.key, (body,), WHY, handle=f"h-{block.key}"))
    if cleared:
        found.append(Delegated("clear_tool_uses_20250919", tuple(cleared), WHY, handle="h-d"))
    first = draw(st.integers(0, len(transcript) - 1))
    last = draw(st.integers(first, len(transcript) - 1))
    span = Span(message_id(first), message_id(last))
    summary = (b'{"role":"user","content":"summary"}',)
    found += draw(st.sampled_from([[], [Drop((span,), WHY)], [Replace(span, summary, WHY)]]))
    for at in draw(st.sets(st.integers(0, len(transcript) - 1), max_size=2)):
        note = Message({"role": "user", "content": f"note {at}"}, origin=Origin.HARNESS)
        found.append(Insert(message_id(at), note, WHY))
    return draw(st.permutations(found))


@st.composite
def planned(draw: st.DrawFn) -> tuple[Transcript, Plan]:
    """A transcript and a plan for it."""
    transcript = draw(transcripts())
    return transcript, Plan(draw(edits(transcript)))
