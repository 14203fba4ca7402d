"""Trainings on a Dask cluster, whose workers may come, go and die meanwhile.

The data goes once to every worker, and from there to those that join later. A worker trains one ranker at a
time, on as many threads as it was started with: dropout draws from torch's one random state, which two
trainings in one process would share.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from directranker.data.dataset import RankingDataset
from directranker.errors import FitError
from directranker.model_selection.store import JobResult
from directranker.model_selection.threads import set_threads
from directranker.model_selection.workers import Task, bare

__all__ = ["run_on_cluster"]

WORKERS_WITHIN_SECONDS = 60
_one_at_a_time = threading.Lock()


def run_on_cluster(
    tasks: Sequence[Task], data: Mapping[str, RankingDataset], address: str
) -> Generator[list[JobResult]]:
    """On the workers of a scheduler; what ran on one that dies is run again on another."""
    with _connected(address) as client:
        from distributed import CancelledError, KilledWorker, as_completed  # noqa: PLC0415 - an extra

        parts = {name: bare(dataset) for name, dataset in data.items()}
        sent = dict(zip(parts, client.scatter([*parts.values()], broadcast=True, hash=False), strict=True))
        futures = [
            client.submit(_run_sent, task, {name: sent[name] for name in _names(task)}, pure=False)
            for task in tasks
        ]
        try:
            for future in as_completed(futures, loop=client.loop):
                yield future.result()
        except (KilledWorker, CancelledError) as error:
            raise FitError(
                f"workers of {address} died again and again with the same training, or all of them with the "
                f"data ({error}); finished cells are kept. Look at their memory and start the same again"
            ) from None
        finally:
            client.cancel(futures)


def _connected(address: str) -> Any:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        raise ImportError("a cluster needs Dask: pip install 'directranker[cluster]'") from None
    try:
        client = Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise FitError(f"no Dask scheduler answers at {address} ({error}); start one first") from None
    try:
        client.wait_for_workers(1, timeout=WORKERS_WITHIN_SECONDS)
    except TimeoutError:
        client.close()
        raise FitError(f"the scheduler at {address} has no workers; start some, or wait for them") from None
    return client


def _names(task: Task) -> list[str]:
    parts = (task.fit.train, task.fit.validation, task.fit.test)
    return list(dict.fromkeys(part.data for part in parts if part is not None))


def _run_sent(task: Task, data: Mapping[str, RankingDataset]) -> list[JobResult]:
    from distributed import get_worker  # noqa: PLC0415 - an extra

    with _one_at_a_time:
        threads = int(get_worker().state.nthreads)
        set_threads(threads)
        return task.run(data, threads)
