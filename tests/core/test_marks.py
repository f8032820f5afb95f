"""Cache marks: the same views in the same order have the same places."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.marks import Marks
from tenure.core.message import Message, Origin
from tenure.core.plan import Plan
from tenure.core.view import Entry, View


def view(texts: list[str]) -> View:
    entries = [
        Entry(Message({"role": "user", "content": text}, origin=Origin.USER), (f"m{at}",))
        for at, text in enumerate(texts)
    ]
    return View(Plan(), entries, len(entries))


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    rewritten=st.lists(st.booleans(), min_size=6, max_size=6),
    again=st.integers(1, 3),
    other=st.booleans(),
)
def test_a_view_that_is_sent_again_has_the_places_it_had(
    lengths: list[int], rewritten: list[bool], again: int, other: bool
) -> None:
    once, often = Marks(), Marks()
    texts: list[str] = []
    for at, length in enumerate(lengths):
        texts += [f"{at}.{n}" for n in range(length)]
        if rewritten[at]:
            texts[0] += "!"
        sent = view(texts)
        places = once.places(sent)
        for _ in range(again):
            assert often.places(sent) == places
            # The same messages may also come as another object.
            sent = view(texts) if other else sent


def test_a_view_that_grew_in_place_is_another_one() -> None:
    marks, sent = Marks(), view(["a"])
    assert marks.places(sent) == (0, 1)
    sent.entries.extend(view(["b", "c"]).entries)
    assert marks.places(sent) == (0, 1, 3)
    assert marks.places(sent) == (0, 1, 3)
