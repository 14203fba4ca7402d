"""`directranker compile`: compile all kernels ahead of time."""

from __future__ import annotations

import time

from directranker.cli.console import get_console

__all__ = ["compile_kernels"]


def compile_kernels() -> None:
    """Compile all kernels ahead of time.

    Compiled kernels are cached in the package's folder. The first run takes about a minute, later runs a few
    seconds. Run it when you build a container image.

    Example: `directranker compile`
    """
    from directranker.experiments.first_compilation import iter_compilation_tasks

    console = get_console()
    start = time.perf_counter()
    with console.status("compiling kernels") as status:
        for name, work in iter_compilation_tasks():
            status.update(f"compiling the kernels of {name}")
            work()
    console.print(f"All kernels are compiled, in {time.perf_counter() - start:.0f} s.")
