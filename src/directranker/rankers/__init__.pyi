from .base import Ranker as Ranker
from .ensemble import Ensemble as Ensemble
from .linear.adarank import AdaRank as AdaRank
from .linear.coordinate_ascent import CoordinateAscent as CoordinateAscent
from .linear.es_rank import ESRank as ESRank
from .linear.es_rank import IESRRank as IESRRank
from .linear.es_rank import IESVMRank as IESVMRank
from .linear.rank_svm import RankSVM as RankSVM
from .nets.direct_ranker import DirectRanker as DirectRanker
from .nets.lambda_direct_ranker import LambdaDirectRanker as LambdaDirectRanker
from .nets.listnet import ListNet as ListNet
from .nets.ranknet import RankNet as RankNet
from .trees.lambdamart import LambdaMART as LambdaMART

__all__: list[str]
