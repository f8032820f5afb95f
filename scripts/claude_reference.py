"""What each byte of a text costs in Claude tokens, by the reference tokenizer `ctok`.

Invariant: the costs of a text's bytes add up to ctok's count of that text (without the message
frame). ctok tiles a marked stream; its tiles are laid back over the characters they came from.
Needs Python 3.12 or newer and ctok (development only; nothing here ships).
"""

from __future__ import annotations

import unicodedata
from typing import Any

import ctok.main as ctok_main
import numpy as np
from ctok.constants import (
    ESCAPED_MARKER_LITERALS,
    FUNNY_SPACE,
    LITERAL_MARKER_ESCAPES,
    MARKER_GLYPHS,
    QUOTE_FOLD,
    STRIP_CONTROL,
    STRIP_PRIVATE,
)
from ctok.engine import char_cost, min_vocab_tile
from ctok.normalize import stream_norm

# Family name in tenure -> ctok's version. v4.7 differs from v4.8 only in the frame.
VERSIONS = {"claude-3": "3.0", "claude-4.7": "4.7", "claude-4.8": "4.8"}


def count(text: str, family: str) -> int:
    """ctok's count of `text` in Claude tokens, without the frame of the message around it."""
    model = _model(family)
    return int(ctok_main.tile(text, model)[0])


def byte_costs(text: str, family: str) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """One cost per UTF-8 byte of `text`, or None where the stream cannot be laid back.

    `text` must be in NFC and end in something other than a newline.
    """
    assert unicodedata.is_normalized("NFC", text)
    model = _model(family)
    seen = [_seen(ch, model.fold_quotes) for ch in text]
    stream = stream_norm("".join(seen), model, raw_head_space=text.startswith(" "))

    def floor(at: int) -> int:
        return 1 if stream[at] in MARKER_GLYPHS else char_cost(model, stream[at])

    _, spans = min_vocab_tile(stream, model.trie, floor)
    costs = [0.0] * len(text)
    at = 0
    loose = 0.0  # tiles of markers alone, until the character they open arrives
    for start, end in spans:
        price = 1.0 if end - start > 1 else float(floor(start))
        first = at
        for glyph in stream[start:end]:
            if glyph in MARKER_GLYPHS:
                continue
            at = _next(seen, at, glyph)
            if at is None:
                return None
        if at == first:
            loose += price
            continue
        price += loose
        loose = 0.0
        share = price / sum(1 for ch in seen[first:at] if ch)
        for index in range(first, at):
            if seen[index]:
                costs[index] = share
    if any(seen[at:]) or not costs:
        return None
    costs[max(at - 1, 0)] += loose
    lengths = np.array([len(ch.encode("utf-8", "replace")) for ch in text])
    return np.repeat(np.array(costs) / lengths, lengths)


def _next(seen: list[str], at: int, glyph: str) -> Any:
    """The index after the character that `glyph` stands for; a seam's space is passed over."""
    literal = LITERAL_MARKER_ESCAPES.get(ESCAPED_MARKER_LITERALS.get(glyph, glyph), glyph)
    while at < len(seen):
        ch = seen[at]
        if ch and (ch != " " or glyph == " "):
            same = ch in {glyph, literal} or ch.lower()[:1] == glyph
            return at + 1 if same or not ch.isascii() else None
        at += 1
    return None


def _seen(ch: str, fold_quotes: bool) -> str:  # noqa: FBT001
    """What ctok's normalisation leaves of one character: itself, a space, a quote or nothing."""
    ch = STRIP_PRIVATE.sub("", STRIP_CONTROL.sub("", ch)).replace("\x00", " ")
    ch = ch.translate(QUOTE_FOLD) if fold_quotes else ch
    return str(FUNNY_SPACE.sub(" ", ch))


def _model(family: str) -> Any:
    return ctok_main._model(ctok_main._family(VERSIONS[family]))  # noqa: SLF001
