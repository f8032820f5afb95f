"""The two drivers: they perform a flow's commands, one waiting in place, one awaiting.

Invariant: the flows are the only implementation; a driver adds nothing but the performing. When
an effect fails the flow is dropped where it stands; flows change state only after their effects
succeeded, so nothing is half done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tenure.core.command import Command, Flow

T = TypeVar("T")


def drive(flow: Flow[T], perform: Callable[[Command], Any]) -> T:
    """Runs a flow to its result, performing each command on the spot."""
    answer: Any = None
    while True:
        # A StopIteration of the effect itself must not pass for the flow's end.
        try:
            command = flow.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        answer = perform(command)


async def drive_async(flow: Flow[T], perform: Callable[[Command], Awaitable[Any]]) -> T:
    """Runs a flow to its result, awaiting each command."""
    answer: Any = None
    while True:
        try:
            command = flow.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        answer = await perform(command)
