"""What may go, and how it is told: duplicates, versions, references, reasoning, digests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.message import BlockKind, JsonObject, Message
from tenure.core.strings import rare_strings
from tenure.core.transcript import Transcript
from tenure.errors import ConfigError
from tenure.policies import by_name, names
from tenure.policies.duplicate_results import DuplicateResults
from tenure.policies.finished_reasoning import conclusion
from tenure.policies.references import References
from tenure.policies.schedule import Settings
from tenure.policies.score import Facts, chance_within, score
from tenure.policies.superseded import Superseded, subject_of
from tenure.policies.tombstone import cut_points, digest, handle_for, imperatives
from tenure.testing.strategies import file_text
from tenure.wire.detect import wire_for

WIRE = wire_for("anthropic_messages")
TEXTS = st.text(st.characters(codec=None), max_size=300)


def talk(*steps: tuple[str, JsonObject, str], said: str = "") -> Transcript:
    """A transcript of calls and their results, then a text."""
    transcript = Transcript(WIRE)

    def add(role: str, *blocks: dict[str, object]) -> None:
        data = {"role": role, "content": list(blocks)}
        transcript.append(Message(data, origin=WIRE.origin(data)))

    add("user", {"type": "text", "text": "go"})
    for number, (name, given_input, text) in enumerate(steps):
        call = f"c{number}"
        add("assistant", {"type": "tool_use", "id": call, "name": name, "input": given_input})
        add("user", {"type": "tool_result", "tool_use_id": call, "content": text})
    if said:
        add("assistant", {"type": "text", "text": said})
    return transcript


def results_of(transcript: Transcript) -> list[str]:
    return [b.key for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_RESULT]


def seen(finder: DuplicateResults | Superseded, transcript: Transcript) -> dict[str, str]:
    for block in transcript.all_blocks():
        finder.see(transcript, block)
    return finder.newer


@given(which=st.lists(st.integers(0, 2), max_size=8), swap=st.booleans())
def test_of_equal_calls_the_newest_result_stays(which: list[int], swap: bool) -> None:
    steps = [
        ("read", {"b": n, "a": 1} if swap and at % 2 else {"a": 1, "b": n}, f"text {at}")
        for at, n in enumerate(which)
    ]
    newer = seen(DuplicateResults(), talk(*steps))
    for at, n in enumerate(which):
        later = [i for i in range(at + 1, len(which)) if which[i] == n]
        assert newer.get(f"result:c{at}") == (f"result:c{later[0]}" if later else None)


def test_another_version_of_a_file_supersedes_the_older_one() -> None:
    transcript = talk(
        ("read", {"path": "src/alpha.py"}, file_text(0, 0, 3_000)),
        ("read", {"path": "src/beta.py"}, file_text(1, 0, 3_000)),
        ("view", {"file": "src/alpha.py", "from": 1}, file_text(0, 1, 3_000)),
    )
    assert seen(Superseded(), transcript) == {"result:c0": "result:c2"}


def test_a_part_of_a_file_does_not_supersede_the_whole() -> None:
    transcript = talk(
        ("read", {"path": "a.py"}, file_text(0, 0, 6_000)),
        ("read", {"path": "a.py", "lines": "1-9"}, file_text(0, 0, 600)),
    )
    assert seen(Superseded(), transcript) == {}


@pytest.mark.parametrize(
    ("given_input", "subject"),
    [
        ({"path": "a.py"}, "a.py"),
        ({"file_path": "a.py", "text": "x"}, "a.py"),
        ({"todos": ["a"]}, "tool:plan"),
        ({"todos": ["a"], "more": 1}, None),
        ({"command": "ls"}, None),
        ({"path": ""}, None),
        ({"path": 7}, None),
    ],
)
def test_what_a_call_is_about_is_read_from_its_arguments(
    given_input: dict[str, object], subject: str | None
) -> None:
    transcript = talk(("plan", given_input, "ok"))
    (call,) = (b for b in transcript.all_blocks() if b.kind is BlockKind.TOOL_CALL)
    assert subject_of(call) == subject


@given(late=st.lists(st.booleans(), min_size=3, max_size=3), said=st.sampled_from(
    ["", "see handle_alpha_3", "see job-9, handle_beta_2 and handle_alpha_1 again"]))  # fmt: skip
def test_references_do_not_depend_on_when_they_were_read(late: list[bool], said: str) -> None:
    steps = [("read", {"n": n}, file_text(n, 0, 500)) for n in range(3)]
    whole = talk(*steps, said=said)
    grown, early = Transcript(WIRE), References()
    blocks = [whole.block(key) for key in results_of(whole)]
    for message in whole.messages:
        grown.append(message)
        early.catch_up(grown)
        for block, waits in zip(blocks, late, strict=True):
            if waits:
                break  # Results are read in the order of the transcript.
            if block.key in grown:
                early.of(block)
    after = References()
    after.catch_up(whole)
    for block in blocks:
        assert early.of(block) == after.of(block)


@given(text=TEXTS, limit=st.integers(0, 100))
def test_a_digest_is_of_strings_of_the_text_and_within_its_limit(text: str, limit: int) -> None:
    kept = digest(text, known=lambda s: "7" in s, limit=limit)
    assert sum(len(s) + 2 for s in kept) <= limit
    assert len(set(kept)) == len(kept)
    assert set(kept) <= rare_strings(text)
    assert not [s for s in kept if "7" in s]


@given(text=TEXTS, room=st.integers(0, 400))
def test_cut_points_keep_no_more_than_the_room(text: str, room: int) -> None:
    head, tail = cut_points(text, room)
    assert 0 <= head <= tail <= len(text)
    if len(text) <= room:
        assert head == tail == len(text)


@pytest.mark.parametrize("joined", ["👩‍👩‍👧", "é", "🇩🇪", "👍🏽", "❤️"])
@given(before=st.integers(0, 12))
def test_no_cut_goes_through_what_a_reader_sees_as_one(joined: str, before: int) -> None:
    text = "x" * before + joined + "y" * 40
    head, tail = cut_points(text, 15)
    inside = range(before + 1, before + len(joined))
    assert head not in inside
    assert tail not in inside


@given(text=TEXTS, room=st.integers(0, 200))
def test_sentences_that_ask_for_something_are_kept_in_order(text: str, room: int) -> None:
    asked = "You must keep rule 7."
    kept = imperatives(f"{asked}\n{text}", room + len(asked))
    assert kept[0] == asked
    assert sum(map(len, kept)) <= room + len(asked)


def test_the_last_sentence_of_reasoning_is_its_conclusion() -> None:
    assert conclusion("First this. Then that was checked. So the port is 8080.") == (
        "So the port is 8080."
    )
    assert conclusion("") == ""


@given(age=st.integers(0, 300), more=st.integers(1, 50), size=st.integers(1, 9_000))
def test_older_and_larger_results_go_first_and_needed_ones_last(
    age: int, more: int, size: int
) -> None:
    (key,) = results_of(transcript := talk(("read", {}, "x")))
    block = transcript.block(key)
    base = score(block, Facts(age, 1, size, 1_000.0))
    assert score(block, Facts(age + more, 1, size, 1_000.0)) <= base
    assert score(block, Facts(age, 1, size + more, 1_000.0)) <= base
    assert score(block, Facts(age, 1 + more, size, 1_000.0)) >= base


@given(age=st.integers(0, 300), steps=st.integers(0, 300))
def test_the_chance_of_need_grows_with_time_and_falls_with_age(age: int, steps: int) -> None:
    chance = chance_within(age, steps)
    assert 0.0 <= chance < 1.0
    assert chance_within(age, steps + 1) >= chance
    assert chance_within(age + 1, steps) <= chance + 1e-12


def test_handles_differ_between_blocks_and_sessions_and_are_stable() -> None:
    assert handle_for("n", "a") == handle_for("n", "a")
    assert len({handle_for(n, k) for n in ("n", "m") for k in ("a", "b")}) == 4


def test_a_session_is_expected_to_go_on_for_half_of_what_it_has_had() -> None:
    assert Settings().steps_ahead(0) == 10
    assert Settings().steps_ahead(200) == 100


@pytest.mark.parametrize("name", names())
def test_a_policy_is_found_by_its_name_and_is_new_each_time(name: str) -> None:
    assert by_name(name).name == name
    assert names()[0] == "append-only"


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="known are append-only"):
        by_name("lucky")
