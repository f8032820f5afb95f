"""The strings by which later messages refer to earlier ones.

Invariant: one definition, shared by policies and by the replay's dependencies: 6 or more
characters of identifier, path or number stuff, with a digit, `_`, `.`, `/` or an inner capital.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z0-9_./\-]{6,200}")
_TELLING = re.compile(r"[0-9_./]|[^A-Z][A-Z]")


def rare_strings(text: str) -> set[str]:
    """The distinct telling strings of a text, without leading or trailing punctuation.

    >>> sorted(rare_strings("see src/app.py: parseLine failed, twice"))
    ['parseLine', 'src/app.py']
    """
    return set(rare_strings_in_order(text))


def rare_strings_in_order(text: str) -> list[str]:
    """The same, in the order in which they first stand in the text."""
    telling = _TELLING.search
    words = dict.fromkeys(w.strip("./-") for w in dict.fromkeys(_WORD.findall(text)))
    return [w for w in words if len(w) >= 6 and telling(w)]
