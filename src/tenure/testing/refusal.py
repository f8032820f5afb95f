"""Rules of validity as a table, and the refusal that a broken rule earns.

Invariant: rules are tried in the order of their table and the first refusal is the answer, so a
rule may rely on those before it; a rule is added by adding a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from tenure.testing.prompt import PromptBlock, prompt_tokens
from tenure.testing.script import Body


@dataclass(frozen=True)
class Refusal:
    """A request turned down: HTTP status and what the provider's error body says.

    `kind` is the error's `type`, `rule` the name of the broken rule in its table ("" when the
    reason is no rule but a scripted failure), `param` and `code` are OpenAI's.
    """

    status: int
    message: str
    kind: str = "invalid_request_error"
    rule: str = ""
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None


@dataclass
class Ledger:
    """What the server handed out, for rules that look back at it.

    `reasoning_of` maps an output item's id to the reasoning item that came with it, `stored` a
    response id to the input and output items it stands for.
    """

    reasoning_of: dict[str, str] = field(default_factory=dict)
    stored: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A request as the rules see it; `window` is the model's, in tokens.

    `counting` marks a request that only counts tokens and asks for no answer.
    """

    body: Body
    headers: Mapping[str, str]
    window: int
    ledger: Ledger
    cut: Callable[[Asked], Sequence[PromptBlock]]
    counting: bool = False

    @cached_property
    def prompt(self) -> Sequence[PromptBlock]:
        """The prompt in blocks; cut on first use, when the shape is known to be sound."""
        return self.cut(self)

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        return prompt_tokens(self.prompt)


Rule: TypeAlias = Callable[[Asked], Iterator[Refusal]]
Rules: TypeAlias = Mapping[str, Rule]


def first_refusal(rules: Rules, asked: Asked, *, without: Collection[str] = ()) -> Refusal | None:
    """The first broken rule's refusal, with the rule's name; rules named in `without` sleep."""
    for name, rule in rules.items():
        if name in without:
            continue
        for refusal in rule(asked):
            return replace(refusal, rule=name)
    return None


def invalid(message: str, *, param: str | None = None, code: str | None = None) -> Refusal:
    """The refusal most rules earn: 400 invalid_request_error."""
    return Refusal(400, message, param=param, code=code)
