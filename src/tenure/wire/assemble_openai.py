"""The replies that streams of OpenAI events add up to, Chat Completions and Responses.

Invariant: in Chat, strings of deltas are joined and everything else takes the last value; in
Responses the finished items count, since the ones first added may be incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.errors import UpstreamError
from tenure.wire.values import is_array, is_object, text_of

# Strings that name a thing: they come whole, at times again with every delta.
_WHOLE = frozenset({"role", "id", "type", "name"})


class ChatAssembly:
    """State of one streamed chat completion."""

    def __init__(self) -> None:
        self.done = False
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self._messages: dict[int, _Joined] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Takes in one chunk; the usage chunk, whose choices are empty, included."""
        if "type" in event:
            # The SDK's own stream helper wraps chunks and tells the same again in events of its own.
            event = event["chunk"] if is_object(event.get("chunk")) else {}
        for key, value in event.items():
            if key != "choices" and value is not None:
                self._head[key] = value
        choices = event.get("choices")
        for choice in choices if is_array(choices) else ():
            if is_object(choice):
                self._choice(choice)

    def reply(self) -> dict[str, Any]:
        """The completion so far."""
        if not self._choices:
            return dict(self._head)
        choices = [
            {**self._choices[at], "index": at, "message": _message(self._messages[at])}
            for at in sorted(self._choices)
        ]
        return {**self._head, "object": "chat.completion", "choices": choices}

    def _choice(self, choice: Mapping[str, Any]) -> None:
        at = choice.get("index")
        at = at if isinstance(at, int) else 0
        kept = self._choices.setdefault(at, {"finish_reason": None})
        kept.update({k: v for k, v in choice.items() if k != "delta" and v is not None})
        joined = self._messages.setdefault(at, _Joined())
        if is_object(choice.get("delta")):
            joined.add(choice["delta"])


class _Joined:
    """One object put together from deltas."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._values: dict[str, Any] = {}
        self._objects: dict[str, _Joined] = {}
        self._calls: dict[int, _Joined] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Takes in one delta."""
        for key, value in delta.items():
            if key == "tool_calls" and is_array(value):
                for call in value:
                    self._call(call)
            elif isinstance(value, str) and key not in _WHOLE:
                self._texts.setdefault(key, []).append(value)
            elif is_object(value):
                self._objects.setdefault(key, _Joined()).add(value)
            elif is_array(value):
                self._values[key] = [*(self._values.get(key) or []), *value]
            elif value or key not in self._values:
                self._values[key] = value

    def value(self) -> dict[str, Any]:
        """The object so far."""
        new: dict[str, Any] = dict(self._values)
        new.update({key: "".join(parts) for key, parts in self._texts.items()})
        new.update({key: inner.value() for key, inner in self._objects.items()})
        if self._calls:
            new["tool_calls"] = [self._calls[at].value() for at in sorted(self._calls)]
        return new

    def _call(self, call: Any) -> None:
        if not is_object(call):
            return
        at = call.get("index")
        if not isinstance(at, int):
            # Some gateways leave the index out: an id begins a call, all else continues it.
            at = len(self._calls) if call.get("id") else max(len(self._calls) - 1, 0)
        rest = {key: value for key, value in call.items() if key != "index"}
        self._calls.setdefault(at, _Joined()).add(rest)


def _message(joined: _Joined) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **joined.value()}


class ResponsesAssembly:
    """State of one streamed response."""

    def __init__(self) -> None:
        self.done = False
        self._response: dict[str, Any] = {}
        self._items: dict[int, Any] = {}

    def feed(self, event: dict[str, Any]) -> None:
        """Takes in one event; UpstreamError when the response failed."""
        kind = text_of(event.get("type"))
        response = event.get("response")
        if is_object(response):
            self._response = dict(response)
        if kind == "response.failed":
            error = self._response.get("error")
            words = error.get("message") if is_object(error) else error
            raise UpstreamError(f"the response failed: {words}", format="openai_responses")
        if kind in {"response.completed", "response.incomplete"}:
            self.done = True
        elif kind == "response.output_item.done" and is_object(event.get("item")):
            at = event.get("output_index")
            self._items[at if isinstance(at, int) else len(self._items)] = event["item"]

    def reply(self) -> dict[str, Any]:
        """The response: as the last event gave it, its output from finished items if it has none."""
        if not self._response and not self._items:
            return {}
        if self._response.get("output"):
            return dict(self._response)
        return {**self._response, "output": [self._items[at] for at in sorted(self._items)]}
