"""The hand-made bodies and streams of `tests/wire/corpus`, by wire format."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "corpus"

NAMES = ("anthropic_messages", "openai_chat", "openai_responses")


def body(name: str) -> bytes:
    """A request body with odd white space, spellings and fields that no version of an API has."""
    return (_FOLDER / f"{name}_odd.json").read_bytes()


def stream(name: str) -> bytes:
    """A streamed reply."""
    return (_FOLDER / f"{name}_stream.sse").read_bytes()
