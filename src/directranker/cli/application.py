"""The application: its commands, its help, and how it reports errors and warnings."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from directranker._version import __version__
from directranker.cli.compare import compare
from directranker.cli.compile import compile_kernels
from directranker.cli.convert import convert
from directranker.cli.demo import demo
from directranker.cli.evaluate import evaluate
from directranker.cli.explain import explain
from directranker.cli.export import export
from directranker.cli.info import info
from directranker.cli.inspect import inspect
from directranker.cli.neighbours import neighbours
from directranker.cli.rank import rank
from directranker.cli.report import report
from directranker.cli.sensitivity import sensitivity
from directranker.cli.streams import prepare_streams
from directranker.cli.termination import Termination, discard_unwritable_output
from directranker.cli.train import train
from directranker.cli.tune import tune

__all__ = ["app", "main"]

DEBUG = "--debug"

app = typer.Typer(
    name="directranker",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    demo,
    inspect,
    convert,
    train,
    tune,
    rank,
    evaluate,
    compare,
    sensitivity,
    neighbours,
    report,
    info,
    explain,
    export,
):
    app.command()(command)
app.command("compile")(compile_kernels)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"directranker {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[  # read in main, before any command runs
        bool, typer.Option(DEBUG, help="Show a traceback on errors.")
    ] = False,
) -> None:
    """Train, evaluate and compare learning-to-rank models."""


def main() -> None:
    """Run the command line and exit with its code."""
    prepare_streams()
    arguments = sys.argv[1:]
    debug = DEBUG in arguments
    # The option may also come after the command.
    arguments = [argument for argument in arguments if argument != DEBUG]
    # A .numba_config.yaml in the working directory must not choose the folder that code is loaded from.
    os.environ.setdefault("NUMBA_CACHE_DIR", "")
    with Termination() as termination:
        try:
            _run(arguments, debug=debug)
        except BaseException:
            if termination.exit_code is None:
                raise
            discard_unwritable_output()
            sys.exit(termination.exit_code)


def _run(arguments: Sequence[str], *, debug: bool) -> None:
    try:
        with warnings.catch_warnings():
            if not debug:
                warnings.showwarning = _show_warning
            app(list(arguments))  # exits by itself on success, wrong usage and Ctrl-C
    except BrokenPipeError:  # the reader of standard output has exited, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        typer.echo(f"directranker: {_format_error(error)}", err=True)
        sys.exit(1)


def _show_warning(message: Warning | str, *_location: object, **_source: object) -> None:
    """Print a warning without the line of code that raised it."""
    typer.echo(f"directranker: {message}", err=True)


def _format_error(error: Exception) -> str:
    """Format an error as one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = " ".join(str(error).split()) or type(error).__name__
    is_expected = isinstance(error, ValueError | TypeError | OSError | LookupError | ImportError)
    return text if is_expected else f"{type(error).__name__}: {text} (run with {DEBUG} for a traceback)"
