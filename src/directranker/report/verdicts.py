"""The verdict of a comparison in a sentence or two: the best ranker, its lead, and its significance.

>>> join_names(["A"]), join_names(["A", "B"]), join_names(["A", "B", "C"])
('A', 'A and B', 'A, B and C')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.experiments.results import Comparison, RankerResult
from directranker.experiments.table_values import SIGNIFICANCE_LEVEL, format_mean

__all__ = ["Verdict", "build_verdict", "format_p_value", "join_names"]

MAX_NAMED = 4


@dataclass(frozen=True)
class Verdict:
    """The verdict of a comparison by one metric."""

    metric: str
    headline: str
    score: str
    lead: str
    """The lead over the second, and whether it is significant."""
    is_clear: bool | None
    """Whether the best is significantly better than all other rankers; None if there is no other."""


def build_verdict(comparison: Comparison, metric: str) -> Verdict:
    """Summarise which ranker is best by a metric."""
    best = comparison.best(metric)
    if best is None:
        return Verdict(
            metric,
            "No query counts",
            "–",
            f"{metric.upper()} is not defined for these queries.",
            is_clear=None,
        )
    measured = best.by(metric)
    score = format_mean(measured.mean, measured.error)
    others = [one for one in comparison.rankers if one is not best and one.by(metric).mean is not None]
    others.sort(key=lambda one: -(one.by(metric).mean or 0.0))
    if not others:
        alone = "There is no other ranker to compare with."
        return Verdict(metric, best.ranker, score, alone, is_clear=None)
    tied = [one.ranker for one in others if not _is_worse(comparison, metric, one, best)]
    headline = (
        f"{best.ranker} ranks best"
        if not tied
        else f"{best.ranker} leads, but not significantly over all others"
    )
    return Verdict(
        metric, headline, score, _describe_lead(comparison, metric, best, others, tied), is_clear=not tied
    )


def _is_worse(comparison: Comparison, metric: str, one: RankerResult, best: RankerResult) -> bool:
    test = comparison.test(metric, one.ranker, best.ranker)
    return test is not None and test.p_corrected < SIGNIFICANCE_LEVEL


def _describe_lead(
    comparison: Comparison,
    metric: str,
    best: RankerResult,
    others: Sequence[RankerResult],
    tied: Sequence[str],
) -> str:
    second = others[0]
    ahead = (best.by(metric).mean or 0.0) - (second.by(metric).mean or 0.0)
    test = comparison.test(metric, second.ranker, best.ranker)
    p_value = "" if test is None else f" (p {format_p_value(test.p_corrected)})"
    first = f"{ahead:.3f} ahead of {second.ranker}{p_value}."
    if not tied:
        return f"{first} It is significantly better than every other ranker."
    n_worse = len(others) - len(tied)
    worse = f" It is significantly better than the {n_worse} others." if n_worse > 1 else ""
    worse = f" It is significantly better than {others[-1].ranker}." if n_worse == 1 else worse
    named = (
        tied if len(tied) <= MAX_NAMED else [*tied[: MAX_NAMED - 1], f"{len(tied) - MAX_NAMED + 1} others"]
    )
    verb = "is" if len(tied) == 1 else "are"
    return f"{first} {join_names(named)} {verb} not significantly worse.{worse}"


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))


def format_p_value(p: float) -> str:
    """Format a p-value.

    >>> format_p_value(0.00009), format_p_value(0.0123), format_p_value(0.4)
    ('< 0.001', '= 0.012', '= 0.400')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
