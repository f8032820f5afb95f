"""Chain ids and the branch they find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.chain import ROOT, Branches, chain, chain_id
from tenure.wire.detect import WIRES

MEANINGS = st.lists(st.binary(max_size=3), max_size=6)


@given(MEANINGS, MEANINGS)
def test_two_lists_share_ids_exactly_as_long_as_they_share_messages(
    one: list[bytes], other: list[bytes]
) -> None:
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    shared = min(len(one), len(other)) if shared is None else shared
    for at, (a, b) in enumerate(zip(chain(one), chain(other), strict=False)):
        assert (a == b) is (at < shared)


@given(MEANINGS, MEANINGS)
def test_a_chain_goes_on_from_its_parent(head: list[bytes], tail: list[bytes]) -> None:
    ids = chain(head)
    assert chain(head + tail) == ids + chain(tail, ids[-1] if ids else ROOT)


def test_a_parent_and_a_meaning_are_not_confused() -> None:
    assert chain_id("ab", b"c") != chain_id("a", b"bc")


def test_the_branch_point_is_the_longest_shared_beginning() -> None:
    branches: Branches[str] = Branches()
    branches.add("main", chain([b"a", b"b", b"c"]))
    branches.add("fork", chain([b"a", b"b", b"x", b"y"]))
    found = branches.find(chain([b"a", b"b", b"x", b"z"]))
    assert found is not None
    assert (found.name, found.shared) == ("fork", 3)
    start = branches.find(chain([b"a", b"q"]))
    assert start is not None
    assert (start.name, start.shared) == ("main", 1)
    assert branches.find(chain([b"q", b"a"])) is None
    assert branches.find([]) is None


@given(st.lists(MEANINGS, max_size=5), MEANINGS)
def test_the_found_branch_is_as_long_as_any(known: list[list[bytes]], asked: list[bytes]) -> None:
    branches: Branches[int] = Branches()
    for name, meanings in enumerate(known):
        branches.add(name, chain(meanings))
    found = branches.find(chain(asked))
    best = max((_shared(meanings, asked) for meanings in known), default=0)
    assert (found.shared if found else 0) == best
    if found:
        assert _shared(known[found.name], asked) == best


def _shared(one: list[bytes], other: list[bytes]) -> int:
    return sum(1 for at in range(min(len(one), len(other))) if one[: at + 1] == other[: at + 1])


def test_a_moved_cache_mark_stays_on_the_branch_and_a_changed_word_leaves_it() -> None:
    wire = WIRES["anthropic_messages"]
    part = {"type": "text", "text": "env: linux"}
    marked = {"role": "user", "content": [{**part, "cache_control": {"type": "ephemeral"}}]}
    plain = {"role": "user", "content": "env: linux"}
    changed = {"role": "user", "content": "env: darwin"}
    assert chain([wire.meaning(marked)]) == chain([wire.meaning(plain)])
    assert chain([wire.meaning(changed)]) != chain([wire.meaning(plain)])
