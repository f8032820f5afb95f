"""Laws of the simulated cache, over generated sessions, forks and marks."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.usage import Usage
from tenure.cost.models import ModelProfile, profile
from tenure.cost.prefix_cache import Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment
from tests.cost.naive_cache import NaiveCache

MARKED = profile("claude-opus-5-5").with_(cache_minimum=50, lookback=3)
AUTOMATIC = profile("gpt-6.1-sol").with_(cache_minimum=256)
FREE_WRITES = profile("gpt-5.5").with_(cache_minimum=256)

KINDS = st.sampled_from(["text", "tool_use", "tool_result"])
# Few keys, so that generated prompts share prefixes; tokens and kind follow from the key.
SEGMENTS = st.builds(
    lambda key, kind: Segment((key, kind), 1 + key * 37, kind), st.integers(0, 5), KINDS
)


@dataclass(frozen=True)
class Ask:
    """One generated request: keep this much of an earlier one, add, wait, mark."""

    parent: int
    keep: int
    added: list[Segment]
    wait: float
    marks: list[tuple[int, bool]]


ASKS = st.lists(
    st.builds(
        Ask,
        parent=st.integers(0, 30),
        keep=st.integers(0, 30),
        added=st.lists(SEGMENTS, max_size=6),
        wait=st.sampled_from([0.0, 1.0, 200.0, 299.0, 300.0, 301.0, 1799.0, 1801.0, 4000.0]),
        marks=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=4),
    ),
    min_size=1,
    max_size=12,
)


def prompts(asks: list[Ask]) -> list[tuple[tuple[Segment, ...], list[tuple[int, bool]], float]]:
    """The generated requests as whole prompts, legal marks and times."""
    made: list[tuple[tuple[Segment, ...], list[tuple[int, bool]], float]] = []
    at = 0.0
    for ask in asks:
        before = made[ask.parent % len(made)][0] if made else ()
        prefix = before[: ask.keep % (len(before) + 1)] + tuple(ask.added)
        if not prefix:
            prefix = (Segment((0, "text"), 1, "text"),)
        places = sorted({1 + place % len(prefix) for place, _ in ask.marks})
        longs = sum(long for _, long in ask.marks)
        marks = [(place, number < longs) for number, place in enumerate(places)]
        at += ask.wait
        made.append((prefix, marks, at))
    return made


def nodes(cache: PrefixCache, prefix: tuple[Segment, ...]) -> list[PrefixNode]:
    """The node after each segment."""
    node, found = cache.root, []
    for segment in prefix:
        node = cache.extend(node, [segment])
        found.append(node)
    return found


def send(
    cache: PrefixCache, prefix: tuple[Segment, ...], marks: list[tuple[int, bool]], at: float
) -> Usage:
    ends = nodes(cache, prefix)
    placed = [Mark(ends[place - 1], long) for place, long in marks]
    return cache.request(ends[-1], placed, at=at).usage


@given(ASKS)
def test_marks_read_and_write_as_a_plain_walk_over_all_prefixes_does(asks: list[Ask]) -> None:
    fast, plain = PrefixCache(MARKED), NaiveCache(MARKED)
    for prefix, marks, at in prompts(asks):
        usage = send(fast, prefix, marks, at)
        read, written, long, fresh = plain.marked(prefix, marks, at)
        assert usage == Usage(fresh, read, written, long)


@given(ASKS, st.sampled_from([AUTOMATIC, FREE_WRITES]))
def test_automatic_caching_reads_the_longest_shared_live_prefix(
    asks: list[Ask], model: ModelProfile
) -> None:
    fast, plain = PrefixCache(model), NaiveCache(model)
    for prefix, _, at in prompts(asks):
        usage = send(fast, prefix, [], at)
        read, written, long, fresh = plain.automatic(prefix, at)
        assert usage == Usage(fresh, read, written, long)


@given(ASKS, st.sampled_from([MARKED, AUTOMATIC, FREE_WRITES]))
def test_every_token_of_the_prompt_is_read_or_written_or_fresh(
    asks: list[Ask], model: ModelProfile
) -> None:
    cache = PrefixCache(model)
    for prefix, marks, at in prompts(asks):
        usage = send(cache, prefix, [] if model.automatic else marks, at)
        assert usage.prompt == sum(segment.tokens for segment in prefix)
        assert min(usage.fresh, usage.cache_read, usage.cache_write) >= 0
        assert 0 <= usage.cache_write_1h <= usage.cache_write


@given(st.lists(st.lists(SEGMENTS, min_size=1, max_size=3), min_size=1, max_size=20))
def test_an_append_only_session_within_the_ttl_reads_all_that_was_written(
    steps: list[list[Segment]],
) -> None:
    cache = PrefixCache(MARKED.with_(lookback=20))
    node, held = cache.root, 0
    for number, step in enumerate(steps):
        node = cache.extend(node, step)
        outcome = cache.request(node, [Mark(node)], at=number * 299.0)
        assert outcome.usage.cache_read == held
        held = outcome.usage.cache_read + outcome.usage.cache_write


@given(
    st.lists(SEGMENTS, min_size=1, max_size=10),
    st.lists(SEGMENTS, min_size=1, max_size=5),
    st.lists(SEGMENTS, min_size=1, max_size=5),
)
def test_a_fork_reads_the_marked_prefix_that_it_shares(
    system: list[Segment], one: list[Segment], other: list[Segment]
) -> None:
    cache = PrefixCache(MARKED)
    shared = cache.extend(cache.root, system)
    for at, rest in enumerate((one, other)):
        node = cache.extend(shared, rest)
        usage = cache.request(node, [Mark(shared), Mark(node)], at=at).usage
        written = shared.tokens if shared.tokens >= MARKED.cache_minimum else 0
        assert usage.cache_read >= (written if at else 0)


@given(ASKS)
def test_what_is_warm_is_at_least_what_a_request_reads(asks: list[Ask]) -> None:
    cache = PrefixCache(MARKED)
    for prefix, marks, at in prompts(asks):
        warm = cache.warm(nodes(cache, prefix)[-1], at)
        assert warm >= send(cache, prefix, marks, at).cache_read


@given(st.lists(SEGMENTS, max_size=12), st.integers(0, 12))
def test_a_node_depends_on_the_segments_and_not_on_how_they_were_given(
    segments: list[Segment], cut: int
) -> None:
    cache = PrefixCache(MARKED)
    whole = cache.extend(cache.root, segments)
    parts = cache.extend(cache.extend(cache.root, segments[:cut]), segments[cut:])
    assert whole == parts
    assert whole.depth == len(segments)
    assert whole.tokens == sum(segment.tokens for segment in segments)
    assert whole.extends(cache.extend(cache.root, segments[:cut]))
