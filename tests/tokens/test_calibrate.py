"""What reports say of our counting, with providers whose own counting is known.

Invariant: the provider's tokens are made up here (`hidden` ones beside `drift` for each of ours), so
what the meter should say is known without asking it.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tenure.core.edit import Drop
from tenure.core.fold import Outgoing
from tenure.core.message import Message, Origin
from tenure.core.plan import Plan
from tenure.core.protocols import ToolCall
from tenure.core.transcript import Transcript
from tenure.core.usage import Usage
from tenure.testing.strategies import Event, Result, Step, reply, sessions
from tenure.tokens.calibrate import SANE, Calibration
from tenure.tokens.meter import SessionMeter
from tenure.wire.detect import wire_for
from tests.core.edits import WHY
from tests.policies.play import FRAME, Quarter, Table

FEW = settings(max_examples=25)
WIRES = ("anthropic_messages", "openai_chat", "openai_responses")
ANTHROPIC = wire_for("anthropic_messages")
DRIFT = st.floats(0.6, 1.8)


def grown(transcript: Transcript, tokens: int) -> None:
    """One more message of so many tokens."""
    text = "x" * 4 * (tokens - FRAME)
    transcript.append(Message({"role": "user", "content": text}, origin=Origin.USER))


class Provider:
    """A meter, and a provider that finds `hidden` + `drift` x what we count in every view."""

    def __init__(self, hidden: int = 0, drift: float = 1.0) -> None:
        self.hidden, self.drift = hidden, drift
        self.transcript, self.meter, self.plan = (
            Transcript(ANTHROPIC),
            SessionMeter(Quarter()),
            Plan(),
        )

    def say(self, tokens: int) -> None:
        grown(self.transcript, tokens)
        self.meter.sync(self.transcript)

    @property
    def ours(self) -> int:
        return self.meter.before(len(self.transcript), self.plan)

    @property
    def true(self) -> float:
        return self.hidden + self.drift * self.ours

    @property
    def told(self) -> int:
        return self.meter.resident(self.plan)

    def report(self, prompt: float | None = None) -> None:
        prompt = self.true if prompt is None else prompt
        self.meter.report(Usage(fresh=round(prompt)), len(self.transcript), self.plan)
        assert self.told == round(prompt)

    def drop(self, *indexes: int) -> int:
        """Takes messages out of the view; the tokens that we count in them."""
        before = self.ours
        blocks = [self.transcript.blocks[index][0] for index in indexes]
        self.plan = self.plan.add(*(Drop((block.key,), WHY) for block in blocks))
        self.meter.replan(self.plan)
        return before - self.ours

    def restore(self) -> None:
        """Undoes every edit."""
        self.plan = Plan()
        self.meter.replan(self.plan)


# -- where the factor comes from -------------------------------------------------------------------


@given(
    first=st.integers(10, 1_000),
    hidden=st.integers(0, 30_000),
    under=st.floats(0.35, 1),
    arrival=st.integers(5_000, 100_000),
)
def test_a_report_on_a_small_prompt_does_not_scale_what_comes(
    first: int, hidden: int, under: float, arrival: int
) -> None:
    for prompt in (first + hidden, ceil(first * under)):
        provider = Provider()
        provider.say(first)
        provider.report(prompt)
        provider.say(arrival)
        assert abs(provider.told - prompt - arrival) <= 0.05 * arrival


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(hidden=st.integers(0, 5_000), said=st.integers(1, 400), size=st.integers(30_000, 50_000))
def test_a_result_that_fits_stays_whole_whatever_is_hidden_beside_a_small_prompt(
    wire: str, hidden: int, said: int, size: int
) -> None:
    table = Table(wire, 75_000, max_tokens=1_000)
    table.user("x" * 4 * said)
    outgoing = table.request()
    prompt = table.count(outgoing.view.messages) + hidden
    step = Step(calls=(ToolCall("c", "read", {}),))
    table.run(table.machine.reply(reply(wire, step, prompt), table.now))
    table.results([Result("x" * 4 * size)])
    outgoing = table.request()
    assert not outgoing.view.plan.edits
    assert abs(outgoing.tokens - hidden - table.count(outgoing.view.messages)) <= 0.03 * size


@FEW
@example(hidden=20_000, drift=1.0, first=10, sizes=[1_000] * 40, arrival=5_000, gone=30)
@given(
    hidden=st.integers(0, 20_000), drift=DRIFT, first=st.integers(10, 20_000),
    sizes=st.lists(st.integers(1_000, 2_000), min_size=40, max_size=40),
    arrival=st.integers(5_000, 100_000), gone=st.integers(1, 30),
)  # fmt: skip
def test_growth_tells_the_factor_and_what_is_hidden_is_an_addition(
    hidden: int, drift: float, first: int, sizes: list[int], arrival: int, gone: int
) -> None:
    """What comes is scaled by the drift alone, and an edit frees nothing of what is hidden."""
    provider = Provider(hidden, drift)
    provider.say(first)
    provider.report()
    for size in sizes:
        provider.say(size)
        provider.report()
    assert sum(sizes) >= 40_000
    off = 0.06 + 0.1 * abs(drift - 1)
    freed = provider.drop(*range(1, gone + 1))
    assert abs(provider.told - provider.true) <= (off + 0.06) * freed
    provider.restore()
    provider.say(arrival)
    assert abs(provider.told - provider.true) <= off * arrival


@given(
    st.lists(
        st.tuples(st.integers(0, 90_000), st.integers(1, 90_000), st.integers(0, 9)), max_size=9
    )
)
def test_a_factor_is_never_beyond_what_is_sane(reports: list[tuple[int, int, int]]) -> None:
    calibration = Calibration()
    for report in reports:
        calibration.add(*report)
        assert 1 / SANE < calibration.factor < SANE
        assert 0 <= calibration.certainty < 1


# -- reports and edits -----------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(100, 9_000), min_size=2, max_size=8),
    ratio=st.floats(0.4, 50),
    kept=st.integers(0, 7),
)
def test_a_report_that_counting_cannot_explain_does_not_outlive_what_it_was_of(
    sizes: list[int], ratio: float, kept: int
) -> None:
    """However far it was off: what is left of the reported view has its share of the report."""
    provider = Provider()
    for size in sizes:
        provider.say(size)
    prompt = round(provider.ours * ratio)
    provider.report(prompt)
    whole = provider.ours
    provider.drop(*(i for i in range(len(sizes)) if i != kept))
    assert abs(provider.told - prompt * provider.ours / whole) <= 1
    provider.say(500)
    assert abs(provider.told - prompt * provider.ours / whole - 500) <= 500 * ratio + 500


@given(
    sizes=st.lists(st.integers(100, 9_000), min_size=2, max_size=8),
    drift=DRIFT,
    dropped=st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True),
)
def test_what_was_freed_before_a_report_is_not_taken_off_it_again(
    sizes: list[int], drift: float, dropped: list[int]
) -> None:
    provider = Provider(0, drift)
    for size in sizes:
        provider.say(size)
    dropped = [index for index in dropped if index < len(sizes) - 1]
    assume(dropped)
    provider.report()
    for index in dropped:
        provider.drop(index)
        assert abs(provider.told - provider.true) <= 2
        provider.report()
        assert provider.meter.upper(provider.plan) == provider.told


@pytest.mark.parametrize("wire", WIRES)
@FEW
@given(events=sessions(most_steps=12, largest=6_000), window=st.sampled_from([4_000, 8_000]))
def test_through_a_session_the_meter_says_what_the_provider_will_report(
    wire: str, events: list[Event], window: int
) -> None:
    """With a provider that counts as we do, at each request, whatever was edited in between."""
    table = Table(wire, window)

    def look(outgoing: Outgoing) -> None:
        machine = table.machine
        true = table.count(outgoing.view.messages)
        used = machine.explain().occupancy.used
        assert abs(used - true) <= 1 + 0.01 * true

    exact = [replace(e, drift=1.0) if isinstance(e, Step) and e.drift else e for e in events]
    table.play(exact, look)
