"""The report of a large comparison: 10 rankers × 5 folds × 1,000 queries each, made up as real ones are kept.

How long it takes to build, how large it is, and after how long a browser that opens it from disk has drawn
everything and sorts the table. The last needs playwright and a chromium.

    python benchmarks/report_benchmark.py [--rankers 10] [--folds 5] [--queries 1000]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from directranker.report import write_report

from made_up_results import write_made_up_comparison
from measuring import machine, seconds_of

BUILD_SECONDS, MEGABYTES, OPEN_SECONDS = 10.0, 10.0, 2.0
ROUNDS = 3


def seconds_to_open(path: Path) -> float:
    """From asking a running browser for the page until its table has been sorted by a click."""
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        seconds = []
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            start = time.perf_counter()
            page.goto(path.as_uri())
            page.click("table.sortable thead th:nth-child(2) button")
            page.wait_for_selector('html[data-ready] th[aria-sort="descending"]')
            seconds.append(time.perf_counter() - start)
            page.close()
        browser.close()
    return median(seconds)


def main() -> int:
    """Print the table; 1 where a figure is not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankers", type=int, default=10)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000, help="per fold")
    options = parser.parse_args()
    print(machine("jinja2"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rankers = [f"Ranker{number}" for number in range(1, options.rankers + 1)]
        write_made_up_comparison(folder, rankers=rankers, n_folds=options.folds, n_queries=options.queries)
        build = median(seconds_of(lambda: write_report(folder)) for _ in range(ROUNDS))
        megabytes = (folder / "report.html").stat().st_size / 1e6
        opened = seconds_to_open(folder / "report.html")
    reached = True
    for what, value, limit in (
        ("built, s", build, BUILD_SECONDS),
        ("size, MB", megabytes, MEGABYTES),
        ("interactive after, s", opened, OPEN_SECONDS),
    ):
        print(f"{what:22}{value:>8.2f}   required < {limit:g}")
        reached = reached and value < limit
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
