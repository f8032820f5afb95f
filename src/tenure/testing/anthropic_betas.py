"""Fields and blocks of the Messages API that only exist with a value of the beta header.

Invariant: one row a field; without its header the API knows no such field.
Source: anthropic 2.14.0 types/beta; platform docs on each of the features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tenure.testing.anthropic_walk import blocks
from tenure.testing.refusal import Asked, Refusal, Rules, invalid
from tenure.testing.script import Body

BINDING = "thinking-binding-controls-2026-08-01"
CLEAR_AT = "mid-conversation-system-clear-at-2026-08-21"
COMPACT = "compact-2026-09-04"
COMPACT_EDIT = "compact-2026-01-12"
EDITS = "context-management-2025-06-27"
MESSAGE_EFFORT = "mid-conversation-output-config-2026-07-01"
TOOL_CHANGES = "mid-conversation-tool-changes-2026-07-01"
INLINE_TOOLS = "inline-tools-2026-09-15"

Finder: TypeAlias = Callable[[Body], Iterator[str]]


def _top(body: Body, name: str) -> Iterator[str]:
    if body.get(name) is not None:
        yield name


def _block_binding(body: Body) -> Iterator[str]:
    if "block_binding" in (body.get("thinking") or {}):
        yield "thinking.block_binding"


def _on_message(body: Body, name: str) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message.get(name) is not None:
            yield f"messages.{index}.{name}"


def _tool_changes(body: Body) -> Iterator[str]:
    for at, _, block in blocks(body):
        if block["type"] in ("tool_addition", "tool_removal"):
            yield f"{at.path}: {block['type']}"


def _compaction(body: Body, *, signed: bool) -> Iterator[str]:
    for at, _, block in blocks(body):
        if block["type"] == "compaction" and bool(block.get("signature")) is signed:
            yield f"{at.path}: compaction"


NEEDS: tuple[tuple[Finder, tuple[str, ...]], ...] = (
    (lambda body: _top(body, "context_management"), (EDITS, COMPACT_EDIT)),
    (lambda body: _top(body, "compaction"), (COMPACT,)),
    (_block_binding, (BINDING,)),
    (lambda body: _on_message(body, "clear_at"), (CLEAR_AT,)),
    (lambda body: _on_message(body, "output_config"), (MESSAGE_EFFORT,)),
    (_tool_changes, (TOOL_CHANGES, INLINE_TOOLS)),
    (lambda body: _compaction(body, signed=True), (COMPACT,)),
    (lambda body: _compaction(body, signed=False), (COMPACT_EDIT, COMPACT)),
)
"""Where a field stands, and the headers of which one opens it."""


def beta_headers(asked: Asked) -> Iterator[Refusal]:
    """A beta field comes with its header, on every request that holds it."""
    for find, headers in NEEDS:
        if asked.betas.isdisjoint(headers):
            for place in find(asked.body):
                yield invalid(
                    f"{place}: Extra inputs are not permitted. It requires the value "
                    f"`{headers[0]}` in the `anthropic-beta` header."
                )


beta_rules: Rules = {"beta_headers": beta_headers}
