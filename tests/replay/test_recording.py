"""A recording made ready: each thread is counted by the tokenizer of the model it ran on and priced at
the cache lifetime asked for, and what the file lacks is filled in and told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenure.core.protocols import Counter
from tenure.core.usage import Usage
from tenure.cost.models import profile
from tenure.cost.price import price_usd
from tenure.replay.bill import bill_of
from tenure.replay.compare import recording_of as own_recording_of
from tenure.replay.recording import LOST_BEGINNING, Lifetime, Recording, Settings, prepare
from tenure.replay.trace import Thread
from tenure.tokens.counter import BlockCounter
from tenure.wire.detect import wire_for
from tests.replay.recorded import MODEL, Recorder, trace_of

TEXT = "def nightly_runner(target: str) -> None:\n    build(target)  # 夜间构建 and back\n" * 200
OTHERS = ["claude-opus-4-8", "gpt-4o", "gpt-4", "a-model-nobody-knows"]


def thread_on(model: str, name: str, kind: str = "main") -> Thread:
    recorder = Recorder().user(f"{name}, please").call("read", {"path": "a.py"}, TEXT).say("done")
    thread = recorder.thread(name)
    steps = tuple(replace(step, model=model) for step in thread.steps)
    return replace(thread, steps=steps, kind="main" if kind == "main" else "sidechain")


def counted(recording: Recording) -> list[int]:
    """The tokens of each thread's result."""
    return [
        one.sizes.count(next(block for block in one.transcript.blocks[2])).estimate
        for one in recording.threads
    ]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("kind", ["main", "sidechain"])
def test_a_thread_is_counted_by_its_own_models_tokenizer(other: str, kind: str) -> None:
    trace = trace_of(thread_on(MODEL, "main"), thread_on(other, "agent", kind))
    recording = own_recording_of(trace)
    found = counted(recording)
    wanted = []
    for thread, model in zip(recording.threads, (MODEL, other), strict=True):
        block = next(block for block in thread.transcript.blocks[2])
        wanted.append(BlockCounter(model, profile(model).provider).count(block).estimate)
    assert found == wanted
    assert found[0] != found[1]


@pytest.mark.parametrize("other", OTHERS)
def test_a_model_that_is_asked_for_counts_every_thread(other: str) -> None:
    trace = trace_of(thread_on(MODEL, "main"), thread_on("gpt-4", "agent", "sidechain"))
    assert len(set(counted(own_recording_of(trace, Settings(model=other))))) == 1


def test_models_that_count_alike_share_what_they_counted() -> None:
    asked: list[str] = []

    def counter_for(model: str) -> Counter:
        asked.append(model)
        return BlockCounter(model, profile(model).provider)

    threads = [
        thread_on(model, f"agent {number}", "sidechain")
        for number, model in enumerate([MODEL, "claude-haiku-4-5", "gpt-4o", "gpt-5", MODEL])
    ]
    wire = wire_for("anthropic_messages")
    recording = prepare(trace_of(*threads), Settings(), wire, counter_for)
    assert asked == [MODEL, "gpt-4o"]
    first, second, third, fourth, fifth = (one.sizes.counter for one in recording.threads)
    assert first is second is fifth
    assert third is fourth


@pytest.mark.parametrize("after", [MODEL, "claude-haiku-4-5", "gpt-4o"])
def test_hidden_text_is_the_first_main_threads_as_long_as_the_same_tokenizer_counts_it(
    after: str,
) -> None:
    def reported(thread: Thread, prompt: int) -> Thread:
        first, *rest = thread.steps
        return replace(thread, steps=(replace(first, usage=Usage(fresh=prompt, output=9)), *rest))

    threads = [
        reported(thread_on(MODEL, "main"), 9_000),
        reported(thread_on(after, "main-2"), 5_000),
    ]
    first, second = own_recording_of(trace_of(*threads)).threads
    assert first.sizes.hidden == pytest.approx(9_000, rel=0.01)
    wanted = first.sizes.hidden if after != "gpt-4o" else 5_000
    assert second.sizes.hidden == pytest.approx(wanted, rel=0.01)


WRITES = {
    "short": Usage(cache_write=900, output=9),
    "long": Usage(cache_write=900, cache_write_1h=900, output=9),
    "mostly long": Usage(cache_write=900, cache_write_1h=500, output=9),
    "mostly short": Usage(cache_write=900, cache_write_1h=400, output=9),
    "none": Usage(cache_read=900, output=9),
}


def using(usage: Usage, model: str = MODEL, kind: str = "main") -> Thread:
    thread = thread_on(model, kind, kind)
    return replace(thread, steps=tuple(replace(step, usage=usage) for step in thread.steps))


def lives(recording: Recording) -> list[tuple[float, float]]:
    """The write price and the lifetime that each thread is priced at."""
    return [(one.profile.write, one.profile.cache_ttl) for one in recording.threads]


@pytest.mark.parametrize("wrote", WRITES)
@pytest.mark.parametrize("ttl", ["5m", "1h", "recorded", 77.0])
def test_the_lifetime_is_the_one_asked_for_or_the_one_that_was_recorded(
    wrote: str, ttl: float | Lifetime
) -> None:
    settings = Settings(ttl=ttl)
    recording = own_recording_of(trace_of(using(WRITES[wrote])), settings)
    long = ttl == "1h" or (ttl == "recorded" and wrote in {"long", "mostly long"})
    seconds = ttl if isinstance(ttl, float) else 3_600 if long else 300
    assert lives(recording) == [(2.0 if long else 1.25, seconds)]
    assert (recording.profile.write, recording.profile.cache_ttl) == lives(recording)[0]
    given = own_recording_of(trace_of(using(WRITES[wrote])), replace(settings, write=1.5))
    assert lives(given) == [(1.5, seconds)]


@pytest.mark.parametrize("ttl", ["5m", "1h", "recorded"])
def test_a_model_without_a_long_lifetime_keeps_its_own(ttl: Lifetime) -> None:
    known = profile("gpt-4o")
    assert known.write_long is None
    recording = own_recording_of(trace_of(using(WRITES["long"], "gpt-4o")), Settings(ttl=ttl))
    assert lives(recording) == [(known.write, known.ttl_short)]


def test_each_thread_follows_its_own_writes_and_one_that_wrote_nothing_the_others() -> None:
    threads = [
        using(WRITES["long"]),
        using(WRITES["short"], "claude-haiku-4-5", "sidechain"),
        using(WRITES["none"], MODEL, "sidechain"),
    ]
    recording = own_recording_of(trace_of(*threads), Settings(ttl="recorded"))
    assert lives(recording) == [(2.0, 3_600), (1.25, 300), (2.0, 3_600)]


@pytest.mark.parametrize("ttl", ["5m", "1h", "recorded"])
@pytest.mark.parametrize("model", ["", MODEL])
@pytest.mark.parametrize("wrote", WRITES)
def test_the_bill_is_the_same_whichever_lifetime_is_simulated(
    wrote: str, model: str, ttl: Lifetime
) -> None:
    usage = WRITES[wrote]
    recording = own_recording_of(trace_of(using(usage)), Settings(model=model, ttl=ttl))
    bill = bill_of(recording, recording.threads[0])
    assert bill.usd == pytest.approx(2 * price_usd(usage, profile(MODEL)))
    assert bill.prompt_usd + bill.output_usd == pytest.approx(bill.usd)


def replying(held: int, output: int) -> Thread:
    """A thread whose one reply holds about so many tokens, and reports so many."""
    thread = Recorder().user("go").say("word " * held).thread()
    (step,) = thread.steps
    return replace(thread, steps=(replace(step, usage=Usage(fresh=10, output=output)),))


@pytest.mark.parametrize(
    ("held", "output", "partial"),
    [(400, 1, True), (400, 150, True), (400, 260, False), (400, 4_000, False), (10, 1, False)],
)
def test_output_reported_at_less_than_half_of_what_a_reply_holds_is_told_and_not_billed(
    held: int, output: int, partial: bool
) -> None:
    recording = own_recording_of(trace_of(replying(held, output)))
    (thread,) = recording.threads
    bill = bill_of(recording, thread)
    assert bill.usage.output == output
    assert bill.output_usd == pytest.approx(output * profile(MODEL).output * 5e-6)
    size = sum(map(thread.sizes.message, thread.replies[0].messages))
    missing = size - output if partial else 0
    assert (bill.partial, bill.held_back) == (int(partial), missing)
    assert bill.held_back_usd == pytest.approx(missing * profile(MODEL).output * 5e-6)


def begun(first: str, prompt: int, name: str = "main") -> Thread:
    """A thread that begins as a file may begin: with the person, with a reply, with a result."""
    recorder = Recorder().user("go").call("read", {"path": "a.py"}, TEXT).say("done")
    thread = replace(recorder.thread(name), after_compaction=name != "main")
    one, *rest = thread.steps
    if first == "a result":
        one, rest = rest[0], []
    arrivals = () if first == "a reply" else one.arrivals
    one = replace(one, arrivals=arrivals, usage=Usage(fresh=prompt, output=9))
    return replace(thread, steps=(one, *rest))


@pytest.mark.parametrize("first", ["the user", "a reply", "a result"])
@pytest.mark.parametrize("second", ["the user", "a reply", "a result"])
def test_a_lost_beginning_is_told_and_its_length_is_no_other_threads(
    first: str, second: str
) -> None:
    traced = trace_of(begun(first, 90_000), begun(second, 30_000, "main-2"))
    recording = own_recording_of(traced)
    one, two = recording.threads
    assert [len(each.replies) for each in (one, two)] == [len(t.steps) for t in traced.threads]
    assert [each.beginning_lost for each in (one, two)] == [
        begins != "the user" for begins in (first, second)
    ]
    for each, begins in ((one, first), (two, second)):
        stand_in = LOST_BEGINNING in str(each.transcript.messages[0].data)
        assert stand_in == (begins == "a reply")
        assert each.transcript.messages[0].data["role"] == "user"
    # The first prompt of a whole thread beyond its messages is system text, which the next has too.
    shared = first == second == "the user"
    assert two.sizes.hidden == (one.sizes.hidden if shared else pytest.approx(30_000, rel=0.3))


def test_a_rewound_conversation_of_a_cut_file_goes_on_from_the_same_beginning() -> None:
    trunk = begun("a reply", 9_000)
    said = [m for step in trunk.steps for m in (*step.arrivals, *step.reply)][:2]
    again = Recorder().user("no, otherwise").say("so").thread("main~1")
    (step,) = again.steps
    branch = replace(again, steps=(replace(step, arrivals=(*said, *step.arrivals)),))
    one, two = own_recording_of(trace_of(trunk, branch)).threads
    assert two.beginning_lost
    assert two.transcript.messages[:3] == one.transcript.messages[:3]


@pytest.mark.parametrize("shown", [{}, {"usage": Usage(fresh=9)}, {"at": 9.0}, {"request_id": "r"}])
@pytest.mark.parametrize("alone", [False, True])
def test_a_first_reply_is_a_request_when_anything_shows_that_a_model_was_called(
    shown: dict[str, Any], alone: bool
) -> None:
    thread = Recorder().say("what can I do for you?").user("mend it").say("done").thread()
    first, *rest = (replace(step, usage=None, at=None) for step in thread.steps)
    steps = (replace(first, **shown),) if alone else (replace(first, **shown), *rest)
    recording = own_recording_of(trace_of(replace(thread, steps=steps)))
    assert [len(one.replies) for one in recording.threads] == [len(steps) - (not shown)] * (
        bool(shown) or not alone
    )
    for one in recording.threads:
        assert one.beginning_lost == bool(shown)
        said = [str(message.data["content"]) for message in one.transcript.messages]
        assert (LOST_BEGINNING in said[0]) == bool(shown)
        assert "what can I do" in said[bool(shown)]
