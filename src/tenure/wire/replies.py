"""Replies as plain JSON, whichever way they come, and the usage they report.

Invariant: nothing is added; what the provider did not send is not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tenure.core.nesting import MAX_NESTING, nests_too_deep
from tenure.core.usage import MOST_TOKENS, Usage
from tenure.errors import UpstreamError
from tenure.wire.scan import decoded, too_deep
from tenure.wire.values import is_array, is_object


def as_dict(reply: Any) -> dict[str, Any]:
    """A reply as a dict: an SDK object (by `to_dict` or `model_dump`), a dict, or JSON text.

    Only fields that were set by the API are taken, under the API's own names. Raises
    UpstreamError when it is none of these.
    """
    if isinstance(reply, Mapping | list | tuple) and nests_too_deep(reply):
        raise UpstreamError(f"the reply is nested deeper than {MAX_NESTING} levels")
    value = plain(reply)
    if isinstance(value, bytes | bytearray | str):
        value = _parsed(value if isinstance(value, str) else decoded(bytes(value)))
    if not isinstance(value, dict):
        raise UpstreamError(f"the reply is a {type(reply).__name__}, not a JSON object")
    return value


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UpstreamError(f"the reply can't be read as JSON: {error}") from error
    if isinstance(value, dict) and too_deep(value, text):
        raise UpstreamError(f"the reply is nested deeper than {MAX_NESTING} levels")
    return value


def plain(value: Any) -> Any:
    """The value with SDK objects inside it turned into dicts; unchanged parts are shared."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_object(value):
        new = {key: plain(item) for key, item in value.items()}
        same = type(value) is dict and all(new[key] is item for key, item in value.items())
        return value if same else new
    if is_array(value):
        items = [plain(item) for item in value]
        same = type(value) is list and all(a is b for a, b in zip(items, value, strict=True))
        return value if same else items
    return value


def without_nulls(value: Mapping[str, Any], *also: str) -> dict[str, Any]:
    """The object without its null fields and without these: SDK dumps add them, APIs refuse them."""
    return {key: item for key, item in value.items() if item is not None and key not in also}


def refuse_error(reply: Mapping[str, Any], format: str) -> None:
    """UpstreamError when the reply is an error body."""
    if reply.get("type") == "error" or is_object(reply.get("error")):
        error = reply.get("error")
        words = error.get("message") if is_object(error) else error
        raise UpstreamError(f"the provider answered with an error: {words}", format=format)


def anthropic_usage(usage: Any) -> Usage | None:
    """Anthropic's usage: input_tokens leaves out what was read from and written to the cache."""
    if not is_object(usage):
        return None
    written = usage.get("cache_creation")
    by_ttl = written if is_object(written) else {}
    long = tokens(by_ttl.get("ephemeral_1h_input_tokens"))
    short = tokens(by_ttl.get("ephemeral_5m_input_tokens"))
    return Usage(
        fresh=tokens(usage.get("input_tokens")),
        cache_read=tokens(usage.get("cache_read_input_tokens")),
        cache_write=tokens(usage.get("cache_creation_input_tokens")) or long + short,
        cache_write_1h=long,
        output=tokens(usage.get("output_tokens")),
    )


def openai_usage(usage: Any) -> Usage | None:
    """OpenAI's usage, Chat or Responses: the prompt's tokens include the cached and the written."""
    if not is_object(usage):
        return None
    prompt = tokens(usage.get("input_tokens", usage.get("prompt_tokens")))
    details = usage.get("input_tokens_details", usage.get("prompt_tokens_details"))
    detail = details if is_object(details) else {}
    read = min(tokens(detail.get("cached_tokens")), prompt)
    write = min(tokens(detail.get("cache_write_tokens")), prompt - read)
    return Usage(
        fresh=prompt - read - write,
        cache_read=read,
        cache_write=write,
        output=tokens(usage.get("output_tokens", usage.get("completion_tokens"))),
    )


def tokens(value: Any) -> int:
    """A count of tokens; null, absent or odd is 0, and so is what no request can have."""
    return value if isinstance(value, int) and 0 < value <= MOST_TOKENS else 0
