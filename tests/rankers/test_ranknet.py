"""RankNet against its published formulation, with an output for each of two documents."""

from __future__ import annotations

import numpy as np
import torch

from directranker import RankingDataset, example_dataset
from directranker.rankers import RankNet
from directranker.training import Batches, TrainingData

STEP, MOMENTUM, DECAY, EPOCHS, BATCH = 0.05, 0.9, 1e-4, 3, 5


def pair_cost(net: torch.nn.Module, X: torch.Tensor, more: list[int], less: list[int]) -> torch.Tensor:
    """Burges et al. (2005): both documents go through the net, P(more ▷ less) is the softmax of two outputs.

    The order of a pair is known, so its cost is −log P; of a query it is the mean.
    """
    outputs = torch.stack([net(X[more]).squeeze(1), net(X[less]).squeeze(1)], dim=1)
    return -torch.log_softmax(outputs, dim=1)[:, 0].mean()


def train_literally(data: RankingDataset, net: torch.nn.Module, seed: int) -> None:
    """Run gradient descent on a few queries per step, pair by pair."""
    optimizer = torch.optim.SGD(net.parameters(), lr=STEP, momentum=MOMENTUM, weight_decay=DECAY)
    X = torch.from_numpy(np.array(data.features))
    documents = TrainingData.from_dataset(data)
    for epoch in range(EPOCHS):
        for batch in Batches(documents, BATCH, seed).epoch(epoch):
            costs = []
            for start, stop in zip(batch.offsets, batch.offsets[1:], strict=False):
                rows = batch.rows[start:stop]
                labels = data.relevance[rows]
                pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if labels[i] > labels[j]]
                if pairs:
                    more, less = ([int(rows[pair[side]]) for pair in pairs] for side in (0, 1))
                    costs.append(pair_cost(net, X, more, less))
            optimizer.zero_grad()
            torch.stack(costs).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def test_it_equals_the_two_output_formulation() -> None:
    data = example_dataset().select(range(20))
    data = RankingDataset.from_arrays(data.features / 100, data.relevance, qid=data.qid)
    ranker = RankNet(
        hidden_layers=(6,),
        transform="none",
        early_stopping=False,
        batch_queries=BATCH,
        max_epochs=EPOCHS,
        learning_rate=STEP,
        momentum=MOMENTUM,
        weight_decay=DECAY,
        random_state=3,
    ).fit(data)
    start = ranker.build_net(random_state=3).state_dict()
    hidden, output = torch.nn.Linear(data.n_features, 6), torch.nn.Linear(6, 1, bias=False)
    weights = list(start.values())
    assert [tuple(w.shape) for w in weights[:2]] == [(6, data.n_features), (6,)]
    hidden.load_state_dict({"weight": weights[0], "bias": weights[1]})
    output.load_state_dict({"weight": weights[2].reshape(1, 6)})
    net = torch.nn.Sequential(hidden, torch.nn.Tanh(), output)
    with torch.no_grad():
        before = net(torch.from_numpy(np.array(data.features))).squeeze(1).numpy()
    train_literally(data, net, seed=3)
    with torch.no_grad():
        literal = net(torch.from_numpy(np.array(data.features))).squeeze(1).numpy()
    np.testing.assert_allclose(ranker.predict(data), literal, rtol=1e-4, atol=1e-5)
    assert np.abs(literal - before).max() > 0.1  # both were trained
    r = ranker.compare(data.features[:9], data.features[9:18])
    probability = torch.softmax(torch.from_numpy(np.stack([literal[:9], literal[9:18]], axis=1)), 1)[:, 0]
    np.testing.assert_allclose((1 + r) / 2, probability, atol=1e-5)
