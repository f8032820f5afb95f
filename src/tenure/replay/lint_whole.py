"""Checks of one request as a whole: what it carries for nothing, and what is not cached of it.

Invariant: pure; sizes are estimates, and a bound where a finding says that something is too small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tenure.core.message import JsonObject, Message, Path
from tenure.core.transcript import Transcript
from tenure.core.volatile import find_volatile
from tenure.cost.models import ModelProfile
from tenure.replay.dependencies import Dependencies
from tenure.replay.lint import unused_results
from tenure.replay.lint_cost import PartSizes
from tenure.replay.lint_rules import Finding, Severity, own_finding
from tenure.replay.sizes import Sizes
from tenure.wire.detect import AnyWire
from tenure.wire.prefix_parts import (
    Part,
    cache_marks,
    is_system,
    message_key,
    path_text,
    tool_name,
)
from tenure.wire.values import is_array, is_object

LARGE_SHARE = 0.1
"""Share of the context window from which the tools of a request are worth a word."""

LARGE_TOOLS, LARGE_TOOL = 20_000, 4_000
"""Tokens from which all tools together, or one of them, are worth a word."""

_SHOWN = 3
_NAMES = frozenset({"type", "role", "name"})


@dataclass(frozen=True, slots=True)
class Whole:
    """The last request of a conversation of `requests` requests; `moved` are the rules by which its
    prefix was seen to change."""

    wire: AnyWire
    body: JsonObject
    parts: Sequence[Part]
    sizes: PartSizes
    model: ModelProfile
    requests: int = 1
    moved: frozenset[str] = frozenset()


def whole_findings(whole: Whole) -> Iterator[Finding]:
    """Tools too large, volatile text in front, missing or useless marks, results never used."""
    yield from chain(_tools(whole), _volatile(whole), _marks(whole), _unused(whole))


def _tools(whole: Whole) -> Iterator[Finding]:
    sized = [
        (whole.sizes.of(part), tool_name(part.value), part)
        for part in whole.parts
        if part.place == "tools"
    ]
    tokens, window = sum(size for size, _, _ in sized), whole.model.context_window
    large = sorted((one[:2] for one in sized), reverse=True)[:_SHOWN]
    named = ", ".join(f"{name} {size:,}" for size, name in large)
    if tokens >= min(LARGE_TOOLS, LARGE_SHARE * window):
        words = (
            f"{len(sized)} tools take {tokens:,} tokens, {tokens / window:.1%} of the window of "
            f"{window:,}; the largest: {named}"
        )
        yield replace(own_finding("oversized-tools", Severity.WARNING, words), tokens=tokens)
        return
    for size, name, part in sized:
        if size >= LARGE_TOOL:
            words = f"the tool {name!r} takes {size:,} tokens"
            one = own_finding("oversized-tools", Severity.INFO, words)
            yield replace(one, tokens=size, path=path_text(part.path))


def _volatile(whole: Whole) -> Iterator[Finding]:
    """Text in front of the messages that will change, where it has not been seen to change."""
    for part in whole.parts:
        if part.place == "messages" and not is_system(part):
            return
        for path, text in _texts(part.value, part.path):
            for found in find_volatile(text):
                name = f"volatile-{found.kind.lower().replace(' ', '-')}"
                if name in whole.moved:
                    continue
                words = f"{path_text(path)}: {found.words}"
                yield replace(own_finding(name, Severity.INFO, words), path=path_text(path))


def _marks(whole: Whole) -> Iterator[Finding]:
    """Marks that are missing or too early, where the provider caches by marks alone."""
    model, body = whole.model, whole.body
    if not model.max_marks or "model" not in body or whole.wire.name != "anthropic_messages":
        return
    tokens = sum(map(whole.sizes.of, whole.parts))
    marks = [path for path, _ in cache_marks(body)]
    if not marks:
        if tokens >= model.cache_minimum:
            words = (
                f"no cache mark in {whole.requests} request{'s' * (whole.requests > 1)} of "
                f"{tokens:,} tokens: every request pays the full price of its whole prompt"
            )
            yield replace(own_finding("no-cache-mark", Severity.WARNING, words), tokens=tokens)
        return
    longest = max(_upper(whole, path) for path in marks)
    if longest < model.cache_minimum:
        words = (
            f"the last mark stands behind at most {longest:,} tokens, and {model.name} caches "
            f"nothing below {model.cache_minimum:,}"
        )
        yield own_finding("mark-below-minimum", Severity.WARNING, words)


def _upper(whole: Whole, mark: tuple[str | int, ...]) -> int:
    """The most tokens that can stand in front of a mark."""
    total = 0
    inside = any(mark[: len(part.path)] == part.path for part in whole.parts)
    for part in whole.parts:
        total += whole.sizes.upper(part)
        if inside and mark[: len(part.path)] == part.path:
            break
    return total


def _unused(whole: Whole) -> Iterator[Finding]:
    messages = [part.value for part in whole.parts if part.place == "messages"]
    if not all(map(is_object, messages)):
        return
    transcript = Transcript(whole.wire)
    for message in messages:
        transcript.append(Message(message, origin=whole.wire.origin(message)))
    system = "\n".join(
        part.text for part in whole.parts if part.place in {"system", "instructions"}
    )
    sizes = Sizes(whole.sizes.counter, whole.wire)
    found = unused_results(transcript, Dependencies.of(transcript, system), sizes)
    if found is not None:
        yield replace(found, path=f"{message_key(whole.wire.name)}[{found.message}]")


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts of a part, each with its path; names and types are none."""
    waiting = [(path, value)]
    while waiting:
        at, one = waiting.pop(0)
        if isinstance(one, str):
            yield at, one
        elif is_object(one):
            waiting += [((*at, key), inner) for key, inner in one.items() if key not in _NAMES]
        elif is_array(one):
            waiting += [((*at, number), inner) for number, inner in enumerate(one)]
