"""OpenAI's vocabularies behind one small seam: quicktok, or tiktoken where quicktok has no wheel.

Invariant: every str is counted, in linear time, and nothing in it is special: `<|endoftext|>` is
ordinary text and a lone surrogate is U+FFFD, as in tiktoken's `encode_ordinary`. A vocabulary is
loaded on first need (0.3 s) and once; two threads that need it at once may both load it, which
wastes work and harms nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Protocol

from tenure.errors import ConfigError

ENCODINGS = ("cl100k_base", "o200k_base")

# tiktoken's regex engine overflows its stack on whitespace runs somewhat longer than this.
_LONG_BLANK = re.compile(r"\s{10000}")
_SLICE = 8000


class Encoder(Protocol):
    """One vocabulary."""

    def count(self, text: str) -> int:
        """How many tokens `text` is."""

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`."""


@cache
def encoder(name: str) -> Encoder:
    """The vocabulary called `name`, one of `ENCODINGS`.

    Raises ConfigError for another name, and where neither quicktok nor tiktoken has the tables.
    """
    if name not in ENCODINGS:
        accepted = ", ".join(ENCODINGS)
        raise ConfigError(f"{name!r} is not a vocabulary tenure knows; it may be one of {accepted}")
    try:
        import quicktok
    except ImportError:
        return TiktokenEncoder(_tiktoken(name))
    return QuicktokEncoder(quicktok.get_encoding(name))


class QuicktokEncoder:
    """quicktok, whose vocabularies ship in its wheel."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """How many tokens `text` is."""
        return int(self._encoding.count(_encodable(text)))

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`."""
        ids: list[int] = self._encoding.encode_ordinary(_encodable(text))
        return ids


class TiktokenEncoder:
    """tiktoken: the same tokens; a blank run of 10,000 characters and more is cut into slices.

    A cut may add a token, so such a text is over-counted by at most one token in 8,000 characters.
    """

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """How many tokens `text` is."""
        return len(self.ids(text))

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`."""
        text = without_surrogates(text)
        if _LONG_BLANK.search(text) is None:
            ids: list[int] = self._encoding.encode_ordinary(text)
            return ids
        slices = (text[at : at + _SLICE] for at in range(0, len(text), _SLICE))
        return [token for piece in slices for token in self._encoding.encode_ordinary(piece)]


def without_surrogates(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _encodable(text: str) -> str:
    """`text` itself unless it holds surrogates, which quicktok's binding refuses."""
    if text.isascii():
        return text
    try:
        text.encode()  # thirty times faster than counting
    except UnicodeEncodeError:
        return without_surrogates(text)
    return text


def _tiktoken(name: str) -> Any:
    try:
        import tiktoken
    except ImportError as error:
        raise ConfigError(
            f"no tokenizer with the vocabulary {name!r} is installed; "
            "install quicktok-v1, or tiktoken where quicktok-v1 has no wheel"
        ) from error
    try:
        return tiktoken.get_encoding(name)
    except OSError as error:  # its downloads fail with subclasses of OSError
        raise ConfigError(
            f"tiktoken cannot download the vocabulary {name!r}; "
            "set TIKTOKEN_CACHE_DIR to a folder that holds it"
        ) from error
