"""Fits on a Dask cluster, whose workers may join, leave and die while a search runs.

The data is sent once to every worker, and from there to workers that join later. A worker trains one ranker
at a time, on as many threads as it was started with: dropout draws from torch's global random state, which
two trainings in one process would share.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from directranker.data.dataset import RankingDataset
from directranker.errors import FitError
from directranker.model_selection.store import JobResult
from directranker.model_selection.threads import set_threads
from directranker.model_selection.workers import Task, drop_ids

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["run_on_cluster"]

WORKER_TIMEOUT_SECONDS = 60
_training_lock = threading.Lock()


def run_on_cluster(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], address: str
) -> Generator[list[JobResult]]:
    """Run tasks on the workers of a scheduler; a task of a worker that dies is run again on another."""
    try:
        from distributed import CancelledError, KilledWorker, as_completed  # noqa: PLC0415 - slow to import
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install 'directranker[cluster]'") from None

    with _connect(address) as client:
        stripped = {name: drop_ids(dataset) for name, dataset in data.items()}
        scattered = client.scatter([*stripped.values()], broadcast=True, hash=False)
        sent = dict(zip(stripped, scattered, strict=True))
        futures = [
            client.submit(_run_on_worker, task, {name: sent[name] for name in task.data_names()}, pure=False)
            for task in tasks
        ]
        try:
            for future in as_completed(futures, loop=client.loop):
                yield future.result()
        except (KilledWorker, CancelledError) as error:
            raise FitError(
                f"workers of {address} died repeatedly on the same training, or all workers with the data "
                f"died ({error}); finished jobs are kept. Check the workers' memory and run the same again"
            ) from None
        finally:
            client.cancel(futures)


def _connect(address: str) -> Client:
    from distributed import Client  # noqa: PLC0415 - slow to import

    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FitError(f"no Dask scheduler answers at {address} ({error}); start one first") from None
    try:
        client.wait_for_workers(1, timeout=WORKER_TIMEOUT_SECONDS)
    except TimeoutError:
        client.close()
        raise FitError(f"the scheduler at {address} has no workers; start some, or wait for them") from None
    return client


def _run_on_worker(task: Task, data: Mapping[str, RankingDataset]) -> list[JobResult]:
    from distributed import get_worker  # noqa: PLC0415 - slow to import

    with _training_lock:
        threads = int(get_worker().state.nthreads)
        set_threads(threads)
        return task.run(data, threads)
