"""Checks requests in a row: each by the provider's rules, and each against the one before it.

Invariant: requests are taken in order, one at a time; of each conversation only the last one is
kept. Requests are of one conversation when they share most of their messages, or begin with the same
words; two given alone also when they share no more than tools or system text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from tenure.core.message import JsonObject
from tenure.core.volatile_change import same_but_volatile
from tenure.cost.models import ModelProfile, profile
from tenure.errors import RequestError
from tenure.replay.inspection import counter_for
from tenure.replay.lint import legal_findings, nested_too_deep, terms_of
from tenure.replay.lint_cost import PartSizes, Rewrite, rewrite
from tenure.replay.lint_lookback import Reach
from tenure.replay.lint_rules import Finding, Severity, own_finding, severity_of
from tenure.replay.lint_whole import Whole, whole_findings
from tenure.wire.detect import AnyWire, detect, wire_for
from tenure.wire.prefix_diff import Difference, differences
from tenure.wire.prefix_parts import Part, cache_marks, is_system, message_key, parts, tool_name
from tenure.wire.values import is_array

_CANDIDATES = 50


@dataclass(frozen=True, slots=True)
class Request:
    """A request body, the file it came from, and its number there (from 0)."""

    body: JsonObject
    file: str
    number: int = 0


def lint_requests(
    requests: Sequence[Request], *, model: str = "", api_version: str = ""
) -> list[Finding]:
    """What is wrong with requests that were sent one after the other.

    `model` counts and prices all of them as that model; by default each is its own. `api_version` is
    that of `terms_of`.
    """
    linter = Linter(model=model, one=len(requests) == 2, api_version=api_version)
    for request in requests:
        linter.add(request)
    return linter.finish()


@dataclass(slots=True)
class _Talk:
    """One conversation: its last request, and what was said of it already."""

    wire: AnyWire
    request: Request
    parts: list[Part]
    sizes: PartSizes
    meanings: frozenset[str]
    requests: int = 1
    findings: dict[object, Finding] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    reach: Reach | None = None

    def say(self, key: object, finding: Finding) -> None:
        """Notes a finding; one that was seen before is the same, seen once more."""
        known = self.findings.get(key)
        if known is not None:
            finding = replace(
                known,
                times=known.times + 1,
                tokens=known.tokens + finding.tokens,
                cost=known.cost + finding.cost,
                usd=known.usd + finding.usd,
            )
        self.findings[key] = finding


class Linter:
    """Checks requests as they come; `finish` says what was found.

    `one` says that two requests are taken to be of one conversation unless all of them differs.
    """

    def __init__(self, *, model: str = "", one: bool = False, api_version: str = "") -> None:
        self._model = model
        self._version = api_version
        self._one = one
        self._talks: list[_Talk] = []
        self._strays: list[Finding] = []

    def add(self, request: Request) -> None:
        """Checks the next request, in the order of time."""
        try:
            wire = detect(request.body)
        except RequestError as error:
            self._strays.append(self._stray(request, str(error)))
            return
        if nested_too_deep(request.body):
            self._strays.append(self._stray(request, "the request is nested too deep to read"))
            return
        own = parts(request.body, wire.name)
        talk = self._find(own, message_key(wire.name))
        if talk is None:
            sizes = PartSizes(counter_for(self._name(request.body)), wire)
            talk = _Talk(wire, request, own, sizes, _meanings(own))
            self._talks.append(talk)
        else:
            self._respell(talk, wire)
            same = talk.wire is wire
            self._follow(talk, request, own if same else parts(request.body, talk.wire.name))
        self._legal(talk)
        if talk.wire is wire_for("anthropic_messages"):
            self._reach(talk)

    def finish(self) -> list[Finding]:
        """All findings, conversation by conversation."""
        found = list(self._strays)
        for talk in self._talks:
            found += talk.findings.values()
            found += self._ending(talk)
        return [*found, *self._tool_orders()]

    # -- which conversation ------------------------------------------------------------------------

    def _find(self, own: Sequence[Part], key: str) -> _Talk | None:
        """The conversation that a request goes on with; `key` is where its messages stand."""
        last = self._talks[: -_CANDIDATES - 1 : -1]
        recent = [talk for talk in last if message_key(talk.wire.name) == key]
        if self._one and recent and _same_head(recent[0].parts, own):
            return recent[0]
        meanings = _meanings(own)
        best: tuple[int, _Talk | None] = (0, None)
        for talk in recent:
            common = len(meanings & talk.meanings)
            smaller = min(len(meanings), len(talk.meanings))
            if common > best[0] and 2 * common >= smaller:
                best = common, talk
        alike = (talk for talk in recent if _same_beginning(talk.parts, own))
        return best[1] or next(alike, None)

    def _respell(self, talk: _Talk, wire: AnyWire) -> None:
        """Plain text may be of either API that has messages; what only one spells so decides late."""
        if talk.wire is not wire and wire is wire_for("anthropic_messages"):
            talk.wire, talk.parts = wire, parts(talk.request.body, wire.name)
            talk.sizes = PartSizes(counter_for(self._name(talk.request.body)), wire)

    def _follow(self, talk: _Talk, request: Request, own: list[Part]) -> None:
        bodies = talk.request.body, request.body
        found = differences(*bodies, talk.wire.name, old=talk.parts, new=own)
        if found:
            earlier = [talk.sizes.of(part) for part in talk.parts]
            later = sum(map(talk.sizes.of, own))
            first = next((one for one in found if not one.harmless), None)
            for one in found:
                # What comes behind the first difference is written again because of it.
                charged = one is first
                cost = self._rewrite(talk, one, earlier, later, request, charged=charged)
                talk.moved.add(one.rule)
                key = (one.rule, one.path if one.harmless is False else (), one.kind)
                talk.say(key, _moved(one, cost, request, len(earlier)))
        talk.request, talk.parts, talk.requests = request, own, talk.requests + 1
        talk.meanings = _meanings(own)

    def _rewrite(
        self,
        talk: _Talk,
        one: Difference,
        earlier: Sequence[int],
        later: int,
        request: Request,
        *,
        charged: bool,
    ) -> Rewrite:
        if not charged:
            return Rewrite(0)
        priced = self._profile(request.body, talk.wire)
        marks = dict(cache_marks(talk.request.body))
        long = any('"1h"' in mark or '"12h"' in mark for mark in marks.values())
        cost = rewrite(one, earlier, later, priced, long=long)
        # Without a mark nothing was cached, so nothing is lost.
        return Rewrite(cost.tokens) if priced.max_marks and not marks else cost

    # -- one request ---------------------------------------------------------------------------------

    def _legal(self, talk: _Talk) -> None:
        body, key = talk.request.body, message_key(talk.wire.name)
        given = body.get(key)
        messages = given if is_array(given) else []
        name = self._name(body)
        head = {one: value for one, value in body.items() if one != key}
        terms = terms_of(name, head, self._version)
        texts = {part.path[-1]: part.text for part in talk.parts if part.place == "messages"}
        for one in legal_findings(talk.wire, messages, terms):
            text = "" if one.message is None else texts.get(one.message, "")
            placed = replace(one, file=talk.request.file, request=talk.request.number)
            talk.say((one.rule, one.words, text), placed)

    def _reach(self, talk: _Talk) -> None:
        """Whether the marks reach back to what was cached and has not changed."""
        model = self._profile(talk.request.body, talk.wire)
        if talk.reach is None or talk.reach.profile != model:
            talk.reach = Reach(model, talk.sizes.counter)
        lost = talk.reach.missed(talk.request.body)
        if lost:
            words = (
                f"{lost:,} tokens are cached and unchanged, but lie more than {model.lookback} "
                "positions in front of the next mark"
            )
            cost = lost * max(0.0, model.write - model.read)
            found = own_finding("mark-beyond-lookback", Severity.WARNING, words)
            placed = replace(found, file=talk.request.file, request=talk.request.number)
            priced = replace(placed, tokens=lost, cost=cost, usd=cost * model.input_price)
            talk.say("mark-beyond-lookback", priced)

    # -- the whole conversation ----------------------------------------------------------------------

    def _ending(self, talk: _Talk) -> Iterator[Finding]:
        """What the last request shows, which holds the most."""
        last = talk.request
        whole = Whole(
            talk.wire,
            last.body,
            talk.parts,
            talk.sizes,
            self._profile(last.body, talk.wire),
            talk.requests,
            frozenset(talk.moved),
        )
        for one in whole_findings(whole):
            yield replace(one, file=last.file, request=last.number)

    def _tool_orders(self) -> Iterator[Finding]:
        """Tools that conversations send in different orders."""
        orders: dict[tuple[str, ...], dict[tuple[str, ...], _Talk]] = {}
        for talk in self._talks:
            names = tuple(tool_name(part.value) for part in talk.parts if part.place == "tools")
            orders.setdefault(tuple(sorted(names)), {}).setdefault(names, talk)
        for some in orders.values():
            if len(some) > 1:
                last = list(some.values())[-1].request
                words = f"{len(some)} orders of the same {len(next(iter(some)))} tools"
                one = own_finding("tool-order", Severity.WARNING, words)
                yield replace(one, file=last.file, request=last.number, path="tools")

    # -- models --------------------------------------------------------------------------------------

    def _name(self, body: JsonObject) -> str:
        named = body.get("model")
        return self._model or (named if isinstance(named, str) else "")

    def _profile(self, body: JsonObject, wire: AnyWire) -> ModelProfile:
        """The model's profile; where none is named, that of the API it would go to."""
        default = "claude" if wire is wire_for("anthropic_messages") else "gpt"
        return profile(self._name(body) or default)

    def _stray(self, request: Request, words: str) -> Finding:
        one = own_finding("not-a-message", Severity.ERROR, words)
        return replace(one, file=request.file, request=request.number)


def _moved(one: Difference, cost: Rewrite, request: Request, parts_before: int) -> Finding:
    found = own_finding(one.rule, severity_of(one), one.words)
    at = next((step for step in one.path if isinstance(step, int)), None)
    in_messages = bool(one.path) and one.path[0] in {"messages", "input"}
    return replace(
        found,
        file=request.file,
        request=request.number,
        message=at if in_messages and one.part <= parts_before else None,
        path=one.where,
        offset=one.offset,
        tokens=cost.tokens,
        cost=cost.cost,
        usd=cost.usd,
    )


def _meanings(some: Sequence[Part]) -> frozenset[str]:
    """What the messages say, system text aside, which conversations share."""
    said = (part for part in some if part.place == "messages")
    return frozenset(part.text for part in said if not is_system(part))


def _same_head(known: Sequence[Part], own: Sequence[Part]) -> bool:
    """Whether two requests share some of what stands in front of their messages, or have none."""
    heads = [
        {p.text for p in some if p.place != "messages" or is_system(p)} for some in (known, own)
    ]
    return bool(heads[0] & heads[1]) or not (heads[0] and heads[1])


def _same_beginning(known: Sequence[Part], own: Sequence[Part]) -> bool:
    """Whether two conversations begin with the same words but for what changes by itself."""
    firsts = [
        next((p.text for p in some if p.place == "messages" and not is_system(p)), "")
        for some in (known, own)
    ]
    return bool(firsts[0] and firsts[1]) and same_but_volatile(firsts[0], firsts[1])
