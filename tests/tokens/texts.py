"""Texts that break tokenizers, and recorded ones."""

from __future__ import annotations

import gzip
from pathlib import Path

from hypothesis import strategies as st

HOSTILE = {
    "nothing": "",
    "NUL": "\x00",
    "controls": "".join(map(chr, range(32))),
    "lone high surrogate": "a\ud800b",
    "lone low surrogate": "\udfff",
    "surrogate pair": "\ud83d\ude00",
    "special tokens": "STOP = ['<|endoftext|>', '<|im_start|>', '<|fim_prefix|>', '<|endofprompt|>']",
    "marks without letters": "\u0301\u0308\u0e33" * 50,
    "decomposing": "\U0001d160\u0958\ufb2c" * 20,
    "carriage returns": "a\r\nb\rc\r\n\r\n" * 20,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 20,
    "capitals": "ZZ1QZ2" * 50,
    "noncharacters": "\ufdd0\ufdd4\ufffe\U0010ffff",
    "private use": "\ue000\uf8ff",
}

ANY_TEXT = st.text(st.characters(codec=None), max_size=400) | st.text(
    st.sampled_from(" \n\t\r\x00'\"aAzZ019.,-_/\\{}[]:ẞİſ漢字かな한국\u0301\u200d😀\u2028\ud800"),
    max_size=400,
)


def recorded_lines(folder: Path, *, characters: int = 300_000) -> str:
    """The beginning of each recorded file, about `characters` in all."""
    files = sorted(folder.rglob("*.gz"))
    each = characters // max(1, len(files))
    parts = [gzip.decompress(path.read_bytes()).decode("utf-8", "replace")[:each] for path in files]
    return "\n".join(parts)
