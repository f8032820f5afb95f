"""What the HTML report shows of a comparison, as JSON values.

Invariant: every figure is a sum over the replay's rows; costs are in base input tokens, and the page
multiplies them by the session's price of one. A text stands here once, however many policies evict it.

The replay's `Cost.refetch` is a share of the other parts. Here it stands beside them, taken out of
them, so that the parts stack up to the total.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tenure.cli.replay_words import beginning_words, lifetime_words, recorded_words
from tenure.core.session import RECALL_CALL_TOKENS
from tenure.cost.models import ModelProfile
from tenure.replay.compare import BASELINE, Comparison, SessionResult
from tenure.replay.outcome import Cost, Eviction, Refetch, SimulatedSession, StepRow
from tenure.replay.recording import Settings

SENTENCES: Mapping[str, str] = {
    BASELINE: "Sends everything again at every step and evicts nothing.",
    "clear-100k-keep-3": "Above 100k tokens it clears every tool result but the newest three: "
    "the default of Anthropic's context editing.",
    "clear-every-step": "Clears every tool result but the newest three, at every step.",
    "tenure": "Evicts what no later message refers to, repeats, superseded versions and finished "
    "reasoning: when the budget forces it, when it pays, or when the cache is cold anyway.",
    "foresight": "Knows which results will be used again and evicts only others: a mark to reach, "
    "not a policy that can be run.",
}
"""Each policy in one sentence."""

PREFERRED = "tenure"
"""The policy that the page shows first, when it was replayed."""


def head(comparison: Comparison) -> dict[str, Any]:
    """What the page shows of all sessions together: figures per policy, and a line per session."""
    policies = comparison.policies
    return {
        "policies": [{"name": name, "sentence": SENTENCES.get(name, "")} for name in policies],
        "baseline": BASELINE if BASELINE in policies else None,
        "preferred": PREFERRED if PREFERRED in policies else next(reversed(policies), None),
        "total": {
            name: _figures([(one.sessions[name], one.profile) for one in comparison.results])
            for name in policies
        },
        "recorded": recorded_words(comparison),
        "lifetime": lifetime_words(comparison) if comparison.results else "",
        "beginning": beginning_words(comparison),
        "sessions": [
            {
                "name": one.name,
                "model": one.model,
                "steps": one.steps,
                "usd": {name: _usd(one.sessions[name], one.profile) for name in policies},
            }
            for one in comparison.results
        ],
    }


def rows(result: SessionResult, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    """A session under each policy, step by step, and the texts that its evictions point to."""
    texts: dict[str, int] = {}
    profile = result.profile
    policies = {name: _policy(one, result, texts) for name, one in result.sessions.items()}
    any_rows = _by_thread(next(iter(result.sessions.values())).rows) if result.sessions else []
    threads = list(dict.fromkeys(row.thread for row in any_rows))
    session = {
        "name": result.name,
        "source": result.source,
        "format": result.format,
        "model": result.model,
        "window": profile.context_window,
        "available": profile.context_window - (settings.max_tokens or profile.max_output),
        "prices": {
            "input": profile.input_price,
            "read": profile.read,
            "write": profile.write,
            "output": profile.output,
            "ttl": profile.cache_ttl,
            "known": profile.known,
        },
        "threads": threads,
        "steps": [[threads.index(row.thread), row.number] for row in any_rows],
        "pauses": list(_pauses(any_rows, result)),
        "policies": policies,
    }
    return session, list(texts)


def _by_thread(every: Sequence[StepRow]) -> list[StepRow]:
    """The rows with each thread in one stretch, in the order in which the threads began: lines of
    threads that ran side by side would cover each other."""
    begun = list(dict.fromkeys(row.thread for row in every))
    return sorted(every, key=lambda row: begun.index(row.thread))


def _usd(session: SimulatedSession, profile: ModelProfile) -> float:
    return session.cost.total * profile.input_price


def _figures(sessions: Sequence[tuple[SimulatedSession, ModelProfile]]) -> dict[str, Any]:
    return {
        "cost": sum(one.cost.total for one, _ in sessions),
        "usd": sum(_usd(one, profile) for one, profile in sessions),
        "refetches": sum(one.refetches for one, _ in sessions),
        "refetch_usd": sum(one.cost.refetch * profile.input_price for one, profile in sessions),
        "evictions": sum(one.evictions for one, _ in sessions),
        "violations": sum(one.violations.total() for one, _ in sessions),
        "over_budget": sum(one.over_budget for one, _ in sessions),
        "peak": max((one.peak_tokens for one, _ in sessions), default=0),
    }


def _policy(
    session: SimulatedSession, result: SessionResult, texts: dict[str, int]
) -> dict[str, Any]:
    every = _by_thread(session.rows)
    parts = [_stacked(row, result) for row in every]
    evictions, refetches = _evictions(every, texts)
    return {
        "figures": _figures([(session, result.profile)]),
        "resident": [row.resident for row in every],
        "parts": {
            name: [round(getattr(part, name), 3) for part in parts]
            for name in ("read", "written", "fresh", "output", "refetch")
        },
        "evictions": evictions,
        "refetches": refetches,
        "violations": [
            {"step": step, "rule": rule, "count": count}
            for step, row in enumerate(every)
            for rule, count in Counter(row.violations).items()
        ],
        "over": [step for step, row in enumerate(every) if row.over_budget],
    }


def _stacked(row: StepRow, result: SessionResult) -> Cost:
    """The parts of a step's cost beside its re-fetches; all five sum up to the step's total."""
    profile = result.threads.get(row.thread, result.profile)
    rate = profile.input_price / (result.profile.input_price or profile.input_price)
    written = rate * profile.write * sum(one.tokens for one in row.refetches)
    output = rate * profile.output * RECALL_CALL_TOKENS * len(row.refetches)
    taken = Cost(
        read=min(row.cost.read, max(0.0, row.cost.refetch - written - output)),
        written=min(row.cost.written, written),
        output=min(row.cost.output, output),
    )
    return Cost(
        row.cost.read - taken.read,
        row.cost.written - taken.written,
        row.cost.fresh,
        row.cost.output - taken.output,
        taken.total,
    )


def _pauses(every: Sequence[StepRow], result: SessionResult) -> Iterator[dict[str, Any]]:
    """The steps before which a thread paused for longer than its cached prefix lives."""
    last: dict[str, float] = {}
    for step, row in enumerate(every):
        seconds = row.at - last.get(row.thread, row.at)
        if seconds > result.threads.get(row.thread, result.profile).cache_ttl:
            yield {"step": step, "seconds": round(seconds)}
        last[row.thread] = row.at


def _evictions(
    every: Sequence[StepRow], texts: dict[str, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Evictions and re-fetches, each naming the other by its number."""
    evictions: list[dict[str, Any]] = []
    refetches: list[dict[str, Any]] = []
    by_handle: dict[tuple[str, str], int] = {}
    for step, row in enumerate(every):
        for one in row.evictions:
            if one.handle:
                by_handle[row.thread, one.handle] = len(evictions)
            evictions.append(_eviction(step, one, texts))
        for fetch in row.refetches:
            found = by_handle.get((row.thread, fetch.handle))
            if found is not None:
                evictions[found]["again"].append(len(refetches))
            refetches.append(_refetch(step, fetch, found))
    return evictions, refetches


def _eviction(step: int, one: Eviction, texts: dict[str, int]) -> dict[str, Any]:
    return {
        "step": step,
        "edit": one.edit,
        "what": _what(one),
        "tool": one.tool,
        "about": one.about,
        "handle": one.handle,
        "policy": one.policy,
        "words": one.words,
        "when": one.when,
        "before": one.tokens_before,
        "after": one.tokens_after,
        "price": round(one.price, 3),
        "saves": round(one.saves, 3),
        "original": texts.setdefault(one.original, len(texts)),
        "standIn": texts.setdefault(one.stand_in, len(texts)) if one.stand_in else None,
        "again": [],
    }


def _refetch(step: int, fetch: Refetch, eviction: int | None) -> dict[str, Any]:
    return {
        "step": step,
        "tool": fetch.tool,
        "tokens": fetch.tokens,
        "missing": list(fetch.missing),
        "repeat": fetch.repeat,
        "cost": round(fetch.cost, 3),
        "eviction": eviction,
    }


def _what(one: Eviction) -> str:
    """What was evicted, in the words of people."""
    if not one.targets:
        return "inserted text"
    if len(one.targets) > 1:
        return f"{len(one.targets)} blocks"
    kind, found, _ = one.targets[0].partition(":")
    if not found:
        return "span of messages"
    return _KINDS.get(kind, kind.replace("_", " "))


_KINDS = {
    "result": "result",
    "tool_result": "result",
    "call": "call",
    "tool_call": "call",
    "thinking": "reasoning",
    "text": "text",
    "media": "picture or document",
}
