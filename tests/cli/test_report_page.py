"""The HTML report in a real browser: what a person sees, reads and reaches by keyboard.

Invariant: every page is opened from disk, and every test fails when the page asks for anything else
or reports an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tenure.cli.report import render
from tenure.replay.compare import Comparison
from tenure.replay.outcome import Cost
from tenure.replay.recording import Settings
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

pytestmark = pytest.mark.browser

Opened = Callable[..., AbstractContextManager[Page]]


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, which is who runs in containers.
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opened:
    """`opened(comparison, width=..., scheme=...)` is the page of its report."""

    @contextmanager
    def open_page(what: Comparison, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
        file = tmp_path / "report.html"
        file.write_text(render(what), encoding="utf-8")
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.set_default_timeout(10_000)
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(file.as_uri())
        yield page
        page.close()
        assert asked == [file.as_uri()]
        assert wrong == []

    return open_page


def reading(page: Page, chart: str) -> str:
    """What a screen reader says of the chosen step of a chart."""
    return page.locator(f"#{chart} svg").get_attribute("aria-valuetext") or ""


def thin(text: str) -> str:
    """The text with the page's thin spaces where it has commas."""
    return text.replace(",", "\u202f")


def test_the_finding_states_the_money_and_the_table_the_figures(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        expect(page.locator("#finding")).to_have_text(
            "This session would have cost $0.38 under tenure: "
            "8% more than the $0.35 of append-only."
        )
        cells = page.locator("#compare tr[data-policy=tenure] td").all_inner_texts()
        assert cells == ["$0.38", "1.08", thin("98,000"), "60", "2", "$0.020", "0"]


def test_hostile_texts_are_shown_as_text_and_run_nothing(opened: Opened) -> None:
    with opened(comparison(hostile(), usual())) as page:
        page.get_by_role("button", name="</script>").first.click()
        page.locator("#rows tr").first.click()
        shown = page.locator("#panel pre")
        assert shown.count() == 2
        for n in range(2):
            same = "([n, text]) => document.querySelectorAll('#panel pre')[n].textContent === JSON.parse(text)"
            assert page.evaluate(same, [n, json.dumps(HOSTILE)])
        assert page.evaluate("window.ran") is None
        assert page.locator("img, svg svg, main script").count() == 0


def test_a_script_that_is_not_the_page_s_own_does_not_run(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    text = render(comparison(usual()))
    file.write_text(text.replace("</main>", "<script>window.ran = 1</script></main>"))
    page = browser.new_page()
    page.goto(file.as_uri())
    assert page.evaluate("window.ran") is None
    assert page.locator("#finding").inner_text() != ""
    page.close()


def test_charts_are_read_by_keyboard_and_agree_with_the_rows(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.locator("#occupancy svg").focus()
        page.keyboard.press("End")
        said = reading(page, "occupancy")
        assert said.startswith("step 40 of 40")
        assert thin("append-only 176,000") in said
        assert thin("tenure 98,000") in said
        assert "$0.35" in reading(page, "sum")
        page.keyboard.press("Home")
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        assert "evicted 60" in reading(page, "occupancy")
        assert "cache read $0.0050" in reading(page, "steps")


def test_enter_on_a_step_opens_what_was_evicted_and_escape_leads_back(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        chart = page.locator("#occupancy svg")
        chart.focus()
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator("#panel-title")).to_have_text("Result of Read")
        expect(page.locator("#panel-close")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        expect(chart).to_be_focused()


def test_pointing_at_one_chart_reads_all_of_them(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.locator("#steps svg").hover(position={"x": 400, "y": 50})
        places = {reading(page, chart).split(",")[0] for chart in ("occupancy", "steps", "sum")}
        assert len(places) == 1
        assert places.pop().startswith("step ")


def test_a_mark_of_the_chart_opens_the_eviction(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.locator("[data-open=evicted]").click()
        expect(page.locator("#panel")).to_be_visible()
        expect(page.locator("#step-filter button")).to_have_text("only step 21 \u00d7")
        page.locator("#panel-close").click()
        page.locator("[data-open=re-fetched]").click()
        expect(page.locator("#panel")).to_contain_text("the tombstone lacked config_0.toml")


def test_an_eviction_is_shown_with_reason_price_texts_and_its_refetch(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.locator("tr[data-eviction='7']").click()
        panel = page.locator("#panel")
        for words in (
            "No message of 9 steps refers to it; too large when it arrived",
            thin("1,007"),
            "907 freed",
            "$0.0025",
            "500 base input tokens",
            # 19 later steps save 90 each, it cost 500, and 2,000 to fetch again.
            "lost $0.0040 so far, re-fetch included",
            "t-00000007",
            "at step 31 for $0.010",
            "[tenure t-00000007: left out]",
            "original 7",
        ):
            expect(panel).to_contain_text(words)
        panel.get_by_role("button", name="Next eviction").click()
        expect(panel).to_contain_text("Never: no later step had to fetch it.")
        expect(panel).to_contain_text("6 steps")


def test_a_dropped_block_has_nothing_in_its_place(opened: Opened) -> None:
    gone = eviction(0, edit="drop", targets=("thinking:ab12",), tool="", stand_in="", price=0.0)
    with opened(comparison(result({"tenure": [row(0, 9, evictions=(gone,))]}))) as page:
        page.locator("#rows tr").click()
        expect(page.locator("#panel-title")).to_have_text("Reasoning")
        expect(page.locator("#panel")).to_contain_text("It was dropped whole.")
        expect(page.locator("#panel")).to_contain_text("at once")


def test_a_long_original_enters_the_page_a_piece_at_a_time(opened: Opened) -> None:
    original = "".join(f"line {n} \U0001f600\n" for n in range(20_000))
    gone = eviction(0, original=original)
    with opened(comparison(result({"tenure": [row(0, 9, evictions=(gone,))]}))) as page:
        page.locator("#rows tr").click()
        shown = page.locator("#panel pre").last
        assert len(shown.evaluate("node => node.textContent")) < len(original) / 3
        while page.locator("#panel .more").count():
            page.locator("#panel .more").click()
        assert shown.evaluate("node => node.textContent") == original


def test_the_table_is_paged_filtered_and_sorted(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        count = page.locator("#count")
        expect(count).to_have_text("1\u201325 of 60")
        page.get_by_role("button", name="Next", exact=True).click()
        expect(count).to_have_text("26\u201350 of 60")
        page.get_by_role("searchbox").fill("grep")
        expect(count).to_have_text("1\u201320 of 20")
        page.get_by_label("When").select_option("forced")
        expect(count).to_have_text("1\u20135 of 5")
        page.get_by_label("When").select_option("")
        page.get_by_role("searchbox").fill("")
        page.get_by_label("Size").select_option("2500")
        expect(count).to_have_text("none match")
        page.get_by_label("Size").select_option("1000")
        expect(count).to_have_text("1\u201325 of 60")
        page.get_by_label("re-fetched only").check()
        expect(count).to_have_text("1\u20132 of 2")
        page.get_by_label("re-fetched only").uncheck()
        page.locator("[data-column=before]").click()
        expect(page.locator("#columns [aria-sort=descending]")).to_have_text("Tokens \u2193")
        expect(page.locator("#rows td:nth-child(3)").first).to_have_text(thin("1,059"))
        expect(page.locator("[data-column=before]")).to_be_focused()


def test_another_policy_redraws_charts_and_table(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.get_by_role("radio", name="append-only").check()
        expect(page.locator("#evictions-sub")).to_have_text(
            "append-only evicted nothing in this session."
        )
        assert page.locator("#rows").count() == 0
        expect(page.locator("#occupancy path.focus")).to_have_attribute(
            "data-policy", "append-only"
        )


def test_a_line_can_be_hidden(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        lines = page.locator("#occupancy path[data-policy], #sum path[data-policy]")
        assert lines.count() == 4
        page.get_by_role("checkbox", name="append-only").uncheck()
        assert lines.count() == 2


def test_sessions_are_picked_from_a_table_and_the_dearest_comes_first(opened: Opened) -> None:
    small = result({"append-only": [row(0, 9)], "tenure": [row(0, 9)]}, "small")
    with opened(comparison(small, usual())) as page:
        expect(page.locator("#session-title")).to_have_text("a run")
        page.get_by_role("button", name="small").click()
        expect(page.locator("#session-title")).to_have_text("small")
        expect(page.get_by_role("button", name="small")).to_be_focused()
        page.locator("#occupancy svg").focus()
        assert reading(page, "occupancy").startswith("step 1 of 1")


def test_pauses_violations_and_steps_over_budget_are_marked(opened: Opened) -> None:
    rows = [
        row(0, 9_000),
        row(1, 9_000, at=9_000.0, violations=("pairs", "pairs"), over_budget=True),
    ]
    with opened(comparison(result({"append-only": rows, "tenure": rows}))) as page:
        page.locator("#occupancy svg").focus()
        page.keyboard.press("End")
        said = reading(page, "occupancy")
        assert "cold pause 2 h" in said
        assert "violated pairs \u00d7 2" in said
        assert "over budget what must stay did not fit" in said
        expect(page.locator("#caveat")).to_contain_text("at 1 step its request did not fit")


def test_each_thread_has_a_stretch_of_its_own_and_its_name(opened: Opened) -> None:
    names = ("main", "agent", "main", "agent", "main-2")
    rows = [row(n, 9_000, thread=name) for n, name in enumerate(names)]
    with opened(comparison(result({"append-only": rows, "tenure": rows}))) as page:
        assert page.locator("#occupancy svg text.thread").all_text_contents() == [
            "main",
            "agent",
            "main-2",
        ]
        assert page.locator("#occupancy svg line.thread").count() == 2


def test_an_eviction_says_what_it_was_about_and_is_found_by_its_step(opened: Opened) -> None:
    out = eviction(0, about="src/long_name.py")
    again = row(3, 9_000, refetches=(refetch(0),))
    every = [row(0, 9_000), row(1, 9_000, evictions=(out, eviction(1))), row(2, 9_000), again]
    with opened(comparison(result({"tenure": every})), width=390) as page:
        expect(page.locator("#rows tr").first).to_contain_text("src/long_name.py")
        search = page.get_by_role("searchbox")
        search.fill("step 4")
        expect(page.locator("#rows tr")).to_have_count(1)
        search.fill("long_name")
        expect(page.locator("#rows tr")).to_have_count(1)
        for choice in page.locator(".choice").all():
            box = choice.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390
        page.locator("#rows tr").first.click()
        # 2 later steps save 90 each, it cost 500, and 2,000 to fetch: of 5 millionths each.
        expect(page.locator("#panel")).to_contain_text("lost $0.012 so far, re-fetch included")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_sticks_out_at_any_width(opened: Opened, width: int) -> None:
    long_name = result({"append-only": [row(0, 9)], "tenure": [row(0, 9)]}, "x" * 200)
    with opened(comparison(usual(), long_name), width=width) as page:
        page.locator("#rows tr").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        box = page.locator("#panel").bounding_box()
        assert box is not None
        assert box["width"] <= width


def test_the_page_follows_the_reader_s_scheme(opened: Opened) -> None:
    papers = []
    for scheme in ("light", "dark"):
        with opened(comparison(usual()), scheme=scheme) as page:
            papers.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert papers == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]


def test_every_control_has_a_name(opened: Opened) -> None:
    with opened(comparison(usual())) as page:
        page.locator("#rows tr").first.click()
        nameless = page.evaluate(
            "[...document.querySelectorAll('button, input, select, [role=slider], [role=region]')]"
            ".filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim()"
            " || one.labels && one.labels.length)).length"
        )
        assert nameless == 0


def test_a_session_without_steps_shows_no_charts(opened: Opened) -> None:
    empty = result({"append-only": [], "tenure": []}, "empty")
    with opened(comparison(usual(), empty)) as page:
        page.get_by_role("button", name="empty").click()
        expect(page.locator("#session-title")).to_have_text("empty")
        assert page.locator("svg:visible").count() == 0


def test_nothing_replayed_is_said(opened: Opened) -> None:
    with opened(Comparison(Settings(), ())) as page:
        expect(page.locator("#finding")).to_contain_text("Nothing was replayed")
        expect(page.locator("main")).to_be_hidden()


def test_a_long_session_with_megabytes_of_originals_opens_quickly(opened: Opened) -> None:
    text = "def stale(path):\n    return path\n" * 300
    rows = [
        row(n, 9_000, cost=Cost(900.0, 90.0), evictions=(eviction(n, original=f"{n}\n{text}"),))
        for n in range(1_000)
    ]
    with opened(comparison(result({"append-only": rows[:1] * 1_000, "tenure": rows}))) as page:
        page.evaluate("performance.mark('start')")
        page.get_by_role("radio", name="append-only").check()
        page.get_by_role("radio", name="tenure").check()
        page.locator("#rows tr").first.click()
        page.evaluate("document.body.getBoundingClientRect()")
        # A tenth of a second for each; generous, since the machine may be busy.
        assert (
            page.evaluate("performance.now() - performance.getEntriesByName('start')[0].startTime")
            < 5_000
        )
        assert page.locator("#rows tr").count() == 25
        assert page.evaluate("document.querySelectorAll('*').length") < 12_000
