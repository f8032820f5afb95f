"""Each thread of a recording is counted by the tokenizer of the model it ran on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tenure.core.protocols import Counter
from tenure.core.usage import Usage
from tenure.cost.models import profile
from tenure.replay.compare import recording_of as own_recording_of
from tenure.replay.recording import Recording, Settings, prepare
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
