"""What the paper says of its sensitivity studies, checked on points that were measured.

>>> points = [Point("noise", 0.0, "R", 0.98, 0.001, 5, 1.0), Point("noise", 0.75, "R", 0.85, 0.01, 5, 1.0)]
>>> [(claim.text, claim.held) for claim in check_claims(points)]
[('stays above 0.80 at σ = 0.75', True)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.experiments.sensitivity import Point

__all__ = ["Claim", "check_claims"]

MARGINAL = 0.01  # of NDCG@20: what "decreases only marginally" is taken to mean, and more is a drop
TRENDS = (
    ("classes", -1, "falls with the number of classes"),
    ("features", 1, "rises with the number of features"),
    ("size", 1, "rises with the size of the training set"),
)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it held, and by which figures."""

    ranker: str
    text: str
    held: bool
    figures: str


def check_claims(points: Sequence[Point]) -> list[Claim]:
    """Check each claim whose points were measured, for each ranker.

    A trend holds where the last value's mean lies beyond the first one's by more than both standard errors.
    """
    claims: list[Claim] = []
    for ranker in dict.fromkeys(point.ranker for point in points):
        own = {(point.study, point.value): point for point in points if point.ranker == ranker}
        for study, sign, text in TRENDS:
            along = sorted((value, point) for (name, value), point in own.items() if name == study)
            if len(along) > 1:
                claims.append(_trend(ranker, text, sign, along[0][1], along[-1][1]))
        claims += _noise_claims(ranker, own)
    return claims


def _trend(ranker: str, text: str, sign: int, first: Point, last: Point) -> Claim:
    errors = [point.error for point in (first, last) if point.error == point.error]
    held = sign * (last.mean - first.mean) > sum(errors)
    return Claim(ranker, text, held, f"{_figures(first)}, {_figures(last)}")


def _noise_claims(ranker: str, own: dict[tuple[str, float], Point]) -> list[Claim]:
    none, little, much = (own.get(("noise", sigma)) for sigma in (0.0, 0.25, 0.75))
    claims = []
    if none is not None and little is not None:
        text, held = "barely falls up to σ = 0.25", none.mean - little.mean < MARGINAL
        claims.append(Claim(ranker, text, held, f"{_figures(none)}, {_figures(little)}"))
    if little is not None and much is not None:
        text, held = "drops for larger noise", little.mean - much.mean > MARGINAL
        claims.append(Claim(ranker, text, held, f"{_figures(little)}, {_figures(much)}"))
    if much is not None:
        claims.append(Claim(ranker, "stays above 0.80 at σ = 0.75", much.mean > 0.80, _figures(much)))
    return claims


def _figures(point: Point) -> str:
    error = f" ± {point.error:.4f}" if point.n_sets > 1 else ""  # of a single data set there is none
    return f"{point.mean:.4f}{error} at {point.value:g}"
