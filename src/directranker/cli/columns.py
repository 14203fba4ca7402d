"""The options that say which column of a table is what; all commands that read data share them.

A command with a parameter `columns: ColumnOptions` gets all of them by the decorator `takes_columns`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from directranker.data.column_roles import ColumnRoles
    from directranker.data.formats import ReadOptions
    from directranker.rankers.base import Ranker

__all__ = ["ColumnOptions", "takes_columns"]

PANEL = "Columns of a table"
LIST = "Comma-separated or repeated."


def _name_option(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel=PANEL)


Names = list[str] | None
OPTIONS: dict[str, Any] = {
    "relevance": Annotated[
        str | None, _name_option("--relevance", "COLUMN", "Labels; default: the model's, else 'relevance'.")
    ],
    "query": Annotated[
        str | None,
        _name_option("--query", "COLUMN", "Query ids; default: the model's, else 'qid'. '' for one query."),
    ],
    "document": Annotated[
        str | None, _name_option("--document", "COLUMN", "Document ids; default: the model's, else 'docid'.")
    ],
    "features": Annotated[
        Names,
        _name_option("--features", "COLUMNS", f"Features; default: the model's, else all others. {LIST}"),
    ],
    "drop": Annotated[Names, _name_option("--drop", "COLUMNS", f"Columns that are not features. {LIST}")],
    "categorical": Annotated[
        Names, _name_option("--categorical", "COLUMNS", f"Numbers that are ids of categories. {LIST}")
    ],
    "dates": Annotated[
        Names,
        _name_option(
            "--dates",
            "COLUMNS",
            "Dates, as age, hour and weekday. DATE:OTHER counts the age back from another column instead of "
            f"the newest document of the query. {LIST}",
        ),
    ],
    "compare_vectors": Annotated[
        Names,
        _name_option(
            "--compare-vectors", "A,B", "Vectors to replace by dot product, cosine and distance. Repeatable."
        ),
    ],
    "keep_vectors": Annotated[
        bool,
        typer.Option("--keep-vectors", help="Keep compared vectors as features.", rich_help_panel=PANEL),
    ],
    "data_format": Annotated[
        str | None,
        _name_option(
            "--data-format",
            "FORMAT",
            "Format of the data: letor, csv, tsv, jsonl or parquet; default: by extension, or recognised on "
            "standard input.",
        ),
    ],
}


@dataclass(frozen=True)
class ColumnOptions:
    """The columns that the command line names; None where it does not."""

    relevance: str | None = None
    query: str | None = None
    document: str | None = None
    features: Names = None
    drop: Names = None
    categorical: Names = None
    dates: Names = None
    compare_vectors: Names = None
    keep_vectors: bool = False
    data_format: str | None = None

    def make_roles(self, ranker: Ranker | None = None) -> ColumnRoles:
        """Return the columns of the command line, else those of the ranker's training data."""
        from directranker.data.column_roles import ColumnRoles

        roles: dict[str, Any] = {} if ranker is None else dict(getattr(ranker, "columns_", {}))
        if roles.get("document", "") is None:
            del roles["document"]  # the training data had no ids, but this table may
        for name in ("relevance", "query", "document"):
            if (value := getattr(self, name)) is not None:
                roles[name] = value or None
        for name in ("features", "drop", "categorical"):
            if (values := getattr(self, name)) is not None:
                roles[name] = tuple(_split(values))
        if self.dates is not None:
            pairs = (date.partition(":") for date in _split(self.dates))
            roles["dates"] = tuple((date, reference or None) for date, _, reference in pairs)
        if self.compare_vectors is not None:
            roles["compare_vectors"] = tuple(map(_split_pair, self.compare_vectors))
        if self.keep_vectors:
            roles["keep_vectors"] = True
        roles["or_default"] = ranker is not None and self == ColumnOptions(data_format=self.data_format)
        return ColumnRoles(**roles)

    def make_options(self, ranker: Ranker | None = None, **others: Any) -> ReadOptions:
        """Return the options of reading; data that a ranker scores needs no labels.

        NaN in text is read as a missing value, as in tables; rankers report infinite values.
        """
        from directranker.data.formats import ReadOptions

        others = {"allow_non_finite": True, **others}
        if ranker is not None:
            categories: dict[str, object] = getattr(ranker, "categories_", {})
            others = {
                "n_features": ranker.n_features_in_,
                "texts": tuple(categories),
                "need_labels": False,
                **others,
            }
        return ReadOptions(columns=self.make_roles(ranker), **others)


def _split(values: list[str]) -> list[str]:
    return [name for value in values for name in value.split(",") if name]


def _split_pair(value: str) -> tuple[str, str]:
    names = _split([value])
    if len(names) != 2:
        raise ValueError(f"--compare-vectors {value}: give two columns, such as query_embedding,embedding")
    return names[0], names[1]


def takes_columns(
    *, query: str = "--query", data_format: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of columns instead of its parameter `columns`.

    `query` is the name of the option for query ids, for a command whose `--query` is an id.
    """
    options = dict(OPTIONS)
    if query != "--query":
        options["query"] = Annotated[str | None, _name_option(query, "COLUMN", "Query ids, as in the table.")]
    if not data_format:
        del options["data_format"]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            chosen = {name: given.pop(f"{name}_column") for name in options}
            command(**given, columns=ColumnOptions(**chosen))

        hints = get_type_hints(command, include_extras=True)
        del hints["columns"]
        parameters = [
            parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in inspect.signature(command).parameters.items()
            if name != "columns"
        ]
        for name, annotation in options.items():
            default = False if name == "keep_vectors" else None
            hints[f"{name}_column"] = annotation
            parameters.append(
                inspect.Parameter(
                    f"{name}_column", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
                )
            )
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = hints
        return run

    return decorate
