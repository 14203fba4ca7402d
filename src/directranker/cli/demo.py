"""`directranker demo`: compare all rankers on the embedded data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.compare import run_and_print
from directranker.cli.console import get_console, load_example, save_example
from directranker.cli.inspect import print_inspection
from directranker.cli.outputs import check_results_folder

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(readable=False, metavar="FOLDER", help="Results folder.")] = Path(
        "results/demo"
    ),
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of parallel jobs; default: one per core.", min=1)
    ] = None,
) -> None:
    """Inspect the embedded data set and compare all rankers on it.

    Runs `directranker compare` with the quick grid, three folds instead of five, one seed instead of three,
    and parameters chosen on the validation split. Labels of 2 or more count as relevant. If interrupted, run
    the same command to resume.

    Example: `directranker demo`
    """
    from directranker.data.inspection import inspect_dataset
    from directranker.experiments.folder import Request

    check_results_folder(out)
    data = save_example(out)
    print_inspection(data.name, inspect_dataset(load_example(), threshold=2))
    get_console().print("\nComparing all rankers; the first run also compiles the kernels.")
    request = Request(str(data), threshold="2", folds=3, inner_folds="validation", seeds=1)
    run_and_print(request, out, workers=workers)
