"""What stands inside the items of a Responses request: parts, sealed texts, references, breakpoints.

Invariant: a sealed text is known again or refused; nobody looks inside. Source: openai 3.57.0
response_input_item_param; wordings from public issues up to July 2026.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.testing.openai_common import breakpoints, overlong, unfit
from tenure.testing.refusal import Asked, Refusal, Rules, invalid
from tenure.testing.responses_input import is_reference, items_of, own_items, parts_of
from tenure.testing.sealed import opened

TOLD = ("input_text", "input_image", "input_file")
SAID = ("output_text", "refusal")
HOLDERS = ("message", "function_call_output", "custom_tool_call_output")
"""Items whose content or output is text or parts."""

LONGEST_SEALED = 10_485_760
"""Characters of a compaction item that may be sent back. Source: a public issue of 2026."""


def references_known(asked: Asked) -> Iterator[Refusal]:
    """A reference names an item that was stored."""
    for item in own_items(asked.body):
        if is_reference(item) and item.get("id") not in asked.ledger.items:
            yield Refusal(
                404,
                f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` "
                "is set to false. Try again with `store` set to true, or remove this item from "
                "your input.",
                param="input",
            )


def content_types(asked: Asked) -> Iterator[Refusal]:
    """Messages to the model and outputs of tools hold input parts, its own words output parts."""
    for index, item in enumerate(items_of(asked)):
        field = "output" if "output" in item else "content"
        content, kind = item.get(field), item.get("type") or "message"
        if kind not in HOLDERS:
            continue
        if not isinstance(content, str | list):
            path = f"input[{index}].{field}"
            yield invalid(f"Invalid type for '{path}'.", param=path)
        by_model = kind == "message" and item.get("role") == "assistant"
        allowed = SAID if by_model else TOLD
        for number, part in enumerate(parts_of(item)):
            path = f"input[{index}].{field}[{number}]"
            given = part.get("type") if isinstance(part, Mapping) else None
            yield from unfit(path, given, allowed)


def sealed_content(asked: Asked) -> Iterator[Refusal]:
    """Encrypted reasoning and compaction items are ones that this server made."""
    for index, item in enumerate(items_of(asked)):
        kind = item.get("type")
        if kind not in ("reasoning", "compaction"):
            continue
        sealed = item.get("encrypted_content")
        if sealed is None and kind == "reasoning":
            continue
        path = f"input[{index}].encrypted_content"
        if not isinstance(sealed, str):
            yield invalid(f"Missing required parameter: '{path}'.", param=path)
            return
        yield from overlong(path, sealed, LONGEST_SEALED)
        if opened(kind, sealed) is None:
            shown = f"{sealed[:4]}...{sealed[-4:]}"
            yield invalid(
                f"The encrypted content {shown} could not be verified. Reason: Encrypted content "
                "could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )


def compaction_settings(asked: Asked) -> Iterator[Refusal]:
    """`context_management` lists compactions with a threshold in tokens."""
    wanted = asked.body.get("context_management")
    if wanted is None:
        return
    entries = wanted if isinstance(wanted, list) else [wanted]
    for index, entry in enumerate(entries):
        path = f"context_management[{index}]"
        sound = isinstance(entry, Mapping) and entry.get("type") == "compaction"
        threshold: Any = entry.get("compact_threshold") if isinstance(entry, Mapping) else None
        if not sound or not isinstance(threshold, int | None):
            yield invalid(f"Invalid value for '{path}'.", param=path)


def cache_breakpoints(asked: Asked) -> Iterator[Refusal]:
    """Breakpoints on content parts are spelled by the rules."""
    yield from breakpoints(
        asked,
        (
            (f"input[{index}].content[{number}]", part)
            for index, item in enumerate(items_of(asked))
            for number, part in enumerate(parts_of(item))
            if (item.get("type") or "message") in HOLDERS and isinstance(part, Mapping)
        ),
    )


content_rules: Rules = {
    "references_known": references_known,
    "content_types": content_types,
    "sealed_content": sealed_content,
    "compaction_settings": compaction_settings,
    "cache_breakpoints": cache_breakpoints,
}
