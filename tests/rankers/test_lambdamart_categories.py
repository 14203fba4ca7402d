"""LambdaMART on categorical features: LightGBM's categorical splits, and their text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from directranker import DataError, RankingDataset, evaluate, load_ranker
from directranker.explanation import explain_differences
from directranker.rankers import DirectRanker, LambdaMART
from directranker.rankers.nets.distillation import compute_soft_targets, resolve_teacher
from directranker.rankers.trees import boosting
from directranker.rankers.trees.model_text import TreeText, get_category_set, load_booster, parse_trees
from directranker.rankers.trees.split_categories import SplitCategories
from directranker.training.data import TrainingData

BRANDS = [f"brand {number:02}" for number in range(30)]
QUICK: dict[str, Any] = {
    "n_estimators": 40, "random_state": 0, "min_child_samples": 5, "cat_smooth": 5, "min_data_per_group": 10,
    "early_stopping": False,
}  # fmt: skip


def make_frame(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Brands whose quality has nothing to do with their order; missing ones are the best."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, len(BRANDS) + 1, size=n)
    quality = np.append(np.random.default_rng(1).permutation(np.linspace(-2, 2, len(BRANDS))), 4.0)
    frame = pd.DataFrame(
        {
            "price": rng.normal(size=n),
            "brand": [([*BRANDS, None])[at] for at in code],
            "qid": np.arange(n) // 10,
        }
    )
    frame["relevance"] = np.digitize(quality[code] + 0.5 * frame["price"], [-1, 1, 3]).astype(float)
    return frame


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return RankingDataset.from_frame(make_frame())


@pytest.fixture(scope="module")
def ranker(data: RankingDataset) -> LambdaMART:
    return LambdaMART(**QUICK).fit(data)


def test_categories_are_split_by_sets(data: RankingDataset, ranker: LambdaMART) -> None:
    test = RankingDataset.from_frame(make_frame(seed=5))
    as_numbers = RankingDataset.from_arrays(data.features, data.relevance, qid=data.qid)
    by_order = LambdaMART(**QUICK).fit(as_numbers)
    scores = by_order.predict(test.features)
    ndcg = evaluate(test.relevance, scores, offsets=test.offsets, metrics="ndcg@3")["ndcg@3"]
    assert (
        evaluate(test.relevance, ranker.predict(test), offsets=test.offsets, metrics="ndcg@3")["ndcg@3"]
        > ndcg
    )
    assert ranker.feature_importances_[1] > 0.5
    assert all(tree["decision_type"] for tree in parse_trees(ranker.booster_.model_to_string()).trees)


def test_training_sees_the_scores_of_prediction(data: RankingDataset) -> None:
    """LightGBM's own bins of categories, in training, go the way of the codes in prediction."""
    ranker = LambdaMART(**QUICK, metric="ndcg@10").fit(data)
    value = evaluate(data.relevance, ranker.predict(data), offsets=data.offsets, convention="paper")
    assert ranker.history_[-1].fitness == pytest.approx(value["ndcg@10"], abs=1e-6)


def test_missing_is_a_category_and_unseen_is_like_the_rarest(ranker: LambdaMART) -> None:
    frame = pd.DataFrame({"price": 0.0, "brand": [*BRANDS, None, "new", "newer"]})
    scores = ranker.predict(frame)
    assert scores[len(BRANDS)] == scores.max() > np.median(scores)
    assert scores[-1] == scores[-2] != scores[len(BRANDS)]


def test_saved_and_unpickled_rankers_are_the_same(
    data: RankingDataset, ranker: LambdaMART, tmp_path: Path
) -> None:
    ranker.save(tmp_path / "model")
    again = load_ranker(tmp_path / "model")
    frame = pd.DataFrame({"price": 0.0, "brand": [*BRANDS, None, "new"]})
    for rows in (data, frame):
        np.testing.assert_array_equal(again.predict(rows), ranker.predict(rows))
    assert isinstance(again, LambdaMART)
    assert again.booster_.model_to_string() == ranker.booster_.model_to_string()


def test_rows_in_chunks_give_the_same_trees(data: RankingDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, frame = QUICK, make_frame()
    expected = LambdaMART(**settings).fit(data).predict(data)
    mixed = frame.iloc[np.random.default_rng(1).permutation(len(frame))]
    in_memory = LambdaMART(**settings).fit(mixed[["price", "brand"]], mixed["relevance"], qid=mixed["qid"])
    monkeypatch.setattr(boosting, "SAMPLED_ROWS", 2999)
    in_chunks = LambdaMART(**settings).fit(data)  # in order, but categories are missing
    mixed_chunks = LambdaMART(**settings).fit(mixed[["price", "brand"]], mixed["relevance"], qid=mixed["qid"])
    for ranker, reference in ((in_chunks, expected), (mixed_chunks, in_memory.predict(data))):
        assert np.corrcoef(ranker.predict(data), reference)[0, 1] > 0.99


def test_explanations_sum_to_the_difference(data: RankingDataset, ranker: LambdaMART) -> None:
    for query in range(5):
        for one in explain_differences(ranker, data.select([query]), [(0, 1), (2, 5)]):
            assert one.contributions.sum() == pytest.approx(one.difference, abs=1e-5)
    values = data.features[:10, 1]
    assert np.isnan(data.features[:, 1]).any()
    assert len(set(values)) > 2


def test_teacher_gets_the_categories(data: RankingDataset) -> None:
    """The `trees` teacher is fitted on training data, without the names of features."""
    training = TrainingData.from_dataset(data)
    teacher = resolve_teacher("trees", training)
    assert isinstance(teacher, LambdaMART)
    teacher.set_params(random_state=0, n_estimators=30)
    with_kinds = compute_soft_targets(teacher, training, None, seed=0, progress=False).logits
    plain = TrainingData(training.table, None, training.relevance, training.offsets)
    without = compute_soft_targets(teacher, plain, None, seed=0, progress=False).logits
    errors = [
        1 - evaluate(data.relevance, logits, offsets=data.offsets, metrics="ndcg@3")["ndcg@3"]
        for logits in (with_kinds, without)
    ]
    assert errors[0] < errors[1]
    DirectRanker(max_epochs=1, random_state=0, teacher=teacher).fit(data)


def test_parameters_of_categories_count(data: RankingDataset, ranker: LambdaMART) -> None:
    for change in (
        {"cat_smooth": 1000},
        {"cat_l2": 1000},
        {"max_cat_threshold": 1},
        {"min_data_per_group": 500},
    ):
        other = LambdaMART(**{**QUICK, **change}).fit(data)
        assert not np.array_equal(other.predict(data), ranker.predict(data))
    with pytest.raises(ValueError, match="max_cat_threshold is 0"):
        LambdaMART(max_cat_threshold=0).fit(data)
    with pytest.raises(DataError, match="'brand' is a number in X"):
        ranker.predict(pd.DataFrame({"price": [1.0], "brand": [2.5]}))


TREE: dict[str, Any] = {
    "split_feature": [1, 0], "threshold": [1.0, 0.5], "decision_type": [1, 2], "left_child": [1, -1],
    "right_child": [-3, -2], "leaf_value": [0.0, 1.0, 2.0], "cat_boundaries": [0, 1, 3],
    "cat_threshold": [1, 4, 1],
}  # fmt: skip


def check(text: str, n_codes: int = 40) -> None:
    parse_trees(text).check_categories(np.array([False, n_codes > 0]), np.array([0, n_codes]))


def test_text_of_categorical_trees() -> None:
    booster = load_booster(TreeText(2, [TREE]).to_text())
    codes = [2, 32, 0, 3, 40, -1, np.nan, 1e9, -1e9]
    rows = np.array([[9.0, code] for code in codes])
    assert booster.predict(rows).tolist() == [1.0, 1.0, *[2.0] * 7]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": [2.0, 0.5]}, "splits by a set of categories that does not exist"),
        ({"threshold": [-1.0, 0.5]}, "splits by a set of categories that does not exist"),
        ({"threshold": [0.5, 0.5]}, "splits by a set of categories that does not exist"),
        ({"threshold": [np.inf, 0.5]}, "splits by a set of categories that does not exist"),
        ({"decision_type": [3, 2]}, "has decisions of a kind"),
        ({"decision_type": [0, 2]}, "splits a number as a category, or a category as a number"),
        ({"decision_type": [1, 1], "threshold": [1.0, 0.0]}, "splits a number as a category"),
        ({"cat_boundaries": [0, 1, 4]}, "cat_boundaries do not divide the 3 words"),
        ({"cat_boundaries": [0, 4, 3]}, "cat_boundaries do not divide the 3 words"),
        ({"cat_boundaries": [1, 1, 3]}, "cat_boundaries do not divide the 3 words"),
        ({"cat_boundaries": [0, -1, 3]}, "cat_boundaries do not divide the 3 words"),
        ({"cat_threshold": [1, 4, 2**32]}, "a number that is not of 32 bits"),
        ({"cat_threshold": [1, 4, -1]}, "a number that is not of 32 bits"),
        ({"cat_threshold": [1, 4, 2**31]}, "has category 63, which feature 1 lacks"),
        ({"cat_threshold": ["x", 4, 1]}, "has an entry that is not a number"),
        ({"cat_boundaries": None}, "splits by a set of categories that does not exist"),
    ],
)
def test_invalid_sets_never_reach_lightgbm(change: dict[str, Any], message: str) -> None:
    tree = {name: value for name, value in {**TREE, **change}.items() if value is not None}
    with pytest.raises(ValueError, match=message):
        check(TreeText(2, [tree]).to_text().replace("'", ""))


def test_more_invalid_sets() -> None:
    text = TreeText(2, [TREE]).to_text()
    for old, new, message in (
        ("num_cat=2", "num_cat=3", "cat_boundaries has 3 numbers, not 4"),
        ("num_cat=2", "num_cat=0", "a set of categories that does not exist"),
        ("num_cat=2", "num_cat=-1", "num_cat is '-1', not a whole number"),
        ("cat_threshold=1 4 1", "cat=1", "lacks one of cat_boundaries, cat_threshold"),
    ):
        assert old in text
        with pytest.raises(ValueError, match=message):
            check(text.replace(old, new))
    check(text, 33)
    with pytest.raises(ValueError, match="has category 32, which feature 1 lacks"):
        check(text, 32)
    with pytest.raises(ValueError, match="splits a number as a category"):
        check(text, 0)


def test_sets_are_those_of_the_words(ranker: LambdaMART) -> None:
    """Bit by bit, as LightGBM's FindInBitset."""
    for tree in parse_trees(ranker.booster_.model_to_string()).trees:
        bounds = list(pairwise(tree["cat_boundaries"])) if "cat_boundaries" in tree else []
        for node, kind in enumerate(tree["decision_type"]):
            if kind & 1:
                start, stop = bounds[int(tree["threshold"][node])]
                words = tree["cat_threshold"][start:stop]
                expected = [
                    32 * at + bit for at, word in enumerate(words) for bit in range(32) if word >> bit & 1
                ]
                assert get_category_set(tree, node).tolist() == expected


def test_only_split_categories_have_numbers() -> None:
    """So that the text of the trees does not grow with the vocabulary."""
    rng = np.random.default_rng(0)
    codes = np.where(
        np.arange(4000) % 2, rng.integers(0, 20_000, size=4000), 19_000 + rng.integers(0, 9, size=4000)
    )
    data = RankingDataset(
        codes[:, None].astype(np.float32), codes % 2, np.arange(0, 4001, 10), np.arange(400), ("id",),
        categories={"id": [f"{code:05}" for code in range(20_000)]},
    )  # fmt: skip
    ranker = LambdaMART(**QUICK).fit(data)
    assert 0 < len(ranker._split_categories.codes) < 50
    assert len(ranker.booster_.model_to_string()) < 60_000
    assert ranker.score(data) > 0.8


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("codes", lambda codes: codes[:-1], "has dtype int64 and shape"),
        ("codes", lambda codes: codes[::-1].copy(), "are not codes in ascending order"),
        ("codes", lambda codes: codes + 5, "are not codes in ascending order"),
        ("codes", lambda codes: codes - 5, "are not codes in ascending order"),
        ("offsets", lambda offsets: offsets[1:], "has dtype int64 and shape"),
        ("offsets", lambda offsets: offsets[::-1].copy(), "do not increase from 0"),
        ("offsets", lambda offsets: offsets.astype(float), "has dtype float64"),
        ("offsets", lambda offsets: np.array([0, offsets[-1], offsets[-1]]), "not codes in ascending order"),
    ],
)
def test_invalid_split_categories(ranker: LambdaMART, name: str, change: Any, message: str) -> None:
    state = ranker._split_categories.to_state()
    assert state is not None
    assert state["codes"][-1] == len(BRANDS)  # missing
    n_categories = np.array([0, len(BRANDS)])
    SplitCategories.restore(state, n_categories)
    with pytest.raises(ValueError, match=message):
        SplitCategories.restore({**state, name: change(state[name])}, n_categories)
