"""How deep is too deep, and that a session says so before it stores anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure import Session
from tenure.core.nesting import MAX_NESTING, nests_too_deep
from tenure.errors import RequestError


def nested(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


WRAPS = [lambda v: [v], lambda v: {"a": v}, lambda v: (0, v, "x"), lambda v: {"a": 0, "b": v}]


@given(st.sampled_from(WRAPS), st.integers(0, 2 * MAX_NESTING))
def test_the_limit_counts_objects_and_arrays_within_each_other(
    wrap: Callable[[Any], Any], levels: int
) -> None:
    assert nests_too_deep(nested(levels, wrap)) == (levels > MAX_NESTING)


@pytest.mark.parametrize("levels", [900, 5_000, 100_000])
def test_no_depth_is_too_deep_to_be_told(levels: int) -> None:
    assert nests_too_deep(nested(levels, lambda v: [v]))


def test_a_value_that_holds_itself_is_too_deep_and_told_at_once() -> None:
    twice: list[Any] = []
    twice += [twice, twice]
    assert nests_too_deep(twice)


def test_what_a_value_holds_many_times_is_looked_at_once() -> None:
    assert not nests_too_deep(nested(MAX_NESTING, lambda v: [v, v, v]))


@pytest.mark.parametrize("levels", [MAX_NESTING, 300])
@pytest.mark.parametrize("origin", ["user", "tool"])
def test_a_message_nested_too_deep_is_refused_by_number_and_the_session_goes_on(
    levels: int, origin: str
) -> None:
    session = Session("claude-opus-4-5", max_tokens=500)
    session.user("hello")
    block: dict[str, Any] = {"type": "x_unknown", "value": nested(levels, lambda v: [v])}
    if origin == "tool":
        session.request()
        calls = [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]
        session.reply({"role": "assistant", "content": calls})
        block = {"type": "tool_result", "tool_use_id": "t1", "content": [block]}
    with pytest.raises(RequestError, match=r"message 1 of the 1 given .* more than 200 deep"):
        session.append({"role": "user", "content": [block]})
    if origin == "tool":
        session.results({"t1": "fine"})
    session.request()
