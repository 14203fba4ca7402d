"""Ranking metrics, exact and fast, each under a named convention.

Labels and scores have one entry per document, queries are given as `qid` or `offsets`. Each measure has a
function; `evaluate` computes many metrics with one sort; a `Metric` is a metric as a value.

>>> relevance, scores, qid = [2, 0, 1, 0, 0], [0.9, 0.8, 0.1, 0.3, 0.2], [1, 1, 1, 2, 2]
>>> round(ndcg(relevance, scores, qid=qid, k=10), 4)  # query 2 has no relevant document and is skipped
0.9639
>>> evaluate(relevance, scores, qid=qid, metrics=["p@1", "map", "map:lightgbm"])
{'p@1': 1.0, 'map': 0.8333333333333333, 'map:lightgbm': 0.9166666666666666}
>>> print(*CONVENTIONS)
graded paper ranklib letor4 lightgbm sklearn trec
"""

from directranker.metrics.conventions import CONVENTIONS, convention
from directranker.metrics.evaluation import evaluate, evaluate_per_query
from directranker.metrics.functions import (
    average_precision,
    dcg,
    err,
    hit_rate,
    mean_average_precision,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)
from directranker.metrics.metric import Metric
from directranker.metrics.rules import Convention, Rules

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Metric",
    "Rules",
    "average_precision",
    "convention",
    "dcg",
    "err",
    "evaluate",
    "evaluate_per_query",
    "hit_rate",
    "mean_average_precision",
    "ndcg",
    "precision",
    "recall",
    "reciprocal_rank",
]
