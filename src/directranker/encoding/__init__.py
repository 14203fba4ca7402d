"""Feature transforms, as scikit-learn transformers.

A net trains best on features near 0. After the cost, the transform is the choice that matters most. All
transforms are fitted on the training split alone.

| name | output of a feature | output for NaN |
|---|---|---|
| `quantile-normal` | a normal distribution with σ = 1/3, by quantiles (the paper's) | 0, the median |
| `standard` | (x − mean) / standard deviation | 0, the mean |
| `signed-log` | sign(x)·log(1 + abs x), then standard | 0, the mean of the logarithms |
| `query-min-max` | (x − min) / (max − min) within its query | 0, the minimum of the query |
| `query-z-score` | (x − mean) / standard deviation within its query | 0, the mean of the query |
| `query-rank` | the fraction of its query's values below it minus that above | 0, the median of the query |
| `piecewise-linear` | the filled fraction of each of 16 quantile bins | empty bins, an indicator column |
| `in-context` | its value, its z-score and its rank within its query, each in 16 bins | as in these |
| `auto` | unchanged, signed-log or standard, chosen per feature | 0 |
| `none` | unchanged | NaN |

>>> transform = as_transform("auto").fit([[1.0, 0.0], [2.0, 1e6], [3.0, 10.0], [4.0, 1.0]])
>>> transform.choices_
['standard', 'signed-log']
>>> transform.transform([[2.5, float("nan")]])
array([[0., 0.]], dtype=float32)
"""

from directranker.encoding.automatic import AutoTransform
from directranker.encoding.base import FeatureTransform
from directranker.encoding.in_context import InContext, get_bins
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
    "get_bins",
]
