"""Models after steps of scikit-learn, in ONNX and C: the steps first, then the model itself.

Each operation is computed in float64 and rounded to float32, which is exactly what scikit-learn computes of
float32 features.

>>> from sklearn.preprocessing import MaxAbsScaler
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> model = describe_estimator(RankSVM(transform=MaxAbsScaler()).fit(example_dataset()))
>>> model.steps, type(model.model).__name__
("transform 'MaxAbsScaler'", 'Net')
"""

from __future__ import annotations

import copy
import re

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from directranker.arrays import FloatArray
from directranker.description.model import Model
from directranker.description.preparation import Preparation, Prepared, describe_transformer
from directranker.encoding import Unchanged
from directranker.encoding.adapters import RowAdapter
from directranker.errors import ExportError
from directranker.export.c import write_c
from directranker.export.c_source import format_array
from directranker.export.onnx import write_onnx
from directranker.export.onnx_graph import Graph
from directranker.rankers import Ranker

__all__ = ["describe_estimator", "write_prepared_c", "write_prepared_onnx"]

OPERATIONS = (("subtract", "Sub", "-", 0.0), ("divide", "Div", "/", 1.0), ("multiply", "Mul", "*", 1.0),
              ("add", "Add", "+", 0.0))  # fmt: skip
"""The name of each operation, in ONNX and in C, and the value that changes nothing."""


def describe_estimator(estimator: BaseEstimator) -> Model | Prepared:
    """Describe a ranker or a pipeline; raise `ExportError` that names a step without an exact export."""
    if isinstance(estimator, Pipeline):
        return _describe_pipeline(estimator)
    if not isinstance(estimator, Ranker):
        raise ExportError(f"{type(estimator).__name__} is not a ranker, so it cannot be exported")
    transform = getattr(estimator, "transform_", None)
    if not isinstance(transform, RowAdapter):
        return estimator._describe()
    transformer, n_columns = transform.transformer_, transform.n_columns_out_
    preparations = describe_transformer(transformer, estimator.n_features_in_, step="transform")
    steps = f"transform {type(transformer).__name__!r}"
    return Prepared(estimator._feature_names(), preparations, _strip_transform(estimator, n_columns), steps)


def _strip_transform(ranker: Ranker, n_columns: int) -> Model:
    """Describe a ranker of columns that its transform has encoded already."""
    inner = copy.copy(ranker)
    inner.__dict__.pop("feature_names_in_", None)
    inner.__dict__.pop("categories_", None)
    inner.n_features_in_ = n_columns
    inner.transform_ = Unchanged().fit(np.zeros((1, n_columns)))
    return inner._describe()


def _describe_pipeline(pipeline: Pipeline) -> Model | Prepared:
    last = describe_estimator(pipeline.steps[-1][1])
    if len(pipeline.steps) == 1:
        return last
    n_features = pipeline.n_features_in_
    names = getattr(pipeline, "feature_names_in_", [f"feature_{i}" for i in range(1, n_features + 1)])
    before = describe_transformer(pipeline[:-1], n_features, step="")
    steps = ", ".join(f"step {name!r}" for name, _ in pipeline.steps[:-1])
    if isinstance(last, Prepared):
        before, steps, last = (*before, *last.preparations), f"{steps}, {last.steps}", last.model
    return Prepared(tuple(map(str, names)), before, last, steps)


class _PreparationGraph(Graph):
    def _new_name(self) -> str:
        return f"prepared_{len(self.nodes) + len(self.constants) + 1}"


def write_prepared_onnx(model: Prepared, *, name: str) -> bytes:
    """Write the model as an ONNX file, and put the steps before it."""
    import onnx  # noqa: PLC0415 - optional and slow to import

    built = onnx.load_from_string(write_onnx(model.model, name=name))
    graph, value = _PreparationGraph(), "features"
    for preparation in model.preparations:
        value = _add_preparation(graph, value, preparation)
    for node in built.graph.node:
        node.input[:] = [value if one == "features" else one for one in node.input]
    following = list(built.graph.node)
    del built.graph.node[:]
    built.graph.node.extend([*graph.nodes, *following])
    built.graph.initializer.extend(graph.constants)
    built.graph.input[0].type.tensor_type.shape.dim[1].dim_value = len(model.feature_names)
    for entry in built.metadata_props:
        if entry.key == "feature_names":
            entry.value = "\n".join(model.feature_names)
    onnx.checker.check_model(built)
    content: bytes = built.SerializeToString()
    return content


def _add_preparation(graph: Graph, x: str, preparation: Preparation) -> str:
    x = graph.add("Gather", x, graph.constant(preparation.source), axis=1)
    fills = ~np.isnan(preparation.missing)
    if fills.any():
        is_filled = graph.add("And", graph.add("IsNaN", x), graph.constant(fills))
        x = graph.add("Where", is_filled, graph.constant(_fill_values(preparation).astype(np.float32)), x)
    for name, operator, _, neutral in OPERATIONS:
        values = getattr(preparation, name)
        if (values != neutral).any():
            wide = graph.add(operator, graph.cast(x, np.float64), graph.constant(values))
            x = graph.cast(wide, np.float32)
    low, high = (np.asarray(one, dtype=np.float32) for one in (preparation.low, preparation.high))
    if np.isfinite(low).any():  # comparisons with NaN are false, so NaN stays
        for bound, operator in ((low, "Less"), (high, "Greater")):
            limit = graph.constant(bound)
            x = graph.add("Where", graph.add(operator, x, limit), limit, x)
    return x


def _fill_values(preparation: Preparation) -> FloatArray:
    return np.nan_to_num(preparation.missing, nan=0.0)


def write_prepared_c(model: Prepared, *, name: str) -> tuple[str, str]:
    """Write the texts of NAME.h and NAME.c: the model as a static function, after the steps."""
    inner = f"{name}_prepared"
    header, source = write_c(model.model, name=inner)
    n_features = len(model.feature_names)
    header = header.replace(inner.upper(), name.upper()).replace(inner, name)
    header = re.sub(r"(_N_FEATURES) \d+", rf"\1 {n_features}", header)
    source = source.replace(f'#include "{inner}.h"', f'#include "{name}.h"')
    source = source.replace(f"void {inner}_score(", f"static void {inner}_score(")
    functions, calls, value = [], [], f"features + row * {n_features}"
    for index, preparation in enumerate(model.preparations):
        functions.append(_write_preparation(preparation, index))
        calls.append(
            f"        float prepared_{index}[{max(1, len(preparation.source))}];\n"
            f"        prepare_{index}({value}, prepared_{index});\n"
        )
        value = f"prepared_{index}"
    steps = "\n\n".join(functions)
    return header, (
        f"{source}\n{steps}\n\n"
        f"void {name}_score(const float *features, size_t n_documents, float *scores) {{\n"
        "    for (size_t row = 0; row < n_documents; row++) {\n"
        f"{''.join(calls)}        {inner}_score({value}, 1, scores + row);\n    }}\n}}\n"
    )


def _write_preparation(preparation: Preparation, index: int) -> str:
    arrays = [
        format_array("int", f"source_{index}", preparation.source),
        format_array("unsigned char", f"fills_{index}", ~np.isnan(preparation.missing)),
        format_array("float", f"missing_{index}", _fill_values(preparation)),
    ]
    lines = [
        f"        float y = x[source_{index}[i]];",
        f"        if (isnan(y) && fills_{index}[i]) y = missing_{index}[i];",
    ]
    for name, _, operator, neutral in OPERATIONS:
        values = getattr(preparation, name)
        if (values != neutral).any():
            arrays.append(format_array("double", f"{name}_{index}", values))
            lines.append(f"        y = (float)(y {operator} {name}_{index}[i]);")
    if np.isfinite(preparation.low).any():
        for name, operator in (("low", "<"), ("high", ">")):
            arrays.append(format_array("double", f"{name}_{index}_bound", getattr(preparation, name)))
            lines.append(
                f"        if (y {operator} {name}_{index}_bound[i]) y = (float){name}_{index}_bound[i];"
            )
    body = "\n".join(lines)
    return "\n".join(arrays) + (
        f"\n\nstatic void prepare_{index}(const float *x, float *prepared) {{\n"
        f"    for (int i = 0; i < {len(preparation.source)}; i++) {{\n{body}\n"
        "        prepared[i] = y;\n    }\n}"
    )
