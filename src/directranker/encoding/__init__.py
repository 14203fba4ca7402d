"""Feature transforms, as scikit-learn transformers.

A net learns from features that lie around 0 and not far from it. Which transform takes them there is the
choice that matters most after the cost; all of them learn from the training part alone.

| name | what becomes of a feature | NaN becomes |
|---|---|---|
| `quantile-normal` | a normal distribution with σ = 1/3, by quantiles (the paper's) | 0, the median |
| `standard` | (x − mean) / deviation | 0, the mean |
| `signed-log` | sign(x)·log(1 + abs x), then standard | 0, the mean of the logarithms |
| `query-min-max` | (x − min) / (max − min) within its query | 0, the lowest of the query |
| `query-z-score` | (x − mean) / deviation within its query | 0, the mean of the query |
| `query-rank` | the share of its query's values below it, less that above | 0, the median of the query |
| `piecewise-linear` | how far it fills each of 16 quantile bins | no bin filled, and a column that says so |
| `in-context` | itself, its z-score and its rank within its query, each in 16 bins | as in these |
| `auto` | as is, signed-log or standard, whichever suits it | 0 |
| `none` | itself | NaN |

>>> transform = as_transform("auto").fit([[1.0, 0.0], [2.0, 1e6], [3.0, 10.0], [4.0, 1.0]])
>>> transform.choices_
['standard', 'signed-log']
>>> transform.transform([[2.5, float("nan")]])
array([[0., 0.]], dtype=float32)
"""

from directranker.encoding.automatic import AutoTransform
from directranker.encoding.base import FeatureTransform
from directranker.encoding.in_context import InContext, bins_of
from directranker.encoding.names import TRANSFORMS, as_transform
from directranker.encoding.per_query import QueryMinMax, QueryRank, QueryZScore
from directranker.encoding.piecewise_linear import PiecewiseLinear
from directranker.encoding.quantile_normal import QuantileNormal
from directranker.encoding.scaling import SignedLog, Standard, Unchanged

__all__ = [
    "TRANSFORMS",
    "AutoTransform",
    "FeatureTransform",
    "InContext",
    "PiecewiseLinear",
    "QuantileNormal",
    "QueryMinMax",
    "QueryRank",
    "QueryZScore",
    "SignedLog",
    "Standard",
    "Unchanged",
    "as_transform",
    "bins_of",
]
