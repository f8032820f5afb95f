"""tiktoken fed from the tables that quicktok ships: the same vocabulary without a download."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any
from unittest.mock import patch


@cache
def tiktoken_encoding(name: str) -> Any:
    """tiktoken with its own rules for `name` ("o200k_base", "cl100k_base")."""
    import quicktok
    import tiktoken

    rules = import_module("tiktoken_ext.openai_public")
    tables = quicktok.get_encoding(name)
    size = len(tables.token_byte_values())
    ranks = {tables.decode_single_token_bytes(token): token for token in range(size)}
    with patch.object(rules, "load_tiktoken_bpe", lambda *_, **__: ranks):
        return tiktoken.Encoding(**getattr(rules, name)())
