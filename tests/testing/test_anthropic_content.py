"""Server tools, paused turns, system messages and pictures, by the real SDK where it can say them."""

from __future__ import annotations

import base64
import struct
from typing import Any

import anthropic
import pytest
from anthropic.types import Message

from tenure.testing import Call, ModelServer, Reply
from tenure.testing.pictures import Picture, picture
from tenure.testing.script import Body
from tests.testing.asked_badly import USER, claude, heard, said, text
from tests.testing.asked_newly import CLEAR_AT, DOCUMENT, image, png, system
from tests.testing.raw import ANTHROPIC_HEADERS, post, with_betas

MODEL = "claude-opus-5-5"
SEARCH = Call("web_search", {"query": "cold caches"}, server=True)
FOUND: list[dict[str, Any]] = [
    {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e"}
]


def fine(_body: Body, _step: int) -> Reply:
    return Reply("fine")


def create(sdk: anthropic.Anthropic, *messages: Any) -> Message:
    """One request for a short answer."""
    body: Any = {"model": MODEL, "max_tokens": 100, "messages": list(messages)}
    created: Message = sdk.messages.create(**body)
    return created


def client(server: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="any", max_retries=0)


def test_a_paused_turn_is_sent_back_as_it_is_and_goes_on() -> None:
    script = [Reply("let me look", calls=[SEARCH]), Reply("it was cold")]
    with ModelServer(script) as server, client(server) as sdk:
        first = create(sdk, USER)
        assert first.stop_reason == "pause_turn"
        assert [block.type for block in first.content] == ["text", "server_tool_use"]
        second = create(sdk, USER, first.to_param())
        assert second.stop_reason == "end_turn"
        with pytest.raises(anthropic.BadRequestError, match="web_search_tool_result"):
            create(sdk, USER, first.to_param(), USER)


def test_a_server_tool_with_its_result_streams_whole() -> None:
    answered = Call("web_search", {"query": "cold"}, server=True, result=FOUND)
    with ModelServer([Reply(calls=[answered]), Reply("so")]) as server, client(server) as sdk:
        body: Any = {"model": MODEL, "max_tokens": 100, "messages": [USER]}
        with sdk.messages.stream(**body) as stream:
            message = stream.get_final_message()
        assert message.stop_reason == "end_turn"
        assert [block.type for block in message.content] == [
            "server_tool_use",
            "web_search_tool_result",
        ]
        after: list[Any] = [USER, message.to_param(), {"role": "system", "content": "be brief"}]
        assert create(sdk, *after).stop_reason == "end_turn"


def test_a_cleared_system_message_is_shown_once_and_stays_in_place() -> None:
    reminder = system("hurry: " + "now " * 100, clear_at="next_user_message")
    sent = [USER, reminder, said(text("so")), USER]
    headers = with_betas(*CLEAR_AT)
    with ModelServer(fine) as server:
        used = [
            post(server, "/v1/messages", claude(*messages), headers=headers)[1]["usage"]
            for messages in (sent[:2], sent, [*sent[:1], *sent[2:]])
        ]
        shown, cleared, never_there = (usage["input_tokens"] for usage in used)
        assert cleared == never_there < shown
        assert server.prefix_breaks[0].request == 2, "only leaving it out breaks the prefix"


def test_versions_before_october_take_what_the_newer_one_refuses() -> None:
    cited = text("so", citations=[{"type": "char_location"}])
    headers = {**ANTHROPIC_HEADERS, "anthropic-version": "2023-06-01"}
    with ModelServer(fine) as server:
        for body in (claude(heard(cited)), claude(USER, said(DOCUMENT), USER)):
            assert post(server, "/v1/messages", body, headers=headers)[0] == 200
            assert post(server, "/v1/messages", body)[0] == 400


def test_pictures_that_are_too_large_are_all_named_in_the_details() -> None:
    wide, small = image(png(2_001, 9)), image(png(9, 9))
    shown = heard(wide, *[small] * 19, text("compare"))
    results = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [small, wide]}
    used = {"type": "tool_use", "id": "toolu_1", "name": "shoot", "input": {}}
    with ModelServer(fine) as server, client(server) as sdk:
        assert create(sdk, shown).stop_reason == "end_turn"
        with pytest.raises(anthropic.BadRequestError) as caught:
            create(sdk, shown, said(used), heard(results))
    assert caught.value.error_code == "image_dimensions_too_large"
    assert caught.value.details is not None
    assert caught.value.details.to_dict() == {
        "error_code": "image_dimensions_too_large",
        "max_side_length_pixels": 2_000,
        "paths": ["messages.0.content.0", "messages.2.content.0.content.1"],
    }


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (base64.b64decode(png(3, 5)), Picture("image/png", 3, 5)),
        (b"GIF89a" + struct.pack("<HH", 3, 5), Picture("image/gif", 3, 5)),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + b"\x02\x00\x00\x04\x00\x00",
            Picture("image/webp", 3, 5),
        ),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8L"
            + bytes(4)
            + b"\x2f"
            + struct.pack("<I", 2 | 4 << 14)
            + bytes(5),
            Picture("image/webp", 3, 5),
        ),
        (
            b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(7) + b"\x9d\x01\x2a" + struct.pack("<HH", 3, 5),
            Picture("image/webp", 3, 5),
        ),
        (
            b"\xff\xd8\xff\xe0\x00\x04JF\xff\xff\xc0\x00\x11\x08\x00\x05\x00\x03",
            Picture("image/jpeg", 3, 5),
        ),
        (b"\xff\xd8\xff\xc4\x00\x04xx\xff\xd9", None),
        (base64.b64decode(png(0, 5)), None),
        (b"", None),
    ],
)
def test_pictures_are_known_by_their_first_bytes(data: bytes, expected: Picture | None) -> None:
    assert picture(data) == expected


def test_lone_surrogates_are_no_json() -> None:
    body = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"cut \\ud83d"}]}'
    with ModelServer(fine) as server:
        for path in ("/v1/messages", "/v1/chat/completions"):
            status, answer = post(server, path, body)
            assert status == 400
            assert "low surrogate" in answer["error"]["message"]
