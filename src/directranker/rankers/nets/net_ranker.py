"""Rankers whose score is that of a net: by torch, or without it where the net is a plain perceptron.

Either way the score of a document has the same bits in any batch, so that comparisons are an order.

Torch takes seconds to import. So a loaded ranker keeps its weights as arrays, and makes a torch module of
them when one is asked for.
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

from directranker.arrays import FloatArray, IntArray
from directranker.data.checking import Features
from directranker.description.columns import describe_columns
from directranker.description.model import Model, Net
from directranker.metrics import Metric
from directranker.rankers.finite_scores import saturated
from directranker.rankers.nets.perceptron_scores import (
    ACTIVATIONS,
    KnownScorer,
    PerceptronScorer,
    is_count,
    layer_shapes,
)
from directranker.rankers.nets.trusted_nets import net_from_words, words_of_net
from directranker.rankers.transforming import TransformingRanker, n_columns_of, row_by_row

# ruff: noqa: PLC0415 - torch is imported where it is needed.
if TYPE_CHECKING:
    from directranker.nn import DirectRankerNet

__all__ = ["AUTO", "NetRanker", "resolve_batch_queries", "resolve_layers"]

AUTO = "auto"
WIDTHS = (256, 128)
BATCH_QUERIES, MAX_STEPS_PER_EPOCH = 32, 2000
ENCODED_BYTES = 16 << 20  # of features that torch scores at a time
MULTIPLICATIONS = 2e10  # of the first layer in an epoch, up to which a wider net is worth its time


def resolve_layers(hidden_layers: Sequence[int] | int | str, *, n_documents: int, n_columns: int) -> Any:
    """The widths that are given; for `"auto"` one layer, the wider the less there is to learn from.

    On small data a wide net that learns for few epochs is like a mean of many nets, and steadier than a
    narrow one; on large data it only takes longer.

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
        return (next((width for width in WIDTHS if width * work <= MULTIPLICATIONS), WIDTHS[-1]),)
    return given_layers(hidden_layers)


def resolve_batch_queries(
    batch_queries: int | tuple[int, int] | str, n_queries: int
) -> int | tuple[int, int]:
    """The given number of queries per step; for `"auto"` 32, or more where an epoch would have many steps.

    >>> resolve_batch_queries("auto", 6_000), resolve_batch_queries("auto", 500_000)
    (32, 250)
    """
    if isinstance(batch_queries, str):
        return max(BATCH_QUERIES, -(-n_queries // MAX_STEPS_PER_EPOCH))
    return batch_queries


def given_layers(hidden_layers: Any) -> Any:
    """A single width as a tuple; what is no width is refused where the net is built."""
    return (hidden_layers,) if isinstance(hidden_layers, Integral) else hidden_layers


class NetRanker(TransformingRanker):
    """A ranker with a net, and with the parameters of a perceptron; a subclass trains it and builds it."""

    hidden_layers: Sequence[int] | int | str
    activation: Any
    bias: bool
    normalisation: str | None
    feature_net: Any

    @abstractmethod
    def build_net(self, *, random_state: int | None = None) -> DirectRankerNet:
        """The net for what the fitted transform makes of the features, with weights at random."""

    @abstractmethod
    def _input_shape(self) -> tuple[int, ...]:
        """The shape of a document as the net gets it."""

    @property
    def net_(self) -> DirectRankerNet:
        """The trained net; that of a loaded ranker is made of its weights when it is first asked for."""
        if "_weights" in self.__dict__:
            self._net = self._net_of(self._weights)
            del self._weights
        if "_net" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no net_ before it is fitted")
        return self._net

    @net_.setter
    def net_(self, net: DirectRankerNet) -> None:
        self.__dict__.pop("_weights", None)
        self._net = net

    _unsaved_parameters = TransformingRanker._unsaved_parameters | {"teacher"}

    def _fitted_state(self) -> dict[str, Any]:
        weights = {name: tensor.numpy() for name, tensor in self.net_.state_dict().items()}
        return {**super()._fitted_state(), "net_": weights}

    def _restore(self, state: Mapping[str, Any]) -> None:
        state = dict(state)
        weights = state.pop("net_")
        super()._restore(state)
        self.take_weights(weights)

    def _saved_parameter(self, name: str, value: Any) -> Any:
        return words_of_net(value) if name == "feature_net" else super()._saved_parameter(name, value)

    @classmethod
    def _from_saved_parameters(cls, saved: Mapping[str, Any], trust: Sequence[type]) -> Self:
        if saved.get("feature_net") is not None:
            saved = {**saved, "feature_net": net_from_words(saved["feature_net"], trust)}
        return super()._from_saved_parameters(saved, trust)

    def _describe(self) -> Model:
        from directranker.description.layers import read_layers

        columns, n_columns = describe_columns(self.transform_)
        head = self.net_.head.weight.detach().numpy()
        return Net(self._feature_names(), columns, n_columns, read_layers(self.net_.feature_net), head)

    def _column_contributions(
        self, encoded: FloatArray, pairs: IntArray, n_steps: int
    ) -> tuple[FloatArray, str]:
        from directranker.rankers.nets.integrated_gradients import integrated_gradients

        shape = getattr(self, "input_shape_", (encoded.shape[1],))
        parts = integrated_gradients(self.net_, encoded, pairs, shape=shape, n_steps=n_steps)
        return parts, "integrated gradients"

    def _parameters_for_metric(self, metric: Metric) -> dict[str, Any]:
        parameters = super()._parameters_for_metric(metric)
        if str(self.get_params(deep=False).get("pair_weight")).startswith("delta_"):
            if metric.measure == "ndcg":
                parameters["pair_weight"] = f"delta_ndcg{'' if metric.k is None else f'@{metric.k}'}"
            elif metric.measure == "average_precision":
                parameters["pair_weight"] = "delta_map"
        return parameters

    _warm_up_parameters = {"max_epochs": 1, "max_steps": 2}  # noqa: RUF012 - as in the contract

    def take_weights(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Have a net of these weights, by their names in `net_.state_dict()`, once the transform is fitted.

        Where rows can be scored without torch, their names and shapes are checked and the net is made when
        it is first asked for.
        """
        width = len(weights["head.weight"]) if "head.weight" in weights else 0
        self.hidden_layers_ = (width,) if self.hidden_layers == AUTO else given_layers(self.hidden_layers)
        if not self._is_plain:
            self.net_ = self._net_of(weights)
            return
        # A saved count has the shape (1,): what is saved has at least one dimension.
        weights = {
            name: array.reshape(()) if is_count(name, array) else array for name, array in weights.items()
        }
        shapes = self._layer_shapes()
        found = {name: array.shape for name, array in weights.items()}
        if found != shapes or any(array.dtype != np.float32 for array in weights.values() if array.ndim):
            raise ValueError(f"the weights have shapes {found}; for these parameters they are {shapes}")
        self.__dict__.pop("_net", None)
        self._weights = weights

    @property
    def _is_plain(self) -> bool:
        """Whether the net is a perceptron that needs no torch to score."""
        known = isinstance(self.activation, str) and self.activation in ACTIVATIONS
        return known and self.feature_net is None

    def _layer_shapes(self) -> dict[str, tuple[int, ...]]:
        return layer_shapes(
            n_columns_of(self.transform_),
            self.hidden_layers_,
            bias=self.bias,
            normalisation=self.normalisation,
        )

    def _net_of(self, weights: Mapping[str, NDArray[Any]]) -> DirectRankerNet:
        import torch

        with torch.device("meta"):  # no memory for shapes that parameters only claim
            net = self.build_net()
        net.load_state_dict({name: torch.tensor(array) for name, array in weights.items()}, assign=True)
        return net.eval()

    def _scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._float32_scores(table, query)
        overflown = np.flatnonzero(~np.isfinite(scores))
        if len(overflown):
            scores[overflown] = self._float64_scores(table, query, overflown)
        return scores

    def _float64_scores(self, table: Features, query: IntArray, rows: IntArray) -> NDArray[np.float32]:
        """Scores of these rows, each by itself, where sums in float32 overflow."""
        import torch

        net = copy.deepcopy(self.net_).double().eval()
        table, transform = row_by_row(self.transform_, table, query)
        encoded = transform.transform(table[rows]).astype(np.float64).reshape(-1, 1, *self._input_shape())
        with torch.no_grad():
            return saturated(np.array([net(torch.from_numpy(row)).item() for row in encoded]))

    def _float32_scores(self, table: Features, query: IntArray) -> NDArray[np.float32]:
        scorer = self._scorer()
        if scorer is not None:
            return scorer(table, query)
        import torch

        from directranker.rankers.nets.torch_scores import scores_of_rows

        table, transform = row_by_row(self.transform_, table, query)
        net, shape, scores = self.net_.eval(), self._input_shape(), np.empty(len(table), dtype=np.float32)
        at_a_time = max(1, ENCODED_BYTES // (4 * math.prod(shape)))
        for start in range(0, len(table), at_a_time):
            rows = slice(start, start + at_a_time)
            # A copy, as torch warns of memory that may only be read.
            encoded = np.array(transform.transform(table[rows]), dtype=np.float32, order="C")
            scores[rows] = scores_of_rows(net, torch.from_numpy(encoded).reshape(-1, *shape))
        return scores

    def _scorer(self) -> PerceptronScorer | None:
        """What scores without torch; None where torch must do it."""
        if not self._is_plain:
            return None
        weights = self.__dict__.get("_weights")
        if weights is None:
            weights = {name: tensor.cpu().numpy() for name, tensor in self.net_.state_dict().items()}
        known = _SCORERS.get(self)
        if known is None or not known.is_of(weights, self.transform_):
            shapes = self._layer_shapes()
            known = _SCORERS[self] = KnownScorer.make(weights, self.transform_, self.activation, shapes)
        return known.scorer


# Not kept in the rankers themselves: predicting does not change an estimator, and copies need none.
_SCORERS: WeakKeyDictionary[NetRanker, KnownScorer] = WeakKeyDictionary()
