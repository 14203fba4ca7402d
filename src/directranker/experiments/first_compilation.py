"""Compile all kernels at once, for a new machine or a container image.

Kernels are compiled on their first call and cached beside the package. These tasks fit each ranker to some
queries, and read, inspect and evaluate some data, so that every later process finds the cached kernels.

>>> [name for name, task in iter_compilation_tasks()][:2]
['data and metrics', 'DirectRanker-paper']
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from directranker.classification import class_boundaries
from directranker.data.dataset import RankingDataset
from directranker.data.inspection import inspect_dataset
from directranker.data.letor import read_letor
from directranker.data.letor.writing import write_letor
from directranker.data.synthetic import example_dataset
from directranker.metrics import CONVENTIONS, evaluate
from directranker.model_selection.fitting import shorten_training
from directranker.model_selection.jobs import configure_ranker
from directranker.model_selection.metric_targets import adapt_to_metric
from directranker.rankers.registry import RankerEntry, load_registry

__all__ = ["iter_compilation_tasks"]


def iter_compilation_tasks() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield names and functions; each function compiles the kernels that it calls."""
    # Large enough for the DirectRanker's distillation and choice of encoding, for the per-query scores of an
    # Ensemble, and for compiled scoring, which small data sets skip.
    data = example_dataset()
    yield "data and metrics", partial(_read_and_evaluate, data)
    for name, entry in load_registry().items():
        yield name, partial(_fit, entry, data)


def _read_and_evaluate(data: RankingDataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.txt"
        write_letor(data, path)
        dataset = read_letor(path)
    inspect_dataset(dataset)
    for n_classes in (None, 3):
        class_boundaries(dataset.features[:, 0], n_classes)  # as for the example queries of a report
    for convention in CONVENTIONS:
        evaluate(dataset.relevance, dataset.features[:, 0], offsets=dataset.offsets, convention=convention)


def _fit(entry: RankerEntry, data: RankingDataset) -> None:
    train, vali = data.split(0.9, random_state=0)
    for metric in ("ndcg@10", "map"):
        ranker = shorten_training(configure_ranker(adapt_to_metric(entry.make(), metric), {}, 0))
        ranker.fit(train, eval_set=vali).score(data)
