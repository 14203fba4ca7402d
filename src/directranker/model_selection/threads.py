"""How many cores there are, and telling everybody who starts threads how many of them to use.

>>> with limited_threads(1):
...     import numba
...     numba.get_num_threads()
1
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numba
from threadpoolctl import ThreadpoolController

from directranker.rankers import Ranker

__all__ = ["cores_given", "limited_threads", "set_threads", "threads_each", "with_threads"]

USERS_LIMITS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def cores_given() -> int:
    """How many cores this process may run on, by its affinity and by its container's share."""
    return max(1, int(joblib.cpu_count()))


def threads_each(workers: int) -> int:
    """How many threads each worker may use; OMP_NUM_THREADS and NUMBA_NUM_THREADS bound it from above.

    >>> threads_each(cores_given())
    1
    """
    limits = [os.environ.get(name, "") for name in USERS_LIMITS]
    bounds = [int(limit) for limit in limits if limit.isdigit() and int(limit) > 0]
    return max(1, min([cores_given() // workers, *bounds]))


@contextmanager
def limited_threads(most: int) -> Iterator[None]:
    """Within it torch, numba, OpenMP and BLAS use at most so many threads; afterwards as many as before."""
    import torch  # noqa: PLC0415 - seconds where nobody has imported it yet

    pools = ThreadpoolController()
    lowered = [{**pool, "num_threads": min(most, pool["num_threads"])} for pool in pools.info()]
    of_torch, of_numba = torch.get_num_threads(), numba.get_num_threads()
    with pools.limit(limits=lowered):
        try:
            torch.set_num_threads(min(most, of_torch))
            numba.set_num_threads(min(most, of_numba))
            yield
        finally:
            torch.set_num_threads(of_torch)
            numba.set_num_threads(of_numba)


def set_threads(most: int) -> None:
    """The same for good, in a worker process."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(most)
    numba.set_num_threads(min(most, numba.config.NUMBA_NUM_THREADS))
    ThreadpoolController().limit(limits=most)


def with_threads(estimator: Any, most: int) -> Any:
    """Tell the estimator itself: no `n_jobs` in it asks for more, and LightGBM's is set.

    LightGBM is loaded with the first fit, after OpenMP was told.

    >>> from directranker.rankers import LambdaMART
    >>> with_threads(LambdaMART(n_jobs=-1), 1).n_jobs
    1
    """
    parameters = estimator.get_params()
    parts = {"": estimator, **parameters}
    for name, value in parameters.items():
        owner, _, last = name.rpartition("__")
        if last == "n_jobs" and value is not None and int(joblib.effective_n_jobs(value)) > most:
            estimator.set_params(**{name: most})
        elif last == "n_jobs" and value is None and isinstance(parts[owner], Ranker):
            prefix = name.removesuffix(last)
            limits = parts[owner]._parameters_for_threads(most)
            estimator.set_params(**{f"{prefix}{key}": limit for key, limit in limits.items()})
    return estimator
