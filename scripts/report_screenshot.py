"""Takes the README's picture of a report: its head, the comparison and the first charts.

Invariant: what is in the picture is the page as a browser shows it, unchanged; nothing is fetched.

    python -m scripts.report_screenshot demo-report.html docs/images/report.png
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import find_browser

WIDTH = 1280
LAST = "#steps"
"""The picture ends below this part of the page."""


def main() -> int:
    """Return 0 when the picture was taken."""
    parser = argparse.ArgumentParser(description="a picture of a report's first screen or two")
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no browser: install chromium or name one in TENURE_CHROMIUM", file=sys.stderr)
        return 1
    take(arguments.report, arguments.picture, browser)
    print(f"wrote {arguments.picture}")
    return 0


def take(report: Path, picture: Path, browser: str) -> None:
    """Writes the picture, 1280 pixels wide, in the light scheme."""
    with sync_playwright() as playwright:
        # Chromium refuses its sandbox to root, which is who runs in containers.
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.locator("#occupancy svg").wait_for()
        box = page.locator(LAST).bounding_box()
        assert box is not None, f"{report} has no charts"
        height = box["y"] + box["height"] + 16
        picture.parent.mkdir(parents=True, exist_ok=True)
        clip = {"x": 0.0, "y": 0.0, "width": float(WIDTH), "height": height}
        page.screenshot(path=picture, full_page=True, clip=clip)  # type: ignore[arg-type]
        opened.close()


if __name__ == "__main__":
    sys.exit(main())
