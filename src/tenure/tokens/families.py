"""Which tokenizer a model uses, and how many tokens a text is for it.

Invariant: `Family.count` never raises on a str, `upper` is never below `estimate`, and
`byte_bound` is never exceeded by the true count.

OpenAI's families are counted exactly. Claude's vocabularies are not public: a Claude count is the
sum, over the text's o200k tokens, of what each is worth in Claude tokens (`claude_weights.py`),
fitted on texts of many kinds against the reference tokenizer `ctok`. The meter corrects what is
left of the error with each usage that the provider reports.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from tenure.core.protocols import Count
from tenure.tokens.claude_weights import claude_weights
from tenure.tokens.encoders import encoder


@dataclass(frozen=True)
class Family:
    """One tokenizer generation. `exact` says that estimate and upper are the true count.

    `tokens_a_byte` and `tokens_an_ascii_byte` are worst cases, `spare` a constant on top of them;
    `frame` is what one message costs beside its text.
    """

    name: str
    exact: bool
    counter: Callable[[str], Count]
    tokens_a_byte: float = 1.0
    tokens_an_ascii_byte: float = 1.0
    spare: int = 0
    frame: int = 4

    def count(self, text: str) -> Count:
        """Tokens of `text` alone, without the frame of the message around it."""
        return self.counter(text)


def family_of(model: str) -> Family:
    """The family of a model name, as any provider or gateway spells it.

    An unknown name gets the family "unknown": counted as today's Claude models, whose tokenizer
    is the most finely cut one we know, so that nothing is under-counted.

    >>> family_of("anthropic/claude-sonnet-4.5").name, family_of("gpt-4o-mini").name
    ('claude-3', 'o200k')
    """
    name = model.lower()
    if "claude" in name or _CLAUDE_ALIAS.fullmatch(name):
        return _claude_family(name)
    for pattern, family in _OPENAI:
        if pattern.search(name):
            return family
    return UNKNOWN


def byte_bound(n_bytes: int, family: Family, *, ascii: bool = False) -> int:
    """The most tokens that any text of `n_bytes` UTF-8 bytes can be; `ascii` texts have less.

    Byte-level BPE has no token shorter than a byte. Claude's tokenizer first rewrites the text:
    it decomposes (U+1D160 is 4 bytes and becomes 12) and marks capitals and word boundaries
    ("ZZ" beside a digit is 4 tokens), hence factors above 1.
    """
    factor = family.tokens_an_ascii_byte if ascii else family.tokens_a_byte
    return ceil(n_bytes * factor) + family.spare


def _exact(vocabulary: str) -> Callable[[str], Count]:
    def count(text: str) -> Count:
        tokens = encoder(vocabulary).count(text)
        return Count(tokens, tokens)

    return count


def _weighed(name: str) -> Callable[[str], Count]:
    def count(text: str) -> Count:
        estimate, upper = claude_weights(name).count(text)
        return Count(estimate, upper)

    return count


def _claude(name: str, weights: str, *, frame: int) -> Family:
    # Worst cases of ctok's rules: U+1D160 alone for any text, "ZZ1" and the like for ASCII; the
    # spare token is the word boundary that the frame hands to a text without words.
    return Family(
        name=name,
        exact=False,
        counter=_weighed(weights),
        tokens_a_byte=3.0,
        tokens_an_ascii_byte=5 / 3,
        spare=1,
        frame=frame,
    )


O200K = Family("o200k", exact=True, counter=_exact("o200k_base"))
CL100K = Family("cl100k", exact=True, counter=_exact("cl100k_base"))
CLAUDE_3 = _claude("claude-3", "claude-3", frame=7)
CLAUDE_4_7 = _claude("claude-4.7", "claude-4.7", frame=11)
# The same vocabulary as 4.7 in a shorter frame.
CLAUDE_4_8 = _claude("claude-4.8", "claude-4.7", frame=6)
UNKNOWN = _claude("unknown", "claude-4.7", frame=6)

# Claude Code's and gateways' short names stand for the newest model of the line.
_CLAUDE_ALIAS = re.compile(r"(opus|sonnet|haiku|fable|mythos)(\[1m\])?|opusplan")
_CLAUDE_VERSION = re.compile(
    # claude-3-5-sonnet, claude-2.1 | claude-opus-4-7, claude-sonnet-5; a date is no version
    r"claude-?(?:v?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?"
    r"|[a-z]+-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)"
)
# The first match decides. After gpt-4o all of OpenAI's models use o200k; for gpt-6 and later that
# is assumed, nothing else having been published.
_OPENAI = (
    (re.compile(r"gpt-4o|gpt-4\.[1-9]|chatgpt|gpt-oss|gpt-([5-9]|[12]\d)(?!\d)"), O200K),
    (re.compile(r"(^|[/:.])(o[1-9](?!\w)|codex-|computer-use-)"), O200K),
    (re.compile(r"gpt-4|gpt-3\.?5|text-embedding-"), CL100K),
)


def _claude_family(name: str) -> Family:
    if "instant" in name:
        return CLAUDE_3
    found = _CLAUDE_VERSION.search(name)
    if found is None:
        return CLAUDE_4_8
    major, minor = (int(part or 0) for part in found.groups()[:2])
    if found.group(3) is not None:
        major, minor = int(found.group(3)), int(found.group(4) or 0)
    if (major, minor) < (4, 7):
        return CLAUDE_3
    return CLAUDE_4_7 if (major, minor) == (4, 7) else CLAUDE_4_8
