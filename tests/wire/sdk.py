"""The real SDKs against canned replies, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import openai


class Canned:
    """Answers every request with one body and keeps what was asked."""

    def __init__(self, reply: dict[str, Any] | bytes) -> None:
        self.reply = reply
        self.asked: list[dict[str, Any]] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(json.loads(request.content))
        if isinstance(self.reply, bytes):
            kind = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=kind, content=self.reply)
        return httpx2.Response(200, json=self.reply)


@contextmanager
def anthropic_client(canned: Canned) -> Iterator[anthropic.Anthropic]:
    """An Anthropic client that talks to it."""
    transport = httpx2.MockTransport(canned)
    with httpx2.Client(transport=transport) as http:
        yield anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)


@contextmanager
def openai_client(canned: Canned) -> Iterator[openai.OpenAI]:
    """An OpenAI client that talks to it."""
    transport = httpx2.MockTransport(canned)
    with httpx2.Client(transport=transport) as http:
        yield openai.OpenAI(api_key="none", http_client=http, max_retries=0)
