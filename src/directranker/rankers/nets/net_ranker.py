"""Rankers whose scores are computed by a net: by torch, or without torch for a perceptron.

Either way the score of a document has the same bits in any batch, so that comparisons are an order.

Torch takes seconds to import. So a loaded ranker keeps its weights as arrays, and builds the torch module on
first access to `net_`.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, Float32Array, FloatArray, IntArray
from directranker.description.model import Model, Net
from directranker.metrics import Metric
from directranker.rankers.finite_scores import saturate
from directranker.rankers.nets.perceptron_scores import (
    ACTIVATIONS,
    CachedScorer,
    PerceptronScorer,
    compute_layer_shapes,
    is_batch_count,
)
from directranker.rankers.nets.trusted_nets import deserialise_net, serialise_net
from directranker.rankers.transforming import TransformingRanker, as_row_transform, count_columns

if TYPE_CHECKING:
    from directranker.nn import DirectRankerNet

__all__ = ["AUTO", "NetRanker", "resolve_batch_queries", "resolve_layers"]

AUTO = "auto"
WIDTHS = (256, 128)
BATCH_QUERIES, MAX_STEPS_PER_EPOCH = 32, 2000
MAX_ENCODED_BYTES = 16 << 20  # of features that torch scores at a time
MAX_MULTIPLICATIONS = 2e10  # of the first layer in an epoch, for which a wide net is fast enough


def resolve_layers(hidden_layers: Sequence[int] | int | str, *, n_documents: int, n_columns: int) -> Any:
    """Return the given widths; for `"auto"` one layer, wider on small data.

    On small data a wide net that is trained for few epochs acts like an average of many nets, and has less
    variance than a narrow one. On large data it is only slower.

    >>> resolve_layers("auto", n_documents=9_000, n_columns=400)
    (256,)
    >>> resolve_layers("auto", n_documents=700_000, n_columns=2_000)
    (128,)
    >>> resolve_layers(64, n_documents=9_000, n_columns=400)
    (64,)
    """
    if isinstance(hidden_layers, str):
        if hidden_layers != AUTO:
            raise ValueError(f"hidden_layers is {hidden_layers!r}; give widths, such as (64, 32), or 'auto'")
        work = n_documents * n_columns
        return (next((width for width in WIDTHS if width * work <= MAX_MULTIPLICATIONS), WIDTHS[-1]),)
    return as_widths(hidden_layers)


def resolve_batch_queries(
    batch_queries: int | tuple[int, int] | str, n_queries: int
) -> int | tuple[int, int]:
    """Return the given number of queries per step; for `"auto"` 32, or more where there are many queries.

    >>> resolve_batch_queries("auto", 6_000), resolve_batch_queries("auto", 500_000)
    (32, 250)
    """
    if isinstance(batch_queries, str):
        return max(BATCH_QUERIES, -(-n_queries // MAX_STEPS_PER_EPOCH))
    return batch_queries


def as_widths(hidden_layers: Any) -> Any:
    """Convert a single width to a tuple; invalid widths raise where the net is built."""
    return (hidden_layers,) if isinstance(hidden_layers, Integral) else hidden_layers


class NetRanker(TransformingRanker):
    """A ranker with a net and the parameters of a perceptron; a subclass builds and trains the net."""

    hidden_layers: Sequence[int] | int | str
    activation: Any
    bias: bool
    normalisation: str | None
    feature_net: Any

    @abstractmethod
    def build_net(self, *, random_state: int | None = None) -> DirectRankerNet:
        """Build the net for the encoded features, with random weights."""

    @abstractmethod
    def _input_shape(self) -> tuple[int, ...]:
        """Return the shape of an encoded document, as the net gets it."""

    @property
    def net_(self) -> DirectRankerNet:
        """The trained net; a loaded ranker builds it from its weights on first access."""
        if "_weights" in self.__dict__:
            self._net = self._build_with_weights(self._weights)
            del self._weights
        if "_net" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no net_; call fit first")
        return self._net

    @net_.setter
    def net_(self, net: DirectRankerNet) -> None:
        self.__dict__.pop("_weights", None)
        self._net = net

    _unsaved_parameters = TransformingRanker._unsaved_parameters | {"teacher"}

    def _fitted_state(self) -> dict[str, object]:
        weights = {name: tensor.numpy() for name, tensor in self.net_.state_dict().items()}
        return {**super()._fitted_state(), "net_": weights}

    def _restore(self, state: Mapping[str, Any]) -> None:
        state = dict(state)
        weights = state.pop("net_")
        super()._restore(state)
        self.load_weights(weights)

    def _saved_parameter(self, name: str, value: object) -> object:
        return serialise_net(value) if name == "feature_net" else super()._saved_parameter(name, value)

    @classmethod
    def _from_saved_parameters(cls, saved: Mapping[str, Any], trust: Sequence[type]) -> Self:
        if saved.get("feature_net") is not None:
            saved = {**saved, "feature_net": deserialise_net(saved["feature_net"], trust)}
        return super()._from_saved_parameters(saved, trust)

    def _describe(self) -> Model:
        from directranker.description.layers import read_layers  # noqa: PLC0415 - slow to import

        head = self.net_.head.weight.detach().numpy()
        return Net(**self._describe_inputs(), layers=read_layers(self.net_.feature_net), head=head)

    def _column_contributions(
        self, encoded: FloatArray, pairs: IntArray, n_steps: int
    ) -> tuple[FloatArray, str]:
        from directranker.rankers.nets.integrated_gradients import integrated_gradients  # noqa: PLC0415 - slow to import

        shape = getattr(self, "input_shape_", (encoded.shape[1],))
        contributions = integrated_gradients(self.net_, encoded, pairs, shape=shape, n_steps=n_steps)
        return contributions, "integrated gradients"

    def _parameters_for_metric(self, metric: Metric) -> dict[str, object]:
        parameters = super()._parameters_for_metric(metric)
        if str(self.get_params(deep=False).get("pair_weight")).startswith("delta_"):
            if metric.measure == "ndcg":
                parameters["pair_weight"] = f"delta_ndcg{'' if metric.k is None else f'@{metric.k}'}"
            elif metric.measure == "average_precision":
                parameters["pair_weight"] = "delta_map"
        return parameters

    _warm_up_parameters = {"max_epochs": 1, "max_steps": 2}  # noqa: RUF012 - as in the contract

    def load_weights(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Set the weights, named as in `net_.state_dict()`; the transform must be fitted.

        Where rows can be scored without torch, this only checks names and shapes; the net is built on first
        access.
        """
        width = len(weights["head.weight"]) if "head.weight" in weights else 0
        self.hidden_layers_ = (width,) if self.hidden_layers == AUTO else as_widths(self.hidden_layers)
        if not self._is_perceptron:
            self.net_ = self._build_with_weights(weights)
            return
        # A saved count has the shape (1,): saved arrays have at least one dimension.
        weights = {
            name: array.reshape(()) if is_batch_count(name, array) else array
            for name, array in weights.items()
        }
        expected = self._compute_layer_shapes()
        shapes = {name: array.shape for name, array in weights.items()}
        if shapes != expected or any(array.dtype != np.float32 for array in weights.values() if array.ndim):
            raise ValueError(f"the weights have shapes {shapes}; these parameters need {expected}")
        self.__dict__.pop("_net", None)
        self._weights = weights

    @property
    def _is_perceptron(self) -> bool:
        """Whether the net is a perceptron that is scored without torch."""
        has_known_activation = isinstance(self.activation, str) and self.activation in ACTIVATIONS
        return has_known_activation and self.feature_net is None

    def _compute_layer_shapes(self) -> dict[str, tuple[int, ...]]:
        return compute_layer_shapes(
            count_columns(self.transform_),
            self.hidden_layers_,
            bias=self.bias,
            normalisation=self.normalisation,
        )

    def _build_with_weights(self, weights: Mapping[str, NDArray[Any]]) -> DirectRankerNet:
        import torch  # noqa: PLC0415 - slow to import

        with torch.device("meta"):  # allocates no memory for the claimed shapes of a saved model
            net = self.build_net()
        net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, assign=True)
        return net.eval()

    def _scores(self, table: Features, query: IntArray) -> Float32Array:
        table = self._add_statistics(table)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._score_in_float32(table, query)
        overflowed = np.flatnonzero(~np.isfinite(scores))
        if len(overflowed):
            scores[overflowed] = self._score_in_float64(table, query, overflowed)
        return scores

    def _score_in_float64(self, table: Features, query: IntArray, rows: IntArray) -> Float32Array:
        """Score these rows one by one, where sums overflow in float32."""
        import torch  # noqa: PLC0415 - slow to import

        net = copy.deepcopy(self.net_).double().eval()
        table, transform = as_row_transform(self.transform_, table, query)
        encoded = transform.transform(table[rows]).astype(np.float64).reshape(-1, 1, *self._input_shape())
        with torch.no_grad():
            return saturate(np.array([net(torch.from_numpy(row)).item() for row in encoded]))

    def _score_in_float32(self, table: Features, query: IntArray) -> Float32Array:
        scorer = self._get_scorer()
        return self._score_by_torch(table, query) if scorer is None else scorer(table, query)

    def _score_by_torch(self, table: Features, query: IntArray) -> Float32Array:
        import torch  # noqa: PLC0415 - slow to import

        from directranker.rankers.nets.torch_scores import score_with_torch  # noqa: PLC0415 - slow to import

        table, transform = as_row_transform(self.transform_, table, query)
        net, shape, scores = self.net_.eval(), self._input_shape(), np.empty(len(table), dtype=np.float32)
        block_rows = max(1, MAX_ENCODED_BYTES // (4 * math.prod(shape)))
        for start in range(0, len(table), block_rows):
            rows = slice(start, start + block_rows)
            # A copy, since torch warns about read-only memory.
            encoded = np.array(transform.transform(table[rows]), dtype=np.float32, order="C")
            scores[rows] = score_with_torch(net, torch.from_numpy(encoded).reshape(-1, *shape))
        return scores

    def _get_scorer(self) -> PerceptronScorer | None:
        """Return the scorer that needs no torch; None where torch must score."""
        if not self._is_perceptron:
            return None
        weights = self.__dict__.get("_weights")
        if weights is None:
            weights = {name: tensor.cpu().numpy() for name, tensor in self.net_.state_dict().items()}
        cached = _SCORERS.get(self)
        if cached is None or not cached.matches(weights, self.transform_):
            shapes = self._compute_layer_shapes()
            cached = _SCORERS[self] = CachedScorer.build(weights, self.transform_, self.activation, shapes)
        return cached.scorer


# Not an attribute of the rankers: predict must not change an estimator.
_SCORERS: WeakKeyDictionary[NetRanker, CachedScorer] = WeakKeyDictionary()
