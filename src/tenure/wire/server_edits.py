"""The provider's own context edits as request parameters and beta headers, and its report of them.

Invariant: what the caller asked for stays: edits are added to theirs, beta values to their header,
nothing is replaced. Source: providers.md 1.4, 2.1 and 2.6; `context_management` and its beta header go
in as extra body and header, which every client of the SDK passes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.core.command import Summarized
from tenure.core.message import JsonObject, json_bytes
from tenure.core.policy import DropBlock
from tenure.core.server_edit import COMPACT, DROP_THINKING, Applied, Wanted
from tenure.core.usage import Usage
from tenure.wire.replies import anthropic_usage
from tenure.wire.values import is_array, is_object, text_of

FIELD = "context_management"
BETA = "context-management-2025-06-27"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
COMPACT_BETA = "compact-2026-09-04"
BETA_HEADER = "anthropic-beta"
# Thinking of a fixed budget needs so many tokens beside it.
_BESIDE_THINKING = 1_024
_NOT_BESIDE_SUMMARY = frozenset({FIELD, "stop_sequences", "stream", "max_tokens"})
_BINDING, _BEHAVIOR = "block_binding", "prefix_mismatch_behavior"
# Models that think adaptively where the request says nothing about it: they can't be told not to
# (platform docs, adaptive thinking). On others a setting of ours would switch thinking on.
_ALWAYS_THINK = ("claude-fable-", "claude-mythos-", "claude-opus-5-5")
_CHANGES = "input_transformations"
_COUNTS = ("cleared_tool_uses", "cleared_thinking_turns")


def asked_by_caller(head: JsonObject) -> bool:
    """True when the request already edits its context on the server, so that we leave it be."""
    return FIELD in head or (is_object(head.get("extra_body")) and FIELD in head["extra_body"])


def with_edits(head: JsonObject, wanted: Sequence[Wanted]) -> JsonObject:
    """The head with these edits asked for; the same object when there are none."""
    if any(one.edit == DROP_THINKING for one in wanted):
        head = _dropping(head)
    if any(one.edit == COMPACT for one in wanted):
        # Every later request that holds the summary needs it.
        head = with_beta(head, COMPACT_BETA)
    edits = [_spelled(one) for one in wanted if one.edit not in (DROP_THINKING, COMPACT)]
    if not edits:
        return head
    extra = {**_extra(head), FIELD: {"edits": edits}}
    return with_beta({**head, "extra_body": extra}, BETA)


def summarizing(head: JsonObject, max_tokens: int) -> JsonObject:
    """The head of a request for a summary of its messages: the same prefix, without the settings that
    the API refuses beside it. `max_tokens` is for the thinking and the summary."""
    kept = _summarizable(head)
    extra = {**_summarizable(_extra(head)), COMPACT: {"type": "summarize"}}
    budget = _number((_thinking(head) or {}).get("budget_tokens"))
    most = max(max_tokens, budget + _BESIDE_THINKING) if budget else max_tokens
    kept |= {"extra_body": extra, "max_tokens": most}
    return with_beta(kept, COMPACT_BETA)


def _summarizable(head: JsonObject) -> dict[str, Any]:
    kept = {k: v for k, v in head.items() if k not in _NOT_BESIDE_SUMMARY}
    choice, output = kept.get("tool_choice"), kept.get("output_config")
    if is_object(choice) and choice.get("type") in ("any", "tool"):
        del kept["tool_choice"]
    if is_object(output):
        output = {k: v for k, v in output.items() if k != "format"}
        task = output.get("task_budget")
        if is_object(task):
            output["task_budget"] = {k: v for k, v in task.items() if k != "remaining"}
        kept["output_config"] = output
    return kept


def summary_of(reply: JsonObject) -> Summarized:
    """What came of a request for a summary."""
    used = _summary_usage(reply)
    content = reply.get("content")
    block = content[0] if is_array(content) and len(content) == 1 else None
    text = text_of(block.get("content")) if is_object(block) else ""
    if is_object(block) and block.get("type") == COMPACT and text.strip():
        said = {"role": "assistant", "content": [block]}
        return Summarized(json_bytes(said), text, usage=used)
    return Summarized(why=f"it stopped with {reply.get('stop_reason')!r}", usage=used)


def _summary_usage(reply: JsonObject) -> Usage | None:
    """The usage of a summary stands in `iterations`, and in no sum (providers.md 1.6)."""
    usage = reply.get("usage")
    rows = usage.get("iterations") if is_object(usage) else None
    found = [anthropic_usage(row) for row in rows] if is_array(rows) else []
    known = [one for one in found if one is not None]
    return sum(known, Usage()) if known else None


def drop_block(head: JsonObject, model: str) -> DropBlock:
    """Whether thinking that a changed prefix has unbound may be left out by the provider: "given"
    when the caller asks for that, "no" where they ask otherwise or the request does not think."""
    thinking = _thinking(head)
    if thinking is None:
        return "ask" if model.startswith(_ALWAYS_THINK) else "no"
    binding = thinking.get(_BINDING)
    behavior = binding.get(_BEHAVIOR) if is_object(binding) else None
    if behavior is not None:
        return "given" if behavior == DROP_THINKING else "no"
    return "ask" if thinking.get("type") in ("adaptive", "enabled") else "no"


def _dropping(head: JsonObject) -> JsonObject:
    """The head that asks for it, wherever it holds its thinking setting."""
    thinking = _thinking(head) or {"type": "adaptive"}
    given = thinking.get(_BINDING)
    binding = given if is_object(given) else {}
    if binding.get(_BEHAVIOR) != DROP_THINKING:
        thinking = {**thinking, _BINDING: {**binding, _BEHAVIOR: DROP_THINKING}}
        if "thinking" in _extra(head):
            head = {**head, "extra_body": {**_extra(head), "thinking": thinking}}
        else:
            head = {**head, "thinking": thinking}
    return with_beta(head, BINDING_BETA)


def _thinking(head: JsonObject) -> JsonObject | None:
    # What the extra body holds takes the place of the parameter.
    found = _extra(head).get("thinking", head.get("thinking"))
    return found if is_object(found) else None


def _extra(head: JsonObject) -> JsonObject:
    body = head.get("extra_body")
    return body if is_object(body) else {}


def with_beta(head: JsonObject, value: str) -> JsonObject:
    """The head with a beta value appended: to `betas` where the beta client is spoken to, else to
    the header."""
    betas = head.get("betas")
    if is_array(betas):
        return head if value in betas else {**head, "betas": [*betas, value]}
    headers = head.get("extra_headers")
    given: Mapping[str, Any] = headers if is_object(headers) else {}
    name = next((k for k in given if k.lower() == BETA_HEADER), BETA_HEADER)
    known = [one.strip() for one in text_of(given.get(name)).split(",") if one.strip()]
    if value in known:
        return head
    return {**head, "extra_headers": {**given, name: ",".join([*known, value])}}


def applied_edits(reply: JsonObject) -> list[Applied]:
    """What the provider reports that it cleared; empty when it says nothing."""
    report = reply.get(FIELD)
    edits = report.get("applied_edits") if is_object(report) else None
    found: list[Applied] = []
    for edit in edits if is_array(edits) else ():
        if is_object(edit):
            cleared = next((_number(edit.get(name)) for name in _COUNTS if name in edit), 0)
            tokens = _number(edit.get("cleared_input_tokens"))
            found.append(Applied(text_of(edit.get("type")), cleared, tokens))
    dropped = sum(map(_is_unbound, changes)) if is_array(changes := reply.get(_CHANGES)) else 0
    return [*found, Applied(DROP_THINKING, dropped)] if dropped else found


def _is_unbound(change: Any) -> bool:
    """An entry that says: this thinking was left out, since its prefix had changed."""
    dropped = is_object(change) and change.get("type") == "thinking_dropped"
    return dropped and change.get("reason") == "prefix_binding_mismatch"


def _spelled(one: Wanted) -> JsonObject:
    """Clears all but the newest `keep` of the request's tool uses, whatever its size."""
    options = json.loads(one.options)
    trigger = {"type": "tool_uses", "value": max(1, one.tool_uses - one.keep)}
    keep = {"type": "tool_uses", "value": one.keep}
    return {"type": one.edit, "trigger": trigger, "keep": keep, **options}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
