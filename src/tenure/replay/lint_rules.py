"""What `tenure lint` can say: a finding, and the rules that are not the provider's own.

Invariant: every finding names a rule; a rule of a wire format is described by that format
(`Wire.rules`), every other one here, with its source and what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tenure.core.legal import Rule
from tenure.wire.prefix_diff import Cause, Difference

CACHING = "providers' documentation of prompt caching"


class Severity(StrEnum):
    """An error is refused by the provider; a warning costs money; an info may be meant so."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found.

    `request` is the number of the request in its file, from 0 (None for a transcript), `thread`
    that of a transcript, `message` the number of the message (None for what stands in front of
    them), `path` leads there. `offset` is that of the first differing byte in the canonical prompt.
    `tokens` have to be written again, or are carried for nothing; `cost` is what that costs in base
    input tokens, `usd` the same in US dollars. `times` is in how many requests it was seen.
    """

    severity: Severity
    rule: str
    words: str
    source: str
    mend: str = ""
    file: str = ""
    request: int | None = None
    thread: str = ""
    message: int | None = None
    path: str = ""
    offset: int | None = None
    tokens: int = 0
    cost: float = 0.0
    usd: float = 0.0
    times: int = 1


_FREEZE = "freeze it for the session, or move it behind the conversation as a late message"
_APPEND = "append what is new as a later message, and leave what was sent as it was"

_OWN = (
    Rule(
        Cause.MODEL.value,
        "caches are not shared between models",
        CACHING,
        "keep one model for one conversation; ask other models in conversations of their own",
    ),
    Rule(
        Cause.FORMAT.value,
        "the schema of the answer stands in front of the system text",
        "OpenAI docs, prompt caching",
        "keep one schema for one conversation",
    ),
    Rule(
        Cause.TOOL_ADDED.value,
        "tools stand in front of everything",
        CACHING,
        "declare all tools from the start, or add late ones deferred (defer_loading)",
    ),
    Rule(
        Cause.TOOL_REMOVED.value,
        "tools stand in front of everything",
        CACHING,
        "keep the tool listed and let its calls answer that it is not available",
    ),
    Rule(
        Cause.TOOLS_REORDERED.value,
        "tools are cached in the order in which they come",
        "MCP 2026-07-28, server/tools: a deterministic order; " + CACHING,
        "sort the tools by name before sending",
    ),
    Rule(Cause.TOOL_EDITED.value, "a tool's definition changed", CACHING, _FREEZE),
    Rule(
        Cause.TOOL_KEYS.value,
        "the keys of a schema came in another order",
        CACHING,
        "write schemas with their keys in a fixed order",
    ),
    Rule(Cause.SYSTEM.value, "the system text changed", CACHING, _FREEZE),
    Rule(
        Cause.RANKED.value,
        "the same lines came in another order",
        CACHING,
        "keep the order of the first request, and rank only what is appended",
    ),
    Rule(
        Cause.SETTING.value,
        "thinking, effort, tool choice and speed invalidate cached messages",
        "Anthropic docs, prompt caching: what invalidates the cache",
        "keep the setting for the whole conversation",
    ),
    Rule(Cause.EDITED.value, "an earlier message changed", CACHING, _APPEND),
    Rule(
        Cause.REMOVED.value,
        "earlier messages are gone",
        CACHING,
        "remove in rare batches, when the saving pays for the rewrite",
    ),
    Rule(Cause.INSERTED.value, "messages were put in front of older ones", CACHING, _APPEND),
    Rule(Cause.REORDERED.value, "earlier messages changed places", CACHING, _APPEND),
    Rule(
        Cause.TRUNCATED.value,
        "the beginning of the history was cut off",
        CACHING,
        "cut in rare batches: every cut writes the whole rest again",
    ),
    Rule(
        Cause.REPLACED.value,
        "earlier messages were replaced by fewer, as a compaction does",
        CACHING,
        "compact rarely, and keep the summary as it was once written",
    ),
    Rule(Cause.REWOUND.value, "the history is shorter than before", CACHING),
    Rule(
        Cause.SHAPE.value,
        "the same text was sent in another shape",
        "API references: string content stands for one text block; " + CACHING,
        "store messages exactly as they were sent",
    ),
    Rule(Cause.MARKS.value, "cache marks moved, which changes no prompt", CACHING),
    Rule(
        "volatile-text",
        "the stable part holds text that will be another at a later request",
        CACHING,
        _FREEZE,
    ),
    Rule(
        "tool-order",
        "several conversations send the same tools in different orders",
        "MCP 2026-07-28, server/tools: a deterministic order; " + CACHING,
        "sort the tools by name before sending",
    ),
    Rule(
        "oversized-tools",
        "the definitions of the tools take much of every request",
        "counted",
        "shorten descriptions and schemas, or defer rare tools (defer_loading)",
    ),
    Rule(
        "unused-result",
        "no later reply points at what only this result said",
        "replay.dependencies: what a use is",
        "shape results before they enter the history, or let a policy evict them",
    ),
    Rule(
        "no-cache-mark",
        "nothing is cached without a mark",
        "Anthropic docs, prompt caching: writes happen only at breakpoints",
        "set cache_control at the top level, or on the system text and the last message",
    ),
    Rule(
        "mark-below-minimum",
        "below the model's minimum nothing is cached, and nothing says so",
        "Anthropic docs, prompt caching: minimum cacheable length",
        "put the mark further back, or leave it out",
    ),
    Rule(
        "mark-beyond-lookback",
        "a mark reads back over 20 positions and no further",
        "Anthropic docs, prompt caching: lookback",
        "keep a mark where the last request had one, or set one every 15 blocks or so",
    ),
    Rule(
        "cache-miss",
        "the provider read less than the request before had in the cache",
        "usage that the provider reported",
    ),
    Rule(
        "damaged-record",
        "a part of the file could not be read as it should",
        "the file",
    ),
    Rule(
        "not-a-message",
        "a message is no JSON object, or is nested too deep to read",
        "API references: messages are objects",
        "remove it: no provider takes it",
    ),
)
RULES: Mapping[str, Rule] = {rule.name: rule for rule in _OWN}
"""The rules that are not those of a wire format, by name; `volatile-clock` and its kind are
described by `volatile-text`."""


def rule_named(name: str) -> Rule:
    """The description of one of these rules."""
    return RULES.get(name) or RULES["volatile-text"]


def severity_of(difference: Difference) -> Severity:
    """A changed prefix costs money; a harmless difference may be meant so."""
    return Severity.INFO if difference.harmless else Severity.WARNING


def own_finding(name: str, severity: Severity, words: str) -> Finding:
    """A finding by one of these rules."""
    rule = rule_named(name)
    return Finding(severity, name, words, rule.source, rule.mend)
