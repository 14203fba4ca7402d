"""Rankers: scikit-learn estimators that learn an order from graded documents."""

from directranker.rankers.base import Ranker
from directranker.rankers.direct_ranker import DirectRanker
from directranker.rankers.ensemble import Ensemble
from directranker.rankers.lambda_direct_ranker import LambdaDirectRanker
from directranker.rankers.listnet import ListNet
from directranker.rankers.ranknet import RankNet

__all__ = ["DirectRanker", "Ensemble", "LambdaDirectRanker", "ListNet", "RankNet", "Ranker"]
