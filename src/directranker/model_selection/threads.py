"""The number of available cores, and limits on the threads of torch, numba, OpenMP, BLAS and estimators.

>>> with limit_threads(1):
...     import numba
...     numba.get_num_threads()
1
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import joblib
import numba
from sklearn.base import BaseEstimator
from threadpoolctl import ThreadpoolController

from directranker.rankers import Ranker

__all__ = ["count_cores", "limit_n_jobs", "limit_threads", "set_threads", "threads_per_worker"]

LIMIT_VARIABLES = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def count_cores() -> int:
    """Count the cores that this process may use, by its affinity and its container's quota."""
    return max(1, int(joblib.cpu_count()))


def threads_per_worker(workers: int) -> int:
    """Compute how many threads each worker may use; OMP_NUM_THREADS and NUMBA_NUM_THREADS are upper bounds.

    >>> threads_per_worker(count_cores())
    1
    """
    limits = [os.environ.get(name, "") for name in LIMIT_VARIABLES]
    bounds = [int(limit) for limit in limits if limit.isdigit() and int(limit) > 0]
    return max(1, min([count_cores() // workers, *bounds]))


@contextmanager
def limit_threads(max_threads: int) -> Iterator[None]:
    """Limit the threads of torch, numba, OpenMP and BLAS within a `with` block."""
    import torch  # noqa: PLC0415 - slow to import

    pools = ThreadpoolController()
    lowered = [{**pool, "num_threads": min(max_threads, pool["num_threads"])} for pool in pools.info()]
    torch_threads, numba_threads = torch.get_num_threads(), numba.get_num_threads()
    with pools.limit(limits=lowered):
        try:
            torch.set_num_threads(min(max_threads, torch_threads))
            numba.set_num_threads(min(max_threads, numba_threads))
            yield
        finally:
            torch.set_num_threads(torch_threads)
            numba.set_num_threads(numba_threads)


def set_threads(max_threads: int) -> None:
    """Set the same limits permanently, in a worker process."""
    import torch  # noqa: PLC0415 - slow to import

    torch.set_num_threads(max_threads)
    numba.set_num_threads(min(max_threads, numba.config.NUMBA_NUM_THREADS))
    ThreadpoolController().limit(limits=max_threads)


def limit_n_jobs(estimator: BaseEstimator, max_threads: int) -> BaseEstimator:
    """Lower every `n_jobs` of an estimator to the limit, and set it where it is None for LightGBM.

    LightGBM is loaded with the first fit, after the limits of OpenMP were set, and would ignore them.

    >>> from directranker.rankers import LambdaMART
    >>> limit_n_jobs(LambdaMART(n_jobs=-1), 1).n_jobs
    1
    """
    parameters = estimator.get_params()
    owners = {"": estimator, **parameters}
    for name, value in parameters.items():
        owner, _, last = name.rpartition("__")
        if last == "n_jobs" and value is not None and int(joblib.effective_n_jobs(value)) > max_threads:
            estimator.set_params(**{name: max_threads})
        elif last == "n_jobs" and value is None and isinstance(owners[owner], Ranker):
            prefix = name.removesuffix(last)
            limits = owners[owner]._parameters_for_threads(max_threads)
            estimator.set_params(**{f"{prefix}{key}": limit for key, limit in limits.items()})
    return estimator
