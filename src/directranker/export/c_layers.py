"""The layers of a net in C.

Weights lie in strips of 64 outputs, or of 32 where there are no more, whose sums stay in the processor's
registers while all inputs pass by.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from directranker.description.model import Layer, Net
from directranker.export.c_source import array, number

__all__ = ["layers_source"]

STRIPS = (32, 64)
ACTIVATIONS = {
    "identity": "x",
    "relu": "x > 0.0f ? x : 0.0f",
    "tanh": "tanhf(x)",
    "gelu": "(float)(0.5 * x * (1.0 + erf(x * 0.70710678118654752)))",
    "elu": "x > 0.0f ? x : expm1f(x)",
    "leaky_relu": "x > 0.0f ? x : 0.01f * x",
    "silu": "x / (1.0f + expf(-x))",
    "sigmoid": "1.0f / (1.0f + expf(-x))",
    "softplus": "x > 20.0f ? x : log1pf(expf(x))",
    "softsign": "x / (1.0f + fabsf(x))",
}


def layers_source(model: Net) -> tuple[str, str]:
    """Functions of the layers, and the lines that take columns to the score."""
    functions: list[str] = []
    lines: list[str] = []
    held, n_held = "columns", model.n_columns
    for at, layer in enumerate(model.layers):
        functions.append(_layer(layer, at))
        n_padded = len(layer.bias) + _n_added(len(layer.bias))
        lines += [f"    float hidden_{at}[{n_padded}];", f"    layer_{at}({held}, hidden_{at});"]
        held, n_held = f"hidden_{at}", len(layer.bias)
    kind = "float" if model.head.dtype == np.float32 else "double"
    functions.append(array(kind, "head", model.head))
    lines += [
        f"    {kind} total = 0.0;",
        f"    for (int i = 0; i < {n_held}; i++) total += head[i] * {held}[i];",
        "    return (float)total;",
    ]
    return "\n\n".join(functions), "\n".join(lines)


def _layer(layer: Layer, at: int) -> str:
    n_outputs, n_inputs = layer.weight.shape
    width, n_added = _strip_width(n_outputs), _n_added(n_outputs)
    n_strips = (n_outputs + n_added) // width
    constants = [
        array("float", f"weight_{at}", _strips(layer.weight)),
        array("float", f"bias_{at}", np.pad(layer.bias, (0, n_added))),
    ]
    after = ""
    if layer.normalisation is not None:
        norm = layer.normalisation
        constants += [
            array("float", f"norm_weight_{at}", norm.weight),
            array("float", f"norm_bias_{at}", norm.bias),
        ]
        after = _NORMALISE.format(n=n_outputs, at=at, epsilon=number(norm.epsilon))
    return (
        "\n".join(constants)
        + f"""

static void layer_{at}(const float *inputs, float *outputs) {{
    for (int strip = 0; strip < {n_strips}; strip++) {{
        const float *weight = weight_{at} + strip * {n_inputs * width};
        float sums[{width}];
        for (int j = 0; j < {width}; j++) sums[j] = bias_{at}[strip * {width} + j];
        for (int i = 0; i < {n_inputs}; i++) {{
            const float input = inputs[i];
            if (input == 0.0f) continue;
            for (int j = 0; j < {width}; j++) sums[j] += input * weight[i * {width} + j];
        }}
        for (int j = 0; j < {width}; j++) outputs[strip * {width} + j] = sums[j];
    }}
{after}    for (int j = 0; j < {n_outputs}; j++) {{
        const float x = outputs[j];
        outputs[j] = {ACTIVATIONS[layer.activation]};
    }}
}}"""
    )


def _strips(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n_strips, n_inputs, width) from (n_outputs, n_inputs), with zeros behind the last output."""
    padded = np.pad(weight, ((0, _n_added(len(weight))), (0, 0)))
    return padded.reshape(-1, _strip_width(len(weight)), weight.shape[1]).transpose(0, 2, 1)


def _strip_width(n_outputs: int) -> int:
    """Wide strips hide the latency of additions; narrow layers would be mostly zeros in them."""
    return STRIPS[n_outputs > STRIPS[0]]


def _n_added(n_outputs: int) -> int:
    """How many outputs fill the last strip.

    >>> _n_added(5), _n_added(32), _n_added(65)
    (27, 0, 63)
    """
    return -n_outputs % _strip_width(n_outputs)


_NORMALISE = """    double mean = 0.0, variance = 0.0;
    for (int j = 0; j < {n}; j++) mean += outputs[j] / {n}.0;
    for (int j = 0; j < {n}; j++) variance += (outputs[j] - mean) * (outputs[j] - mean) / {n}.0;
    for (int j = 0; j < {n}; j++) {{
        const double x = (outputs[j] - mean) / sqrt(variance + {epsilon});
        outputs[j] = (float)(x * norm_weight_{at}[j] + norm_bias_{at}[j]);
    }}
"""
