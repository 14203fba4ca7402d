"""The layers of a net in C.

Weights are stored in strips of 64 outputs, or of 32 in narrow layers. The sums of a strip stay in the
processor's registers while the loop over the inputs runs.
"""

from __future__ import annotations

import numpy as np

from directranker.arrays import Float32Array
from directranker.description.model import Layer, Net
from directranker.export.c_source import format_array, format_number

__all__ = ["write_layers"]

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


def write_layers(model: Net) -> tuple[str, str]:
    """Write the functions of the layers, and the lines that compute the score from the columns."""
    functions: list[str] = []
    lines: list[str] = []
    values, n_values = "columns", model.n_columns
    for index, layer in enumerate(model.layers):
        functions.append(_write_layer(layer, index))
        n_padded = len(layer.bias) + _count_padding(len(layer.bias))
        lines += [f"    float hidden_{index}[{n_padded}];", f"    layer_{index}({values}, hidden_{index});"]
        values, n_values = f"hidden_{index}", len(layer.bias)
    kind = "float" if model.head.dtype == np.float32 else "double"
    functions.append(format_array(kind, "head", model.head))
    lines += [
        f"    {kind} total = 0.0;",
        f"    for (int i = 0; i < {n_values}; i++) total += head[i] * {values}[i];",
        "    return (float)total;",
    ]
    return "\n\n".join(functions), "\n".join(lines)


def _write_layer(layer: Layer, index: int) -> str:
    n_outputs, n_inputs = layer.weight.shape
    width, n_padding = _select_width(n_outputs), _count_padding(n_outputs)
    n_strips = (n_outputs + n_padding) // width
    constants = [
        format_array("float", f"weight_{index}", _pack_strips(layer.weight)),
        format_array("float", f"bias_{index}", np.pad(layer.bias, (0, n_padding))),
    ]
    after = ""
    if layer.normalisation is not None:
        norm = layer.normalisation
        constants += [
            format_array("float", f"norm_weight_{index}", norm.weight),
            format_array("float", f"norm_bias_{index}", norm.bias),
        ]
        after = _NORMALISE.format(n=n_outputs, index=index, epsilon=format_number(norm.epsilon))
    return (
        "\n".join(constants)
        + f"""

static void layer_{index}(const float *inputs, float *outputs) {{
    for (int strip = 0; strip < {n_strips}; strip++) {{
        const float *weight = weight_{index} + strip * {n_inputs * width};
        float sums[{width}];
        for (int j = 0; j < {width}; j++) sums[j] = bias_{index}[strip * {width} + j];
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


def _pack_strips(weight: Float32Array) -> Float32Array:
    """Pack weights of (n_outputs, n_inputs) into (n_strips, n_inputs, width), padded with zeros."""
    padded = np.pad(weight, ((0, _count_padding(len(weight))), (0, 0)))
    return padded.reshape(-1, _select_width(len(weight)), weight.shape[1]).transpose(0, 2, 1)


def _select_width(n_outputs: int) -> int:
    """Select wide strips, which hide the latency of additions, except for narrow layers."""
    return STRIPS[n_outputs > STRIPS[0]]


def _count_padding(n_outputs: int) -> int:
    """Count the outputs that pad the last strip.

    >>> _count_padding(5), _count_padding(32), _count_padding(65)
    (27, 0, 63)
    """
    return -n_outputs % _select_width(n_outputs)


_NORMALISE = """    double mean = 0.0, variance = 0.0;
    for (int j = 0; j < {n}; j++) mean += outputs[j] / {n}.0;
    for (int j = 0; j < {n}; j++) variance += (outputs[j] - mean) * (outputs[j] - mean) / {n}.0;
    for (int j = 0; j < {n}; j++) {{
        const double x = (outputs[j] - mean) / sqrt(variance + {epsilon});
        outputs[j] = (float)(x * norm_weight_{index}[j] + norm_bias_{index}[j]);
    }}
"""
