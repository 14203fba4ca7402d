"""The data of a comparison by the paper's protocol: folds, binary labels, queries with something to find.

A folder with `Fold1`, `Fold2`, … is taken as it is. Of any single data set folds are made as LETOR's are: the
queries are dealt to as many parts at random, fold k is tested on part k, validated on the next one and
trained on all others.

>>> from directranker.data.synthetic import example_dataset
>>> folds = make_folds(example_dataset(), random_state=0)
>>> [(fold.name, fold.train.n_queries, fold.validation.n_queries, fold.test.n_queries) for fold in folds][:2]
[('Fold1', 174, 58, 59), ('Fold2', 175, 58, 58)]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from directranker.data.dataset import RankingDataset
from directranker.data.folds import SPLITS, Fold, read_fold, read_folds
from directranker.data.formats import read_dataset
from directranker.errors import DataError
from directranker.experiments.known_sets import KnownDataset, identify_dataset

__all__ = ["DEFAULT_THRESHOLD", "FoldedData", "apply_protocol", "open_folds", "make_folds"]

DEFAULT_THRESHOLD = 1.0
MIN_FOLDS = 3  # one part to train on, one to validate, one to test


@dataclass(frozen=True)
class FoldedData:
    """The folds that all rankers are compared on, and what they are."""

    name: str
    folds: tuple[Fold, ...]
    threshold: float | None
    """The lowest label that counts as relevant; None where labels were kept as they are."""
    origin: str
    """Where the folds come from, in words."""
    published_as: str | None = None
    """The name under which the paper has figures for these very folds and labels."""


def open_folds(
    path: str | Path, *, threshold: float | str | None = "known", n_folds: int = 5, random_state: int = 0
) -> FoldedData:
    """Read a folder of folds, or any data set and make `n_folds` of it.

    `threshold` is the lowest label that counts as relevant, `"known"` for the one that the data set is known
    for, else 1, or None to keep the labels and all queries.
    """
    path = Path(path)
    known = identify_dataset(path)
    given = _given_folds(path)
    folds = given or make_folds(read_dataset(path), n_folds=n_folds, random_state=random_state)
    cut = _threshold(threshold, known)
    is_published = known is not None and known.whole and len(given) == 5 and cut == known.threshold
    return FoldedData(
        name=path.resolve().name,
        folds=tuple(apply_protocol(fold, cut) for fold in folds),
        threshold=cut,
        origin="given" if given else f"made by query, {n_folds} parts, seed {random_state}",
        published_as=known.name if known is not None and is_published else None,
    )


def _given_folds(path: Path) -> list[Fold]:
    if not path.is_dir():
        return []
    n_given = sum(folder.is_dir() for folder in path.glob("Fold*"))
    if n_given:
        return list(read_folds(path, n_folds=n_given))
    return [read_fold(path)] if any(path.glob("train.txt*")) else []


def _threshold(threshold: float | str | None, known: KnownDataset | None) -> float | None:
    if threshold is None:
        return None
    if threshold == "known":
        return DEFAULT_THRESHOLD if known is None else known.threshold
    try:
        return float(threshold)
    except ValueError:
        raise ValueError(
            f"threshold is {threshold!r}; give a label, 'known', or None to keep labels"
        ) from None


def make_folds(data: RankingDataset, *, n_folds: int = 5, random_state: int = 0) -> list[Fold]:
    """Deal queries to parts at random; fold k tests part k, validates on the next, trains on the rest."""
    if n_folds < MIN_FOLDS:
        raise ValueError(f"n_folds is {n_folds}; give at least {MIN_FOLDS}: to train, validate and test on")
    if data.n_queries < n_folds:
        raise DataError(f"{data.n_queries} queries cannot be dealt to {n_folds} folds; a query is never cut")
    shuffled = np.random.default_rng(random_state).permutation(data.n_queries)
    parts = [np.sort(part) for part in np.array_split(shuffled, n_folds)]
    folds = []
    for k in range(n_folds):
        vali = (k + 1) % n_folds
        train = np.sort(np.concatenate([part for n, part in enumerate(parts) if n not in (k, vali)]))
        folds.append(
            Fold(f"Fold{k + 1}", *(data.select(chosen) for chosen in (train, parts[vali], parts[k])))
        )
    return folds


def apply_protocol(fold: Fold, threshold: float | None) -> Fold:
    """Make labels binary and leave out queries without a relevant document; None changes nothing."""
    parts = {part: getattr(fold, part) for part in SPLITS}
    if threshold is not None:
        parts = {name: part.binarise(threshold).only_queries_with_relevant() for name, part in parts.items()}
    for name, part in parts.items():
        if not part.n_queries:
            if threshold is None:
                raise DataError(f"{fold.name}: {name} holds no query; a comparison needs all three parts")
            raise DataError(
                f"{fold.name}: no query of {name} has a document with a label of {threshold:g} or more; "
                "choose another threshold"
            )
    if threshold is not None and (parts["train"].relevance == 1).all():
        raise DataError(
            f"{fold.name}: all labels of train are {threshold:g} or more, so all documents are relevant "
            "alike; choose a higher threshold, or none, which keeps the grades"
        )
    # Rows stay as they are grouped; where they once stood concerns no one here.
    return Fold(fold.name, **{name: replace(part, original_rows=None) for name, part in parts.items()})
