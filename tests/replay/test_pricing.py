"""Pricing a growing view walks only what changed and gives what walking all of it gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.edit import Reason, Replace
from tenure.core.marks import Marks
from tenure.core.message import Message, Origin
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import apply
from tenure.cost.models import profile
from tenure.cost.prefix_cache import PrefixCache
from tenure.replay.pricing import PricedView
from tenure.replay.sizes import Sizes
from tenure.wire.detect import wire_for
from tests.replay.recorded import MODEL, Quarter

WIRE = wire_for("anthropic_messages")


def grown(transcript: Transcript, size: int) -> None:
    """One more user message of about `size` tokens."""
    text = f"{len(transcript)} " + "word" * size
    data = {"role": "user", "content": [{"type": "text", "text": text}]}
    transcript.append(Message(data, origin=Origin.USER))


def evicted(transcript: Transcript, plan: Plan, index: int) -> Plan:
    block = transcript.blocks[index][0]
    if block.key in plan.by_key:
        return plan
    body = WIRE.stand_in(block, transcript.messages[index], "gone")
    return plan.add(Replace(block.key, (body,), Reason("test", "told to")))


def priced(hidden: int = 0) -> PricedView:
    return PricedView(PrefixCache(profile(MODEL)), Sizes(Quarter(), WIRE, 1.0, hidden), "main")


STEPS = st.lists(
    st.tuples(st.integers(0, 3_000), st.none() | st.integers(0, 30)), min_size=1, max_size=12
)


@given(STEPS, st.sampled_from([0, 5_000]))
def test_the_parts_sum_to_the_view_and_a_walk_from_the_start_agrees(
    steps: list[tuple[int, int | None]], hidden: int
) -> None:
    transcript, plan, view = Transcript(WIRE), Plan(), None
    running, sizes, marks = priced(hidden), Sizes(Quarter(), WIRE), Marks()
    for at, (size, evict) in enumerate(steps):
        grown(transcript, size)
        if evict is not None:
            plan = evicted(transcript, plan, evict % len(transcript))
            view = apply(transcript, plan, view)
        else:
            view = view.extend(transcript) if view else apply(transcript, plan)
        usage = running.send(view, marks.places(view), at)
        assert usage.prompt == hidden + sum(sizes.message(e.message) for e in view.entries)
        # A node is one exact sequence of segments, so the walk from the start ends at the same one.
        node = running.cache.extend(running._start(), [])
        for entry in view.entries:
            node = running.cache.extend(node, running.sizes.segments(entry.message))
        assert node == running._nodes[-1]


def test_an_edit_loses_what_follows_it_and_keeps_what_stands_in_front() -> None:
    transcript, running, marks = Transcript(WIRE), priced(hidden=5_000), Marks()
    view = apply(transcript, Plan())
    for at in range(60):  # more than the lookback of 20 positions
        grown(transcript, 1_000)
        view.extend(transcript)
        running.send(view, marks.places(view), at)
    plan = evicted(transcript, Plan(), 10)
    edited = apply(transcript, plan, view)
    usage = running.send(edited, marks.places(edited), 60)
    assert usage.cache_read == 5_000 + sum(
        running.sizes.message(message) for message in transcript.messages[:10]
    )


def test_reading_a_long_prefix_keeps_its_shorter_ones_alive() -> None:
    transcript, running, marks = Transcript(WIRE), priced(hidden=5_000), Marks()
    view = apply(transcript, Plan())
    for n in range(10):
        grown(transcript, 1_000)
        view.extend(transcript)
        running.send(view, marks.places(view), 200.0 * n)
    plan = evicted(transcript, Plan(), 5)
    edited = apply(transcript, plan, view)
    usage = running.send(edited, marks.places(edited), 2_000.0)
    assert usage.cache_read > 5_000 + 4_000
