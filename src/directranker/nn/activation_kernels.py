"""What a layer does to its numbers after the matrix product, in place, compiled, forward and backward.

A tanh is e^2x by a polynomial, and its slope is taken from what it gave. So is that of a rectifier, even with
dropout: a number that was kept and passed is above 0, any other is 0. Dropout takes its random bits from a
hash of the place and of two keys, several times as fast as a generator that draws one after another.

>>> values = np.array([-9.0, 0.0, 0.3], dtype=np.float32)
>>> take_tanh(values)
>>> values.round(3).tolist()
[-1.0, 0.0, 0.29100000858306885]
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from directranker.compilation import compiled

__all__ = [
    "Floats",
    "pull_through_tanh",
    "rectify_and_drop",
    "spread_through_rectifier",
    "take_tanh",
]

BLOCK = 2048  # numbers at a time, which stay in the nearest cache
ROWS = 64  # documents whose gradients are summed in float32
LARGEST = np.float32(9.1)  # beyond it the tanh of a float32 is 1
TWICE_LOG2_E = np.float32(2 / math.log(2))
# 2^f for |f| ≤ ½ is Σ (f log 2)^n / n!, up to the digits of a float32.
C1, C2, C3, C4, C5, C6 = (np.float32(math.log(2) ** n / math.factorial(n)) for n in range(1, 7))
ZERO, ONE = np.float32(0), np.float32(1)
MAGIC = np.float32(1.5 * 2**23)  # what is added to it is rounded to a whole number
EXPONENT_OF_ONE, MANTISSA_BITS = np.int32(127), np.int32(23)

# Odd numbers whose multiples spread over all bits: MurmurHash3's finaliser has them.
SPREAD, SPREAD_AGAIN = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
HALF, LESS_THAN_HALF = np.uint32(16), np.uint32(13)

Floats = NDArray[np.float32]


def take_tanh(values: Floats) -> None:
    """Put the tanh of each number in its place; NaN stays."""
    powers = np.empty(min(BLOCK, len(values)), dtype=np.int32)
    tanh_in_place(values, powers, powers.view(np.float32))


@compiled
def tanh_in_place(values: Floats, powers: NDArray[np.int32], factors: Floats) -> None:
    """The same; `powers` and `factors` are the same memory, for the bits of a power of two."""
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK]
        for at in range(len(block)):
            x = min(max(block[at], -LARGEST), LARGEST) * TWICE_LOG2_E
            whole = (x + MAGIC) - MAGIC
            f = x - whole
            powers[at] = (np.int32(whole) + EXPONENT_OF_ONE) << MANTISSA_BITS
            block[at] = ((((((C6 * f + C5) * f + C4) * f + C3) * f + C2) * f + C1) * f) + ONE
        for at in range(len(block)):
            e = block[at] * factors[at]
            block[at] = (e - ONE) / (e + ONE)


@compiled
def pull_through_tanh(pulls: Floats, outputs: Floats) -> None:
    """Multiply each number by the slope of the tanh that gave `outputs`."""
    for at in range(len(pulls)):
        pulls[at] *= ONE - outputs[at] * outputs[at]


@compiled
def rectify_and_drop(
    values: Floats, dropped: np.uint32, factor: np.float32, key: np.uint32, other_key: np.uint32
) -> None:
    """Put 0 for what is below and for about `dropped` of 2³² others; `factor` times the rest; NaN stays."""
    for at in range(len(values)):
        bits = np.uint32(np.uint32(at) + key)
        bits ^= bits >> HALF
        bits = np.uint32(bits * SPREAD) ^ other_key
        bits ^= bits >> LESS_THAN_HALF
        bits = np.uint32(bits * SPREAD_AGAIN)
        bits ^= bits >> HALF
        bits = np.uint32(bits * SPREAD)
        bits ^= bits >> LESS_THAN_HALF
        value = values[at]
        passed = ZERO if value <= ZERO else value * factor
        values[at] = passed * ZERO if bits < dropped else passed


@compiled
def spread_through_rectifier(
    pulls: Floats,
    head: Floats,
    outputs: NDArray[np.float32],
    factor: np.float32,
    spread: NDArray[np.float32],
    of_head: NDArray[np.float64],
    of_bias: NDArray[np.float64],
) -> None:
    """Write what a head hands back, each document's pull times each weight, pulled through the rectifier.

    The slope is `factor` where `outputs` are above 0, else 0.

    The gradients of the head's weights and of the layer's biases are added to `of_head` and `of_bias`:
    float32 within a block of documents, as it is faster, float64 over all.
    """
    of_block, written = np.empty_like(head), np.empty_like(head)
    for start in range(0, len(pulls), ROWS):
        of_block[:], written[:] = ZERO, ZERO
        for row in range(start, min(start + ROWS, len(pulls))):
            pull, output, onto = pulls[row], outputs[row], spread[row]
            steep = pull * factor
            for at in range(len(head)):
                handed = steep * head[at] if output[at] > ZERO else ZERO
                onto[at] = handed
                written[at] += handed
                of_block[at] += pull * output[at]
        for at in range(len(head)):
            of_head[at] += of_block[at]
            of_bias[at] += written[at]
