"""Messages requests that break one of the newer rules each, with the beta headers they are sent by.

Invariant: a broken request differs from a sound one in what its rule is about.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

from tests.testing.asked_badly import HOUR, MARK, USER, Body, claude, heard, result, said, text, use

BINDING = ("thinking-binding-controls-2026-08-01",)
CLEAR_AT = ("mid-conversation-system-clear-at-2026-08-21",)
COMPACT = ("compact-2026-09-04",)
EDITS = ("context-management-2025-06-27",)
THRESHOLD = ("compact-2026-01-12",)
EFFORT = ("mid-conversation-output-config-2026-07-01",)

CLEAR = {"type": "clear_tool_uses_20250919"}
CLEAR_THINKING = {"type": "clear_thinking_20251015"}
SUMMARIZE = {"type": "summarize"}
DOCUMENT = {"type": "document", "source": {"type": "text", "data": "x", "media_type": "text/plain"}}
CITED = text("so", citations=[{"type": "char_location", "cited_text": "so"}])
OPUS_4_5 = {"model": "claude-opus-4-5"}


def png(width: int, height: int) -> str:
    """The first bytes of a picture, which are all that is looked at."""
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(header).decode()


def image(data: str, media_type: str = "image/png") -> Body:
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": media_type, "data": data},
    }


def searched(id_: str = "srvtoolu_1") -> Body:
    return {"type": "server_tool_use", "id": id_, "name": "web_search", "input": {"query": "x"}}


def found(id_: str = "srvtoolu_1") -> Body:
    return {"type": "web_search_tool_result", "tool_use_id": id_, "content": []}


def system(words: Any, **more: Any) -> Body:
    return {"role": "system", "content": words, **more}


def edits(*wanted: Body) -> Body:
    return claude(USER, context_management={"edits": list(wanted)})


def unsigned(**more: Any) -> Body:
    return {"type": "compaction", "content": "earlier", **more}


BAD: list[tuple[str, tuple[str, ...], Body]] = [
    ("beta_headers", (), claude(USER, thinking={"type": "adaptive", "block_binding": {}})),
    ("beta_headers", BINDING, edits(CLEAR)),
    ("beta_headers", (), claude(USER, compaction=SUMMARIZE)),
    ("beta_headers", (), claude(USER, system("hm", clear_at="never"))),
    ("beta_headers", (), claude(USER, system([], output_config={"effort": "low"}))),
    ("beta_headers", (), claude(said(unsigned()), USER)),
    ("beta_headers", THRESHOLD, claude(said(unsigned(signature="c2ln")), USER)),
    ("field_types", (), claude(USER, tools="read")),
    ("field_types", (), claude(USER, system=5)),
    ("field_types", (), claude(USER, thinking="adaptive")),
    ("block_shape", (), claude(heard({"type": "image"}))),
    ("block_shape", (), claude(USER, said(use()), heard(result(content=["text"])))),
    ("text_not_empty", (), claude(heard(text(" \n\t")))),
    ("text_not_empty", (), claude({"role": "user", "content": "  "})),
    ("text_not_empty", EFFORT, claude(USER, system([], output_config={}))),
    ("documents_placed", (), claude(USER, said(DOCUMENT, text("so")), USER)),
    ("citations_placed", (), claude(heard(CITED))),
    (
        "citations_placed",
        (),
        claude(heard({"type": "search_result", "content": [CITED], "source": "s", "title": "t"})),
    ),
    ("pair_fields", (), claude(USER, said(use()), heard(result("toolu 1")))),
    ("pair_fields", (), claude(USER, said(use(name=None)), heard(result()))),
    ("server_fields", (), claude(USER, said(searched("toolu_1"), found("toolu_1")), USER)),
    ("server_fields", (), claude(heard(searched(), found()))),
    ("server_calls_unique", (), claude(USER, said(*[searched(), found()] * 2), USER)),
    ("server_pairs", (), claude(USER, said(searched(), text("so")), USER)),
    ("server_pairs", (), claude(USER, said(found(), text("so")), USER)),
    (
        "server_pairs",
        (),
        claude(USER, said(searched(), use()), heard(result(), text("and"))),
    ),
    ("last_message", (), claude(USER, said(searched(), found(), text("so")))),
    ("system_supported", (), claude(USER, system("hm")) | OPUS_4_5),
    ("system_supported", (), claude(USER, system("hm")) | {"model": "claude-sonnet-5"}),
    ("system_content", CLEAR_AT, claude(USER, system("hm", clear_at="soon"))),
    ("system_content", CLEAR_AT, claude(USER | {"clear_at": "never"})),
    ("system_content", (), claude(USER, system([image(png(9, 9))]))),
    ("system_place", (), claude(USER, system("one"), system("two"))),
    ("system_place", (), claude(USER, said(text("so")), system("hm"), said(text("x")), USER)),
    (
        "mark_place",
        CLEAR_AT,
        claude(USER, system([text("hm", cache_control=MARK)], clear_at="next_user_message")),
    ),
    (
        "mark_automatic",
        (),
        claude(heard(text("hi", cache_control=HOUR)), cache_control=MARK),
    ),
    ("thinking_shape", (), claude(USER, thinking={"type": "deep"})),
    (
        "thinking_shape",
        BINDING,
        claude(
            USER,
            thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop"}},
        ),
    ),
    (
        "thinking_by_model",
        (),
        claude(USER, thinking={"type": "enabled", "budget_tokens": 1_024}, max_tokens=1_500),
    ),
    ("thinking_by_model", (), claude(USER, thinking={"type": "disabled"})),
    ("thinking_by_model", (), claude(USER, tool_choice={"type": "any"})),
    (
        "thinking_first",
        (),
        claude(
            USER,
            said(use()),
            heard(result()),
            thinking={"type": "enabled", "budget_tokens": 1_024},
            max_tokens=1_500,
        )
        | OPUS_4_5,
    ),
    ("thinking_untouched", (), claude(USER, said({"type": "thinking", "thinking": "x"}), USER)),
    (
        "thinking_untouched",
        (),
        claude(USER, said({"type": "redacted_thinking", "data": "c2VjcmV0"}), USER),
    ),
    ("edits_known", EDITS, edits({"type": "clear_all"})),
    ("edits_known", EDITS, edits(CLEAR | {"keep_last": 3})),
    ("edits_known", EDITS, edits(CLEAR, CLEAR)),
    ("edits_known", EDITS, edits({"type": "compact_20260112"})),
    ("edits_ordered", EDITS, edits(CLEAR, CLEAR_THINKING)),
    ("edits_settings", EDITS, edits(CLEAR | {"keep": 3})),
    ("edits_settings", EDITS, edits(CLEAR | {"trigger": {"type": "messages", "value": 1}})),
    ("edits_settings", EDITS, edits(CLEAR | {"exclude_tools": "read"})),
    (
        "edits_settings",
        EDITS,
        edits(CLEAR_THINKING | {"keep": {"type": "thinking_turns", "value": 0}}),
    ),
    (
        "edits_settings",
        THRESHOLD,
        edits({"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}),
    ),
    (
        "edits_need_thinking",
        EDITS,
        edits(CLEAR_THINKING) | {"thinking": {"type": "disabled"}, "model": "claude-opus-5"},
    ),
    ("edits_supported", EDITS, edits(CLEAR) | {"model": "claude-3-haiku-20240307"}),
    ("pictures_sound", (), claude(heard(image("bm8gcGljdHVyZQ==")))),
    ("pictures_sound", (), claude(heard(image("not base64!")))),
    ("pictures_sound", (), claude(heard(image(png(9, 9), "image/jpeg")))),
    ("pictures_sound", (), claude(heard(image(png(9, 9), "image/bmp")))),
    ("pictures_sized", (), claude(heard(image(png(8_001, 9))))),
    ("pictures_sized", (), claude(heard(*[image(png(9, 9))] * 20, image(png(9, 2_001))))),
    ("pictures_counted", (), claude(heard(*[image(png(9, 9))] * 601))),
    ("pictures_counted", (), claude(heard(*[image(png(9, 9))] * 101)) | OPUS_4_5),
    ("compaction_request", COMPACT, claude(USER, compaction={"type": "drop"})),
    ("compaction_request", COMPACT, claude(USER, compaction=SUMMARIZE, stop_sequences=["x"])),
    (
        "compaction_request",
        COMPACT,
        claude(USER, compaction=SUMMARIZE | {"instructions": "x" * 16_385}),
    ),
    (
        "compaction_request",
        (*COMPACT, *EDITS),
        edits(CLEAR) | {"compaction": SUMMARIZE},
    ),
    ("compaction_turn_complete", COMPACT, claude(USER, said(use()), compaction=SUMMARIZE)),
    ("compaction_turn_complete", COMPACT, claude(USER, said(searched()), compaction=SUMMARIZE)),
    ("compaction_has_matter", THRESHOLD + COMPACT, claude(said(unsigned()), compaction=SUMMARIZE)),
    ("compaction_block_shape", THRESHOLD, claude(said(unsigned(citations=None)), USER)),
    ("compaction_block_shape", THRESHOLD, claude(said(unsigned(content="")), USER)),
    ("compaction_block_first", COMPACT, claude(USER, said(unsigned(signature="x")), USER)),
    (
        "compaction_block_single",
        COMPACT,
        claude(said(unsigned(signature="x")), said(unsigned(signature="x")), USER),
    ),
]

SOUND: list[tuple[tuple[str, ...], Body]] = [
    (THRESHOLD, claude(said(unsigned()), USER)),
    (THRESHOLD, claude(USER, said(unsigned(), text("so")), USER)),
    (THRESHOLD, claude(said(unsigned(content=None)), USER)),
    (EDITS, edits(CLEAR_THINKING | {"keep": "all"}, CLEAR | {"clear_tool_inputs": ["read"]})),
    (CLEAR_AT, claude(USER, system("hm", clear_at="next_user_message"), said(text("so")), USER)),
    (EFFORT, claude(USER, said(text("so")), USER, system([], output_config={"effort": "low"}))),
    ((), claude(USER, said(searched(), found()), system("hm"))),
    ((), claude(USER, said(searched()))),
    ((), claude(USER, said(searched(), use()), heard(result()))),
    ((), claude(USER, said(searched()), said(found(), text("so")), USER)),
    ((), claude(USER, said(searched(), use()), heard(result()), said(found(), text("so")), USER)),
    ((), claude(heard(image(png(8_000, 9))), system("hm"))),
    ((), claude(USER, said(CITED), heard(DOCUMENT, text("and?")))),
    (COMPACT, claude(USER, said(text("so")), compaction=SUMMARIZE)),
]
