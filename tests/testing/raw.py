"""Plain HTTP to the scripted server, for requests that no SDK would send.

Invariant: one call is one request on a connection of its own.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from tenure.testing import ModelServer

ANTHROPIC_HEADERS = {"x-api-key": "any", "anthropic-version": "2026-10-21"}
OPENAI_HEADERS = {"authorization": "Bearer any"}


def post(
    server: ModelServer,
    path: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> tuple[int, Any]:
    """Status and parsed JSON body."""
    if headers is None:
        headers = ANTHROPIC_HEADERS if "messages" in path else OPENAI_HEADERS
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    with closing(http.client.HTTPConnection(server.url.removeprefix("http://"))) as connection:
        connection.request(method, path, sent, dict(headers))
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def with_betas(*names: str) -> dict[str, str]:
    """Anthropic's headers with values of the beta header."""
    return {**ANTHROPIC_HEADERS, "anthropic-beta": ",".join(names)}


def events(
    server: ModelServer,
    path: str,
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None = None,
) -> Iterator[Any]:
    """The `data:` payloads of a stream, parsed, each checked against its `event:` line."""
    if headers is None:
        headers = ANTHROPIC_HEADERS if "messages" in path else OPENAI_HEADERS
    with closing(http.client.HTTPConnection(server.url.removeprefix("http://"))) as connection:
        sent = json.dumps({**body, "stream": True})
        connection.request("POST", path, sent, dict(headers))
        name = ""
        for line in connection.getresponse().read().decode().split("\n"):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data" and value != "[DONE]":
                payload = json.loads(value)
                assert not name or payload["type"] == name
                yield payload
