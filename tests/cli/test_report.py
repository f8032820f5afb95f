"""What the HTML report holds, without a browser; `test_report_page.py` looks at it in one."""

from __future__ import annotations

import json
import random
import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenure.policies
from tenure.cli.report import SCRIPTS, embedded, render
from tenure.cli.report_rows import SENTENCES, head, rows
from tenure.core.data import read_data
from tenure.replay.compare import Comparison
from tenure.replay.oracle import Foresight
from tenure.replay.outcome import Cost
from tenure.replay.recording import Settings
from tenure.replay.simulate import simulate
from tests.cli.report_cases import (
    HOSTILE,
    comparison,
    eviction,
    hostile,
    refetch,
    result,
    row,
    usual,
)
from tests.replay.recorded import Recorder, meter, recording_of

MONEY = st.floats(0, 1e6)
ANY_TEXT = st.text(st.characters(exclude_categories=()))
BLOCK = re.compile(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', re.DOTALL)


def blocks(page: str) -> dict[str, Any]:
    """The data of a page, by the name of its element."""
    return {name: json.loads(text) for name, text in BLOCK.findall(page)}


@given(st.recursive(ANY_TEXT | st.integers(), lambda v: st.lists(v) | st.dictionaries(ANY_TEXT, v)))
def test_embedded_data_reads_back_the_same_and_cannot_end_its_element(value: object) -> None:
    text = embedded(value)
    # Two halves that stand apart in Python are one character in JSON, in every reader.
    joined = json.loads(json.dumps(value))
    assert json.loads(text) == joined
    assert not set("<\u2028\u2029") & set(text)
    text.encode("utf-8")


def test_hostile_texts_come_back_whole_and_open_no_element() -> None:
    page = render(comparison(hostile()))
    page.encode("utf-8")
    assert blocks(page)["texts-0"] == [HOSTILE]
    plain = render(comparison(usual()))
    for opening in ("<script", "<img", "<svg", "<!--", "</script"):
        assert page.count(opening) == plain.count(opening), opening


def test_the_page_names_no_address_but_the_name_space_of_its_drawings() -> None:
    page = render(comparison(usual()))
    addresses = set(re.findall(r"(?:https?:)?//[\w.]+[^\s\"')]*", BLOCK.sub("", page)))
    assert {one for one in addresses if "." in one} == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"\b(?:src|srcset)=|@import|url\(", BLOCK.sub("", page)) == []


def test_the_parts_of_a_step_stand_beside_its_refetches_and_sum_up_to_its_cost() -> None:
    one = usual()
    session, _ = rows(one, Settings())
    for name, simulated in one.sessions.items():
        parts = session["policies"][name]["parts"]
        sums = [sum(parts[part][n] for part in parts) for n in range(one.steps)]
        assert sums == pytest.approx([r.cost.total for r in simulated.rows])
    # At step 31: 4,000 of re-fetches, the rest as it was charged.
    parts = session["policies"]["tenure"]["parts"]
    assert parts["refetch"][30] == pytest.approx(4_000 - (2_007 * 1.25 - 1_500))
    assert parts["written"][30] == 0


@given(
    st.tuples(MONEY, MONEY, MONEY, MONEY),
    st.lists(st.tuples(st.integers(0, 50_000), st.floats(0, 1e5)), max_size=3),
)
def test_no_part_is_ever_negative_and_nothing_is_lost(
    parts: tuple[float, float, float, float], fetched: list[tuple[int, float]]
) -> None:
    fetches = tuple(refetch(n, cost, tokens=size) for n, (size, cost) in enumerate(fetched))
    read, written, fresh, output = parts
    cost = Cost(read, written, fresh, output, sum(one.cost for one in fetches))
    session, _ = rows(result({"tenure": [row(0, 1, cost=cost, refetches=fetches)]}), Settings())
    shown = [values[0] for values in session["policies"]["tenure"]["parts"].values()]
    assert min(shown) >= 0
    assert sum(shown) == pytest.approx(cost.total, abs=0.01)


def test_a_refetch_and_the_eviction_it_undoes_name_each_other() -> None:
    session, _ = rows(usual(), Settings())
    policy = session["policies"]["tenure"]
    assert [one["eviction"] for one in policy["refetches"]] == [0, 7]
    assert {n: e["again"] for n, e in enumerate(policy["evictions"]) if e["again"]} == {
        0: [0],
        7: [1],
    }


def test_handles_of_different_threads_are_kept_apart() -> None:
    out = row(0, 9, evictions=(eviction(1),))
    other = row(0, 9, thread="agent", evictions=(eviction(1),))
    again = row(1, 9, refetches=(refetch(1),))
    session, _ = rows(result({"tenure": [out, other, again]}), Settings())
    assert [e["again"] for e in session["policies"]["tenure"]["evictions"]] == [[0], []]


def test_a_pause_is_marked_where_a_thread_outwaits_its_cache() -> None:
    every = [row(0, 9), row(1, 9, at=1_200.0, thread="agent"), row(2, 9, at=1_400.0)]
    session, _ = rows(result({"tenure": every}), Settings())
    assert session["prices"]["ttl"] == 300
    assert session["pauses"] == [{"step": 1, "seconds": 400}]


def test_a_replayed_session_shows_its_tombstones_and_what_was_fetched_again() -> None:
    run = Recorder().user("find it")
    run.call("Read", {"path": "a.py"}, "retry_limit_7 = 3\n" + "x = 1\n" * 600)
    for n in range(6):
        run.call("Grep", {"pattern": f"p{n}"}, f"nothing {n}\n" * 300)
    run.call("Bash", {"command": "grep retry_limit_7 ."}, "none").say("done")
    recording = recording_of([run.thread()])
    replayed = simulate(recording, lambda: tenure.policies.by_name("clear-every-step"), meter)
    found = result({"clear-every-step": replayed.rows})
    session, texts = rows(found, recording.settings)
    policy = session["policies"]["clear-every-step"]
    read = next(one for one in policy["evictions"] if one["tool"] == "Read")
    assert texts[read["original"]].startswith("retry_limit_7 = 3")
    assert read["handle"] in texts[read["standIn"]]
    fetched = [policy["refetches"][n] for n in read["again"]]
    assert [one["missing"] for one in fetched] == [["retry_limit_7"]]


def test_a_text_is_stored_once_however_many_policies_evict_it() -> None:
    twice = [row(0, 9, evictions=(eviction(3, handle="a"), eviction(3, handle="b")))]
    _, texts = rows(result({"clear-every-step": twice, "tenure": twice}), Settings())
    assert sorted(texts) == ["[tenure t-00000003: left out]", "original 3"]


def test_a_page_is_smaller_than_three_times_its_texts() -> None:
    chance = random.Random(5)
    letters = string.printable + "<>&\n\t éλ中"
    originals = ["".join(chance.choices(letters, k=20_000)) for _ in range(100)]
    gone = tuple(eviction(n, original=text) for n, text in enumerate(originals))
    once = [row(0, 9, evictions=gone)]
    page = render(comparison(result({"clear-every-step": once, "tenure": once})))
    assert len(page.encode()) < 1.5 * sum(len(text.encode()) for text in originals)


def test_the_totals_are_money_over_sessions() -> None:
    found = head(comparison(usual(), usual()))
    # Input costs 5 dollars a million: 40 steps of 1,750, twice.
    assert found["total"]["append-only"]["usd"] == pytest.approx(2 * 40 * 1_750 * 5e-6)
    assert found["total"]["tenure"]["evictions"] == 120
    assert found["total"]["tenure"]["refetches"] == 4
    assert found["total"]["append-only"]["peak"] == 176_000


def test_every_policy_is_explained_in_a_sentence() -> None:
    known = {*tenure.policies.names(), Foresight.name}
    assert {name for name in known if not SENTENCES.get(name, "").endswith(".")} == set()


def test_a_comparison_of_nothing_is_a_page_too() -> None:
    assert blocks(render(Comparison(Settings(), ())))["head"]["sessions"] == []


def test_the_same_comparison_gives_the_same_page() -> None:
    assert render(comparison(usual())) == render(comparison(usual()))


def test_no_script_makes_markup_of_text() -> None:
    source = "".join(read_data(f"cli/report_data/{name}").decode() for name in SCRIPTS)
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|srcdoc", source)
        == []
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_stand_out_from_the_paper(scheme: str) -> None:
    css = read_data("cli/report_data/report.css").decode()
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part))
        for part in re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    )
    colours = light if scheme == "light" else {**light, **dark}
    text = {"ink", "soft", "accent", "bad", *(name for name in colours if name.startswith("line-"))}
    for name in text:
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for name in ("part-written", "part-refetch", "cold"):
        assert contrast(colours[name], colours["paper"]) >= 3, name


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2: 1 to 21."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of a colour like #1b1f24."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
