"""The cache rules one by one, each with the sentence it comes from."""

from __future__ import annotations

from functools import partial

import pytest

from tenure.cost.models import profile
from tenure.cost.prefix_cache import Cause, CauseKind, Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment
from tests.effort import seconds_of

OPUS = profile("claude-opus-5-5")  # minimum 512, lookback 20, 4 marks, 300 s and 3600 s
SOL = profile("gpt-6.1-sol")  # automatic from 1,024 in steps of 128, 1,800 s, writes at 1.25
OLD = profile("gpt-5.1")  # automatic, writes are free


def texts(*tokens: int, name: str = "t", kind: str = "text") -> list[Segment]:
    return [Segment((name, number), size, kind) for number, size in enumerate(tokens)]


def grown(cache: PrefixCache, node: PrefixNode, *segments: Segment) -> PrefixNode:
    return cache.extend(node, segments)


def test_the_first_request_writes_up_to_its_last_mark() -> None:
    cache = PrefixCache(OPUS)
    marked = cache.extend(cache.root, texts(1000))
    node = grown(cache, marked, Segment("tail", 30))
    outcome = cache.request(node, [Mark(marked)], at=0)
    assert (outcome.usage.cache_write, outcome.usage.fresh) == (1000, 30)
    assert outcome.cause == Cause(CauseKind.FIRST)


def test_nothing_is_cached_without_a_mark() -> None:
    """Writes happen only at breakpoints."""
    cache = PrefixCache(OPUS)
    node = cache.extend(cache.root, texts(1000))
    outcome = cache.request(node, at=0)
    assert outcome.usage.fresh == 1000
    assert outcome.cause == Cause(CauseKind.NO_MARK)
    assert cache.warm(node, 0) == 0


def test_below_the_minimum_nothing_is_cached_and_nothing_is_said() -> None:
    """Silently not cached below; both cache fields 0."""
    cache = PrefixCache(OPUS)
    for at, tokens in ((0, 511), (1, 511)):
        node = cache.extend(cache.root, texts(tokens))
        outcome = cache.request(node, [Mark(node)], at=at)
        assert outcome.usage.cache_read == outcome.usage.cache_write == 0
        assert outcome.cause == Cause(CauseKind.BELOW_MINIMUM)


def test_the_lifetime_counts_from_the_start_of_the_request_and_a_read_renews_it() -> None:
    cache = PrefixCache(OPUS)
    node = cache.extend(cache.root, texts(1000))
    cache.request(node, [Mark(node)], at=0, ready=90)
    assert cache.request(node, [Mark(node)], at=300).usage.cache_read == 1000
    assert cache.request(node, [Mark(node)], at=600).usage.cache_read == 1000
    late = cache.request(node, [Mark(node)], at=901)
    assert late.usage.cache_write == 1000
    assert late.cause == Cause(CauseKind.EXPIRED)


def test_a_long_mark_lives_an_hour_and_is_written_as_such() -> None:
    cache = PrefixCache(OPUS)
    node = cache.extend(cache.root, texts(1000))
    assert cache.request(node, [Mark(node, long=True)], at=0).usage.cache_write_1h == 1000
    assert cache.request(node, [Mark(node, long=True)], at=3600).usage.cache_read == 1000
    assert cache.request(node, [Mark(node, long=True)], at=7201).usage.cache_read == 0


def test_long_and_short_marks_split_what_is_written() -> None:
    cache = PrefixCache(OPUS)
    system = cache.extend(cache.root, texts(1000))
    node = grown(cache, system, Segment("q", 200))
    usage = cache.request(node, [Mark(system, long=True), Mark(node)], at=0).usage
    assert (usage.cache_write, usage.cache_write_1h) == (1200, 1000)
    later = cache.request(node, [Mark(system, long=True), Mark(node)], at=400).usage
    assert (later.cache_read, later.cache_write, later.cache_write_1h) == (1000, 200, 0)


def test_a_read_looks_back_twenty_positions_and_no_further() -> None:
    """The mark is position 1, so an entry 19 positions before it is found and one 20 before not."""
    for between, found in ((19, 1000), (20, 0)):
        cache = PrefixCache(OPUS)
        written = cache.extend(cache.root, texts(1000))
        cache.request(written, [Mark(written)], at=0)
        node = cache.extend(written, texts(*[10] * between, name="more"))
        outcome = cache.request(node, [Mark(node)], at=1)
        assert outcome.usage.cache_read == found
        assert outcome.cause == (None if found else Cause(CauseKind.LOOKBACK))


def test_a_run_of_tool_calls_and_a_run_of_results_are_one_position_each() -> None:
    cache = PrefixCache(OPUS)
    written = cache.extend(cache.root, texts(1000))
    cache.request(written, [Mark(written)], at=0)
    calls = texts(*[10] * 30, name="call", kind="tool_use")
    results = texts(*[10] * 30, name="result", kind="tool_result")
    node = cache.extend(written, calls + results)
    assert cache.request(node, [Mark(node)], at=1).usage.cache_read == 1000


def test_a_changed_segment_is_named_and_what_is_before_its_mark_is_read() -> None:
    cache = PrefixCache(OPUS)
    system = cache.extend(cache.root, texts(1000))
    first = grown(cache, system, Segment("a", 100), Segment("b", 100))
    cache.request(first, [Mark(system), Mark(first)], at=0)
    edited = grown(cache, system, Segment("a", 100), Segment("b, shortened", 10))
    outcome = cache.request(edited, [Mark(system), Mark(edited)], at=1)
    assert outcome.usage.cache_read == 1000
    assert outcome.cause == Cause(CauseKind.CHANGED, 2)
    assert str(outcome.cause) == "prefix changed at segment 2"


def test_parallel_first_requests_all_miss() -> None:
    """An entry is readable once the first response begins."""
    cache = PrefixCache(OPUS)
    node = cache.extend(cache.root, texts(1000))
    cache.request(node, [Mark(node)], at=0, ready=3)
    early = cache.request(node, [Mark(node)], at=1, ready=4)
    assert early.usage.cache_read == 0
    assert early.cause == Cause(CauseKind.NOT_READY)
    assert cache.request(node, [Mark(node)], at=5).usage.cache_read == 1000


def test_two_sessions_share_system_and_tools() -> None:
    cache = PrefixCache(OPUS)
    system = cache.extend(cache.root, texts(5000))
    for at, name in enumerate(("one", "two")):
        node = grown(cache, system, Segment(name, 100))
        usage = cache.request(node, [Mark(system), Mark(node)], at=at).usage
        assert usage.cache_read == (5000 if at else 0)


def test_a_prompt_that_grows_above_the_minimum_was_never_written_before() -> None:
    cache = PrefixCache(OPUS)
    small = cache.extend(cache.root, texts(400))
    cache.request(small, [Mark(small)], at=0)
    node = grown(cache, small, Segment("more", 400))
    assert cache.request(node, [Mark(node)], at=1).cause == Cause(CauseKind.NEVER_WRITTEN)


def test_marks_that_the_provider_refuses_are_refused() -> None:
    cache = PrefixCache(OPUS)
    nodes = [cache.extend(cache.root, texts(*[600] * n)) for n in range(1, 6)]
    with pytest.raises(ValueError, match="5 cache marks"):
        cache.request(nodes[-1], [Mark(node) for node in nodes], at=0)
    with pytest.raises(ValueError, match="come before"):
        cache.request(nodes[1], [Mark(nodes[0]), Mark(nodes[1], long=True)], at=0)
    with pytest.raises(ValueError, match="not on the prefix"):
        cache.request(nodes[0], [Mark(nodes[1])], at=0)
    with pytest.raises(ValueError, match="no long TTL"):
        PrefixCache(OLD).request(nodes[0], [Mark(nodes[0], long=True)], at=0)


def test_openai_caches_from_1024_tokens_in_steps_of_128() -> None:
    cache = PrefixCache(SOL)
    short = cache.extend(cache.root, texts(1023))
    assert cache.request(short, at=0).cause == Cause(CauseKind.BELOW_MINIMUM)
    node = grown(cache, short, Segment("more", 200))
    first = cache.request(node, at=1).usage
    assert (first.cache_write, first.fresh) == (1152, 71)
    again = cache.request(grown(cache, node, Segment("x", 10)), at=2).usage
    assert (again.cache_read, again.cache_write) == (1152, 0)


def test_openai_reports_no_writes_where_they_are_free() -> None:
    cache = PrefixCache(OLD)
    node = cache.extend(cache.root, texts(5000))
    assert cache.request(node, at=0).usage.fresh == 5000
    assert cache.request(node, at=1).usage.cache_read == 4992


def test_openai_has_no_lookback_limit_and_reads_what_a_fork_shares_without_a_mark() -> None:
    cache = PrefixCache(OLD)
    shared = cache.extend(cache.root, texts(2000, *[10] * 50))
    cache.request(grown(cache, shared, *texts(*[10] * 50, name="one")), at=0)
    fork = grown(cache, shared, *texts(*[10] * 50, name="two"))
    outcome = cache.request(fork, at=1)
    assert outcome.usage.cache_read == 2500 - 2500 % 128
    assert outcome.cause == Cause(CauseKind.CHANGED, 51)


def test_openai_expires_by_its_own_ttl() -> None:
    cache = PrefixCache(SOL)
    node = cache.extend(cache.root, texts(2000))
    cache.request(node, at=0)
    assert cache.request(node, at=1800).usage.cache_read == 1920
    assert cache.request(node, at=3601).cause == Cause(CauseKind.EXPIRED)
    cache.request(node, [Mark(node, long=True)], at=3602)
    assert cache.request(node, at=3602 + 43200).usage.cache_read == 1920


def test_a_slow_response_does_not_hide_what_an_automatic_cache_already_held() -> None:
    cache = PrefixCache(SOL)
    node = cache.extend(cache.root, texts(2000))
    cache.request(node, at=0, ready=10)
    assert cache.request(node, at=5).cause == Cause(CauseKind.NOT_READY)
    cache.request(node, at=1799, ready=1900)
    assert cache.request(node, at=1850).usage.cache_read == 1920


def test_a_prefix_that_was_only_looked_at_is_not_taken_for_one_that_was_sent() -> None:
    cache = PrefixCache(OPUS)
    base = cache.extend(cache.root, texts(1000))
    cache.request(base, [Mark(base)], at=0)
    long = cache.extend(base, texts(*[10] * 9, name="looked at"))
    assert long.depth == 10
    branch = grown(cache, cache.extend(base, texts(*[10] * 5, name="looked at")), Segment("b", 10))
    assert cache.request(branch, [Mark(branch)], at=1).cause is None
    other = grown(cache, cache.extend(base, texts(*[10] * 7, name="looked at")), Segment("o", 10))
    assert cache.request(other, [Mark(other)], at=2).cause == Cause(CauseKind.CHANGED, 6)


def test_a_model_without_a_cache_reads_nothing() -> None:
    cache = PrefixCache(profile("gpt-4"))
    node = cache.extend(cache.root, texts(5000))
    for at in (0, 1):
        outcome = cache.request(node, at=at)
        assert outcome.usage.fresh == 5000
        assert outcome.cause == Cause(CauseKind.NO_CACHE)


@pytest.mark.parametrize("model", [OPUS, SOL], ids=["marks", "automatic"])
def test_a_long_session_costs_no_more_per_step_than_a_short_one(model: object) -> None:
    def run(steps: int) -> None:
        cache = PrefixCache(OPUS if model is OPUS else SOL)
        node = cache.root
        for number in range(steps):
            node = cache.extend(node, [Segment(number, 100)])
            marks = [Mark(node)] if not cache.profile.automatic else []
            cache.request(node, marks, at=float(number))

    # Linear in the session's length would be 20 times as slow; 5 leaves room for a busy machine.
    short = min(seconds_of(partial(run, 500)) for _ in range(3)) / 500
    assert any(seconds_of(partial(run, 10_000)) / 10_000 < 5 * short for _ in range(3))
