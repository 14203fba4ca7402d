"""All kernels compiled at once, for a machine or a container image whose first user should not wait.

Kernels are compiled when they are first called, and kept beside the package. Here each ranker is fitted to
some queries, and some text is read, inspected and measured, so that every later process finds them.

>>> [name for name, work in iter_compilation_tasks()][:2]
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
from directranker.rankers.registry import RankerEntry, registered

__all__ = ["iter_compilation_tasks"]


def iter_compilation_tasks() -> Iterator[tuple[str, Callable[[], None]]]:
    """What to do, by name; each work compiles the kernels that it calls."""
    # So much that a DirectRanker has a teacher and tries encodings, that an Ensemble sees documents within
    # their lists, and that a third of them is scored by kernels: fewer are scored without.
    data = example_dataset()
    yield "data and metrics", partial(_read_and_measure, data)
    for name, entry in registered().items():
        yield name, partial(_fit, entry, data)


def _read_and_measure(data: RankingDataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.txt"
        write_letor(data, path)
        some = read_letor(path)
    inspect_dataset(some)
    for n_classes in (None, 3):
        class_boundaries(some.features[:, 0], n_classes)  # of the documents that a page shows
    for convention in CONVENTIONS:
        evaluate(some.relevance, some.features[:, 0], offsets=some.offsets, convention=convention)


def _fit(entry: RankerEntry, data: RankingDataset) -> None:
    train, vali = data.split(0.9, random_state=0)
    for metric in ("ndcg@10", "map"):
        ranker = shorten_training(configure_ranker(adapt_to_metric(entry.make(), metric), {}, 0))
        ranker.fit(train, eval_set=vali).score(data)
