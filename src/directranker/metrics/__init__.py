"""Measures of a ranking, exact and fast, each in a named convention.

Labels and scores come per document, queries as `qid` or `offsets`. There is a function for each measure,
one call for many of them that share one sort, and `Metric` for a metric that is handed around.

>>> relevance, scores, qid = [2, 0, 1, 0, 0], [0.9, 0.8, 0.1, 0.3, 0.2], [1, 1, 1, 2, 2]
>>> round(ndcg(relevance, scores, qid=qid, k=10), 4)  # query 2, without a relevant one, is left out
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
    mean_average_precision,
    ndcg,
    precision,
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
    "mean_average_precision",
    "ndcg",
    "precision",
    "reciprocal_rank",
]
