"""Do pairs help where one class is rare? And are classes found again that training never saw?

The paper's outlook: with few instances of one class, the many ways to pair them with the others may boost the
statistics. Positives are thinned out from half of the training rows to one in a thousand, in overlapping
Gaussian classes and in scikit-learn's bundled data sets. All classifiers are fitted without class weights; a
row is called positive where its probability is above the share of positives in training, which is the rule
for balanced accuracy. Average precision needs no threshold.

Whether pairs are the reason is told by the same net, with the same transform, optimiser, steps, rows of a
step and calibration, that learns from rows one by one, by cross-entropy. scikit-learn's net is there too.

The second question: five classes in a line are binarised, a ranker is trained on the two, and its order
within each of them is compared with the classes that were hidden.

The third: from scores alone, how often are classes found, by how many and how far apart they are?

    python benchmarks/rare_classes_benchmark.py [costs] [synthetic] [bundled] [hidden] [crowds]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directranker.classification import OrderClassifier, class_boundaries
from directranker.classification.order_classifier import make_default_ranker
from directranker.data.synthetic import GaussianClasses
from directranker.rankers import DirectRanker
from directranker.training.batches import Batch

from measuring import machine

N_TRAIN, N_TEST, N_FEATURES = 4000, 20_000, 20
SYNTHETIC_SHARES = (0.5, 0.1, 0.03, 0.01, 0.003, 0.001)
BUNDLED_SHARES = (0.5, 0.1, 0.03, 0.01)
FEWEST = 2  # positives that a share must leave
PAIRS, SAME_NET = "pairs (OrderClassifier)", "the same net, by rows"


class Task(NamedTuple):
    """Rows to learn from and rows to be judged by."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]


class CostOfRows:
    """Cross-entropy of rows one by one; a score gets a bias for it, which an order has no use for."""

    def __init__(self, learning_rate: float) -> None:
        self.bias = torch.zeros((), requires_grad=True)
        self.optimizer = torch.optim.AdamW([self.bias], lr=learning_rate)

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:  # noqa: ARG002
        """As the training loop calls it."""
        labels = torch.from_numpy(batch.relevance.astype(np.float32))
        cost = torch.nn.functional.binary_cross_entropy_with_logits(scores + self.bias, labels)
        self.optimizer.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(cost.detach())


class RowByRow(DirectRanker):
    """The net of a DirectRanker, trained in all as it is but for the cost."""

    def _cost(self) -> CostOfRows:
        return CostOfRows(self.learning_rate)


def classifiers(seed: int, n_rows: int) -> dict[str, Any]:
    """By name: the one of pairs, and four that look at one row at a time."""
    # Without early stopping, whose held-out tenth has no or hardly a positive.
    net = MLPClassifier((128,), alpha=1e-2, random_state=seed)
    return {
        PAIRS: OrderClassifier(random_state=seed),
        SAME_NET: OrderClassifier(
            RowByRow(**make_default_ranker(seed, n_rows).get_params()), random_state=seed
        ),
        "scikit-learn's net (MLP)": make_pipeline(StandardScaler(), net),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def thinned(
    X: NDArray[Any], y: NDArray[np.int64], share: float, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All negatives and so few positives that they are this share; or fewer negatives where it is higher."""
    rng = np.random.default_rng(seed)
    positives, negatives = rng.permutation(np.flatnonzero(y == 1)), rng.permutation(np.flatnonzero(y == 0))
    n_positives = min(len(positives), max(FEWEST, round(len(negatives) * share / (1 - share))))
    n_negatives = min(len(negatives), round(n_positives * (1 - share) / share))
    rows = rng.permutation(np.concatenate([positives[:n_positives], negatives[:n_negatives]]))
    return X[rows], y[rows]


def synthetic(share: float, seed: int) -> Task:
    """Two overlapping Gaussian classes, whose means lie nearer than their deviations."""
    rng = np.random.default_rng((seed, 5))
    means = np.stack([np.zeros(N_FEATURES), rng.normal(0, 0.45, N_FEATURES)])
    classes = GaussianClasses(means, rng.uniform(0.7, 1.3, (2, N_FEATURES)))
    n_positives = max(FEWEST, round(N_TRAIN * share))
    train = classes.sample(2 * N_TRAIN, random_state=seed).data
    positives = np.flatnonzero(train.relevance == 1)[:n_positives]
    negatives = np.flatnonzero(train.relevance == 0)[: N_TRAIN - n_positives]
    rows = rng.permutation(np.concatenate([positives, negatives]))
    test = classes.sample(N_TEST, random_state=seed + 1000).data
    y, y_test = train.relevance[rows].astype(np.int64), test.relevance.astype(np.int64)
    return Task(train.features[rows], y, test.features, y_test)


def bundled(name: str) -> Callable[[float, int], Task]:
    """Malignant tumours, or eights among the other digits; the test part keeps all its positives."""
    loaded = load_breast_cancer() if name == "breast cancer" else load_digits()
    target = loaded.target == 0 if name == "breast cancer" else loaded.target == 8
    X, y = loaded.data.astype(np.float32), target.astype(np.int64)

    def task(share: float, seed: int) -> Task:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=seed
        )
        return Task(*thinned(X_train, y_train, share, seed), X_test, y_test)

    return task


def measured(task: Task, classifier: Any) -> tuple[float, float]:
    """Balanced accuracy and average precision on the test part."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        positive = classifier.fit(task.X, task.y).predict_proba(task.X_test)[:, 1]
    called = positive > task.y.mean()
    return balanced_accuracy_score(task.y_test, called), average_precision_score(task.y_test, positive)


def compare(title: str, make: Callable[[float, int], Task], shares: tuple[float, ...], n_seeds: int) -> None:
    """Print a line per share and classifier, and in words whether pairs were better than rows one by one."""
    print(f"\n{title}: mean ± standard error over {n_seeds} seeds")
    print(f"{'positives':>16}  {'':25}{'balanced accuracy':>20}{'average precision':>20}")
    for share in shares:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(n_seeds):
            task = make(share, seed)
            for name, classifier in classifiers(seed, len(task.y)).items():
                found.setdefault(name, []).append(measured(task, classifier))
        label = f"{task.y.sum()} of {len(task.y)}"
        for name, values in found.items():
            cells = [f"{np.mean(one):.3f} ± {standard_error(one):.3f}" for one in zip(*values, strict=True)]
            print(f"{label:>16}  {name:25}{cells[0]:>20}{cells[1]:>20}", flush=True)
            label = ""
        print(f"{'':18}{in_words(found)}")


def in_words(found: dict[str, list[tuple[float, float]]]) -> str:
    """How pairs did against the same net without them and against the best of all, by average precision."""
    precision = {name: np.array(values)[:, 1] for name, values in found.items()}
    others = {name: values for name, values in precision.items() if name != PAIRS}
    best = max(others, key=lambda name: others[name].mean())
    parts = []
    for name in dict.fromkeys((SAME_NET, best)):
        gain = precision[PAIRS] - others[name]
        word = "no clear difference from"
        if abs(gain.mean()) > 2 * standard_error(gain):
            word = "better than" if gain.mean() > 0 else "worse than"
        parts.append(f"{word} {name} ({gain.mean():+.3f})")
    return "pairs by average precision: " + ", ".join(parts)


def compare_costs(
    title: str, make: Callable[[float, int], Task], shares: tuple[float, ...], n_seeds: int
) -> None:
    """Print what pairs alone change: the same net trained on all rows by either cost, average precision."""
    print(f"\n{title}: average precision of the same net by pairs and by rows, {n_seeds} seeds")
    for share in shares:
        gains, found = [], []
        for seed in range(n_seeds):
            task = make(share, seed)
            pairs = make_default_ranker(seed, len(task.y))
            both = [
                average_precision_score(task.y_test, ranker.fit(task.X, task.y).predict(task.X_test))
                for ranker in (pairs, RowByRow(**pairs.get_params()))
            ]
            found.append(both)
            gains.append(both[0] - both[1])
        cells = [f"{np.mean(one):.3f} ± {standard_error(one):.3f}" for one in zip(*found, strict=True)]
        label, gain = (
            f"{task.y.sum()} of {len(task.y)}",
            f"{np.mean(gains):+.3f} ± {standard_error(gains):.3f}",
        )
        print(f"{label:>16}{cells[0]:>17}{cells[1]:>17}{gain:>18}", flush=True)


def standard_error(values: Any) -> float:
    """Of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def hidden_classes(n_seeds: int) -> None:
    """Train on two classes, look for the five that they were made of."""
    print(f"\nHidden classes: five, trained as two (0-2 and 3-4); mean ± standard error over {n_seeds} seeds")
    for title, in_line in (("means in a line", True), ("means anywhere", False)):
        within, found = zip(*(_rediscovered(in_line, seed) for seed in range(n_seeds)), strict=True)
        chance = f"{np.mean(within):.3f} ± {standard_error(within):.3f}"
        print(f"{title}: a document of the next hidden class of the same half is ranked higher with {chance}")
        print(f"{'':4}(1 is always, 0.5 is chance); boundaries found without labels: {list(found)} of 4")
        verdict = "found again" if np.mean(within) > 0.9 else "not found again"
        print(f"{'':4}so the hidden classes are {verdict} in the order")


def _rediscovered(in_line: bool, seed: int) -> tuple[float, int]:
    """How surely neighbouring hidden classes of one half are in order, and how many boundaries are found."""
    rng = np.random.default_rng((seed, 7))
    direction = rng.normal(size=N_FEATURES)
    direction *= 4 / np.linalg.norm(direction)
    line = np.arange(5)[:, None] * direction
    anywhere = rng.normal(0, 4 / np.sqrt(N_FEATURES), (5, N_FEATURES))
    classes = GaussianClasses(line if in_line else anywhere, np.ones((5, N_FEATURES)))
    train, test = (classes.sample(n, random_state=seed + n).data for n in (N_TRAIN, 2000))
    ranker = DirectRanker(
        transform="standard", early_stopping=False, max_epochs=500, max_steps=500, random_state=seed
    )
    scores = ranker.fit(train.features, train.relevance >= 3).predict(test.features)
    return float(np.mean(list(_orders(test.relevance, scores)))), len(class_boundaries(scores).thresholds)


def _orders(hidden: NDArray[Any], scores: NDArray[Any]) -> Iterator[float]:
    for lower in (0, 1, 3):
        rows = (hidden == lower) | (hidden == lower + 1)
        yield roc_auc_score(hidden[rows] == lower + 1, scores[rows])


def crowds(n_lists: int) -> None:
    """How often `class_boundaries` finds all classes, and none too many, by their sizes and distance."""
    print(f"\nclass_boundaries finds just the classes that there are, share of {n_lists} lists")
    print(f"{'apart':>6}{'documents':>10}" + "".join(f"{n:>4} classes" for n in (2, 3, 4, 5)))
    for apart in (6, 8):
        for n in (30, 100, 1000):
            sizes = [np.bincount(np.arange(n) % k) for k in (2, 3, 4, 5)]
            rates = [
                _share_found(of_class, apart, n_lists if n < 1000 else n_lists // 10) for of_class in sizes
            ]
            print(f"{apart:>6}{n:>10}" + "".join(f"{rate:>12.0%}" for rate in rates), flush=True)
    for rare in (3, 5, 10, 20):
        rates = [_share_found(np.array([100 - rare, rare]), apart, n_lists) for apart in (6, 10, 20)]
        print(
            f"{rare} among 100, 6, 10 and 20 deviations away: " + ", ".join(f"{rate:.0%}" for rate in rates)
        )


def _share_found(sizes: NDArray[np.int64], apart: float, n_lists: int) -> float:
    rng = np.random.default_rng(0)
    middles = apart * np.repeat(np.arange(len(sizes)), sizes)
    lists = (middles + rng.normal(size=len(middles)) for _ in range(n_lists))
    return float(np.mean([class_boundaries(scores).n_classes == len(sizes) for scores in lists]))


def main() -> None:
    """Print the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["costs", "synthetic", "bundled", "hidden", "crowds"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(machine("scikit-learn", "torch"))
    if "synthetic" in options.parts:
        compare("Overlapping Gaussian classes", synthetic, SYNTHETIC_SHARES, options.seeds)
    if "bundled" in options.parts:
        for name in ("breast cancer", "digits, 8 or not"):
            compare(name, bundled(name), BUNDLED_SHARES, options.seeds)
    if "costs" in options.parts:
        compare_costs("breast cancer", bundled("breast cancer"), BUNDLED_SHARES, options.seeds)
        compare_costs("Overlapping Gaussian classes", synthetic, (0.1, 0.01, 0.001), options.seeds)
        compare_costs("digits, 8 or not", bundled("digits, 8 or not"), (0.1, 0.01), options.seeds)
    if "hidden" in options.parts:
        hidden_classes(options.seeds)
    if "crowds" in options.parts:
        crowds(200)


if __name__ == "__main__":
    main()
