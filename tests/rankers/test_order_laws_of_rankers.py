"""For every ranker, a score has the same bits in any batch, so that r is an order in floating point."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from directranker import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    LambdaMART,
    ListNet,
    RankingDataset,
    RankNet,
    RankSVM,
    example_dataset,
)
from directranker.order import check_comparisons
from directranker.rankers.nets import torch_scores
from directranker.ranking import rank_pieces

DATA = example_dataset().select(range(20))
QUICK: dict[str, Any] = {
    "max_epochs": 1,
    "random_state": 0,
    "early_stopping": False,
    "transform": "standard",
    "teacher": None,
}


class MeanOfBatch(nn.Module):
    """An invalid net: in evaluation mode, too, the features of a row depend on its batch."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, 4)

    def forward(self, X: Tensor) -> Tensor:
        """Return differences from the mean of the batch."""
        outputs: Tensor = self.linear(X)
        return torch.tanh(outputs - outputs.mean(0))


class TokenIds(nn.Module):
    """A net that accepts token ids only."""

    def __init__(self, _: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)

    def forward(self, X: Tensor) -> Tensor:
        """Return the embedding of the first column."""
        embedded: Tensor = self.embedding(X[:, 0].to(torch.long))
        return embedded


def narrow(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 33), nn.ELU(), nn.Linear(33, 5), nn.ELU(), nn.Linear(5, 2))


def convolutional(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Unflatten(1, (1, n_features)), nn.Conv1d(1, 3, 3), nn.GELU(), nn.Flatten())


def attending(n_features: int) -> nn.Module:
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return nn.Sequential(nn.Linear(n_features, 12), nn.Unflatten(1, (3, 4)), layer, nn.Flatten())


def net(**changes: Any) -> DirectRanker:
    return DirectRanker(**{**QUICK, **changes})


RANKERS: dict[str, Callable[[], Any]] = {
    "default": lambda: DirectRanker(max_epochs=1, random_state=0),
    "large": lambda: net(hidden_layers=(300, 300)),
    "paper": lambda: net(hidden_layers=(200, 100, 50, 25, 5), activation="tanh"),
    "gelu": lambda: net(activation="gelu", hidden_layers=(100, 7)),
    "batch normalisation": lambda: net(normalisation="batch", activation="elu"),
    "layer normalisation": lambda: net(normalisation="layer", hidden_layers=(65, 33), activation="silu"),
    "user's activation": lambda: net(activation=nn.PReLU, hidden_layers=(33, 5)),
    "narrow": lambda: net(feature_net=narrow),
    "convolutional": lambda: net(feature_net=convolutional),
    "attending": lambda: net(feature_net=attending),
    "mean of the batch": lambda: net(feature_net=MeanOfBatch),
    "RankNet": lambda: RankNet(max_epochs=1, random_state=0),
    "ListNet": lambda: ListNet(max_epochs=1, random_state=0),
    "RankSVM": RankSVM,
    "RankSVM without transform": lambda: RankSVM(transform="none"),
    "AdaRank": lambda: AdaRank(max_iter=5, random_state=0),
    "CoordinateAscent": lambda: CoordinateAscent(max_iter=2, random_state=0),
    "ESRank": lambda: ESRank(n_generations=20, random_state=0),
    "LambdaMART": lambda: LambdaMART(n_estimators=5, random_state=0),
    "Ensemble": lambda: Ensemble(net(hidden_layers=(9,)), 2, random_state=0),
}


def rows_with_duplicates() -> NDArray[np.float32]:
    """Return 200 documents; some are equal, some differ by one bit."""
    rows = np.abs(np.array(DATA.features[:200]))
    rows[50:59] = rows[3]
    rows[60:65, 0] = np.nextafter(rows[3, 0], np.float32(np.inf))
    rows[60:65, 1:] = rows[3, 1:]
    return rows


@pytest.mark.parametrize("name", RANKERS)
def test_scores_do_not_depend_on_the_batch(name: str) -> None:
    ranker, rows = RANKERS[name]().fit(DATA), rows_with_duplicates()
    scores = ranker.predict(rows)
    for size in (1, 7, 10):
        parts = [ranker.predict(rows[start : start + size]) for start in range(0, len(rows), size)]
        np.testing.assert_array_equal(np.concatenate(parts), scores)
    np.testing.assert_array_equal(ranker.predict(rows[::-1]), scores[::-1])
    assert len(set(scores[50:59].tolist())) == 1
    assert ranker.rank(rows[50:59]).tolist() == list(range(1, 10))
    by_nine = RankingDataset.from_arrays(rows, np.zeros(200), qid=np.arange(200) // 9)
    pieces = [by_nine.select([query]) for query in range(by_nine.n_queries)]
    in_pieces = [table["score"].to_numpy() for table in rank_pieces(ranker, pieces)]
    by_query = [np.sort(scores[start : start + 9])[::-1] for start in range(0, 200, 9)]
    np.testing.assert_array_equal(np.concatenate(in_pieces), np.concatenate(by_query))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3 if threads != 3 else 2)
        np.testing.assert_array_equal(ranker.predict(rows), scores)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("name", RANKERS)
def test_comparisons_are_an_order_that_agrees_with_the_ranks(name: str) -> None:
    ranker, rows = RANKERS[name]().fit(DATA), rows_with_duplicates()
    for n, first in product((2, 3, 7), (0, 48, 57, 60)):
        some = rows[first : first + n]
        left, right = np.divmod(np.arange(n * n), n)
        r = ranker.compare(some[left], some[right]).reshape(n, n)
        np.testing.assert_array_equal(r, -r.T)
        assert (r.diagonal() == 0).all()
        assert check_comparisons(r).is_order
        scores = ranker.predict(some).astype(np.float64)
        np.testing.assert_array_equal(np.sign(r), np.sign(scores[:, None] - scores[None, :]))
    before, after = rows[:100], rows[100:200]
    np.testing.assert_array_equal(ranker.compare(before, after), -ranker.compare(after, before))
    one_by_one = [ranker.compare(before[[row]], after[[row]])[0] for row in range(20)]
    np.testing.assert_array_equal(one_by_one, ranker.compare(before, after)[:20])


def test_linear_scores_under_cancellation() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 37)).astype(np.float32) * np.float32(1e6)
    ranker = RankSVM(transform="none", tol=1.0).fit(rows[:200], np.arange(200) % 3)
    ranker.coef_ = rng.normal(size=37)
    rows[:, 36] = -(rows[:, :36].astype(np.float64) @ ranker.coef_[:36]) / ranker.coef_[36]
    scores = ranker.predict(rows)
    parts = [ranker.predict(rows[start : start + 7]) for start in range(0, 3000, 7)]
    np.testing.assert_array_equal(np.concatenate(parts), scores)


def test_an_ensemble_compares_as_it_ranks_one_ulp_apart() -> None:
    ensemble = RANKERS["Ensemble"]().fit(DATA)
    rows = np.repeat(np.array(DATA.features[:1]), 196, axis=0)
    for row in range(1, len(rows)):
        rows[row, 0] = np.nextafter(rows[row - 1, 0], np.float32(np.inf))
    scores = ensemble.predict(rows).astype(np.float64)
    np.testing.assert_array_equal(
        np.sign(ensemble.compare(rows[1:], rows[:-1])), np.sign(scores[1:] - scores[:-1])
    )


def test_nets_get_blocks_where_features_do_not_depend_on_the_position() -> None:
    def select(make: Any, n_features: int = 7) -> torch_scores.Batching:
        return torch_scores.select_batching(make(n_features).eval(), (n_features,))

    assert select(lambda n: nn.Linear(n, 64)) in torch_scores.BLOCKS
    assert select(MeanOfBatch) == torch_scores.SINGLE_ROWS
    assert select(TokenIds) == torch_scores.SINGLE_ROWS  # random numbers are not token ids
    image = nn.Sequential(nn.Conv2d(3, 64, 3), nn.Flatten())
    assert torch_scores.select_batching(image, (3, 224, 224)) == torch_scores.SINGLE_ROWS_ON_ALL_THREADS
