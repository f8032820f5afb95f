"""A second opinion on what leaves: the rules of the scripted server, asked without any socket.

Invariant: the server's rules share no code with those of the wires. What nobody can see in a request
is left out: whether a seal was made by this provider, and what a reference stands for.
"""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from tenure.core.legal import Mended, Terms
from tenure.cost.models import profile
from tenure.cost.terms import terms_of
from tenure.testing import anthropic_betas as betas
from tenure.testing import anthropic_rules, chat_rules, responses_rules
from tenure.testing.refusal import Asked, Ledger, Refusal, Rules
from tenure.wire.detect import WIRES
from tests.wire.harm import harmed

BETAS = (
    betas.BINDING, betas.CLEAR_AT, betas.COMPACT, betas.COMPACT_EDIT, betas.EDITS,
    betas.MESSAGE_EFFORT, betas.TOOL_CHANGES, betas.INLINE_TOOLS,
)  # fmt: skip
KEYS = {"anthropic_messages": "messages", "openai_chat": "messages", "openai_responses": "input"}
RULES: dict[str, Rules] = {
    "anthropic_messages": anthropic_rules.RULES,
    "openai_chat": chat_rules.RULES,
    "openai_responses": responses_rules.RULES,
}
MODELS = {
    "anthropic_messages": (
        "claude-opus-5-5",
        "claude-sonnet-5",
        "claude-haiku-4-5",
        "claude-opus-4-5",
    ),
    "openai_chat": ("gpt-6.1-sol", "gpt-5.1", "gpt-4o"),
    "openai_responses": ("gpt-6.1-sol", "gpt-5.1"),
}
MARK = {"type": "ephemeral"}


class Asking(NamedTuple):
    """A conversation as a client has it, the terms of its request, and the copy that leaves."""

    wire: str
    given: list[Any]
    terms: Terms
    mended: Mended

    @property
    def body(self) -> dict[str, Any]:
        """The request, as the other side reads it."""
        whole = {**self.mended.head, KEYS[self.wire]: self.mended.messages}
        body: dict[str, Any] = json.loads(json.dumps(whole))
        return body

    @property
    def left(self) -> set[str]:
        """The rules that the copy breaks."""
        after = replace(self.terms, head=self.mended.head)
        return {v.rule for v in WIRES[self.wire].violations(self.mended.messages, after)}


def asking(name: str, seed: int) -> Asking:
    """A harmed conversation of this number, mended."""
    mix = Random(seed)
    model = mix.choice(MODELS[name])
    head = _head(name, model, mix)
    version = mix.choice(["2026-10-21", "2023-06-01"])
    terms = replace(terms_of(profile(model), model, head), api_version=version)
    given = harmed(name, mix)
    return Asking(name, given, terms, WIRES[name].mend(given, terms))


def _head(name: str, model: str, mix: Random) -> dict[str, Any]:
    if name != "anthropic_messages":
        return {"model": model}
    head: dict[str, Any] = {"model": model, "max_tokens": 2_000}
    if mix.random() < 0.2:
        head["system"] = [{"type": "text", "text": "be good", "cache_control": MARK}]
    if mix.random() < 0.2:
        head["cache_control"] = {**MARK, "ttl": mix.choice(["5m", "1h"])}
    if mix.random() < 0.3 and "-4-5" in model:
        head["thinking"] = {"type": "enabled", "budget_tokens": 1_024}
    return head


def refusal(asked: Asking) -> Refusal | None:
    """Why the server turns the copy down, None when it does not."""
    try:
        json.dumps(asked.body, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        return Refusal(400, str(error), rule="json_text")
    headers = {"anthropic-version": asked.terms.api_version, "anthropic-beta": ",".join(BETAS)}
    request = Asked(
        asked.body, headers, 10**9, Ledger(), lambda _: [], profile=profile(asked.terms.model)
    )
    hidden = STORED if refers(asked) else frozenset()
    for name, rule in RULES[asked.wire].items():
        for found in rule(request):
            if name not in hidden and not unseen(found):
                return replace(found, rule=name)
    return None


# What a reference decides, which names an item in the provider's store.
STORED = frozenset({"references_known", "outputs_expected", "calls_answered", "reasoning_followed"})


def refers(asked: Asking) -> bool:
    """True for an input with a reference to a stored item."""
    return any(m.get("type") == "item_reference" or set(m) == {"id"} for m in asked.mended.messages)


def unseen(refused: Refusal) -> bool:
    """True for a refusal that nobody but the one who made a seal could foresee."""
    seals = ("Invalid `signature` in `thinking`", "Invalid `data` in `redacted_thinking`")
    seal = any(words in refused.message for words in seals)
    return refused.code == "invalid_encrypted_content" or seal
