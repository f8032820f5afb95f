"""Rules of validity as a table, and the refusal that a broken rule earns.

Invariant: rules are tried in the order of their table and the first refusal is the answer, so a
rule may rely on those before it; a rule is added by adding a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from tenure.cost.models import ModelProfile, profile
from tenure.testing.prompt import PromptBlock, prompt_tokens
from tenure.testing.script import Body


@dataclass(frozen=True)
class Refusal:
    """A request turned down: HTTP status and what the provider's error body says.

    `kind` is the error's `type`, `rule` the name of the broken rule in its table ("" when the
    reason is no rule but a scripted failure), `param` and `code` are OpenAI's. `details` is what
    Anthropic says for programs, `error_code` among it.
    """

    status: int
    message: str
    kind: str = "invalid_request_error"
    rule: str = ""
    param: str | None = None
    code: str | None = None
    retry_after: float | None = None
    details: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Seen:
    """What the model is shown of a request, and what the provider says it did to the rest.

    `body` is the very body that was sent when nothing was done. `dropped` are the entries of
    `input_transformations`, `applied` those of `applied_edits`, both as the provider spells them.
    """

    body: Body
    dropped: Sequence[Mapping[str, Any]] = ()
    applied: Sequence[Mapping[str, Any]] = ()


@dataclass
class Ledger:
    """What the server handed out, for rules that look back at it.

    `reasoning_of` maps an output item's id to the reasoning item that came with it, `stored` a
    response id to the input and output items it stands for, `items` a stored item's id to it.
    """

    reasoning_of: dict[str, str] = field(default_factory=dict)
    stored: dict[str, list[Any]] = field(default_factory=dict)
    items: dict[str, Any] = field(default_factory=dict)


def as_sent(asked: Asked) -> Seen:
    """A provider that changes nothing."""
    return Seen(asked.body)


@dataclass(frozen=True)
class Asked:
    """A request as the rules see it; `window` is the model's, in tokens.

    `counting` marks a request that only counts tokens and asks for no answer. `binds` says that
    the model checks what stands before a thinking block, `enforced` that this account is held to
    it without asking for it. `see` works out what the model is shown.
    """

    body: Body
    headers: Mapping[str, str]
    window: int
    ledger: Ledger
    cut: Callable[[Asked], Sequence[PromptBlock]]
    counting: bool = False
    binds: bool = False
    enforced: bool = False
    see: Callable[[Asked], Seen] = as_sent
    profile: ModelProfile = field(default_factory=lambda: profile("claude"))

    @cached_property
    def seen(self) -> Seen:
        """What the model is shown; worked out on first use, when the shape is known to be sound."""
        return self.see(self)

    @cached_property
    def prompt(self) -> Sequence[PromptBlock]:
        """The prompt in blocks, as the model reads it."""
        return self.cut(self)

    @cached_property
    def sent(self) -> Sequence[PromptBlock]:
        """The prompt in blocks as the client sent it, whatever the provider left out."""
        unchanged = self.seen.body is self.body
        return self.prompt if unchanged else self.cut(replace(self, see=as_sent))

    @cached_property
    def betas(self) -> frozenset[str]:
        """The values of the `anthropic-beta` header."""
        header = self.headers.get("anthropic-beta", "")
        return frozenset(name.strip() for name in header.split(",") if name.strip())

    @property
    def tokens(self) -> int:
        """Tokens of the prompt as the model reads it."""
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


def invalid(
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> Refusal:
    """The refusal most rules earn: 400 invalid_request_error."""
    return Refusal(400, message, param=param, code=code, details=details)


def coded(message: str, error_code: str, **more: Any) -> Refusal:
    """Anthropic's 400 with a code for programs in its `details`."""
    return invalid(message, details={"error_code": error_code, **more})
