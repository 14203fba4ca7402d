"""Build and open the report of a large comparison: 10 rankers × 5 folds × 1,000 queries, synthetic results.

Measures the time to build it, its size, and the time until a browser that opens it from disk has drawn
everything and sorted the table. The last needs playwright and chromium.

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
from measuring import describe_machine, measure_seconds

MAX_BUILD_SECONDS, MAX_MEGABYTES, MAX_OPEN_SECONDS = 10.0, 10.0, 2.0
ROUNDS = 3


def measure_opening(path: Path) -> float:
    """Measure the seconds from requesting the page in a running browser until its table is sorted."""
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
    """Print the table; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rankers", type=int, default=10)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000, help="per fold")
    options = parser.parse_args()
    print(describe_machine("jinja2"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rankers = [f"Ranker{number}" for number in range(1, options.rankers + 1)]
        write_made_up_comparison(folder, rankers=rankers, n_folds=options.folds, n_queries=options.queries)
        build = median(measure_seconds(lambda: write_report(folder)) for _ in range(ROUNDS))
        megabytes = (folder / "report.html").stat().st_size / 1e6
        opened = measure_opening(folder / "report.html")
    reached = True
    for name, value, limit in (
        ("build, s", build, MAX_BUILD_SECONDS),
        ("size, MB", megabytes, MAX_MEGABYTES),
        ("interactive after, s", opened, MAX_OPEN_SECONDS),
    ):
        print(f"{name:22}{value:>8.2f}   required < {limit:g}")
        reached = reached and value < limit
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
