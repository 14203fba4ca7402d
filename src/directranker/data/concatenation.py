"""Concatenate data sets.

>>> one = RankingDataset.from_arrays([[1.0]], [1], qid=[1])
>>> concatenate([one, RankingDataset.from_arrays([[2.0]], [0], qid=[2])]).query_ids.tolist()
[1, 2]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from directranker.arrays import Features
from directranker.data.categories import Categories, merge_categories, recode
from directranker.data.dataset import RankingDataset
from directranker.data.grouping import as_query_ids, group_runs
from directranker.data.kept_columns import concatenate_kept
from directranker.data.texts import concatenate_texts
from directranker.errors import DataError

__all__ = ["concatenate"]


def concatenate(
    parts: Sequence[RankingDataset], *, shared_queries: Literal["error", "merge"] = "error"
) -> RankingDataset:
    """Concatenate data sets; a query id in two of them raises unless `shared_queries="merge"`.

    >>> one = RankingDataset.from_arrays([[1.0]], [1], qid=[1])
    >>> two = RankingDataset.from_arrays([[2.0]], [0], qid=[2])
    >>> concatenate([one, two])
    RankingDataset(2 documents, 2 queries, 1 feature)
    """
    if not parts:
        raise ValueError("no data sets to concatenate")
    if shared_queries not in ("error", "merge"):
        raise ValueError(f"shared_queries is {shared_queries!r}; use 'error' or 'merge'")
    for part in parts[1:]:
        _check_same_features(parts[0], part)
    categories = merge_categories([part.categories for part in parts])
    query_ids = np.concatenate([part.query_ids.astype(object) for part in parts])
    lengths = [part.n_documents for part in parts]
    first_rows = np.cumsum([0, *lengths[:-1]])
    starts = np.concatenate([part.offsets[:-1] + row for part, row in zip(parts, first_rows, strict=True)])
    grouping = group_runs(as_query_ids(query_ids), starts, sum(lengths))
    if len(grouping.query_ids) < len(query_ids) and shared_queries == "error":
        ids, counts = np.unique(query_ids, return_counts=True)
        raise DataError(
            f"{np.sum(counts > 1)} query ids are in more than one data set, such as "
            f"{ids[counts > 1][0]!r}; rename them or pass shared_queries='merge'"
        )
    return RankingDataset.from_grouping(
        grouping,
        features=np.concatenate([_recode_features(part, categories) for part in parts]),
        relevance=np.concatenate([part.relevance for part in parts]),
        feature_names=parts[0].feature_names,
        document_texts=concatenate_texts([part.document_texts for part in parts], lengths),
        comment_texts=concatenate_texts([part.comment_texts for part in parts], lengths),
        categories=categories,
        columns=parts[0].columns,
        kept=concatenate_kept([part.kept for part in parts]),
    )


def _check_same_features(one: RankingDataset, other: RankingDataset) -> None:
    if other.feature_names != one.feature_names:
        raise DataError(
            f"features differ: {one.feature_names} and {other.feature_names}; "
            "give all data sets the same features"
        )
    for name in one.feature_names:
        if (name in one.categories) != (name in other.categories):
            raise DataError(
                f"feature {name!r} is categorical in one data set and a number in another; name it in "
                "categorical=… for all of them"
            )


def _recode_features(data: RankingDataset, categories: Categories) -> Features:
    """Return the features with the codes of these categories; without a copy where they are the same."""
    features = data.features
    for index, name in enumerate(data.feature_names):
        if name in categories and not data.categories[name].equals(categories[name]):
            if features is data.features:
                features = np.array(features)
            features[:, index] = recode(features[:, index], data.categories[name], into=categories[name])
    return features
