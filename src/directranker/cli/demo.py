"""`directranker demo`: a first look, on the data set that the package carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from directranker.cli.compare import answer_and_print
from directranker.cli.console import console, embedded_data, saved_example
from directranker.cli.inspect import print_inspection

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("results/demo"),
    workers: Annotated[
        int | None, typer.Option(help="Trainings at the same time; all cores unless given.")
    ] = None,
) -> None:
    """Make the embedded data set, inspect it, and compare all rankers on it.

    Like `directranker compare` with the quick grid, but with three folds instead of five and each training
    once instead of three times; what there is to choose is chosen on the validation part. Labels from 2 on
    are relevant. Stopped, it goes on where it was when started again.

    Example: `directranker demo`
    """
    from directranker.data.inspection import inspect_dataset
    from directranker.experiments.folder import Request

    data = saved_example(out)
    print_inspection(data.name, inspect_dataset(embedded_data(), threshold=2))
    console().print("\nComparing all rankers on it; the first time, kernels are compiled on the way.")
    request = Request(str(data), threshold="2", folds=3, inner_folds="validation", seeds=1)
    answer_and_print(request, out, workers=workers)
