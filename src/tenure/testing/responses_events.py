"""A response object told as the events of its stream.

Invariant: every item is added empty, filled by deltas and done whole; the first event is
`response.created`, the last carries the whole response. Source: openai 3.57.0 types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tenure.testing.sse import pieces

Event = dict[str, Any]


def events_of(response: dict[str, Any]) -> Iterator[Event]:
    """All events of the stream, without their sequence numbers."""
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"item_id": item["id"], "output_index": index}
        added = _empty(item)
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        yield from _FILLERS[item["type"]](item, place)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    match item["type"]:
        case "reasoning":
            return {**item, "summary": [], "encrypted_content": None}
        case "compaction":
            return {**item, "encrypted_content": ""}
        case "message":
            return {**item, "status": "in_progress", "content": []}
        case _:
            return {**item, "status": "in_progress", "arguments": ""}


def _reasoning(item: dict[str, Any], place: Event) -> Iterator[Event]:
    for number, part in enumerate(item["summary"]):
        at = {**place, "summary_index": number}
        name = "response.reasoning_summary"
        yield {"type": f"{name}_part.added", **at, "part": {"type": "summary_text", "text": ""}}
        for piece in pieces(part["text"]):
            yield {"type": f"{name}_text.delta", **at, "delta": piece}
        yield {"type": f"{name}_text.done", **at, "text": part["text"]}
        yield {"type": f"{name}_part.done", **at, "part": part}


def _message(item: dict[str, Any], place: Event) -> Iterator[Event]:
    for number, part in enumerate(item["content"]):
        at = {**place, "content_index": number}
        yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
        for piece in pieces(part["text"]):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part}


def _call(item: dict[str, Any], place: Event) -> Iterator[Event]:
    name = "response.function_call_arguments"
    for piece in pieces(item["arguments"]):
        yield {"type": f"{name}.delta", **place, "delta": piece}
    yield {"type": f"{name}.done", **place, "arguments": item["arguments"], "name": item["name"]}


def _compaction(item: dict[str, Any], place: Event) -> Iterator[Event]:  # noqa: ARG001
    yield {"type": "response.compaction.compacting", **place}


_FILLERS = {
    "compaction": _compaction,
    "reasoning": _reasoning,
    "message": _message,
    "function_call": _call,
}
