"""`directranker sensitivity`: how classes, features, label noise and training size change NDCG@20."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.console import (
    AsJson,
    exit_on_interrupt,
    format_command,
    get_console,
    print_json,
    progress_bar,
)
from directranker.cli.outputs import check_results_folder
from directranker.experiments import PROCEDURE
from directranker.rankers.registry import load_registry
from directranker.suggestions import describe_unknown_name

if TYPE_CHECKING:
    from directranker.experiments.claims import Claim
    from directranker.experiments.sensitivity import Point

__all__ = ["sensitivity"]

# Written out, because importing the studies would slow every start by a second; a test compares them.
DEFAULT_VALUES = (
    "classes 2,3,4,5,7,10,15,20; features 5,10,20,30,50,70,100; noise 0,0.125,0.25,0.375,0.5,0.75,1; "
    "size 1000,3000,10000,30000,100000"
)


def sensitivity(
    study: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STUDY", help="Study: classes, features, noise or size. Repeatable; default: all."
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(
            metavar="VALUES",
            help=f"Comma-separated values of a single --study; default: {DEFAULT_VALUES}. The paper states "
            "only σ = 0.25 and 0.75, 10⁵ documents, five classes and 70 features; the other values are ours.",
        ),
    ] = None,
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Ranker name. Repeatable; default: the paper's DirectRanker procedure."
        ),
    ] = None,
    sets: Annotated[
        int | None,
        typer.Option(metavar="N", help="Data sets per point; default: 5, or 2 with --quick.", min=1),
    ] = None,
    train: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training documents, except in the size study; default: 100000, or 10000 with --quick.",
            min=10,
        ),
    ] = None,
    true_test: Annotated[
        bool,
        typer.Option("--true-test", help="Keep the test labels free of noise; the paper adds noise to them."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer values and fewer, smaller data sets.")
    ] = False,
    out: Annotated[Path, typer.Option(readable=False, metavar="FOLDER", help="Results folder.")] = Path(
        "results/sensitivity"
    ),
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of parallel jobs; default: one per core.", min=1),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how classes, features, label noise and training size change NDCG@20.

    Follows the paper's procedure on synthetic data. Finished jobs are kept in the results folder; run the
    same command to resume.

    Example: `directranker sensitivity --quick`
    """
    for name in ranker or ():
        if name not in (PROCEDURE, *load_registry()):
            raise ValueError(describe_unknown_name("ranker", name, [PROCEDURE, *load_registry()]))
    from directranker.experiments.claims import check_claims
    from directranker.experiments.sensitivity import STUDIES, Setting, run_studies
    from directranker.model_selection.store import JobStore

    names = study or list(STUDIES)
    if values is not None and len(names) != 1:
        raise typer.BadParameter("--values needs exactly one --study")
    selected = {name: _parse_values(name, values, quick=quick) for name in names}
    setting = Setting(
        n_train=train or (10_000 if quick else 100_000),
        n_test=2_000 if quick else 10_000,
        noisy_test=not true_test,
    )
    check_results_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    with (
        JobStore(out / "sensitivity.sqlite") as store,
        exit_on_interrupt(f"finished jobs are kept in {out}"),
        progress_bar("data sets") as progress,
    ):
        points = run_studies(
            selected,
            store,
            rankers=ranker or [PROCEDURE],
            n_sets=sets or (2 if quick else 5),
            setting=setting,
            workers=workers,
            progress=progress,
        )
    claims = check_claims(points)
    results = {
        # The error of a single data set is NaN, which JSON cannot store.
        "points": [{**asdict(one), "error": one.error if one.n_sets > 1 else None} for one in points],
        "claims": [asdict(claim) for claim in claims],
    }
    figure = _write_studies(results, asdict(setting), out, workers)
    if as_json:
        print_json(results)
        return
    _print_studies(points, claims)
    if claims and setting.n_train < (usual := Setting().n_train):
        typer.echo(
            f"The paper's claims are for {usual:,} training documents; this run used {setting.n_train:,}."
        )
    typer.echo(f"\nfigure: {figure}")


def _write_studies(
    results: Mapping[str, list[dict[str, Any]]],
    setting: Mapping[str, object],
    out: Path,
    workers: int | None,
) -> Path:
    """Write the results as JSON and as figures, and return the path of the SVG figure."""
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import SENSITIVITY
    from directranker.experiments.results import write_json
    from directranker.figures import draw_studies, save_figure
    from directranker.figures.style import SUFFIXES

    n_sets = max(one["n_sets"] for one in results["points"])
    request = {"command": format_command(), **setting, "seeds": n_sets}
    content = {"request": request, "environment": environment(workers=workers), **results}
    write_json(content, out / SENSITIVITY, indent=1)
    figure = draw_studies(results["points"])
    svg, _ = (save_figure(figure, (out / SENSITIVITY).with_suffix(ending)) for ending in SUFFIXES)
    return svg


def _parse_values(study: str, text: str | None, *, quick: bool) -> list[float]:
    from directranker.experiments.sensitivity import STUDIES

    if study not in STUDIES:
        raise ValueError(describe_unknown_name("study", study, STUDIES))
    if text is None:
        return list(STUDIES[study].quick if quick else STUDIES[study].values)
    try:
        return [float(value) for value in text.split(",")]
    except ValueError:
        raise ValueError(f"--values is {text!r}; give comma-separated numbers, such as 2,5,10") from None


def _print_studies(points: Sequence[Point], claims: Sequence[Claim]) -> None:
    from rich.table import Table

    is_several = len({point.ranker for point in points}) > 1
    names = ["study", "value", *(["ranker"] if is_several else []), "NDCG@20", "data sets", "s/training"]
    table = Table(*names, box=None, header_style="bold")
    for column in table.columns:
        if column.header not in ("study", "ranker"):
            column.justify, column.no_wrap = "right", True
    for point in points:
        mean = f"{point.mean:.4f} ± {point.error:.4f}" if point.n_sets > 1 else f"{point.mean:.4f}"
        cells = [mean, str(point.n_sets), f"{point.seconds:.1f}"]
        table.add_row(point.study, f"{point.value:g}", *([point.ranker] if is_several else []), *cells)
    console = get_console()
    if not is_several:
        console.print(points[0].ranker, markup=False)
    console.print(table)
    for claim in claims:
        verdict, name = "held    " if claim.held else "not held", f"{claim.ranker}: " if is_several else ""
        console.print(f"{verdict}  {name}{claim.text} ({claim.figures})", markup=False, soft_wrap=True)
