"""The weight of a pair by name: constant, by its labels, or by the effect of a swap on a metric.

    None               all pairs weigh the same
    label_difference   y_i − y_j
    delta_ndcg         |ΔNDCG| when the two swap ranks; `delta_ndcg@10` is NDCG@10
    delta_map          |Δ average precision|, likewise

The last two are in `swaps`. The gradient treats weights as constants.

>>> parse_pair_weight("delta_ndcg@10")
PairWeight(name='delta_ndcg', k=10)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.suggestions import describe_unknown_name

__all__ = ["BY_LABELS", "BY_SWAP", "NO_WEIGHT", "PAIR_WEIGHTS", "PairWeight", "parse_pair_weight"]

PAIR_WEIGHTS: Sequence[str] = ("label_difference", "delta_ndcg", "delta_map")
NO_WEIGHT, BY_LABELS, BY_SWAP = range(3)


@dataclass(frozen=True)
class PairWeight:
    """A pair weight by name; `k` is the cutoff of ΔNDCG, None for all ranks."""

    name: str
    k: int | None = None

    @property
    def code(self) -> int:
        """The code of this weight in kernels."""
        return BY_LABELS if self.name == "label_difference" else BY_SWAP


def parse_pair_weight(text: str) -> PairWeight:
    """Return the pair weight of a name; `delta_ndcg` may have a cutoff.

    >>> parse_pair_weight("delta_ndgc@5")
    Traceback (most recent call last):
    ValueError: pair_weight 'delta_ndgc' is unknown; did you mean 'delta_ndcg'? Choose from
    'label_difference', 'delta_ndcg', 'delta_map'
    """
    name, at, cutoff = text.partition("@")
    if name not in PAIR_WEIGHTS:
        raise ValueError(describe_unknown_name("pair_weight", name, PAIR_WEIGHTS))
    if not at:
        return PairWeight(name)
    if name != "delta_ndcg" or not (cutoff.isascii() and cutoff.isdigit()) or int(cutoff) < 1:
        raise ValueError(
            f"pair_weight {text!r}: only 'delta_ndcg' takes a cutoff, a whole number of at least 1, "
            "as in 'delta_ndcg@10'"
        )
    return PairWeight(name, int(cutoff))
