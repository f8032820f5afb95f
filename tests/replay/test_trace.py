"""A thread gives back each request as it was sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import Message, Origin
from tenure.replay.trace import Step, Thread


def messages(count: int, origin: Origin) -> tuple[Message, ...]:
    role = "assistant" if origin is Origin.ASSISTANT else "user"
    return tuple(Message({"role": role, "content": f"{n}"}, origin=origin) for n in range(count))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2)), max_size=6), st.integers(0, 2))
def test_a_request_is_all_that_was_said_before_and_what_has_just_arrived(
    sizes: list[tuple[int, int]], tail: int
) -> None:
    steps = tuple(
        Step(messages(arrived, Origin.USER), messages(replied, Origin.ASSISTANT))
        for arrived, replied in sizes
    )
    thread = Thread("main", "main", steps, messages(tail, Origin.USER))
    everything = tuple(thread.messages())
    assert len(everything) == sum(map(sum, sizes)) + tail
    before: tuple[Message, ...] = ()
    for number, step in enumerate(steps):
        request = thread.request(number)
        assert request == (*before, *step.arrivals)
        assert everything[: len(request)] == request
        before = (*request, *step.reply)
