"""The laws of a wire format as checks of one body or one stream, for samples and for whole sets.

Invariant: what is compared are bytes that were put together here, by string work alone; a broken
law is an AssertionError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Any

from tenure.core.edit import Reason, Replace
from tenure.core.message import JsonObject, Message
from tenure.core.plan import Plan
from tenure.core.transcript import Transcript
from tenure.core.view import apply
from tenure.errors import RequestError
from tenure.wire.assemble import Assembler
from tenure.wire.detect import AnyWire, wire_for
from tenure.wire.sse import SseEvent, SseParser

WHY = Reason("test", "for the law")
_GAPS = ("", " ", "\n  ", "\t", " \r\n")


@dataclass(frozen=True)
class Written:
    """A request body, and where each message stands in it: (first byte, byte after the last)."""

    wire: AnyWire
    raw: bytes
    places: tuple[tuple[int, int], ...]

    def slice(self, at: int) -> bytes:
        """The bytes of message number `at`."""
        first, last = self.places[at]
        return self.raw[first:last]


def written(wire_name: str, messages: Sequence[JsonObject], mix: Random) -> Written:
    """The messages as a body with the blanks, escapes and fields that no serializer of ours makes."""
    wire = wire_for(wire_name)
    pieces = [b'{ "model":"m", "x_odd" : 1e3,' + json.dumps(wire.key).encode() + b" :[", _gap(mix)]
    places: list[tuple[int, int]] = []
    size = sum(map(len, pieces))
    for number, data in enumerate(messages):
        between = (_gap(mix) + b"," + _gap(mix)) if number else b""
        text = _spelled(data, mix)
        places.append((size + len(between), size + len(between) + len(text)))
        size = places[-1][1]
        pieces += between, text
    pieces.append(_gap(mix) + b'] , "later":[0.10, "\\u00e9"] }\n')
    return Written(wire, b"".join(pieces), tuple(places))


def _gap(mix: Random) -> bytes:
    return mix.choice(_GAPS).encode()


def _spelled(data: JsonObject, mix: Random) -> bytes:
    """One of the ways in which clients spell JSON, with a number that does not survive parsing."""
    indent = mix.choice([None, None, 1])
    text = json.dumps(data, ensure_ascii=mix.random() < 0.5, indent=indent)
    return (text[:-1] + mix.choice(['', ' , "x_cost":1E2', ',"x_n" : 1.50'])
            + "}").encode("utf-8", "surrogatepass")  # fmt: skip


# -- bodies --------------------------------------------------------------------------------------


def an_untouched_body_is_byte_identical(body: Written) -> None:
    cut = body.wire.cut(body.raw)
    assert cut.render(cut.messages) == body.raw
    assert [m.raw for m in cut.messages] == [body.slice(at) for at in range(len(body.places))]
    view = apply(transcript_of(body.wire, cut.messages), Plan())
    assert cut.render([entry.message for entry in view.entries]) == body.raw


def touching_one_message_changes_only_its_slice(body: Written, at: int, block_at: int) -> int:
    """Edits a block of message `at`; how many other blocks of that message were compared."""
    cut = body.wire.cut(body.raw)
    transcript = transcript_of(body.wire, cut.messages)
    blocks = transcript.blocks[at]
    block = blocks[block_at % len(blocks)]
    stand_in = body.wire.stand_in(block, transcript.messages[at], "[gone: t-1]")
    plan = Plan([Replace(block.key, (stand_in,), WHY)])
    new = cut.render([entry.message for entry in apply(transcript, plan).entries])
    first, last = body.places[at]
    assert new.startswith(body.raw[:first])
    assert new.endswith(body.raw[last:])
    middle = new[first : len(new) - (len(body.raw) - last)]
    assert middle != body.slice(at)
    assert stand_in in middle
    kept = [lens for lens in blocks if lens is not block]
    # A stand-in for a whole item is an item of another type, with lenses of its own.
    lenses = body.wire.lenses(json.loads(middle)) if block.path else ()
    left = [x for x in lenses if x.path != block.path]
    assert [(k.text, k.path) for k in kept] == [(x.text, x.path) for x in left]
    # What stands around the block is the same text: the slice differs in one run of bytes alone.
    head, tail = middle.split(stand_in, 1)
    assert body.slice(at).startswith(head)
    assert body.slice(at).endswith(tail)
    return len(kept)


def damage_raises_request_error_and_nothing_else(body: Written, mix: Random) -> bool:
    """A body with a piece torn out or junk put in; True when it was refused."""
    at = mix.randrange(len(body.raw))
    junk = mix.choice([b"", b"\x00", b'"', b"}", b"\xff", b"[[", b"\\u12", b",,", b"null"])
    end = at + mix.choice([0, 0, 1, 2, 40, len(body.raw)])
    damaged = body.raw[:at] + junk + body.raw[end:]
    try:
        cut = body.wire.cut(damaged)
    except RequestError:
        return True
    assert cut.render(cut.messages) == damaged
    body.wire.violations([m.data for m in cut.messages])
    for message in cut.messages:
        body.wire.lenses(message.data)
        body.wire.meaning(message.data)
    return False


def transcript_of(wire: AnyWire, messages: Sequence[Message]) -> Transcript:
    """The messages as a transcript."""
    transcript = Transcript(wire)
    for message in messages:
        transcript.append(message)
    return transcript


# -- streams -------------------------------------------------------------------------------------


def any_chunking_gives_the_same_events(raw: bytes, places: Sequence[int]) -> list[SseEvent]:
    """The events of a stream, the same when it is cut at these places and, if short, byte by byte."""
    whole = _events([raw])
    ends = sorted({place % (len(raw) + 1) for place in places} | {0, len(raw)})
    assert _events([raw[a:b] for a, b in pairwise(ends)]) == whole
    if len(raw) < 4_000:
        assert _events([raw[i : i + 1] for i in range(len(raw))]) == whole
    return whole


def a_stream_is_the_reply_that_came_whole(wire_name: str, body: dict[str, Any], mix: Random) -> int:
    """Streams a reply, cuts the stream, puts it together again; how many events there were."""
    raw = b"".join(_lines(event, mix) for event in stream_events(wire_name, body, mix))
    raw += b"data: [DONE]\n\n" if wire_name == "openai_chat" else b""
    cuts = [mix.randrange(len(raw)) for _ in range(12)]
    events = any_chunking_gives_the_same_events(raw, cuts)
    made = Assembler(wire_name)
    for event in events:
        made.feed(event)
    assert made.done
    wire = wire_for(wire_name)
    assert wire.reply(made.reply()) == wire.reply(body)
    return len(events)


def _events(pieces: Sequence[bytes]) -> list[SseEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.close()


def _lines(event: dict[str, Any], mix: Random) -> bytes:
    end = mix.choice(["\n", "\r\n"])
    name = f"event: {event['type']}{end}" if "type" in event else ""
    note = f": ping{end}{end}" if mix.random() < 0.2 else ""
    text = json.dumps(event, ensure_ascii=mix.random() < 0.5)
    return f"{note}{name}data: {text}{end}{end}".encode("utf-8", "surrogatepass")


def stream_events(wire_name: str, body: dict[str, Any], mix: Random) -> Iterator[dict[str, Any]]:
    """The events that the provider would have sent for a reply."""
    make = {
        "anthropic_messages": _anthropic_events,
        "openai_chat": _chat_events,
        "openai_responses": _responses_events,
    }[wire_name]
    return make(body, mix)


def _anthropic_events(body: dict[str, Any], mix: Random) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**body, "content": []}}
    for index, block in enumerate(body["content"]):
        start, deltas = dict(block), []
        match block["type"]:
            case "text":
                start["text"] = ""
                deltas = [{"type": "text_delta", "text": p} for p in _portions(block["text"], mix)]
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                said = _portions(block["thinking"], mix)
                deltas = [{"type": "thinking_delta", "thinking": p} for p in said]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            case "tool_use":
                start["input"] = {}
                said = _portions(json.dumps(block["input"]), mix)
                deltas = [{"type": "input_json_delta", "partial_json": p} for p in said]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": body["usage"]}
    yield {"type": "message_stop"}


def _chat_events(body: dict[str, Any], mix: Random) -> Iterator[dict[str, Any]]:
    message = body["choices"][0]["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
    for key, value in message.items():
        if key in ("content", "reasoning_content") and value is not None:
            deltas += [{key: part} for part in _portions(value, mix)]
        elif key == "tool_calls":
            for number, call in enumerate(value or ()):
                spelled = call["function"]["arguments"]
                empty = {**call["function"], "arguments": ""}
                deltas.append({"tool_calls": [{**call, "index": number, "function": empty}]})
                deltas += [
                    {"tool_calls": [{"index": number, "function": {"arguments": part}}]}
                    for part in _portions(spelled, mix)
                ]
        elif key != "role":
            deltas.append({key: value})
    for delta in deltas:
        yield {"choices": [{"index": 0, "delta": delta}]}
    yield {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield {"choices": [], "usage": body["usage"]}


def _responses_events(body: dict[str, Any], mix: Random) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {**body, "output": []}}
    for index, item in enumerate(body["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {}}
        for part in _portions(json.dumps(item), mix):
            yield {"type": "response.odd.delta", "output_index": index, "delta": part}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    # Gateways leave the output of the last event out; then the finished items count.
    last = body if mix.random() < 0.5 else {**body, "output": []}
    yield {"type": "response.completed", "response": last}


def _portions(text: str, mix: Random) -> list[str]:
    """The text in about ten pieces, no surrogate pair or combining mark spared."""
    sizes = [mix.randint(1, max(1, len(text) // 5)) for _ in range(12)]
    ends = [0, *(end for end in accumulate(sizes) if end < len(text)), len(text)]
    return [text[a:b] for a, b in pairwise(ends)]


def reply_body(wire_name: str, messages: Sequence[JsonObject]) -> dict[str, Any] | None:
    """The reply that these messages came from; None when they are no reply."""
    usage = {"input_tokens": 7, "output_tokens": 3, "prompt_tokens": 7, "completion_tokens": 3}
    if wire_name == "openai_responses":
        return {"id": "r", "output": list(messages), "usage": usage} if messages else None
    if len(messages) != 1:
        return None
    if wire_name == "openai_chat":
        return {"choices": [{"index": 0, "message": messages[0]}], "usage": usage}
    content = messages[0]["content"]
    listed = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return {"type": "message", "role": "assistant", "content": listed, "usage": usage}
