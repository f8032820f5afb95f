"""The definition of a use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import BlockKind, JsonObject, Message, Origin
from tenure.core.strings import rare_strings
from tenure.core.transcript import Transcript
from tenure.replay.dependencies import Dependencies, Use, canonical
from tenure.wire.detect import wire_for
from tests.replay.recorded import Recorder


def used(recorder: Recorder, system: str = "") -> list[Use]:
    uses = Dependencies.of(recorder.transcript(), system).uses
    return [use for index in sorted(uses) for use in uses[index]]


def test_a_repeated_call_uses_the_newest_result_of_that_call() -> None:
    r = Recorder().user("go")
    r.call("read", {"path": "a", "n": 1}, "one").call("read", {"n": 1, "path": "a"}, "two")
    r.call("read", {"path": "a", "n": 1}, "three")
    assert used(r) == [
        Use("result:toolu_0", frozenset(), repeat=True),
        Use("result:toolu_1", frozenset(), repeat=True),
    ]


def test_the_same_arguments_to_another_tool_are_no_repeat() -> None:
    r = Recorder().user("go").call("read", {"path": "a"}, "one").call("stat", {"path": "a"}, "two")
    assert used(r) == []


def test_a_call_that_never_got_a_result_is_not_used() -> None:
    r = Recorder().user("go").call("read", {"path": "a"}, None).call("read", {"path": "a"}, "two")
    assert used(r) == []


def test_a_string_that_stands_in_one_result_only_is_used_by_the_reply_that_says_it_first() -> None:
    r = Recorder().user("go").call("ls", {}, "found conf_main.py here")
    r.call("read", {"path": "conf_main.py"}, "x").say("conf_main.py is read")
    uses = Dependencies.of(r.transcript()).uses
    assert uses == {3: (Use("result:toolu_0", frozenset({"conf_main.py"}), repeat=False),)}


def test_a_string_that_stands_elsewhere_too_is_no_use() -> None:
    def told(*, user: str = "go", said: str = "ok", other: str = "", system: str = "") -> list[Use]:
        r = Recorder().user(user).call("say", {"text": said}, other)
        r.call("ls", {}, "conf_main.py").say("it is conf_main.py")
        return used(r, system)

    assert len(told()) == 1
    assert told(user="see conf_main.py") == []
    assert told(said="conf_main.py") == []
    assert told(other="conf_main.py") == []
    assert told(system="always read conf_main.py") == []


def test_strings_are_compared_as_whole_words() -> None:
    r = Recorder().user("go").call("ls", {}, "src/conf_main.py").say("/home/src/conf_main.py")
    assert used(r) == []


def test_the_reasoning_of_a_reply_does_not_hide_where_its_words_come_from() -> None:
    r = Recorder().user("go").call("ls", {}, "conf_main.py")
    thinking = {"type": "thinking", "thinking": "conf_main.py!", "signature": "c2ln"}
    r._reply([thinking, {"type": "text", "text": "conf_main.py"}])
    assert len(used(r)) == 1


def test_consecutive_items_of_the_responses_api_are_one_reply() -> None:
    items: list[tuple[JsonObject, Origin]] = [
        ({"role": "user", "content": "go"}, Origin.USER),
        (_call("c1", "ls", "{}"), Origin.ASSISTANT),
        ({"type": "function_call_output", "call_id": "c1", "output": "conf_1"}, Origin.TOOL),
        ({"role": "assistant", "content": "conf_1 it is"}, Origin.ASSISTANT),
        (_call("c2", "read", '{"path": "conf_1"}'), Origin.ASSISTANT),
    ]
    transcript = Transcript(wire_for("openai_responses"))
    for data, origin in items:
        transcript.append(Message(data, origin=origin))
    dependencies = Dependencies.of(transcript)
    assert dependencies.at(3, 4) == (Use("result:c1", frozenset({"conf_1"}), repeat=False),)
    assert dependencies.last_uses() == {"result:c1": 3}


def test_arguments_that_are_no_json_are_compared_as_text() -> None:
    assert canonical(" *** Begin Patch\n") == "*** Begin Patch"
    assert canonical('{"a": [1, 2]}') == canonical('{ "a":[1,2] }')


def _call(call_id: str, name: str, arguments: str) -> JsonObject:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


WORDS = st.lists(st.sampled_from([f"name_{n}" for n in range(6)]), max_size=3).map(" ".join)
STEPS = st.lists(st.tuples(st.sampled_from(["call", "say", "user"]), WORDS, WORDS), max_size=12)


@given(STEPS)
def test_the_index_finds_what_reading_everything_again_finds(
    steps: list[tuple[str, str, str]],
) -> None:
    r = Recorder().user("go")
    for kind, said, answer in steps:
        if kind == "call":
            r.call("tool", {"text": said}, answer)
        elif kind == "say":
            r.say(said or "ok")
        else:
            r.user(said or "ok")
    transcript = r.transcript()
    found = Dependencies.of(transcript).uses
    for index, message in enumerate(transcript.messages):
        wanted = _slowly(transcript, index) if message.origin is Origin.ASSISTANT else {}
        assert {u.result: u.strings for u in found.get(index, ()) if u.strings} == wanted


def _slowly(transcript: Transcript, reply: int) -> dict[str, frozenset[str]]:
    """The strings of a reply by the one result that holds them; replies here are one message, or
    several whose earlier ones belong to it."""
    first = reply
    while first and transcript.messages[first - 1].origin is Origin.ASSISTANT:
        first -= 1
    if first != reply:
        return {}
    last = reply
    while last + 1 < len(transcript) and transcript.messages[last + 1].origin is Origin.ASSISTANT:
        last += 1
    said = {
        s
        for i in range(first, last + 1)
        for b in transcript.blocks[i]
        for s in rare_strings(b.text)
    }
    uses: dict[str, set[str]] = {}
    for string in said:
        places = [
            block
            for blocks in transcript.blocks[:first]
            for block in blocks
            if string in rare_strings(block.text)
        ]
        if len(places) == 1 and places[0].kind is BlockKind.TOOL_RESULT:
            uses.setdefault(places[0].key, set()).add(string)
    return {key: frozenset(strings) for key, strings in uses.items()}
