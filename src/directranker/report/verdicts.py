"""The answer in a sentence or two: which ranker is best, by how much, and whether that is more than chance.

>>> join_names(["A"]), join_names(["A", "B"]), join_names(["A", "B", "C"])
('A', 'A and B', 'A, B and C')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from directranker.experiments.results import Comparison, RankerResult
from directranker.experiments.table_values import LEVEL, format_mean

__all__ = ["Verdict", "join_names", "format_p_value", "verdict"]

MAX_NAMED = 4


@dataclass(frozen=True)
class Verdict:
    """What a comparison says by one metric."""

    metric: str
    headline: str
    score: str
    lead: str
    """How far ahead, and whether that is significant."""
    is_clear: bool | None
    """Whether the best is significantly better than every other ranker; None where there is no other."""


def verdict(comparison: Comparison, metric: str) -> Verdict:
    """Say which ranker is best by a metric."""
    best = comparison.best(metric)
    if best is None:
        return Verdict(metric, "No query counts", "–", f"{metric.upper()} has no value here.", is_clear=None)
    measured = best.by(metric)
    score = format_mean(measured.mean, measured.error)
    others = [one for one in comparison.rankers if one is not best and one.by(metric).mean is not None]
    others.sort(key=lambda one: -(one.by(metric).mean or 0.0))
    if not others:
        alone = "There is no other ranker to compare it with."
        return Verdict(metric, best.ranker, score, alone, is_clear=None)
    level = [one.ranker for one in others if not _is_worse(comparison, metric, one, best)]
    headline = f"{best.ranker} ranks best" if not level else f"{best.ranker} is ahead, but not alone"
    return Verdict(
        metric, headline, score, _lead(comparison, metric, best, others, level), is_clear=not level
    )


def _is_worse(comparison: Comparison, metric: str, one: RankerResult, best: RankerResult) -> bool:
    test = comparison.test(metric, one.ranker, best.ranker)
    return test is not None and test.p_corrected < LEVEL


def _lead(
    comparison: Comparison,
    metric: str,
    best: RankerResult,
    others: Sequence[RankerResult],
    level: Sequence[str],
) -> str:
    second = others[0]
    ahead = (best.by(metric).mean or 0.0) - (second.by(metric).mean or 0.0)
    test = comparison.test(metric, second.ranker, best.ranker)
    chance = "" if test is None else f" (p {format_p_value(test.p_corrected)})"
    first = f"{ahead:.3f} ahead of {second.ranker}{chance}."
    if not level:
        return f"{first} The difference to every other ranker is significant."
    rest = len(others) - len(level)
    worse = f" It is significantly better than the {rest} others." if rest > 1 else ""
    worse = f" It is significantly better than {others[-1].ranker}." if rest == 1 else worse
    named = (
        level
        if len(level) <= MAX_NAMED
        else [*level[: MAX_NAMED - 1], f"{len(level) - MAX_NAMED + 1} others"]
    )
    return f"{first} {join_names(named)} cannot be told from it on these queries.{worse}"


def join_names(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))


def format_p_value(p: float) -> str:
    """A p-value as people write it.

    >>> format_p_value(0.00009), format_p_value(0.0123), format_p_value(0.4)
    ('< 0.001', '= 0.012', '= 0.400')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
