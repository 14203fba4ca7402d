"""Activations and dropout after a layer's matrix product, in place, compiled, forward and backward.

tanh is computed from a polynomial for e^2x, and its derivative from its output. So is the derivative of ReLU,
even with dropout: the output is above 0 where a value passed and was kept, and 0 elsewhere. Dropout hashes
the index and two keys into random bits, several times as fast as a sequential generator.

>>> values = np.array([-9.0, 0.0, 0.3], dtype=np.float32)
>>> forward_tanh(values)
>>> values.round(3).tolist()
[-1.0, 0.0, 0.29100000858306885]
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Float32Array, FloatArray
from directranker.compilation import compiled

__all__ = [
    "backward_head_and_relu",
    "backward_tanh",
    "forward_relu_dropout",
    "forward_tanh",
]

BLOCK = 2048  # numbers per block, which stay in the L1 cache
BLOCK_ROWS = 64  # documents per block, whose gradients are summed in float32
MAX_INPUT = np.float32(9.1)  # above it the tanh of a float32 is 1
TWICE_LOG2_E = np.float32(2 / math.log(2))
# 2^f for |f| ≤ ½ is Σ (f log 2)^n / n!, up to the digits of a float32.
C1, C2, C3, C4, C5, C6 = (np.float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
ZERO, ONE = np.float32(0), np.float32(1)
MAGIC = np.float32(1.5 * 2**23)  # adding and subtracting it rounds to a whole number
EXPONENT_OF_ONE, MANTISSA_BITS = np.int32(127), np.int32(23)

# Constants of MurmurHash3's finaliser.
MULTIPLIER, OTHER_MULTIPLIER = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
SHIFT, OTHER_SHIFT = np.uint32(16), np.uint32(13)


def forward_tanh(values: Float32Array) -> None:
    """Replace each value by its tanh; NaN stays NaN."""
    powers = np.empty(min(BLOCK, len(values)), dtype=np.int32)
    compute_tanh(values, powers, powers.view(np.float32))


@compiled
def compute_tanh(values: Float32Array, powers: NDArray[np.int32], factors: Float32Array) -> None:
    """Replace each value by its tanh; `powers` and `factors` view the same memory, for powers of two."""
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        for index in range(len(block)):
            x = min(max(block[index], -MAX_INPUT), MAX_INPUT) * TWICE_LOG2_E
            whole = (x + MAGIC) - MAGIC
            f = x - whole
            powers[index] = (np.int32(whole) + EXPONENT_OF_ONE) << MANTISSA_BITS
            block[index] = ((((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f) + ONE
        for index in range(len(block)):
            e = block[index] * factors[index]
            block[index] = (e - ONE) / (e + ONE)


@compiled
def backward_tanh(gradient: Float32Array, outputs: Float32Array) -> None:
    """Multiply the gradient by the derivative of tanh, computed from its outputs."""
    for index in range(len(gradient)):
        gradient[index] *= ONE - outputs[index] * outputs[index]


@compiled
def forward_relu_dropout(
    values: Float32Array, dropped: np.uint32, factor: np.float32, key: np.uint32, other_key: np.uint32
) -> None:
    """Apply ReLU, zero about `dropped` of 2³² values and multiply the others by `factor`; NaN stays NaN."""
    for index in range(len(values)):
        bits = np.uint32(np.uint32(index) + key)
        bits ^= bits >> SHIFT
        bits = np.uint32(bits * MULTIPLIER) ^ other_key
        bits ^= bits >> OTHER_SHIFT
        bits = np.uint32(bits * OTHER_MULTIPLIER)
        bits ^= bits >> SHIFT
        bits = np.uint32(bits * MULTIPLIER)
        bits ^= bits >> OTHER_SHIFT
        value = values[index]
        passed = ZERO if value <= ZERO else value * factor
        values[index] = passed * ZERO if bits < dropped else passed


@compiled
def backward_head_and_relu(
    score_gradient: Float32Array,
    head: Float32Array,
    outputs: Float32Array,
    factor: np.float32,
    layer_gradient: Float32Array,
    head_gradient: FloatArray,
    bias_gradient: FloatArray,
) -> None:
    """Write the gradient of the last layer's sums: score gradient × head weight × derivative of the ReLU.

    The derivative is `factor` where `outputs` are above 0, else 0. The gradients of the head's weights and of
    the layer's biases are added to `head_gradient` and `bias_gradient`: in float32 within a block of
    documents, which is faster, in float64 over all.
    """
    head_sums, bias_sums = np.empty_like(head), np.empty_like(head)
    for start in range(0, len(score_gradient), BLOCK_ROWS):
        head_sums[:], bias_sums[:] = ZERO, ZERO
        for row in range(start, min(start + BLOCK_ROWS, len(score_gradient))):
            slope, output, out = score_gradient[row], outputs[row], layer_gradient[row]
            scaled = slope * factor
            for index in range(len(head)):
                value = scaled * head[index] if output[index] > ZERO else ZERO
                out[index] = value
                bias_sums[index] += value
                head_sums[index] += slope * output[index]
        for index in range(len(head)):
            head_gradient[index] += head_sums[index]
            bias_gradient[index] += bias_sums[index]
