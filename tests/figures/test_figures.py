"""Figures: their content, equal bytes for equal data, and unchanged settings of matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.text
import pytest

from directranker.figures import draw_learning_curves, draw_neighbours, draw_studies, save_figure
from directranker.figures.palette import CLASS_COLOURS, COLOURS, assign_colours, class_colours


def make_point(study: str, value: float, mean: float, error: float | None = 0.01) -> dict[str, Any]:
    return {"study": study, "value": value, "ranker": "R", "mean": mean, "error": error}


def test_studies_have_points_errors_and_the_papers_claims() -> None:
    points = [
        make_point("noise", 0.75, 0.85),
        make_point("noise", 0, 0.97),
        make_point("size", 1000, 0.9, None),
    ]
    noise, size = draw_studies(points).axes
    (drawn,) = noise.containers
    assert drawn[0].get_xydata().tolist() == [[0, 0.97], [0.75, 0.85]]
    (bars,) = drawn[2]
    assert bars.get_segments()[0].ravel().tolist() == pytest.approx([0, 0.96, 0, 0.98])
    straight = [line.get_ydata() for line in noise.lines if list(line.get_xdata()) == [0, 1]]
    assert straight == [[0.80, 0.80]]
    assert size.get_xscale() == "log"
    assert [axes.get_ylabel() for axes in (noise, size)] == ["NDCG@20"] * 2
    with pytest.raises(ValueError, match="no points to draw"):
        draw_studies([])


def test_neighbours_are_coloured_by_class_with_boundaries_from_scores() -> None:
    one = {
        "query": "7",
        "classes": [1, 0, 1, 0],
        "r": [0.1, 0.7, 0.2],
        "scores": [5, 4, 2, 1],
        "thresholds": [3],
    }
    (axes,) = draw_neighbours([one]).axes
    by_class = {points.get_label(): points.get_offsets().tolist() for points in axes.collections}
    assert by_class["class 0"] == [[2, 0.7]]
    assert by_class["class 1"] == [[1, 0.1], [3, 0.2]]
    assert by_class["class changes"] == [[1, 0.1], [2, 0.7], [3, 0.2]]
    (boundary,) = [line for line in axes.lines if line.get_label() == "boundary from scores alone"]
    assert list(boundary.get_xdata()) == [2, 2]
    with pytest.raises(ValueError, match="no lists"):
        draw_neighbours([])


def test_short_lists_have_integer_ticks() -> None:
    single = {"query": "7", "classes": [1], "r": [], "scores": [5], "thresholds": []}
    short = {"query": "8", "classes": [1, 1, 0], "r": [0.1, 0.2], "scores": [5, 4, 3], "thresholds": []}
    of_single, of_short = draw_neighbours([single, short]).axes
    assert [text.get_text() for text in of_single.texts] == ["a single document has no neighbours"]
    assert not list(of_short.texts)
    for axes in (of_single, of_short):
        low, high = axes.get_xlim()
        assert all(tick == round(tick) for tick in axes.get_xticks() if low <= tick <= high)


def test_rounds_without_validation_have_one_panel() -> None:
    rounds = [{"round": n, "fitness": n / 9, "metric": None} for n in (1, 2)]
    (axes,) = draw_learning_curves({"a": rounds}).axes
    assert axes.lines[0].get_xydata().tolist() == [[1, 1 / 9], [2, 2 / 9]]
    assert axes.get_ylabel() == "fitness on the training split"  # not a metric for RankSVM
    with pytest.raises(ValueError, match="no history"):
        draw_learning_curves({"a": []})


@pytest.mark.parametrize("name", [r"$\frac$ <script>", "a$b$c"])
def test_names_are_plain_text(name: str, tmp_path: Path) -> None:
    one = {"query": name, "classes": [1, 0], "r": [0.1], "scores": [5, 4], "thresholds": []}
    curve = [{"epoch": 1, "cost": 0.7, "metric": 0.5}]
    points = [{**make_point("noise", 0, 0.9), "ranker": ranker} for ranker in (name, "B")]
    curves = draw_learning_curves({name: curve}, title=name)
    for number, figure in enumerate((draw_neighbours([one]), curves, draw_studies(points))):
        save_figure(figure, tmp_path / f"{number}.svg")  # fails on an invalid formula
        texts = [
            text for axes in figure.axes for text in axes.findobj(mpl.text.Text) if name in text.get_text()
        ]
        assert texts
        assert not any(text.get_parse_math() for text in texts)


def test_claims_are_drawn_in_front_of_the_curves() -> None:
    (axes,) = draw_studies([make_point("noise", value, 0.81) for value in (0, 0.25, 0.75)]).axes
    claims = [text for text in axes.texts if text.get_text().startswith("paper:")]
    assert len(claims) == 2
    for text in claims:
        assert text.get_zorder() > max(line.get_zorder() for line in axes.lines)
        assert text.get_path_effects()


def test_files_have_equal_bytes_and_settings_are_unchanged(tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    for ending in ("svg", "png"):
        paths = [
            save_figure(draw_studies([make_point("noise", 0.5, 0.9)]), tmp_path / f"{n}.{ending}")
            for n in (1, 2)
        ]
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert dict(mpl.rcParams) == before
    with pytest.raises(ValueError, match=r"unsupported suffix; use \.svg or \.png"):
        save_figure(draw_studies([make_point("noise", 0.5, 0.9)]), tmp_path / "a.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.png", "1.svg", "2.png", "2.svg"]


def test_colours_repeat_after_the_last() -> None:
    names = [str(n) for n in range(9)]
    assert list(assign_colours(names).values()) == [*COLOURS, COLOURS[0]]
    assert len(set(COLOURS)) == 8


def test_no_two_classes_have_the_same_colour() -> None:
    for n in (1, 5, 6, 20):
        assert len(set(class_colours(n))) == n
    many = class_colours(20)
    assert (many[0], many[-1]) == (CLASS_COLOURS[0], CLASS_COLOURS[-1])
    classes = list(range(7))
    one = {"query": "7", "classes": classes, "r": [0.1] * 6, "scores": classes[::-1], "thresholds": []}
    (axes,) = draw_neighbours([one]).axes
    colours = [tuple(points.get_facecolor()[0]) for points in axes.collections if len(points.get_facecolor())]
    assert len(set(colours)) == 7
