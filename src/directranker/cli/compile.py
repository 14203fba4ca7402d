"""`directranker compile`: compile all kernels now rather than at their first use."""

from __future__ import annotations

import time

from directranker.cli.console import console

__all__ = ["compile_kernels"]


def compile_kernels() -> None:
    """Compile all kernels now, so that no later command waits for them.

    They are kept beside the package. This takes about a minute once, and seconds when they are there. Do it
    when you build a container image.

    Example: `directranker compile`
    """
    from directranker.experiments.first_compilation import iter_compilation_tasks

    start = time.perf_counter()
    with console().status("compiling kernels") as status:
        for name, work in iter_compilation_tasks():
            status.update(f"compiling the kernels of {name}")
            work()
    console().print(f"All kernels are compiled, in {time.perf_counter() - start:.0f} s.")
