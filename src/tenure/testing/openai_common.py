"""What both OpenAI APIs share: errors, credentials, names, cache breakpoints.

Invariant: nothing here knows Chat from Responses.
Source: openai 3.57.0 types; platform docs, error codes and prompt caching; wordings of the errors on
names and lengths as reported in public issues up to July 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tenure.testing.refusal import Asked, Refusal, invalid

ERROR_KINDS = {
    401: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "service_unavailable",
}

CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


def error_body(refusal: Refusal) -> dict[str, Any]:
    """`{"error": {message, type, param, code}}`."""
    kind = refusal.kind
    if not refusal.rule and kind == "invalid_request_error" and refusal.status != 400:
        kind = ERROR_KINDS.get(refusal.status, "server_error")
    return {
        "error": {
            "message": refusal.message,
            "type": kind,
            "param": refusal.param,
            "code": refusal.code or CODES.get(refusal.status),
        }
    }


def denied(headers: Mapping[str, str]) -> Refusal | None:
    """401 without a bearer token."""
    if headers.get("authorization", "").startswith("Bearer "):
        return None
    return Refusal(401, "You didn't provide an API key.", code="invalid_api_key")


def too_long(tokens: int, window: int, param: str) -> Refusal:
    """400 context_length_exceeded."""
    return Refusal(
        400,
        f"This model's maximum context length is {window} tokens. However, your messages resulted "
        f"in {tokens} tokens. Please reduce the length of the messages.",
        param=param,
        code="context_length_exceeded",
    )


NAME = re.compile("[a-zA-Z0-9_-]+")
CACHE_MODES = ("implicit", "explicit")
CACHE_TTLS: Mapping[str, float] = {"30m": 1_800.0, "12h": 43_200.0}


FIELDS: Mapping[str, type] = {
    "max_completion_tokens": int,
    "max_tokens": int,
    "max_output_tokens": int,
    "previous_response_id": str,
    "instructions": str,
    "tools": list,
    "stream_options": dict,
    "metadata": dict,
    "stream": bool,
    "store": bool,
}


def field_types(asked: Asked) -> Iterator[Refusal]:
    """Optional fields have their types where they are given."""
    for name, kind in FIELDS.items():
        value = asked.body.get(name)
        if value is not None and not isinstance(value, kind):
            yield invalid(f"Invalid type for '{name}'.", param=name, code="invalid_type")


def misnamed(path: str, name: Any) -> Iterator[Refusal]:
    """A tool's name in a call."""
    if not isinstance(name, str):
        yield invalid(f"Missing required parameter: '{path}'.", param=path)
    elif not NAME.fullmatch(name):
        yield invalid(
            f"Invalid '{path}': string does not match pattern. Expected a string that matches the "
            f"pattern '^{NAME.pattern}$'.",
            param=path,
            code="invalid_value",
        )


def overlong(path: str, value: str, most: int) -> Iterator[Refusal]:
    """A string above its maximum length."""
    if len(value) > most:
        yield invalid(
            f"Invalid '{path}': string too long. Expected a string with maximum length {most}, but "
            f"got a string with length {len(value)} instead.",
            param=path,
            code="string_above_max_length",
        )


def unfit(path: str, given: Any, allowed: tuple[str, ...]) -> Iterator[Refusal]:
    """A part of a type that its message does not take."""
    if given not in allowed:
        yield invalid(
            f"Invalid value: '{given}'. Supported values are: {', '.join(map(repr, allowed))}.",
            param=path,
            code="invalid_value",
        )


def cache_options(asked: Asked) -> Iterator[Refusal]:
    """`prompt_cache_options` have known values, on a model that knows them."""
    options = asked.body.get("prompt_cache_options")
    if options is None:
        return
    if not isinstance(options, Mapping):
        yield invalid("Invalid type for 'prompt_cache_options'.", param="prompt_cache_options")
        return
    path = "prompt_cache_options"
    yield from unfit(f"{path}.mode", options.get("mode") or "implicit", CACHE_MODES)
    yield from unfit(f"{path}.ttl", options.get("ttl") or "30m", tuple(CACHE_TTLS))
    yield from _supported(asked, path)


def breakpoints(asked: Asked, parts: Iterable[tuple[str, Any]]) -> Iterator[Refusal]:
    """Each breakpoint is explicit and has a known lifetime; there may be any number of them.

    Source: openai 3.57.0, PromptCacheBreakpoint: only the latest few are written.
    """
    for path, part in parts:
        found = part.get("prompt_cache_breakpoint")
        if found is None:
            continue
        where = f"{path}.prompt_cache_breakpoint"
        if not isinstance(found, Mapping):
            yield invalid(f"Invalid type for '{where}'.", param=where)
            return
        yield from unfit(f"{where}.mode", found.get("mode"), ("explicit",))
        yield from unfit(f"{where}.ttl", found.get("ttl") or "30m", tuple(CACHE_TTLS))
        yield from _supported(asked, where)


def breakpoint_ttl(body: Mapping[str, Any], parts: Any) -> float | None:
    """The lifetime in seconds that the last breakpoint among `parts` asks for, or None."""
    whole = (body.get("prompt_cache_options") or {}).get("ttl") or "30m"
    marks = [part.get("prompt_cache_breakpoint") for part in parts if isinstance(part, Mapping)]
    ttls = [mark.get("ttl") or whole for mark in marks if mark]
    return CACHE_TTLS[ttls[-1]] if ttls else None


def caches_by_breakpoint(asked: Asked) -> bool:
    """Whether only what stands before an explicit breakpoint is cached."""
    return (asked.body.get("prompt_cache_options") or {}).get("mode") == "explicit"


def _supported(asked: Asked, path: str) -> Iterator[Refusal]:
    """Known models without a long lifetime are older than gpt-5.6 and know no breakpoints."""
    if asked.profile.known and not asked.profile.ttl_long:
        yield invalid(f"Unsupported parameter: '{path}' is not supported with this model.")
