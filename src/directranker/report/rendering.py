r"""The page from the results: a template, its style and its scripts, all in one file.

Whatever comes from results is text: the template escapes it, and the data for the script is JSON in which no
`<` stands.

>>> to_script_json({"title": "</script>"})
'{"title":"\\u003c/script>"}'
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from directranker._version import __version__
from directranker.data.files import write_atomically
from directranker.figures.palette import COLOURS, class_colours
from directranker.report.contents import build_comparison_view, list_origins, build_page_data, build_study_views
from directranker.report.discovery import FoundResults, find_results

__all__ = ["REPORT", "build_report", "to_script_json", "write_report"]

REPORT = "report.html"
# Of grades that are not a few classes but a scale, the highest look alike.
COLOURS_BY_NUMBER = [class_colours(n) for n in range(1, 33)]
SCRIPTS = ("drawing.js", "comparison.js", "explorer.js", "curves.js", "start.js")


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the report of a folder of results; to `report.html` in it unless told otherwise."""
    path = Path(folder) / REPORT if out is None else Path(out)
    page = build_report(folder)
    with write_atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="backslashreplace")  # a name may be no text
    return path


def build_report(folder: str | Path) -> str:
    """The report of a folder of results as one HTML page."""
    from jinja2 import Environment  # noqa: PLC0415 - only who wants a page needs it

    found = find_results(folder)
    content = build_page_data(found)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_part("page.html")).render(
        title=_title(folder, found),
        version=__version__,
        style=_part("style.css"),
        scripts="\n".join(map(_part, SCRIPTS)),
        data=to_script_json({**content, "colours": COLOURS, "classColours": COLOURS_BY_NUMBER}),
        comparisons=[build_comparison_view(one) for one in found.comparisons],
        studies=build_study_views(found),
        neighbours=found.neighbours,
        trainings=content["trainings"],
        list_origins=list_origins(found),
    )


def _title(folder: str | Path, found: FoundResults) -> str:
    names = [one.comparison.request.get("name", one.place) for one in found.comparisons]
    return ", ".join(names) or Path(folder).resolve().name


def to_script_json(content: Any) -> str:
    """JSON that may stand in a script element, whatever its texts are."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _part(name: str) -> str:
    return files("directranker.report").joinpath("page", name).read_text(encoding="utf-8")
