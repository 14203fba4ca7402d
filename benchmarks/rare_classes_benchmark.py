"""Do pairs help if one class is rare? And are classes recovered that were hidden in training?

The paper's outlook: with few instances of one class, the many ways to pair them with the others may help.
Positives are subsampled from half of the training rows to one in a thousand, in overlapping Gaussian classes
and in scikit-learn's bundled data sets. All classifiers are fitted without class weights; a row is classified
as positive if its probability is above the fraction of positives in training, which maximises balanced
accuracy. Average precision needs no threshold.

To isolate the effect of pairs, the same net is trained with the same transform, optimiser, steps, rows per
step and calibration on single rows, by cross-entropy. scikit-learn's net is compared too.

The second question: five classes on a line are binarised, a ranker is trained on the two, and its order
within each of them is compared with the hidden classes.

The third: how often are classes found from scores alone, by their number and distance?

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

from measuring import describe_machine

N_TRAIN, N_TEST, N_FEATURES = 4000, 20_000, 20
SYNTHETIC_FRACTIONS = (0.5, 0.1, 0.03, 0.01, 0.003, 0.001)
BUNDLED_FRACTIONS = (0.5, 0.1, 0.03, 0.01)
MIN_POSITIVES = 2
PAIRS, SAME_NET = "pairs (OrderClassifier)", "the same net, by rows"


class Task(NamedTuple):
    """Training rows and test rows."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]


class RowCost:
    """Cross-entropy of single rows; it needs a bias on the score, which a ranker does not have."""

    def __init__(self, learning_rate: float) -> None:
        self.bias = torch.zeros((), requires_grad=True)
        self.optimizer = torch.optim.AdamW([self.bias], lr=learning_rate)

    def __call__(self, scores: torch.Tensor, batch: Batch, *, seed: int, progress: float) -> float:  # noqa: ARG002
        """Call `backward` on the scores and return the cost."""
        labels = torch.from_numpy(batch.relevance.astype(np.float32))
        cost = torch.nn.functional.binary_cross_entropy_with_logits(scores + self.bias, labels)
        self.optimizer.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return float(cost.detach())


class PointwiseRanker(DirectRanker):
    """A DirectRanker that is trained with a pointwise cost."""

    def _cost(self) -> RowCost:
        return RowCost(self.learning_rate)


def make_classifiers(seed: int, n_rows: int) -> dict[str, Any]:
    """Make the classifiers by name: one trained on pairs, four on single rows."""
    # Without early stopping, whose validation split has hardly any positives.
    net = MLPClassifier((128,), alpha=1e-2, random_state=seed)
    return {
        PAIRS: OrderClassifier(random_state=seed),
        SAME_NET: OrderClassifier(
            PointwiseRanker(**make_default_ranker(seed, n_rows).get_params()), random_state=seed
        ),
        "scikit-learn's net (MLP)": make_pipeline(StandardScaler(), net),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def subsample_positives(
    X: NDArray[Any], y: NDArray[np.int64], fraction: float, seed: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Subsample positives to this fraction of the rows; or negatives if the fraction is higher."""
    rng = np.random.default_rng(seed)
    positives, negatives = rng.permutation(np.flatnonzero(y == 1)), rng.permutation(np.flatnonzero(y == 0))
    n_positives = min(len(positives), max(MIN_POSITIVES, round(len(negatives) * fraction / (1 - fraction))))
    n_negatives = min(len(negatives), round(n_positives * (1 - fraction) / fraction))
    rows = rng.permutation(np.concatenate([positives[:n_positives], negatives[:n_negatives]]))
    return X[rows], y[rows]


def make_synthetic_task(fraction: float, seed: int) -> Task:
    """Sample two overlapping Gaussian classes, with means closer than their standard deviations."""
    rng = np.random.default_rng((seed, 5))
    means = np.stack([np.zeros(N_FEATURES), rng.normal(0, 0.45, N_FEATURES)])
    classes = GaussianClasses(means, rng.uniform(0.7, 1.3, (2, N_FEATURES)))
    n_positives = max(MIN_POSITIVES, round(N_TRAIN * fraction))
    train = classes.sample(2 * N_TRAIN, random_state=seed).data
    positives = np.flatnonzero(train.relevance == 1)[:n_positives]
    negatives = np.flatnonzero(train.relevance == 0)[: N_TRAIN - n_positives]
    rows = rng.permutation(np.concatenate([positives, negatives]))
    test = classes.sample(N_TEST, random_state=seed + 1000).data
    y, y_test = train.relevance[rows].astype(np.int64), test.relevance.astype(np.int64)
    return Task(train.features[rows], y, test.features, y_test)


def load_bundled(name: str) -> Callable[[float, int], Task]:
    """Load malignant tumours, or eights among the other digits; the test split keeps all positives."""
    loaded = load_breast_cancer() if name == "breast cancer" else load_digits()
    target = loaded.target == 0 if name == "breast cancer" else loaded.target == 8
    X, y = loaded.data.astype(np.float32), target.astype(np.int64)

    def make_task(fraction: float, seed: int) -> Task:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=seed
        )
        return Task(*subsample_positives(X_train, y_train, fraction, seed), X_test, y_test)

    return make_task


def evaluate_classifier(task: Task, classifier: Any) -> tuple[float, float]:
    """Compute balanced accuracy and average precision on the test split."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        positive = classifier.fit(task.X, task.y).predict_proba(task.X_test)[:, 1]
    predicted = positive > task.y.mean()
    return balanced_accuracy_score(task.y_test, predicted), average_precision_score(task.y_test, positive)


def compare(
    title: str, make: Callable[[float, int], Task], fractions: tuple[float, ...], n_seeds: int
) -> None:
    """Print a row per fraction and classifier, and whether pairs were better than single rows."""
    print(f"\n{title}: mean ± standard error over {n_seeds} seeds")
    print(f"{'positives':>16}  {'':25}{'balanced accuracy':>20}{'average precision':>20}")
    for fraction in fractions:
        results: dict[str, list[tuple[float, float]]] = {}
        for seed in range(n_seeds):
            task = make(fraction, seed)
            for name, classifier in make_classifiers(seed, len(task.y)).items():
                results.setdefault(name, []).append(evaluate_classifier(task, classifier))
        label = f"{task.y.sum()} of {len(task.y)}"
        for name, values in results.items():
            cells = [
                f"{np.mean(each):.3f} ± {compute_standard_error(each):.3f}"
                for each in zip(*values, strict=True)
            ]
            print(f"{label:>16}  {name:25}{cells[0]:>20}{cells[1]:>20}", flush=True)
            label = ""
        print(f"{'':18}{format_comparison(results)}")


def format_comparison(results: dict[str, list[tuple[float, float]]]) -> str:
    """Compare pairs with the same net on rows and with the best other classifier, by average precision."""
    precision = {name: np.array(values)[:, 1] for name, values in results.items()}
    others = {name: values for name, values in precision.items() if name != PAIRS}
    best = max(others, key=lambda name: others[name].mean())
    comparisons = []
    for name in dict.fromkeys((SAME_NET, best)):
        gain = precision[PAIRS] - others[name]
        verdict = "no clear difference from"
        if abs(gain.mean()) > 2 * compute_standard_error(gain):
            verdict = "better than" if gain.mean() > 0 else "worse than"
        comparisons.append(f"{verdict} {name} ({gain.mean():+.3f})")
    return "pairs by average precision: " + ", ".join(comparisons)


def compare_costs(
    title: str, make: Callable[[float, int], Task], fractions: tuple[float, ...], n_seeds: int
) -> None:
    """Print the effect of pairs alone: average precision of the same net trained with either cost."""
    print(f"\n{title}: average precision of the same net by pairs and by rows, {n_seeds} seeds")
    for fraction in fractions:
        gains, results = [], []
        for seed in range(n_seeds):
            task = make(fraction, seed)
            pairs = make_default_ranker(seed, len(task.y))
            both = [
                average_precision_score(task.y_test, ranker.fit(task.X, task.y).predict(task.X_test))
                for ranker in (pairs, PointwiseRanker(**pairs.get_params()))
            ]
            results.append(both)
            gains.append(both[0] - both[1])
        cells = [
            f"{np.mean(each):.3f} ± {compute_standard_error(each):.3f}" for each in zip(*results, strict=True)
        ]
        label, gain = (
            f"{task.y.sum()} of {len(task.y)}",
            f"{np.mean(gains):+.3f} ± {compute_standard_error(gains):.3f}",
        )
        print(f"{label:>16}{cells[0]:>17}{cells[1]:>17}{gain:>18}", flush=True)


def compute_standard_error(values: Any) -> float:
    """Compute the standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def recover_hidden_classes(n_seeds: int) -> None:
    """Train on two classes, and look for the five that they consist of."""
    print(f"\nHidden classes: five, trained as two (0-2 and 3-4); mean ± standard error over {n_seeds} seeds")
    for title, in_line in (("means on a line", True), ("random means", False)):
        aucs, n_boundaries = zip(*(_recover(in_line, seed) for seed in range(n_seeds)), strict=True)
        auc = f"{np.mean(aucs):.3f} ± {compute_standard_error(aucs):.3f}"
        print(f"{title}: AUC of adjacent hidden classes within a half {auc}")
        print(
            f"{'':4}(1 is perfect, 0.5 is chance); boundaries found without labels: {list(n_boundaries)} of 4"
        )
        verdict = "recovered" if np.mean(aucs) > 0.9 else "not recovered"
        print(f"{'':4}so the hidden classes are {verdict} in the order")


def _recover(in_line: bool, seed: int) -> tuple[float, int]:
    """Return the AUC of adjacent hidden classes within each half, and the number of boundaries found."""
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
    return float(np.mean(list(_compute_aucs(test.relevance, scores)))), len(
        class_boundaries(scores).thresholds
    )


def _compute_aucs(hidden: NDArray[Any], scores: NDArray[Any]) -> Iterator[float]:
    for lower in (0, 1, 3):
        rows = (hidden == lower) | (hidden == lower + 1)
        yield roc_auc_score(hidden[rows] == lower + 1, scores[rows])


def find_classes(n_samples: int) -> None:
    """Print how often `class_boundaries` finds exactly the classes, by their sizes and distance."""
    print(f"\nclass_boundaries finds exactly the classes, fraction of {n_samples} samples")
    print(f"{'apart':>6}{'documents':>10}" + "".join(f"{n:>4} classes" for n in (2, 3, 4, 5)))
    for apart in (6, 8):
        for n in (30, 100, 1000):
            sizes = [np.bincount(np.arange(n) % k) for k in (2, 3, 4, 5)]
            rates = [
                _compute_rate(class_sizes, apart, n_samples if n < 1000 else n_samples // 10)
                for class_sizes in sizes
            ]
            print(f"{apart:>6}{n:>10}" + "".join(f"{rate:>12.0%}" for rate in rates), flush=True)
    for rare in (3, 5, 10, 20):
        rates = [_compute_rate(np.array([100 - rare, rare]), apart, n_samples) for apart in (6, 10, 20)]
        print(
            f"{rare} of 100 documents at 6, 10 and 20 standard deviations: "
            + ", ".join(f"{rate:.0%}" for rate in rates)
        )


def _compute_rate(sizes: NDArray[np.int64], apart: float, n_samples: int) -> float:
    rng = np.random.default_rng(0)
    means = apart * np.repeat(np.arange(len(sizes)), sizes)
    samples = (means + rng.normal(size=len(means)) for _ in range(n_samples))
    return float(np.mean([class_boundaries(scores).n_classes == len(sizes) for scores in samples]))


def main() -> None:
    """Print the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["costs", "synthetic", "bundled", "hidden", "crowds"])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print(describe_machine("scikit-learn", "torch"))
    if "synthetic" in options.parts:
        compare("Overlapping Gaussian classes", make_synthetic_task, SYNTHETIC_FRACTIONS, options.seeds)
    if "bundled" in options.parts:
        for name in ("breast cancer", "digits, 8 or not"):
            compare(name, load_bundled(name), BUNDLED_FRACTIONS, options.seeds)
    if "costs" in options.parts:
        compare_costs("breast cancer", load_bundled("breast cancer"), BUNDLED_FRACTIONS, options.seeds)
        compare_costs("Overlapping Gaussian classes", make_synthetic_task, (0.1, 0.01, 0.001), options.seeds)
        compare_costs("digits, 8 or not", load_bundled("digits, 8 or not"), (0.1, 0.01), options.seeds)
    if "hidden" in options.parts:
        recover_hidden_classes(options.seeds)
    if "crowds" in options.parts:
        find_classes(200)


if __name__ == "__main__":
    main()
