"""The DirectRanker as torch modules: the feature net f, and the head o₁ that makes its comparisons an order.

>>> import torch
>>> net = DirectRankerNet.build((3,), hidden_layers=(8,), head_activation="half_tanh", random_state=0)
>>> X = torch.rand(4, 3)
>>> net.compare(X, X).tolist()
[0.0, 0.0, 0.0, 0.0]
"""

from directranker.nn.direct_ranker_net import DirectRankerNet
from directranker.nn.feature_nets import BuiltFeatureNet, build_feature_net, infer_output_width, seeded
from directranker.nn.odd_activations import ODD_ACTIVATIONS, resolve_odd_activation
from directranker.nn.perceptron import FEATURE_ACTIVATIONS, NORMALISATIONS, feature_mlp
from directranker.nn.ranking_head import RankingHead, compare_scores

__all__ = [
    "FEATURE_ACTIVATIONS",
    "NORMALISATIONS",
    "ODD_ACTIVATIONS",
    "BuiltFeatureNet",
    "DirectRankerNet",
    "RankingHead",
    "build_feature_net",
    "compare_scores",
    "feature_mlp",
    "infer_output_width",
    "resolve_odd_activation",
    "seeded",
]
