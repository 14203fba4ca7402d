"""The paper's claims about its sensitivity studies, checked on measured points.

>>> points = [Point("noise", 0.0, "R", 0.98, 0.001, 5, 1.0), Point("noise", 0.75, "R", 0.85, 0.01, 5, 1.0)]
>>> [(claim.text, claim.held) for claim in check_claims(points)]
[('stays above 0.80 at σ = 0.75', True)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.experiments.sensitivity import Point

__all__ = ["Claim", "check_claims"]

MAX_MARGINAL_DROP = 0.01  # of NDCG@20: our reading of "decreases only marginally"
TRENDS = (
    ("classes", -1, "falls with the number of classes"),
    ("features", 1, "rises with the number of features"),
    ("size", 1, "rises with the size of the training set"),
)


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it held, and the measured values."""

    ranker: str
    text: str
    held: bool
    figures: str


def check_claims(points: Sequence[Point]) -> list[Claim]:
    """Check each claim whose points were measured, for each ranker.

    A trend holds if the means at the first and last value differ by more than the sum of their errors.
    """
    claims: list[Claim] = []
    for ranker in dict.fromkeys(point.ranker for point in points):
        by_value = {(point.study, point.value): point for point in points if point.ranker == ranker}
        for study, sign, text in TRENDS:
            in_order = sorted((value, point) for (name, value), point in by_value.items() if name == study)
            if len(in_order) > 1:
                claims.append(_check_trend(ranker, text, sign, in_order[0][1], in_order[-1][1]))
        claims += _check_noise_claims(ranker, by_value)
    return claims


def _check_trend(ranker: str, text: str, sign: int, first: Point, last: Point) -> Claim:
    errors = [point.error for point in (first, last) if point.error == point.error]
    held = sign * (last.mean - first.mean) > sum(errors)
    return Claim(ranker, text, held, f"{_format_point(first)}, {_format_point(last)}")


def _check_noise_claims(ranker: str, by_value: dict[tuple[str, float], Point]) -> list[Claim]:
    none, little, much = (by_value.get(("noise", sigma)) for sigma in (0.0, 0.25, 0.75))
    claims = []
    if none is not None and little is not None:
        text, held = "barely falls up to σ = 0.25", none.mean - little.mean < MAX_MARGINAL_DROP
        claims.append(Claim(ranker, text, held, f"{_format_point(none)}, {_format_point(little)}"))
    if little is not None and much is not None:
        text, held = "drops for larger noise", little.mean - much.mean > MAX_MARGINAL_DROP
        claims.append(Claim(ranker, text, held, f"{_format_point(little)}, {_format_point(much)}"))
    if much is not None:
        claims.append(Claim(ranker, "stays above 0.80 at σ = 0.75", much.mean > 0.80, _format_point(much)))
    return claims


def _format_point(point: Point) -> str:
    error = f" ± {point.error:.4f}" if point.n_sets > 1 else ""  # needs several data sets
    return f"{point.mean:.4f}{error} at {point.value:g}"
