"""`directranker sensitivity`: how well rankers do on synthetic data of different kinds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from directranker.cli.console import INTERRUPTED, AsJson, command_line, console, print_json, progress_bar

if TYPE_CHECKING:
    from directranker.experiments.claims import Claim
    from directranker.experiments.sensitivity import Point

__all__ = ["sensitivity"]

# Written out, since importing the studies would cost a second on each start; a test compares.
DEFAULT_VALUES = (
    "classes 2,3,4,5,7,10,15,20; features 5,10,20,30,50,70,100; noise 0,0.125,0.25,0.375,0.5,0.75,1; "
    "size 1000,3000,10000,30000,100000"
)


def sensitivity(
    study: Annotated[
        list[str] | None,
        typer.Option(help="classes, features, noise or size; may be repeated; all unless given."),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(
            help="The values of the one study that is named, with commas between. Unless given they are "
            f"{DEFAULT_VALUES}; the paper's text names but σ = 0.25 and 0.75 and 10⁵ documents, five classes "
            "and 70 features, the other values are our choice."
        ),
    ] = None,
    ranker: Annotated[
        list[str] | None,
        typer.Option(help="As compare calls it; may be repeated; the paper's DirectRanker unless given."),
    ] = None,
    sets: Annotated[
        int | None, typer.Option(help="Data sets per point; 5 unless given, 2 if quick.", min=1)
    ] = None,
    train: Annotated[
        int | None,
        typer.Option(
            help="Training documents where they are not studied; 100000 unless given, 10000 if quick.",
            min=10,
        ),
    ] = None,
    true_test: Annotated[
        bool,
        typer.Option("--true-test", help="No noise on the labels of the test set, where the paper has it."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: few values, few and small data sets.")
    ] = False,
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("results/sensitivity"),
    workers: Annotated[
        int | None, typer.Option(help="Trainings at the same time; all cores unless given.", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Study how classes, features, label noise and the size of the training set change NDCG@20.

    The procedure is the paper's. Every finished training is kept in the folder of the results; the same
    command goes on where it was stopped.

    Example: `directranker sensitivity --quick`
    """
    from directranker.experiments import PROCEDURE
    from directranker.rankers.registry import load_registry
    from directranker.suggestions import describe_unknown_name

    for name in ranker or ():
        if name not in (PROCEDURE, *load_registry()):
            raise ValueError(describe_unknown_name("ranker", name, [PROCEDURE, *load_registry()]))
    from directranker.experiments.claims import check_claims
    from directranker.experiments.sensitivity import STUDIES, Setting, run_studies
    from directranker.model_selection.store import JobStore

    names = study or list(STUDIES)
    if values is not None and len(names) != 1:
        raise typer.BadParameter("--values are those of one study; name it with --study")
    chosen = {name: _values(name, values, quick=quick) for name in names}
    setting = Setting(
        n_train=train or (10_000 if quick else 100_000),
        n_test=2_000 if quick else 10_000,
        noisy_test=not true_test,
    )
    out.mkdir(parents=True, exist_ok=True)
    with JobStore(out / "sensitivity.sqlite") as store, _kept_in(out), progress_bar("data sets") as progress:
        points = run_studies(
            chosen,
            store,
            rankers=ranker or [PROCEDURE],
            n_sets=sets or (2 if quick else 5),
            setting=setting,
            workers=workers,
            progress=progress,
        )
    claims = check_claims(points)
    plain = {
        # JSON has no nan, which is the error of a single data set.
        "points": [{**asdict(one), "error": one.error if one.n_sets > 1 else None} for one in points],
        "claims": [asdict(claim) for claim in claims],
    }
    figure = _write_studies(plain, asdict(setting), out, workers)
    if as_json:
        print_json(plain)
    else:
        _print_studies(points, claims)
        if claims and setting.n_train < (usual := Setting().n_train):
            typer.echo(f"The paper claims it of {usual:,} training documents; here were {setting.n_train:,}.")
        typer.echo(f"\nfigure: {figure}")


def _write_studies(plain: dict[str, Any], setting: dict[str, Any], out: Path, workers: int | None) -> Path:
    from directranker.experiments.environment import environment
    from directranker.experiments.folder import SENSITIVITY
    from directranker.experiments.results import write_json
    from directranker.figures import draw_studies, save_figure
    from directranker.figures.style import SUFFIXES

    asked = {"command": command_line(), **setting, "seeds": max(one["n_sets"] for one in plain["points"])}
    content = {"request": asked, "environment": environment(workers=workers), **plain}
    write_json(content, out / SENSITIVITY, indent=1)
    figure = draw_studies(plain["points"])
    svg, _ = (save_figure(figure, (out / SENSITIVITY).with_suffix(ending)) for ending in SUFFIXES)
    return svg


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """On Ctrl-C, say how to go on and end."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"finished data sets are kept in {folder}, and the same command goes on from there"
        typer.echo(f"directranker: interrupted; {kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _values(study: str, given: str | None, *, quick: bool) -> list[float]:
    from directranker.experiments.sensitivity import STUDIES
    from directranker.suggestions import describe_unknown_name

    if study not in STUDIES:
        raise ValueError(describe_unknown_name("study", study, STUDIES))
    if given is None:
        return list(STUDIES[study].quick if quick else STUDIES[study].values)
    try:
        return [float(word) for word in given.split(",")]
    except ValueError:
        raise ValueError(f"--values is {given!r}; give numbers with commas between, such as 2,5,10") from None


def _print_studies(points: list[Point], claims: list[Claim]) -> None:
    from rich.table import Table

    several = len({point.ranker for point in points}) > 1
    names = ["study", "value", *(["ranker"] if several else []), "NDCG@20", "data sets", "s/training"]
    table = Table(*names, box=None, header_style="bold")
    for column in table.columns:
        if column.header not in ("study", "ranker"):
            column.justify, column.no_wrap = "right", True
    for point in points:
        mean = f"{point.mean:.4f} ± {point.error:.4f}" if point.n_sets > 1 else f"{point.mean:.4f}"
        cells = [mean, str(point.n_sets), f"{point.seconds:.1f}"]
        table.add_row(point.study, f"{point.value:g}", *([point.ranker] if several else []), *cells)
    out = console()
    if not several:
        out.print(points[0].ranker, markup=False)
    out.print(table)
    for claim in claims:
        word, name = "held    " if claim.held else "not held", f"{claim.ranker}: " if several else ""
        out.print(f"{word}  {name}{claim.text} ({claim.figures})", markup=False, soft_wrap=True)
