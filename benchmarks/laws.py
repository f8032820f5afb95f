"""The laws of wire, plan, policy and meter over every thread of every recorded session.

Invariant: the checks are those of `make test` (`tests/*/laws.py`, `tests/replay/plan_laws.py`,
`tests/tokens/meter_laws.py`), which tries them on a sample; the figure to reach is 0 laws broken.
`benchmarks/views.py` prints it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from random import Random
from typing import TypeAlias

from tenure.core.message import BlockKind
from tenure.errors import TenureError
from tenure.policies.clearing import ClearToolResults
from tenure.policies.default import Tenure
from tenure.tokens.counter import BlockCounter
from tests.policies.laws import CommonLaws, Laws
from tests.policies.play import Quarter, Table
from tests.replay import plan_laws
from tests.replay.sample import Recorded, recorded_threads, recordings
from tests.tokens import meter_laws
from tests.wire import laws as wire_laws

MODELS = {
    "anthropic_messages": ("claude-opus-4-5", "anthropic"),
    "openai_chat": ("gpt-4o", "openai"),
    "openai_responses": ("gpt-5.1", "openai"),
}
BODIES, PLANS = 3, 3
"""So many bodies and plans are tried of each thread."""

Check: TypeAlias = Callable[[Recorded, Random], int]


def laws_over(files: list[Path], pool: Executor) -> dict[str, object]:
    """How often each law was tried and broken, by wire format; printed on the way."""
    tried: dict[str, Counter[str]] = {}
    broken: list[str] = []
    for wire, counts, names in pool.map(check_laws, files):
        tried.setdefault(wire, Counter()).update(counts)
        broken += names
    print(f"\n{'law':34}" + "".join(f"{wire:>20}" for wire in tried))
    for law in LAWS:
        print(f"{law:34}" + "".join(f"{counts[law]:>20,}" for counts in tried.values()))
    print("broken: " + ("; ".join(broken) or "nothing"))
    return {"tried": {wire: dict(counts) for wire, counts in tried.items()}, "broken": broken}


def check_laws(path: Path) -> tuple[str, Counter[str], list[str]]:
    """The laws over all threads of a file: its wire format, how much was looked at by each law, and
    the threads that broke one."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    wire = ""
    for recorded in (one for found in recordings(path) for one in recorded_threads(found)):
        wire = recorded.wire_name
        for law, check in LAWS.items():
            try:
                counts[law] += check(recorded, Random(f"{recorded.name} {law}"))
            except (AssertionError, TenureError) as error:
                broken.append(f"{law}: {recorded.name}: {type(error).__name__} {error}"[:300])
    return wire, counts, broken


def _bodies(recorded: Recorded, mix: Random) -> Iterator[wire_laws.Written]:
    messages = [message.data for message in recorded.messages()]
    for _ in range(BODIES):
        length = mix.randint(1, len(messages))
        yield wire_laws.written(recorded.wire_name, messages[:length], mix)


def _untouched(recorded: Recorded, mix: Random) -> int:
    for body in _bodies(recorded, mix):
        wire_laws.an_untouched_body_is_byte_identical(body)
    return BODIES


def _touched(recorded: Recorded, mix: Random) -> int:
    tried = 0
    for body in _bodies(recorded, mix):
        lenses = [recorded.wire.lenses(message.data) for message in recorded.messages()]
        # What no wire knows can't be made to say other words.
        known = [all(lens.kind is not BlockKind.OTHER for lens in found) for found in lenses]
        editable = [at for at in range(len(body.places)) if lenses[at] and known[at]]
        for at in mix.sample(editable, min(10, len(editable))):
            wire_laws.touching_one_message_changes_only_its_slice(body, at, mix.randrange(9))
            tried += 1
    return tried


def _damaged(recorded: Recorded, mix: Random) -> int:
    for body in _bodies(recorded, mix):
        for _ in range(5):
            wire_laws.damage_raises_request_error_and_nothing_else(body, mix)
    return 5 * BODIES


def _streamed(recorded: Recorded, mix: Random) -> int:
    tried = 0
    for each in recorded.replies:
        said = wire_laws.reply_body(recorded.wire_name, [m.data for m in each.messages])
        if said is not None:
            wire_laws.a_stream_is_the_reply_that_came_whole(recorded.wire_name, said, mix)
            tried += 1
    return tried


def _identity(recorded: Recorded, mix: Random) -> int:  # noqa: ARG001
    plan_laws.the_empty_plan_is_the_identity(recorded.transcript())
    return len(recorded.messages())


def _of_plans(law: Callable[..., int]) -> Check:
    def check(recorded: Recorded, mix: Random) -> int:
        if len(recorded.messages()) < 2:
            return 0
        return sum(law(recorded.transcript(), mix) for _ in range(PLANS))

    return check


def _tenure(recorded: Recorded, mix: Random) -> int:
    """At windows that force it to act, and at one that does not."""
    whole = sum(Quarter().count(block).estimate for block in recorded.transcript().all_blocks())
    share = mix.choice([0.5, 0.75, 2.0])
    table = Table(recorded.wire_name, 1_500 + int(whole * share), make=Tenure)
    return _played(Laws(table), recorded)


def _clearing(recorded: Recorded, mix: Random) -> int:
    trigger = mix.choice([0, 5_000])
    make = lambda: ClearToolResults(trigger, 3)  # noqa: E731 - a policy factory
    return _played(CommonLaws(Table(recorded.wire_name, 10_000_000, make=make)), recorded)


def _played(laws: CommonLaws, recorded: Recorded) -> int:
    laws.table.play_recorded(recorded, laws.look)
    laws.handles_answer()
    return laws.batches


def _incremental(recorded: Recorded, mix: Random) -> int:
    meter = meter_laws.Incremental(BlockCounter(*MODELS[recorded.wire_name]))
    meter.play(recorded, mix)
    return meter.steps


def _broken_texts(recorded: Recorded, mix: Random) -> int:
    return meter_laws.nothing_raises(recorded, BlockCounter(*MODELS[recorded.wire_name]), mix)


LAWS: dict[str, Check] = {
    "wire: bodies untouched": _untouched,
    "wire: messages touched": _touched,
    "wire: bodies damaged": _damaged,
    "wire: replies streamed": _streamed,
    "plan: messages under the empty one": _identity,
    "plan: entries before an append": _of_plans(plan_laws.append_extends),
    "plan: edits undone": _of_plans(plan_laws.without_undoes),
    "plan: edited entries that stayed": _of_plans(plan_laws.edits_once_made_stay),
    "policy: batches of tenure": _tenure,
    "policy: batches of clearing": _clearing,
    "meter: steps, incremental": _incremental,
    "meter: blocks broken": _broken_texts,
}
