"""Rankers: scikit-learn estimators that learn an order from graded documents.

Each is imported on first use: a saved net ranks without what only training or trees need.
"""

from typing import TYPE_CHECKING

from directranker.late_names import late_names

if TYPE_CHECKING:
    from directranker.rankers.linear.adarank import AdaRank
    from directranker.rankers.base import Ranker
    from directranker.rankers.linear.coordinate_ascent import CoordinateAscent
    from directranker.rankers.nets.direct_ranker import DirectRanker
    from directranker.rankers.ensemble import Ensemble
    from directranker.rankers.linear.es_rank import ESRank, IESRRank, IESVMRank
    from directranker.rankers.nets.lambda_direct_ranker import LambdaDirectRanker
    from directranker.rankers.trees.lambdamart import LambdaMART
    from directranker.rankers.nets.listnet import ListNet
    from directranker.rankers.linear.rank_svm import RankSVM
    from directranker.rankers.nets.ranknet import RankNet

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

__getattr__ = late_names(
    __name__,
    {
        "adarank": ("AdaRank",),
        "base": ("Ranker",),
        "coordinate_ascent": ("CoordinateAscent",),
        "direct_ranker": ("DirectRanker",),
        "ensemble": ("Ensemble",),
        "es_rank": ("ESRank", "IESRRank", "IESVMRank"),
        "lambda_direct_ranker": ("LambdaDirectRanker",),
        "lambdamart": ("LambdaMART",),
        "listnet": ("ListNet",),
        "rank_svm": ("RankSVM",),
        "ranknet": ("RankNet",),
    },
)
