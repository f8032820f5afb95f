"""Cache truth: what the cache was expected to do at each request, what it did, and why it missed.

Invariant: `predict` reads no usage but the first request's (the hidden overhead and the TTL in use);
`diagnose` compares its predictions with what was reported and reads the rest.

A *miss* is a request that read less than the request before it had in the cache (its reads plus its
writes). It is an *expiry* when more than the TTL had passed between the starts of the two, else a
*drop*: something changed the prefix. Expiries follow from the clock. Drops can be foreseen only when
the transcript shows what broke the prefix; the reader of the transcript says so in `broken`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from tenure.core.usage import Usage
from tenure.cost.models import profile
from tenure.cost.prefix_cache import CacheOutcome, Mark, PrefixCache
from tenure.cost.prefix_tree import PrefixNode, Segment

UNEXPLAINED = "unexplained"
NO_ANSWER = frozenset({"", "unavailable", "previous_message_not_found"})
"""What a provider's diagnosis says when it knows nothing (Anthropic, cache diagnostics)."""

SHRUNK = 1000
"""A prompt that shrank by more tokens than this without a recorded reason was edited by the client.
Smaller differences happen: reminders and the previous turn's thinking leave the prompt unrecorded."""


class Outcome(StrEnum):
    """What the cache did, or was expected to do."""

    HIT = "hit"
    EXPIRY = "expiry"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class ObservedRequest:
    """One request of a session as its transcript shows it, in the order of time.

    `added` is what its prompt has beyond that of request number `parent` (by default the one before;
    -1: beyond system and tools). `start` is when it was sent, in seconds. `broken` says in words
    what the transcript shows to have changed the earlier messages ("compacted"), "" if nothing;
    `added` is then the whole new conversation. `reason` is the provider's own diagnosis, if it gave
    one.
    """

    start: float
    model: str
    added: Sequence[Segment]
    reported: Usage
    parent: int | None = None
    broken: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was expected of one request: the outcome, the tokens read, and the cause of a miss."""

    outcome: Outcome
    read: int
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Prediction and truth of one request; `lost` is the tokens that had been cached and were not
    read, `cause` the best explanation of the miss that happened ("" when none happened).
    """

    index: int
    gap: float
    predicted: Prediction
    observed: Outcome
    read: int
    lost: int
    cause: str


def predict(requests: Sequence[ObservedRequest]) -> list[Prediction]:
    """The expected outcome of every request after the first.

    The agent is taken to mark the end of system and tools, the end of the prompt it continues and
    the end of the new one, as Claude Code does. Time is proportional to the segments given.
    """
    if not requests:
        return []
    simulator = _Simulator(requests[0])
    held = _held(simulator.send(requests[0]).usage)
    found = []
    for before, request in pairwise(requests):
        outcome = simulator.send(request)
        lost = max(0, held - outcome.usage.cache_read)
        found.append(_prediction(before, request, outcome, lost=lost, ttl=simulator.ttl))
        held = _held(outcome.usage)
    return found


def diagnose(requests: Sequence[ObservedRequest]) -> list[Diagnosis]:
    """Prediction, truth and cause for every request after the first, in order."""
    found = []
    ttl = profile(requests[0].model).ttl_short if requests else 0
    steps = zip(pairwise(requests), predict(requests), strict=True)
    for index, ((before, request), prediction) in enumerate(steps, 1):
        ttl = _reported_ttl(before, ttl)
        gap = request.start - before.start
        lost = max(0, _held(before.reported) - request.reported.cache_read)
        observed = _outcome(lost, gap, ttl)
        cause = _cause(before, request, prediction, observed) if lost else ""
        read = request.reported.cache_read
        found.append(Diagnosis(index, gap, prediction, observed, read, lost, cause))
    return found


@dataclass(frozen=True, slots=True)
class Score:
    """How well one kind of miss was predicted. Precision and recall are None without a denominator."""

    kind: Outcome
    hits: int
    false_alarms: int
    overlooked: int

    @property
    def precision(self) -> float | None:
        said = self.hits + self.false_alarms
        return self.hits / said if said else None

    @property
    def recall(self) -> float | None:
        happened = self.hits + self.overlooked
        return self.hits / happened if happened else None


def score(diagnoses: Sequence[Diagnosis], kind: Outcome) -> Score:
    """Precision and recall of the predictions of one kind of miss."""
    pairs = [(one.predicted.outcome is kind, one.observed is kind) for one in diagnoses]
    return Score(
        kind,
        hits=pairs.count((True, True)),
        false_alarms=pairs.count((True, False)),
        overlooked=pairs.count((False, True)),
    )


def hidden_overhead(first: ObservedRequest) -> int:
    """Tokens of system prompt and tool definitions, which agent transcripts leave out.

    What the first request reported as its prompt, less what the transcript shows of it.
    """
    return max(0, first.reported.prompt - sum(segment.tokens for segment in first.added))


def uses_long_ttl(first: ObservedRequest) -> bool:
    """Whether the agent asks for the long TTL: its first request wrote with it."""
    return first.reported.cache_write_1h > 0


class _Simulator:
    """The caches of all models that a session uses, and where each request lies in their trees."""

    def __init__(self, first: ObservedRequest) -> None:
        model = profile(first.model)
        self._long = uses_long_ttl(first) and bool(model.ttl_long)
        self.ttl = model.ttl_long if self._long else model.ttl_short
        self._overhead = Segment("system and tools", hidden_overhead(first))
        self._caches: dict[str, PrefixCache] = {}
        self._paths: list[_Path] = []

    def send(self, request: ObservedRequest) -> CacheOutcome:
        model = profile(request.model)
        cache = self._caches.setdefault(model.name, PrefixCache(model))
        path = self._path(request)
        overhead = cache.extend(cache.root, [self._overhead])
        continued = overhead if path.parent is None else path.parent.node(cache, overhead)
        node = path.node(cache, overhead)
        long = self._long and bool(model.ttl_long)
        ends = (overhead, continued, node) if model.max_marks else (node,)
        return cache.request(node, [Mark(end, long) for end in ends], at=request.start)

    def _path(self, request: ObservedRequest) -> _Path:
        number = len(self._paths)
        parent = number - 1 if request.parent is None else request.parent
        added = tuple(request.added)
        if request.broken:
            # Whatever broke the prefix, these are other bytes than those sent before.
            added = tuple(one._replace(key=("broken", number, one.key)) for one in added)
        alone = bool(request.broken) or parent < 0
        self._paths.append(_Path(None if alone else self._paths[parent], added))
        return self._paths[-1]


@dataclass(slots=True)
class _Path:
    """A request's prompt as its parent's plus what was added; its node in each model's tree."""

    parent: _Path | None
    added: tuple[Segment, ...]
    nodes: dict[str, PrefixNode] = field(default_factory=dict)

    def node(self, cache: PrefixCache, overhead: PrefixNode) -> PrefixNode:
        """Found once per model; walking up is a loop, since sessions are long."""
        model = cache.profile.name
        missing: list[_Path] = []
        path: _Path | None = self
        while path is not None and model not in path.nodes:
            missing.append(path)
            path = path.parent
        node = overhead if path is None else path.nodes[model]
        for step in reversed(missing):
            node = step.nodes[model] = cache.extend(node, step.added)
        return node


def _prediction(
    before: ObservedRequest,
    request: ObservedRequest,
    outcome: CacheOutcome,
    *,
    lost: int,
    ttl: float,
) -> Prediction:
    gap = request.start - before.start
    expected = _outcome(lost, gap, ttl)
    read = outcome.usage.cache_read
    match expected:
        case Outcome.HIT:
            return Prediction(expected, read)
        case Outcome.EXPIRY:
            return Prediction(expected, read, f"{gap:.0f} s passed, the TTL is {ttl:.0f} s")
    if request.broken:
        return Prediction(expected, read, request.broken)
    if profile(request.model).name != profile(before.model).name:
        return Prediction(expected, read, f"model changed to {request.model}")
    return Prediction(expected, read, str(outcome.cause or "continued from an earlier point"))


def _outcome(lost: int, gap: float, ttl: float) -> Outcome:
    if not lost:
        return Outcome.HIT
    return Outcome.EXPIRY if gap > ttl else Outcome.DROP


def _held(usage: Usage) -> int:
    """Tokens of the prompt that are in the cache once it was sent."""
    return usage.cache_read + usage.cache_write


def _reported_ttl(request: ObservedRequest, earlier: float) -> float:
    """The TTL of what a request wrote, by its own report; that of earlier ones if it wrote nothing."""
    model = profile(request.model)
    if not request.reported.cache_write:
        return earlier
    return model.ttl_long if request.reported.cache_write_1h and model.ttl_long else model.ttl_short


def _cause(
    before: ObservedRequest, request: ObservedRequest, predicted: Prediction, observed: Outcome
) -> str:
    """The best-founded explanation of a miss that happened."""
    if request.reason not in NO_ANSWER:
        return f"provider: {request.reason}"
    if predicted.outcome is observed:
        return predicted.cause
    if request.broken:
        return request.broken
    shrank = before.reported.prompt - request.reported.prompt
    if shrank > SHRUNK:
        return f"the client edited earlier messages: the prompt shrank by {shrank} tokens"
    return predicted.cause or UNEXPLAINED
