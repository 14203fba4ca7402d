"""Take the screenshots of a report for the README: the top of the page, light and dark.

    python docs/building/report_picture.py results/demo/report.html

Writes docs/images/report-light.png and report-dark.png. Needs playwright and chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "images"
WIDTH, HEIGHT = 1100, 620


def main() -> None:
    """Take both screenshots of the page given on the command line."""
    page_path = Path(sys.argv[1]).resolve()
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=scheme)
            page.goto(page_path.as_uri())
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=IMAGES / f"report-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main()
