"""The report in a real browser: its content, its controls, and escaped names."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from directranker.experiments.results import Comparison, read_json, write_json
from directranker.report import write_report

from made_up_results import write_made_up_comparison, write_made_up_neighbours, write_made_up_studies

MARK = ' <script>document.title="taken"</script> "&\u2028\' </script><img src=x onerror="document.title=1">'
RANKERS = ["Alpha", f"Beta{MARK}", "Gamma", "Delta"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests of this module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        pytest.skip("chromium is not installed; install it to test the page (apt: chromium)")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    comparison = write_made_up_comparison(folder, rankers=RANKERS, n_folds=3, n_queries=30, mark=MARK)
    write_made_up_studies(folder, mark=MARK)
    write_made_up_neighbours(folder, mark=MARK)
    write_report(folder)
    return comparison


class OpenPage:
    """A page, its console messages and its requests."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": options.pop("width", 1280), "height": 900}, **options)
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=10_000)

    def texts(self, selector: str) -> list[str]:
        """Return the visible texts of the elements."""
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def numbers(self, selector: str, attribute: str) -> list[float]:
        """Return an attribute of the elements as numbers."""
        script = "(all, name) => all.map(one => Number(one.getAttribute(name)))"
        return list(self.page.locator(selector).evaluate_all(script, attribute))

    def drawing(self, selector: str) -> str:
        """Return the HTML of the first matching element."""
        return str(self.page.locator(selector).first.inner_html())


@pytest.fixture
def opened(browser: Any, folder: Path, comparison: Comparison) -> Iterator[OpenPage]:
    page = OpenPage(browser, folder / "report.html")
    yield page
    assert page.problems == []
    page.page.close()


def test_it_loads_without_other_requests_or_console_messages(opened: OpenPage, folder: Path) -> None:
    assert opened.requests == [(folder / "report.html").as_uri()]
    sections = opened.texts("h2")
    for name in ("All rankers", "Example queries", "Learning curves", "Sensitivity on synthetic data"):
        assert name in sections
    assert opened.page.locator("figure.chart svg").count() >= 9


def test_numbers_equal_the_results(opened: OpenPage, comparison: Comparison) -> None:
    for row, result in zip(
        opened.page.locator("table.sortable tbody tr").all(), comparison.rankers, strict=True
    ):
        measured = result.by("ndcg@10")
        cell = row.locator("td").first
        assert float(cell.get_attribute("data-value")) == measured.mean
        assert cell.inner_text().startswith(f"{measured.mean:.3f} ± {measured.error:.3f}")
    best = comparison.best("ndcg@10")
    assert best is not None
    means = opened.numbers('[data-chart="standing"] g[data-ranker]', "data-mean")
    assert means == sorted((one.by("ndcg@10").mean or 0 for one in comparison.rankers), reverse=True)
    assert opened.texts("h1:visible")[0].startswith(best.ranker)
    test = comparison.test("ndcg@10", "Delta", "Gamma")
    assert test is not None
    sign = 1 if test.first == best.ranker else -1
    text = opened.texts('[data-text="difference"]')[0]
    assert text.startswith(f"A − B = +{sign * test.difference:.4f} NDCG@10 over 90 queries")


def test_the_table_sorts_by_mouse_and_keyboard(opened: OpenPage) -> None:
    header = opened.page.locator("table.sortable thead th").nth(1)
    column = "table.sortable tbody td:nth-child(2)"
    header.locator("button").click()
    values = opened.numbers(column, "data-value")
    assert values == sorted(values, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    header.locator("button").focus()
    opened.page.keyboard.press("Enter")
    assert opened.numbers(column, "data-value") == sorted(values)
    assert header.get_attribute("aria-sort") == "ascending"
    first = opened.page.locator("table.sortable thead th").first
    opened.page.keyboard.press("Shift+Tab")
    opened.page.keyboard.press("Space")
    assert first.get_attribute("aria-sort") == "ascending"
    assert header.get_attribute("aria-sort") == "none"
    assert opened.texts("table.sortable tbody th")[0] == "Alpha"


def test_selecting_a_metric_changes_charts_and_verdict(opened: OpenPage, comparison: Comparison) -> None:
    before = opened.drawing('[data-chart="standing"]')
    opened.page.get_by_role("button", name="MAP", exact=True).first.click()
    assert opened.drawing('[data-chart="standing"]') != before
    means = opened.numbers('[data-chart="standing"] g[data-ranker]', "data-mean")
    assert means == sorted((one.by("map").mean or 0 for one in comparison.rankers), reverse=True)
    assert "MAP" in opened.texts(".verdict:visible")[0]


def test_selects_change_the_charts(opened: OpenPage, comparison: Comparison) -> None:
    before = {name: opened.drawing(f'[data-chart="{name}"]') for name in ("folds", "queries")}
    opened.page.locator('[data-pick="b"]').first.select_option("Alpha")
    opened.page.locator('[data-pick="a"]').first.select_option("Gamma")
    for name, drawing in before.items():
        assert opened.drawing(f'[data-chart="{name}"]') != drawing
    gamma, alpha = (
        next(one for one in comparison.rankers if one.ranker == name).by("ndcg@10").folds
        for name in ("Gamma", "Alpha")
    )
    expected = [(one.score or 0) - (other.score or 0) for one, other in zip(gamma, alpha, strict=True)]
    assert opened.numbers('[data-chart="folds"] rect', "data-difference") == pytest.approx(expected)
    assert opened.page.locator('[data-explorer] [data-pick="a"]').input_value() == "Gamma"
    for section, pick in (
        ('[data-neighbours="examples"]', "query"),
        ('[data-neighbours="examples"]', "ranker"),
        ('main > [data-neighbours="0"]', "query"),
    ):
        drawing = opened.drawing(f"{section} figure")
        opened.page.locator(f'{section} [data-pick="{pick}"]').select_option(index=1)
        assert opened.drawing(f"{section} figure") != drawing
    drawing = opened.drawing("[data-curves] figure")
    opened.page.locator('[data-curves] [data-pick="ranker"]').select_option(index=2)
    assert opened.drawing("[data-curves] figure") != drawing


def test_many_classes_have_different_colours(browser: Any, tmp_path: Path) -> None:
    (first, _) = write_made_up_neighbours(tmp_path)
    many = {**first, "classes": list(range(7, -1, -1)), "scores": list(range(8)), "r": [0.5] * 7}
    many["documents"], many["thresholds"] = [f"d{n}" for n in range(8)], []
    content = read_json(tmp_path / "neighbours.json")
    write_json({**content, "lists": [many]}, tmp_path / "neighbours.json")
    page = OpenPage(browser, write_report(tmp_path))
    script = "all => new Set(all.map(one => getComputedStyle(one).fill)).size"
    assert page.page.locator("[data-neighbours] circle").evaluate_all(script) == 7
    assert page.problems == []
    page.page.close()


def test_neighbours_and_studies_show_their_values(opened: OpenPage, folder: Path) -> None:
    lists = read_json(folder / "neighbours.json")["lists"]
    section = 'main > [data-neighbours="0"]'
    assert opened.numbers(f"{section} circle", "data-r") == lists[0]["r"]
    opened.page.locator(f'{section} [data-pick="query"]').select_option(index=1)
    assert opened.numbers(f"{section} circle", "data-r") == lists[1]["r"]
    assert opened.page.locator(f"{section} line.boundary").count() == 1
    points = read_json(folder / "sensitivity.json")["points"]
    for study in ("noise", "size"):
        expected = [point["mean"] for point in points if point["study"] == study]
        assert opened.numbers(f'[data-study-chart="{study}"] circle', "data-value") == expected
    assert opened.texts(".claims li")[0].startswith("held")
    after = (
        "all => all.map(one => [...one.closest('svg').querySelectorAll('[data-line]')]"
        ".filter(line => one.compareDocumentPosition(line) & Node.DOCUMENT_POSITION_FOLLOWING).length)"
    )
    texts = opened.page.locator('[data-study-chart="noise"] text.on-lines')
    assert texts.evaluate_all(after) == [0, 0]  # no curve is drawn over the texts


def test_a_single_document_has_no_neighbours(browser: Any, tmp_path: Path) -> None:
    one = {"query": "7", "documents": ["d"], "scores": [1.0], "classes": [0], "r": [], "thresholds": []}
    write_json({"ranker": "R", "lists": [one]}, tmp_path / "neighbours.json")
    page = OpenPage(browser, write_report(tmp_path))
    assert page.texts('[data-text="classes"]') == ["A single document has no neighbours."]
    assert page.texts("option") == ["7 (1 document)"]
    assert page.problems == []
    page.page.close()


@pytest.mark.parametrize("means", [(0.97, 0.95, 0.78), (0.85, 0.84, 0.75), (0.84, 0.8, 0.4)])
def test_the_papers_claims_do_not_do_overlap(browser: Any, tmp_path: Path, means: tuple[float, ...]) -> None:
    noise = zip((0, 0.25, 0.75), means, strict=True)
    points = [{"study": "noise", "value": s, "ranker": "R", "mean": m, "error": 0.01} for s, m in noise]
    write_json({"points": points, "claims": []}, tmp_path / "sensitivity.json")
    page = OpenPage(browser, write_report(tmp_path), width=390)
    texts = page.page.locator('[data-study-chart="noise"] text.on-lines')
    assert not _do_overlap(texts.nth(0).bounding_box(), texts.nth(1).bounding_box())
    chart = page.page.locator('[data-study-chart="noise"] svg').bounding_box()
    for box in (texts.nth(0).bounding_box(), texts.nth(1).bounding_box()):
        assert chart["y"] <= box["y"]
        assert box["y"] + box["height"] <= chart["y"] + 222  # above the axis
    page.page.close()


def test_labels_on_charts_do_not_do_overlap(browser: Any, tmp_path: Path) -> None:
    names = ["DirectRanker-paper", "AdaRank", "LambdaDirectRanker", "RankNet", "ListNet", "CoordinateAscent"]
    write_made_up_comparison(tmp_path, rankers=names, n_folds=2, n_queries=10)
    page = OpenPage(browser, write_report(tmp_path), width=390)
    left = 0
    for group in page.page.locator('[data-chart="time"] g[data-ranker]', has=page.page.locator("text")).all():
        point, name = (group.locator(kind).bounding_box() for kind in ("circle", "text"))
        assert not _do_overlap(point, name)
        left += name["x"] < point["x"] - 20
    assert left
    page.page.close()


def _do_overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        one[start] < other[start] + other[size] and other[start] < one[start] + one[size]
        for start, size in (("x", "width"), ("y", "height"))
    )


def test_documents_are_in_the_order_of_both_rankers(opened: OpenPage, folder: Path) -> None:
    opened.page.locator('[data-explorer] [data-pick="query"]').select_option(index=3)
    query = read_json(folder / "examples.json")["queries"][3]
    for which in ("a", "b"):
        name = opened.page.locator(f'[data-explorer] [data-pick="{which}"]').input_value()
        scores = query["by"][name]["scores"]
        rows = [int(row) for row in opened.numbers(f'[data-list="{which}"] button', "data-row")]
        assert rows == sorted(range(len(scores)), key=lambda row: -scores[row])
        grades = [float(text) for text in opened.texts(f'[data-list="{which}"] .grade')]
        assert grades == [query["grades"][row] for row in rows]


def test_contributions_sum_to_the_score_difference(opened: OpenPage, folder: Path) -> None:
    query = read_json(folder / "examples.json")["queries"][0]
    rows = query["explained"]
    pairs = list(combinations(rows, 2))
    name = opened.page.locator('[data-explorer] [data-pick="a"]').input_value()
    for better, worse in ((rows[0], rows[1]), (rows[5], rows[2]), (rows[8], rows[9]), (rows[9], rows[0])):
        opened.page.locator('[data-pick="better"]').select_option(str(better))
        opened.page.locator('[data-pick="worse"]').select_option(str(worse))
        table = f'.why table[data-ranker="{name}"]'
        adds = opened.numbers(f"{table} [data-adds]", "data-adds")
        scores = query["by"][name]["scores"]
        (difference,) = opened.numbers(f"{table} [data-difference]", "data-difference")
        assert difference == pytest.approx(scores[better] - scores[worse])
        assert sum(adds) == pytest.approx(difference)
        pair, sign = (
            (pairs.index((better, worse)), 1) if better < worse else (pairs.index((worse, better)), -1)
        )
        assert adds[:-1] == [sign * part for part in query["by"][name]["why"]["adds"][pair]]


def test_documents_are_selected_by_keyboard(opened: OpenPage) -> None:
    buttons = opened.page.locator('[data-list="a"] button:enabled')
    before = opened.drawing(".why")
    for number in (2, 5):
        buttons.nth(number).focus()
        opened.page.keyboard.press("Enter")
    assert opened.drawing(".why") != before
    assert opened.page.locator('[data-list="a"] button[aria-pressed="true"]').count() == 2


def test_names_are_escaped(opened: OpenPage) -> None:
    assert opened.page.title().startswith("made up <script>")
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("script").count() == 2
    assert any("<script>" in text for text in opened.texts("table.sortable tbody th"))
    assert any("<script>" in text for text in opened.texts('[data-list="a"] .id'))
    assert any("<script>" in text for text in opened.texts(".why .feature"))
    assert "<script>" in opened.texts("pre.command")[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_does_not_scroll_sideways(
    browser: Any, folder: Path, comparison: Comparison, scheme: str
) -> None:
    phone = OpenPage(browser, folder / "report.html", width=375, color_scheme=scheme)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 375
    background = phone.page.evaluate("getComputedStyle(document.body).backgroundColor")
    ink = phone.page.evaluate("getComputedStyle(document.body).color")
    dark, light = (background, ink) if scheme == "dark" else (ink, background)
    assert _brightness(light) - _brightness(dark) > 150
    assert phone.problems == []
    phone.page.close()


def _brightness(colour: str) -> float:
    channels = [float(channel) for channel in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(channels) / 3


def test_a_phone_shows_feature_values(browser: Any, folder: Path, comparison: Comparison) -> None:
    phone = OpenPage(browser, folder / "report.html", width=375)
    overflowing = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"
    assert phone.texts(".why .feature .quiet")
    assert phone.page.locator(".why .feature").evaluate_all(overflowing) == []
    phone.page.close()


def test_print_shows_whole_lists(opened: OpenPage) -> None:
    opened.page.emulate_media(media="print")
    script = "one => one.scrollHeight <= one.clientHeight + 1"
    assert opened.page.locator(".lists").first.evaluate(script)
    assert opened.page.locator(".metrics").first.is_hidden()


def test_a_printed_table_is_not_cut(browser: Any, tmp_path: Path) -> None:
    names = ["DirectRanker-paper", "LambdaDirectRanker", "CoordinateAscent"]
    write_made_up_comparison(tmp_path, rankers=names, n_folds=2, n_queries=10)
    paper = OpenPage(browser, write_report(tmp_path), width=720)  # A4 without margins
    paper.page.emulate_media(media="print")
    assert paper.page.evaluate("document.documentElement.scrollWidth") <= 720
    paper.page.close()
