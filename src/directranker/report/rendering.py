r"""Render the report: a template, its style and its scripts, all in one file.

Text from results is escaped: the template escapes HTML, and the JSON for the scripts contains no `<`.

>>> to_script_json({"title": "</script>"})
'{"title":"\\u003c/script>"}'
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment

from directranker._version import __version__
from directranker.data.files import write_atomically
from directranker.figures.palette import COLOURS, class_colours
from directranker.report.contents import (
    build_comparison_view,
    build_page_data,
    build_study_views,
    list_origins,
)
from directranker.report.discovery import FoundResults, find_results

__all__ = ["REPORT", "build_report", "to_script_json", "write_report"]

REPORT = "report.html"
# By number of grades; with more grades than this, the highest share a colour.
COLOURS_BY_NUMBER = [class_colours(n) for n in range(1, 33)]
SCRIPTS = ("drawing.js", "comparison.js", "explorer.js", "curves.js", "start.js")


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a folder of results, by default to `report.html` in it."""
    path = Path(folder) / REPORT if out is None else Path(out)
    page = build_report(folder)
    with write_atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")  # names may be invalid text
    return path


def build_report(folder: str | Path) -> str:
    """Build the report of a folder of results as one HTML page."""
    found = find_results(folder)
    content = build_page_data(found)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_read_asset("page.html")).render(
        title=_build_title(folder, found),
        version=__version__,
        style=_read_asset("style.css"),
        scripts="\n".join(map(_read_asset, SCRIPTS)),
        data=to_script_json({**content, "colours": COLOURS, "classColours": COLOURS_BY_NUMBER}),
        comparisons=[build_comparison_view(one) for one in found.comparisons],
        studies=build_study_views(found),
        neighbours=found.neighbours,
        trainings=content["trainings"],
        origins=list_origins(found),
    )


def _build_title(folder: str | Path, found: FoundResults) -> str:
    names = [one.comparison.request.get("name", one.folder) for one in found.comparisons]
    return ", ".join(names) or Path(folder).resolve().name


def to_script_json(content: object) -> str:
    """Convert to JSON that is safe within a script element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _read_asset(name: str) -> str:
    return files("directranker.report").joinpath("page", name).read_text(encoding="utf-8")
