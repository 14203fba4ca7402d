"""Rankers: scikit-learn estimators that learn an order from graded documents."""

from directranker.rankers.adarank import AdaRank
from directranker.rankers.base import Ranker
from directranker.rankers.coordinate_ascent import CoordinateAscent
from directranker.rankers.direct_ranker import DirectRanker
from directranker.rankers.ensemble import Ensemble
from directranker.rankers.es_rank import ESRank, IESRRank, IESVMRank
from directranker.rankers.lambda_direct_ranker import LambdaDirectRanker
from directranker.rankers.lambdamart import LambdaMART
from directranker.rankers.listnet import ListNet
from directranker.rankers.rank_svm import RankSVM
from directranker.rankers.ranknet import RankNet

__all__ = [
    "AdaRank",
    "CoordinateAscent",
    "DirectRanker",
    "ESRank",
    "Ensemble",
    "IESRRank",
    "IESVMRank",
    "LambdaDirectRanker",
    "LambdaMART",
    "ListNet",
    "RankNet",
    "RankSVM",
    "Ranker",
]
