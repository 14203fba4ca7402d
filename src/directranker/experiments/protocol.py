"""The data of a comparison by the paper's protocol: folds, binary labels, queries with relevant documents.

The folds of a folder with `Fold1`, `Fold2`, … are used as given. A single data set is split as LETOR is: the
queries are partitioned at random into `n_folds` groups; fold k tests on group k, validates on the next one
and trains on all others.

With `split_by`, the folds are cut by time instead (forward chaining): the later half of the queries is cut
into `n_folds` + 1 blocks; fold k tests on block k + 1, validates on the block before it and trains on
everything before that.

>>> from directranker.arrays import query_of_rows
>>> from directranker.data.synthetic import example_dataset
>>> folds = make_folds(example_dataset(), random_state=0)
>>> [(fold.name, fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries) for fold in folds][:2]
[('Fold1', 174, 58, 59), ('Fold2', 175, 58, 58)]
>>> days = {"day": np.arange(291)[query_of_rows(example_dataset().offsets)]}
>>> folds = make_folds(replace(example_dataset(), kept=days), n_folds=2, split_by="day")
>>> [(fold.name, fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries) for fold in folds]
[('Fold1', 146, 48, 48), ('Fold2', 194, 48, 49)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.folds import SPLITS, Fold, read_fold, read_folds
from directranker.data.formats import keep_column, read_dataset
from directranker.data.splitting import partition_forward, read_query_values
from directranker.errors import DataError
from directranker.experiments.known_sets import KnownDataset, identify_dataset

__all__ = ["DEFAULT_THRESHOLD", "FoldedData", "apply_protocol", "make_folds", "open_folds"]

DEFAULT_THRESHOLD = 1.0
MIN_FOLDS = 3  # one group to train on, one to validate on, one to test on


@dataclass(frozen=True)
class FoldedData:
    """The folds of a comparison, and their origin."""

    name: str
    folds: tuple[Fold, ...]
    threshold: float | None
    """The lowest label that counts as relevant; None if labels were not binarised."""
    origin: str
    """The origin of the folds, for display."""
    split_by: str | None = None
    """The column that the folds were cut by: all training before validation, all validation before test."""
    published_as: str | None = None
    """The name of the data set if the paper has published values for these folds and labels."""


def open_folds(
    path: str | Path,
    *,
    threshold: float | str | None = "known",
    n_folds: int = 5,
    random_state: int = 0,
    split_by: str | None = None,
) -> FoldedData:
    """Read a folder of folds, or read any data set and split it into `n_folds` folds.

    `threshold` is the lowest label that counts as relevant; `"known"` uses the paper's threshold for a known
    data set and 1 for others; None keeps the labels and all queries. With `split_by`, folds are cut by this
    column, such as a date; in a table, it is then not a feature.
    """
    path = Path(path)
    known = identify_dataset(path)
    given = _read_given_folds(path)
    if given and split_by is not None:
        raise ValueError(f"{path} has folds already; split_by={split_by!r} is for a single data set")
    folds = given or make_folds(
        read_dataset(path, options=keep_column(split_by)),
        n_folds=n_folds,
        random_state=random_state,
        split_by=split_by,
    )
    cut = _resolve_threshold(threshold, known)
    is_published = known is not None and known.is_complete and len(given) == 5 and cut == known.threshold
    return FoldedData(
        name=path.resolve().name,
        folds=tuple(apply_protocol(fold, cut) for fold in folds),
        threshold=cut,
        origin="given" if given else _describe_split(split_by, random_state),
        split_by=split_by,
        published_as=known.name if known is not None and is_published else None,
    )


def _describe_split(split_by: str | None, random_state: int) -> str:
    if split_by is None:
        return f"split by query, seed {random_state}"
    return f"split by {split_by}: training before validation before test"


def _read_given_folds(path: Path) -> list[Fold]:
    if not path.is_dir():
        return []
    n_given = sum(folder.is_dir() for folder in path.glob("Fold*"))
    if n_given:
        return list(read_folds(path, n_folds=n_given))
    return [read_fold(path)] if any(path.glob("train.txt*")) else []


def _resolve_threshold(threshold: float | str | None, known: KnownDataset | None) -> float | None:
    if threshold is None:
        return None
    if threshold == "known":
        return DEFAULT_THRESHOLD if known is None else known.threshold
    try:
        return float(threshold)
    except ValueError:
        raise ValueError(
            f"threshold is {threshold!r}; pass a label, 'known', or None to keep labels"
        ) from None


def make_folds(
    data: RankingDataset, *, n_folds: int = 5, random_state: int = 0, split_by: str | None = None
) -> list[Fold]:
    """Partition queries at random; fold k tests on group k, validates on the next, trains on the rest.

    With `split_by`, the column of a time, cut them by it: training before validation before test.
    """
    if split_by is not None:
        return _make_forward_folds(data, n_folds, split_by)
    if n_folds < MIN_FOLDS:
        raise ValueError(f"n_folds is {n_folds}; pass at least {MIN_FOLDS}: to train, validate and test on")
    if data.n_queries < n_folds:
        raise DataError(f"{data.n_queries} queries are too few for {n_folds} folds; pass fewer folds")
    shuffled = np.random.default_rng(random_state).permutation(data.n_queries)
    groups = [np.sort(group) for group in np.array_split(shuffled, n_folds)]
    folds = []
    for k in range(n_folds):
        vali = (k + 1) % n_folds
        train = np.sort(np.concatenate([group for n, group in enumerate(groups) if n not in (k, vali)]))
        folds.append(
            Fold(f"Fold{k + 1}", *(data.select(queries) for queries in (train, groups[vali], groups[k])))
        )
    return folds


def _make_forward_folds(data: RankingDataset, n_folds: int, split_by: str) -> list[Fold]:
    if n_folds < 1:
        raise ValueError(f"n_folds is {n_folds}; pass at least 1")
    blocks = partition_forward(read_query_values(data, split_by), n_folds + 1, split_by)
    folds = []
    for k in range(1, n_folds + 1):
        train = np.sort(np.concatenate(blocks[:k]))
        folds.append(
            Fold(f"Fold{k}", *(data.select(queries) for queries in (train, blocks[k], blocks[k + 1])))
        )
    return folds


def apply_protocol(fold: Fold, threshold: float | None) -> Fold:
    """Binarise labels and drop queries without a relevant document; None changes nothing."""
    splits = {name: getattr(fold, name) for name in SPLITS}
    if threshold is not None:
        splits = {
            name: data.binarise(threshold).only_queries_with_relevant() for name, data in splits.items()
        }
    for name, data in splits.items():
        if not data.n_queries:
            if threshold is None:
                raise DataError(f"{fold.name}: {name} has no query; a comparison needs all three splits")
            raise DataError(
                f"{fold.name}: no query of {name} has a document with a label of {threshold:g} or more; "
                "pass another threshold"
            )
    if threshold is not None and (splits["train"].relevance == 1).all():
        raise DataError(
            f"{fold.name}: all labels of train are {threshold:g} or more, so all documents are relevant; "
            "pass a higher threshold, or none, which keeps the labels"
        )
    # Rows stay grouped by query; their order in the source file is not needed.
    return Fold(fold.name, **{name: replace(data, original_rows=None) for name, data in splits.items()})
