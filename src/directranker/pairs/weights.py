"""How much a pair counts, by name: not at all differently, by its labels, or by what swapping it changes.

    None               every pair counts the same
    label_difference   y_i − y_j
    delta_ndcg         |ΔNDCG| when the two swap places; `delta_ndcg@10` looks at the first 10 ranks
    delta_map          |Δ average precision|, likewise

The last two are in `swaps`. Weights are constants to the gradient.

>>> pair_weight_named("delta_ndcg@10")
PairWeight(name='delta_ndcg', k=10)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.suggestions import describe_unknown_name

__all__ = ["BY_LABELS", "BY_SWAP", "NO_WEIGHT", "PAIR_WEIGHTS", "PairWeight", "pair_weight_named"]

PAIR_WEIGHTS: Sequence[str] = ("label_difference", "delta_ndcg", "delta_map")
NO_WEIGHT, BY_LABELS, BY_SWAP = range(3)


@dataclass(frozen=True)
class PairWeight:
    """A named weight of pairs; `k` is the cutoff of ΔNDCG, None for the whole list."""

    name: str
    k: int | None = None

    @property
    def code(self) -> int:
        """What kernels know it by."""
        return BY_LABELS if self.name == "label_difference" else BY_SWAP


def pair_weight_named(word: str) -> PairWeight:
    """A weight by its name; `delta_ndcg` may have a cutoff.

    >>> pair_weight_named("delta_ndgc@5")
    Traceback (most recent call last):
    ValueError: pair_weight 'delta_ndgc' is unknown; did you mean 'delta_ndcg'? Choose from
    'label_difference', 'delta_ndcg', 'delta_map'
    """
    name, at, cutoff = word.partition("@")
    if name not in PAIR_WEIGHTS:
        raise ValueError(describe_unknown_name("pair_weight", name, PAIR_WEIGHTS))
    if not at:
        return PairWeight(name)
    if name != "delta_ndcg" or not (cutoff.isascii() and cutoff.isdigit()) or int(cutoff) < 1:
        raise ValueError(
            f"pair_weight {word!r}: only 'delta_ndcg' takes a cutoff, a whole number from 1 on, "
            "as in 'delta_ndcg@10'"
        )
    return PairWeight(name, int(cutoff))
