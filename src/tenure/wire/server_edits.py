"""The provider's own context edits as request parameters and beta headers, and its report of them.

Invariant: what the caller asked for stays: edits are added to theirs, beta values to their header,
nothing is replaced. Source: providers.md 2.1 and 2.6; `context_management` and its beta header go in
as extra body and header, which every client of the SDK passes on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.core.message import JsonObject
from tenure.core.server_edit import Applied, Wanted
from tenure.wire.values import is_array, is_object, text_of

FIELD = "context_management"
BETA = "context-management-2025-06-27"
BETA_HEADER = "anthropic-beta"
_COUNTS = ("cleared_tool_uses", "cleared_thinking_turns")


def asked_by_caller(head: JsonObject) -> bool:
    """True when the request already edits its context on the server, so that we leave it be."""
    return FIELD in head or (is_object(head.get("extra_body")) and FIELD in head["extra_body"])


def with_edits(head: JsonObject, wanted: Sequence[Wanted]) -> JsonObject:
    """The head with these edits asked for; the same object when there are none."""
    if not wanted:
        return head
    edits = [_spelled(one) for one in wanted]
    body = head.get("extra_body")
    extra = {**(body if is_object(body) else {}), FIELD: {"edits": edits}}
    return with_beta({**head, "extra_body": extra}, BETA)


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
    return found


def _spelled(one: Wanted) -> JsonObject:
    """Clears all but the newest `keep` of the request's tool uses, whatever its size."""
    options = json.loads(one.options)
    trigger = {"type": "tool_uses", "value": max(1, one.tool_uses - one.keep)}
    keep = {"type": "tool_uses", "value": one.keep}
    return {"type": one.edit, "trigger": trigger, "keep": keep, **options}


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
