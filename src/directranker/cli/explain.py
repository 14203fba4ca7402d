"""`directranker explain`: explain why one document ranks before another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from directranker.cli.columns import ColumnOptions, takes_columns
from directranker.cli.console import AsJson, DataPath, get_console, print_json
from directranker.cli.loading import ModelPath, Trust, load_model, read_data_for

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.data.feature_groups import FeatureValue
    from directranker.explanation import Explanation

__all__ = ["explain"]

MIN_SHOWN = 5e-5  # the smallest value that four decimals show


@takes_columns(query="--query-column")
def explain(
    model: ModelPath,
    data: DataPath,
    *,
    columns: ColumnOptions,
    query: Annotated[str, typer.Option(metavar="ID", help="Query id.", show_default=False)],
    better: Annotated[
        str,
        typer.Option(
            metavar="DOCUMENT", help="Document id, or its row within the query, from 1.", show_default=False
        ),
    ],
    worse: Annotated[
        str, typer.Option(metavar="DOCUMENT", help="Document to compare with.", show_default=False)
    ],
    top: Annotated[int, typer.Option(metavar="N", help="Number of features to show; 0 for all.", min=0)] = 15,
    as_json: AsJson = False,
    trust: Trust = None,
) -> None:
    """Show how much each feature contributes to the score difference of two documents.

    The contributions sum to the difference. A row 'no feature' shows what no feature accounts for.

    Example: `directranker explain model example --query 10 --better 1 --worse 2`
    """
    from directranker.explanation import explain_difference

    ranker = load_model(model, trust)
    documents = _select_query(read_data_for(ranker, data, columns), query)
    better_row, worse_row = (_find_row(documents, document, query) for document in (better, worse))
    if better_row == worse_row:
        raise ValueError(f"--better and --worse are both row {better_row + 1} of query {query}; give two")
    explanation = explain_difference(ranker, documents, better=better_row, worse=worse_row)
    if as_json:
        print_json(_to_json(explanation))
    else:
        _print_explanation(explanation, top)


def _select_query(data: RankingDataset, query: str) -> RankingDataset:
    import numpy as np

    found = np.flatnonzero(data.query_ids.astype(str) == query)
    if not len(found):
        known = ", ".join(map(str, data.query_ids[:5]))
        raise ValueError(f"query {query!r} does not exist; the first queries are {known}")
    return data.select(found)


def _find_row(data: RankingDataset, document: str, query: str) -> int:
    """Find a document by its id, or else by its row, and return the row from 0."""
    ids = [] if data.document_texts is None else data.document_texts.to_pylist()
    if document in ids:
        return int(ids.index(document))
    if document.isdecimal() and 1 <= int(document) <= data.n_documents:
        return int(document) - 1
    raise ValueError(
        f"query {query} has no document {document!r}; give an id, or a row from 1 to {data.n_documents}"
    )


def _to_json(explanation: Explanation) -> dict[str, object]:
    return {
        "method": explanation.method,
        "scores": explanation.scores,
        "difference": explanation.difference,
        "residual": explanation.residual,
        "contributions": dict(zip(explanation.names, explanation.contributions.tolist(), strict=True)),
        "values": {
            name: [None if value != value else value for value in values]  # noqa: PLR0124 - NaN
            for name, *values in zip(explanation.names, *explanation.values, strict=True)
        },
    }


def _format_value(value: FeatureValue) -> str:
    if value is None:
        return "missing"
    return value if isinstance(value, str) else f"{value:g}"


def _print_explanation(explanation: Explanation, top: int) -> None:
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table("feature", "better", "worse", "contribution", box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    order = np.argsort(-np.abs(explanation.contributions), kind="stable")
    shown = order[:top] if top else order
    for feature in shown:
        better, worse = (Text(_format_value(values[feature])) for values in explanation.values)
        contribution = f"{explanation.contributions[feature]:+.4f}"
        table.add_row(Text(explanation.names[feature]), better, worse, contribution)
    rest = order[len(shown) :]
    if len(rest):
        table.add_row(f"{len(rest)} others", "", "", f"{explanation.contributions[rest].sum():+.4f}")
    if abs(explanation.residual) >= MIN_SHOWN:
        table.add_row("no feature", "", "", f"{explanation.residual:+.4f}")
    table.add_row("sum", "", "", f"{explanation.difference:+.4f}")
    console = get_console()
    console.print(
        f"g(better) = {explanation.scores[0]:.4f}, g(worse) = {explanation.scores[1]:.4f}, "
        f"by {explanation.method}"
    )
    console.print(table)
