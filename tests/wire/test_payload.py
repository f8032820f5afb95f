"""A payload is counted by its size wherever it is nested; words are counted as words.

The case is 064; its kind is every place of every format where base64 can stand.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure import Options, Session
from tenure.core.message import BlockKind, JsonObject
from tenure.core.protocols import ToolCall
from tenure.core.transcript import Transcript
from tenure.tokens.counter import BlockCounter
from tenure.tokens.media import UNKNOWN_AUDIO, UNKNOWN_PICTURE, picture_tokens
from tenure.wire.detect import WIRES
from tests.cases import case_input, expanded
from tests.tokens.pictures import encoded, png, wav
from tests.wire.strategies import reply_body

FEW = settings(max_examples=25)
PER_WIRE = pytest.mark.parametrize("wire", sorted(WIRES))
MODELS = {
    "anthropic_messages": "claude-opus-4-5",
    "openai_chat": "gpt-4.1",
    "openai_responses": "gpt-5.1",
}
PROVIDERS = {
    "anthropic_messages": "anthropic",
    "openai_chat": "openai",
    "openai_responses": "openai",
}
LONG = 300_000
Wrap = Callable[[Any], Any]


def counted(wire: str, data: JsonObject) -> int:
    """The estimate of a message of this format."""
    transcript, counter = Transcript(WIRES[wire]), BlockCounter(MODELS[wire], PROVIDERS[wire])
    transcript.append(WIRES[wire].message(data))
    assert all(counter.count(b).upper <= counter.bound(b) for b in transcript.all_blocks())
    return sum(counter.count(block).estimate for block in transcript.all_blocks())


def picture(wire: str, width: int, height: int) -> int:
    return picture_tokens(PROVIDERS[wire], width=width, height=height)


# -- where a payload can stand ---------------------------------------------------------------------


def url_of(data: str, media_type: str) -> str:
    return f"data:{media_type};base64,{data}"


# One payload in each of the spellings that are in use, as a JSON value.
SPELLINGS: dict[str, Callable[[str, str], Any]] = {
    "a data URL": url_of,
    "an object with a data URL": lambda d, m: {"type": "image", "url": url_of(d, m)},
    "Anthropic's source": lambda d, m: {"type": "base64", "media_type": m, "data": d},
    "an MCP resource": lambda d, m: {"uri": "file:///a", "mimeType": m, "blob": d},
    "image_url": lambda d, m: {"type": "image_url", "image_url": {"url": url_of(d, m)}},
    "input_image": lambda d, m: {"type": "input_image", "image_url": url_of(d, m)},
    "a screenshot": lambda d, m: {"type": "computer_screenshot", "image_url": url_of(d, m)},
    "b64_json": lambda d, _: {"b64_json": d},
    "a bare string": lambda d, _: {"anything": d},
    "strings in a list": lambda d, _: {"images": [d]},
}
KEYS = st.sampled_from(["result", "outputs", "payload", "value", "parts", "x"])
WRAPS: st.SearchStrategy[Wrap] = st.lists(st.none() | KEYS, max_size=4).map(
    lambda steps: lambda value: _wrapped(value, steps)
)


def _wrapped(value: Any, steps: list[str | None]) -> Any:
    for step in steps:
        value = [value] if step is None else {step: value, "n": 1}
    return value


# A message of each format with a value of nobody's kind in it.
PLACES: dict[str, dict[str, Callable[[Any], JsonObject]]] = {
    "anthropic_messages": {
        "an unknown block": lambda v: _assistant({"type": "future_block", "held": v}),
        "a server tool's result": lambda v: _assistant(
            {"type": "bash_code_execution_tool_result", "tool_use_id": "s", "content": {"held": v}}
        ),
        "a part of a result": lambda v: _user(
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "odd", "held": v}]}
        ),
    },
    "openai_chat": {
        "an unknown part": lambda v: _assistant({"type": "future_part", "held": v}),
        "a field of a gateway": lambda v: {"role": "assistant", "content": "", "held": v},
        "a part of a result": lambda v: {
            "role": "tool", "tool_call_id": "c", "content": [{"type": "odd", "held": v}]
        },
    },
    "openai_responses": {
        "an unknown item": lambda v: {"type": "future_call", "id": "f", "held": v},
        "an unknown part": lambda v: _assistant({"type": "future_part", "held": v}),
        "a part of an output": lambda v: {
            "type": "function_call_output", "call_id": "c", "output": [{"type": "odd", "held": v}]
        },
    },
}  # fmt: skip


def _assistant(part: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": [part]}


def _user(part: JsonObject) -> JsonObject:
    return {"role": "user", "content": [part]}


@PER_WIRE
@FEW
@given(data=st.data(), width=st.integers(200, 2_000), height=st.integers(200, 2_000), wrap=WRAPS)
def test_a_picture_is_counted_by_its_size_wherever_it_is_nested(
    wire: str, data: st.DataObject, width: int, height: int, wrap: Wrap
) -> None:
    place = PLACES[wire][data.draw(st.sampled_from(sorted(PLACES[wire])))]
    spell = SPELLINGS[data.draw(st.sampled_from(sorted(SPELLINGS)))]
    filler = data.draw(st.sampled_from([300, LONG]))
    body = png(width, height, filler=filler)
    found = counted(wire, place(wrap(spell(body, "image/png")))) - counted(wire, place(""))
    assert abs(found - picture(wire, width, height)) <= 150


def _served(result: JsonObject) -> JsonObject:
    """A result of a tool that the provider runs, behind its call."""
    call = {"type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {}}
    if result["type"] == "mcp_tool_result":
        call = {"type": "mcp_tool_use", "id": "s", "name": "n", "server_name": "m", "input": {}}
    return {"role": "assistant", "content": [call, result]}


# Every place that the APIs and gateways are known to have, with the media type of what is in it.
KNOWN: dict[str, list[tuple[str, Callable[[str], JsonObject]]]] = {
    "openai_responses": [
        ("image/png", lambda d: {
            "type": "image_generation_call", "id": "ig", "status": "completed", "result": d}),
        ("image/png", lambda d: {
            "type": "code_interpreter_call", "id": "ci", "code": "plot()", "container_id": "k",
            "status": "completed", "outputs": [{"type": "image", "url": url_of(d, "image/png")}]}),
        ("image/png", lambda d: {
            "type": "computer_call_output", "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": url_of(d, "image/png")}}),
        ("image/png", lambda d: {
            "type": "function_call_output", "call_id": "c",
            "output": [{"type": "input_image", "image_url": url_of(d, "image/png")}]}),
        ("audio/wav", lambda d: _user(
            {"type": "input_audio", "input_audio": {"data": d, "format": "wav"}})),
        ("audio/wav", lambda d: _assistant({"type": "output_audio", "data": d, "transcript": "hi"})),
        ("application/pdf", lambda d: _user(
            {"type": "input_file", "file_data": url_of(d, "application/pdf")})),
    ],
    "openai_chat": [
        ("image/png", lambda d: {"role": "assistant", "content": "", "images": [
            {"type": "image_url", "image_url": {"url": url_of(d, "image/png")}}]}),
        ("image/png", lambda d: {"role": "assistant", "content": "", "images": [d]}),
        ("audio/wav", lambda d: {"role": "assistant", "content": None, "audio": {
            "id": "a", "data": d, "transcript": "hello", "expires_at": 1}}),
        ("audio/wav", lambda d: _user(
            {"type": "input_audio", "input_audio": {"data": d, "format": "wav"}})),
        ("application/pdf", lambda d: _user(
            {"type": "file", "file": {"file_data": url_of(d, "application/pdf")}})),
        ("image/png", lambda d: {"role": "tool", "tool_call_id": "c", "content": [
            {"type": "image_url", "image_url": {"url": url_of(d, "image/png")}}]}),
    ],
    "anthropic_messages": [
        ("image/png", lambda d: _user({"type": "image", "source": {
            "type": "base64", "media_type": "image/png", "data": d}})),
        ("image/png", lambda d: _user({"type": "tool_result", "tool_use_id": "c", "content": [
            {"type": "image", "data": d, "mimeType": "image/png"}]})),
        ("application/pdf", lambda d: _served({
            "type": "web_fetch_tool_result", "tool_use_id": "s", "content": {
                "type": "web_fetch_result", "url": "https://e.org", "content": {
                    "type": "document", "source": {
                        "type": "base64", "media_type": "application/pdf", "data": d}}}})),
        ("image/png", lambda d: _served({
            "type": "mcp_tool_result", "tool_use_id": "s", "is_error": False, "content": [
                {"type": "image", "source": {
                    "type": "base64", "media_type": "image/png", "data": d}}]})),
        ("audio/wav", lambda d: _served({
            "type": "mcp_tool_result", "tool_use_id": "s", "is_error": False, "content": [
                {"type": "audio", "data": d, "mimeType": "audio/wav"}]})),
    ],
}  # fmt: skip
HELD = [(w, m, make) for w, places in KNOWN.items() for m, make in places]


@pytest.mark.parametrize(("wire", "media_type", "make"), HELD)
@FEW
@given(size=st.integers(20, 400))
def test_every_known_place_is_counted_by_the_size_of_what_it_holds(
    wire: str, media_type: str, make: Callable[[str], JsonObject], size: int
) -> None:
    held, price = {
        "image/png": (png(size * 4, 800, filler=LONG), picture(wire, size * 4, 800)),
        "audio/wav": (wav(size / 4), size * 10 // 4 + 1),
        "application/pdf": (
            encoded(b"%PDF-1.7\n" + b"<< /Type /Page >>" * (size // 20) + bytes(LONG)),
            3_000 * (size // 20),
        ),
    }[media_type]
    assert abs(counted(wire, make(held)) - price) <= 150


@pytest.mark.parametrize(("wire", "media_type", "make"), HELD)
def test_what_cannot_be_read_is_never_counted_as_its_base64(
    wire: str, media_type: str, make: Callable[[str], JsonObject]
) -> None:
    (part,) = (p for p in expanded(case_input("064"))["input"][0]["content"] if "image_url" in p)
    body = part["image_url"].partition(",")[2]
    assert len(body) >= 400_000
    limit = {"image/png": UNKNOWN_PICTURE + 150, "audio/wav": 1_000, "application/pdf": 25_000}
    assert 150 < counted(wire, make(body)) <= limit[media_type]


@pytest.mark.parametrize("spelling", ["a data URL", "Anthropic's source", "an MCP resource"])
@PER_WIRE
def test_a_film_or_an_office_document_is_counted_by_its_size(wire: str, spelling: str) -> None:
    for media_type in ("video/mp4", "application/zip", "application/vnd.ms-excel"):
        held = SPELLINGS[spelling](encoded(b"\x00\xff\xfe\x03" * 35_000), media_type)
        for place in PLACES[wire].values():
            assert 3_000 <= counted(wire, place(held)) <= 15_000


# -- words stay words ------------------------------------------------------------------------------

BASE64 = string.ascii_letters + string.digits + "+/"
LOOKS = st.builds(
    lambda start, body: start + body,
    st.sampled_from(["", "iVBORw0KGgo", "/9j/", "JVBERi0", "data:image/png;base64,iVBORw0KGgo"]),
    st.text(BASE64, min_size=300, max_size=900),
)
SPOKEN: dict[str, list[Callable[[str], JsonObject]]] = {
    "anthropic_messages": [
        lambda t: {"role": "user", "content": t},
        lambda t: _user({"type": "text", "text": t}),
        lambda t: _user({"type": "tool_result", "tool_use_id": "c", "content": t}),
        lambda t: _user({"type": "tool_result", "tool_use_id": "c", "content": [
            {"type": "text", "text": t}]}),
        lambda t: _assistant({"type": "tool_use", "id": "c", "name": "w", "input": {"data": t}}),
        lambda t: _assistant({"type": "bash_code_execution_tool_result", "tool_use_id": "s",
                              "content": {"stdout": t, "stderr": "", "return_code": 0}}),
    ],
    "openai_chat": [
        lambda t: {"role": "user", "content": t},
        lambda t: {"role": "tool", "tool_call_id": "c", "content": t},
        lambda t: {"role": "assistant", "content": None, "tool_calls": [{
            "id": "c", "type": "function", "function": {"name": "w", "arguments": t}}]},
        lambda t: {"role": "assistant", "content": "", "reasoning_content": t},
    ],
    "openai_responses": [
        lambda t: {"role": "user", "content": t},
        lambda t: {"type": "function_call_output", "call_id": "c", "output": t},
        lambda t: {"type": "function_call", "call_id": "c", "name": "w", "arguments": t},
        lambda t: {"type": "code_interpreter_call", "id": "i", "code": t, "outputs": None},
        lambda t: {"type": "code_interpreter_call", "id": "i", "code": "", "outputs": [
            {"type": "logs", "logs": t}]},
        lambda t: {"type": "mcp_call", "id": "m", "name": "n", "server_label": "s",
                   "arguments": "{}", "output": t},
    ],
}  # fmt: skip


@PER_WIRE
@FEW
@given(text=LOOKS, data=st.data())
def test_words_that_look_like_base64_are_counted_as_words(
    wire: str, text: str, data: st.DataObject
) -> None:
    make = data.draw(st.sampled_from(SPOKEN[wire]))
    words = BlockCounter(MODELS[wire], PROVIDERS[wire]).count_text(text).estimate
    assert counted(wire, make(text)) >= words
    assert counted(wire, make(text)) - counted(wire, make("")) <= words + 60


def test_a_chat_reply_of_sound_or_pictures_alone_is_kept() -> None:
    chat = WIRES["openai_chat"]
    for field, value, least in (
        ("audio", {"id": "audio_1", "data": wav(30), "transcript": "hi"}, UNKNOWN_AUDIO),
        ("images", [{"type": "image_url", "image_url": {"url": url_of(png(900, 900), "image/png")}}],
         picture("openai_chat", 900, 900)),
    ):  # fmt: skip
        message = {"role": "assistant", "content": None, field: value}
        kept, _ = chat.reply({"choices": [{"message": message}]})
        assert [counted("openai_chat", one) >= least for one in kept] == [True]


# -- in a session ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "media_type", "make"), HELD)
def test_a_session_with_such_an_item_stays_usable(
    wire: str, media_type: str, make: Callable[[str], JsonObject]
) -> None:
    held = png(800, 800, filler=LONG) if media_type == "image/png" else wav(10)
    held = held if media_type != "application/pdf" else encoded(b"%PDF /Type /Page" + bytes(LONG))
    item = make(held)
    session = Session(
        MODELS[wire], max_tokens=1_000, options=Options(wire=wire, window=60_000, name="s")
    )
    session.user("draw it")
    _answered(session, wire, item)
    session.user("and now?")
    for number in range(3):
        sent = session.request()[WIRES[wire].key]
        assert sum(counted(wire, message) for message in sent) < 6_000
        assert session.explain().occupancy.used < 6_000
        session.reply(reply_body(wire, "", f"done {number}", []))
        session.user("go on")
    session.request()


def _answered(session: Session, wire: str, item: JsonObject) -> None:
    """The item in a place where it may stand: behind its call where it is an answer."""
    if any(lens.kind is BlockKind.TOOL_RESULT for lens in WIRES[wire].lenses(item)):
        session.request()
        session.reply(reply_body(wire, "", "", [ToolCall("c", "draw", {})]))
    session.append(item)
