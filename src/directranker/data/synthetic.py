"""Synthetic ranking data: Gaussian classes and label noise, as the paper studies them.

Each relevance class has its own Gaussian: per feature a random mean between 0 and 100 and a random
standard deviation between 50 and 100 (section "Synthetic Data Generation and Evaluation"). Training and
test set are drawn independently from the same Gaussians.

>>> made = make_synthetic(n_classes=3, n_features=4, n_train=1000, n_test=100, noise=0.5, query_size=20)
>>> made.train
RankingDataset(1000 documents, 50 queries, 4 features)
>>> 0.1 < made.mislabelled < 0.4
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from directranker.arrays import IntArray
from directranker.data.dataset import RandomState, RankingDataset

__all__ = [
    "GaussianClasses",
    "QuerySize",
    "Sample",
    "SyntheticData",
    "example_dataset",
    "make_synthetic",
    "noisy_labels",
]

QuerySize = int | tuple[int, int]
"""Documents per query: a number, or the lowest and highest of a range that is drawn from."""

ROWS_PER_BLOCK = 8192


class Sample(NamedTuple):
    """Documents drawn from Gaussian classes, and the classes they were really drawn from."""

    data: RankingDataset
    true_labels: IntArray

    @property
    def mislabelled(self) -> float:
        """The fraction of documents whose label is not their class.

        >>> GaussianClasses.draw(random_state=0).sample(10, random_state=0).mislabelled
        0.0
        """
        return float(np.mean(self.data.relevance != self.true_labels))


class SyntheticData(NamedTuple):
    """A training and a test set of the same classes."""

    train: RankingDataset
    test: RankingDataset
    mislabelled: float
    """The fraction of training labels that the noise changed."""
    classes: GaussianClasses


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """A Gaussian per relevance class, with independent features.

    >>> classes = GaussianClasses.draw(n_classes=3, n_features=2, random_state=0)
    >>> classes.n_classes, classes.n_features
    (3, 2)
    """

    means: NDArray[np.float64]
    """(n_classes, n_features); class 0 is the least relevant."""
    deviations: NDArray[np.float64]
    """(n_classes, n_features)"""

    def __post_init__(self) -> None:
        for name in ("means", "deviations"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        if self.means.ndim != 2 or self.means.shape != self.deviations.shape or not self.means.size:
            raise ValueError(
                f"means have shape {self.means.shape} and deviations {self.deviations.shape}; "
                "give both as (n_classes, n_features)"
            )
        if not (np.isfinite(self.means).all() and (self.deviations >= 0).all()):
            raise ValueError("means must be finite and deviations not below 0")

    @classmethod
    def draw(
        cls,
        n_classes: int = 5,
        n_features: int = 70,
        *,
        mean_range: tuple[float, float] = (0.0, 100.0),
        deviation_range: tuple[float, float] = (50.0, 100.0),
        random_state: RandomState = None,
    ) -> GaussianClasses:
        """Classes with means and deviations drawn evenly from their ranges, by default the paper's.

        >>> bool(GaussianClasses.draw(random_state=0).deviations.min() >= 50)
        True
        """
        _check_count(n_classes=n_classes, n_features=n_features)
        generator = np.random.default_rng(random_state)
        shape = (n_classes, n_features)
        return cls(generator.uniform(*mean_range, shape), generator.uniform(*deviation_range, shape))

    @property
    def n_classes(self) -> int:
        """How many classes there are, and so how many labels: 0 to `n_classes` - 1."""
        return len(self.means)

    @property
    def n_features(self) -> int:
        """How many features a document has."""
        return int(self.means.shape[1])

    def sample(
        self,
        n_documents: int,
        *,
        noise: float = 0.0,
        query_size: QuerySize | None = None,
        class_weights: Sequence[float] | None = None,
        random_state: RandomState = None,
    ) -> Sample:
        """Draw documents, each of any class with equal chance or in the shares of `class_weights`.

        `noise` is the σ of `noisy_labels`. With a `query_size` the documents are dealt to queries, of
        which the last may be smaller; without, they are one list. Features do not depend on the noise or
        the queries: the same `random_state` draws the same ones.

        >>> classes = GaussianClasses.draw(n_classes=2, n_features=3, random_state=0)
        >>> classes.sample(10, query_size=4, random_state=0).data.offsets.tolist()
        [0, 4, 8, 10]
        """
        _check_count(n_documents=n_documents)
        documents, noises, dealing = np.random.default_rng(random_state).spawn(3)
        shares = _class_shares(class_weights, self.n_classes)
        labels = documents.choice(self.n_classes, size=n_documents, p=shares).astype(np.int64)
        features = self._features_of(labels, documents)
        given = noisy_labels(labels, sigma=noise, n_classes=self.n_classes, random_state=noises)
        qid = None if query_size is None else _dealt(n_documents, query_size, dealing)
        return Sample(RankingDataset.from_arrays(features, given, qid=qid), labels)

    def _features_of(self, labels: IntArray, generator: np.random.Generator) -> NDArray[np.float32]:
        means, deviations = self.means.astype(np.float32), self.deviations.astype(np.float32)
        features = np.empty((len(labels), self.n_features), dtype=np.float32)
        for start in range(0, len(labels), ROWS_PER_BLOCK):
            block, of_class = features[start : start + ROWS_PER_BLOCK], labels[start : start + ROWS_PER_BLOCK]
            generator.standard_normal(dtype=np.float32, out=block)
            block *= deviations[of_class]
            block += means[of_class]
        return features


def make_synthetic(
    n_classes: int = 5,
    n_features: int = 70,
    *,
    n_train: int = 100_000,
    n_test: int = 10_000,
    noise: float = 0.0,
    noisy_test: bool = False,
    query_size: QuerySize | None = None,
    class_weights: Sequence[float] | None = None,
    random_state: RandomState = 0,
) -> SyntheticData:
    """A training and a test set as in the paper, drawn independently from the same random classes.

    The noise falls on the training labels alone, unless `noisy_test`: what is asked is how well a ranker
    that learnt from wrong labels finds the true order, and against noisy labels even the true order
    would not score 1. Classes, training set and test set have a random stream each, so that a larger
    training set or more noise leaves the test set as it is.

    >>> made = make_synthetic(n_train=300, n_test=200)
    >>> made.test, made.mislabelled
    (RankingDataset(200 documents, 1 query, 70 features), 0.0)
    """
    for_classes, for_train, for_test = np.random.default_rng(random_state).spawn(3)
    classes = GaussianClasses.draw(n_classes, n_features, random_state=for_classes)
    train = classes.sample(
        n_train, noise=noise, query_size=query_size, class_weights=class_weights, random_state=for_train
    )
    test = classes.sample(
        n_test,
        noise=noise if noisy_test else 0.0,
        query_size=query_size,
        class_weights=class_weights,
        random_state=for_test,
    )
    return SyntheticData(train.data, test.data, train.mislabelled, classes)


def noisy_labels(
    labels: ArrayLike, *, sigma: float, n_classes: int, random_state: RandomState = None
) -> IntArray:
    """Labels drawn from a Gaussian of deviation `sigma` around each, rounded to the nearest class.

    So a label becomes a neighbouring class more often than a distant one. Labels beyond the lowest or
    highest class become that class. Of the inner labels a share of 2·Φ(-1 / (2·sigma)) changes: 4.6 % for
    σ = 0.25, half for σ = 0.75; of the outermost two half as many.

    >>> noisy_labels([0, 1, 2, 3, 4], sigma=0.0, n_classes=5).tolist()
    [0, 1, 2, 3, 4]
    """
    true = np.asarray(labels)
    if not 0 <= sigma < np.inf:
        raise ValueError(f"the noise has σ = {sigma}; give a number of at least 0")
    wrong = np.flatnonzero(~((true >= 0) & (true <= n_classes - 1) & (true == np.rint(true))))
    if len(wrong):
        raise ValueError(
            f"label {true.flat[wrong[0]]} in row {wrong[0]}; "
            f"with {n_classes} classes labels are whole numbers from 0 to {n_classes - 1}"
        )
    blurred = true + np.random.default_rng(random_state).normal(0.0, sigma, size=true.shape)
    return np.clip(np.rint(blurred), 0, n_classes - 1).astype(np.int64)


def example_dataset() -> RankingDataset:
    """A small data set to try things on: 291 queries of 10 to 40 documents, the same on every call.

    Five classes of 20 features, the shares of the labels as skewed as in web search, and a label noise of
    σ = 0.25. Rankers differ on it: learnt from the first 200 queries, NDCG@10 on the others is about .70 for
    a linear model and .77 for boosted trees, where the best single feature has .56 and a random order .39.

    >>> data = example_dataset()
    >>> data
    RankingDataset(7500 documents, 291 queries, 20 features)
    >>> np.bincount(data.relevance.astype(int)).tolist()
    [3869, 2396, 997, 174, 64]
    """
    generator = np.random.default_rng(0)
    classes = GaussianClasses.draw(n_classes=5, n_features=20, random_state=generator)
    sample = classes.sample(
        7500,
        noise=0.25,
        query_size=(10, 40),
        class_weights=(0.52, 0.32, 0.13, 0.02, 0.01),
        random_state=generator,
    )
    return sample.data


def _class_shares(weights: Sequence[float] | None, n_classes: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    shares = np.asarray(weights, dtype=np.float64)
    if shares.shape != (n_classes,) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
        raise ValueError(
            f"class_weights are {list(weights)}; give {n_classes} numbers of at least 0, not all 0"
        )
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised


def _dealt(n_documents: int, query_size: QuerySize, generator: np.random.Generator) -> IntArray:
    """The query of each document; sizes are even over the range, and the last query takes the rest."""
    low, high = _size_range(query_size)
    sizes = generator.integers(low, high, size=-(-n_documents // low), endpoint=True)
    ends = np.minimum(np.cumsum(sizes), n_documents)
    return np.repeat(np.arange(len(ends), dtype=np.int64), np.diff(ends, prepend=0))


def _size_range(query_size: QuerySize) -> tuple[int, int]:
    sizes = tuple(np.ravel(query_size).tolist())
    low, high = sizes * 2 if len(sizes) == 1 else sizes if len(sizes) == 2 else (0, 0)
    if not (isinstance(low, int) and isinstance(high, int) and 1 <= low <= high):
        raise ValueError(
            f"query_size is {query_size!r}; give a whole number of at least 1, or a range (lowest, highest)"
        )
    return low, high


def _check_count(**counts: int) -> None:
    for name, count in counts.items():
        if count != int(count) or count < 1:
            raise ValueError(f"{name} is {count!r}; give a whole number of at least 1")
