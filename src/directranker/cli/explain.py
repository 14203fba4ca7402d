"""`directranker explain`: why a document ranks before another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.console import AsJson, DataPath, console, print_json, read_data
from directranker.cli.loading import ModelPath, Trust, load_model

if TYPE_CHECKING:
    from directranker.data.dataset import RankingDataset
    from directranker.explanation import Explanation

__all__ = ["explain"]

SHOWN = 5e-5  # what four decimals show


def explain(
    model: ModelPath,
    data: DataPath,
    query: Annotated[str, typer.Option(help="The query's id.", show_default=False)],
    better: Annotated[
        str, typer.Option(help="A document's id, or its row in the query from 1 on.", show_default=False)
    ],
    worse: Annotated[str, typer.Option(help="The other document.", show_default=False)],
    top: Annotated[int, typer.Option(help="Show so many features; 0 for all.", min=0)] = 15,
    as_json: AsJson = False,
    trust: Trust = None,
) -> None:
    """Show what each feature adds to the difference of two documents' scores.

    The parts sum to it; what no feature accounts for has a row of its own.

    Example: `directranker explain model example --query 10 --better 1 --worse 2`
    """
    from directranker.data.formats import ReadOptions
    from directranker.explanation import explain_difference

    ranker = load_model(model, trust)
    dataset = read_data(data, options=ReadOptions(n_features=ranker.n_features_in_))
    chosen = _query(dataset, query)
    explanation = explain_difference(
        ranker, chosen, better=_row(chosen, better, query), worse=_row(chosen, worse, query)
    )
    if as_json:
        print_json(_plain(explanation))
    else:
        _print(explanation, top)


def _query(data: RankingDataset, query: str) -> RankingDataset:
    import numpy as np

    found = np.flatnonzero(data.query_ids.astype(str) == query)
    if not len(found):
        shown = ", ".join(map(str, data.query_ids[:5]))
        raise ValueError(f"there is no query {query!r}; the first ones are {shown}")
    return data.select(found)


def _row(data: RankingDataset, word: str, query: str) -> int:
    ids = [] if data.document_texts is None else data.document_texts.to_pylist()
    if word in ids:
        return int(ids.index(word))
    if word.isdecimal() and 1 <= int(word) <= data.n_documents:
        return int(word) - 1
    raise ValueError(
        f"query {query} has no document {word!r}; give an id or its row from 1 to {data.n_documents}"
    )


def _plain(explanation: Explanation) -> dict[str, Any]:
    return {
        "method": explanation.method,
        "scores": explanation.scores,
        "difference": explanation.difference,
        "residual": explanation.residual,
        "contributions": dict(zip(explanation.names, explanation.contributions.tolist(), strict=True)),
    }


def _print(explanation: Explanation, top: int) -> None:
    import numpy as np
    from rich.table import Table

    table = Table("feature", "better", "worse", "adds", box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    order = np.argsort(-np.abs(explanation.contributions), kind="stable")
    shown = order[:top] if top else order
    for at in shown:
        better, worse = explanation.values[:, at]
        table.add_row(
            explanation.names[at], f"{better:g}", f"{worse:g}", f"{explanation.contributions[at]:+.4f}"
        )
    rest = order[len(shown) :]
    if len(rest):
        table.add_row(f"{len(rest)} others", "", "", f"{explanation.contributions[rest].sum():+.4f}")
    if abs(explanation.residual) >= SHOWN:
        table.add_row("no feature", "", "", f"{explanation.residual:+.4f}")
    table.add_row("sum", "", "", f"{explanation.difference:+.4f}")
    out = console()
    out.print(
        f"g(better) = {explanation.scores[0]:.4f}, g(worse) = {explanation.scores[1]:.4f}, "
        f"by {explanation.method}"
    )
    out.print(table)
