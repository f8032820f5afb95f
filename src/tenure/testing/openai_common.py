"""What both OpenAI APIs share: errors, credentials, token details.

Invariant: nothing here knows Chat from Responses.
Source: openai 3.57.0 types; platform docs, error codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.testing.refusal import Refusal

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
