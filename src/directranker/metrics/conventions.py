"""The named conventions of ranking metrics, each after the tool or paper that uses it.

The same ranking has an NDCG@10 between 0.2 and 0.8 on MQ2008, depending on the gain of a label, the discount
of a rank and the value of a query without a relevant document. A `Convention` holds these choices;
`CONVENTIONS` lists the named ones; `convention` returns one by name, with changes.

>>> convention("lightgbm").no_relevant
1
>>> convention("paper", threshold=2).name
'paper(threshold=2)'
>>> convention("lightbgm")
Traceback (most recent call last):
ValueError: convention 'lightbgm' is unknown; did you mean 'lightgbm'? Choose from 'graded', 'paper',
'ranklib', 'letor4', 'lightgbm', 'sklearn', 'trec'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Unpack

from directranker.metrics.rules import Convention, Rules
from directranker.suggestions import describe_unknown_name

__all__ = ["CONVENTIONS", "convention"]

_LETOR_GAINS = {0.0: 0.0, 1.0: 1.0, 2.0: 3.0, 3.0: 7.0, 4.0: 15.0}

CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        rules.name: rules
        for rules in (
            Convention("graded", "The default: graded labels, queries without a relevant one left out."),
            Convention(
                "paper",
                "The DirectRanker paper: as graded, but labels binarised; short lists at their own length.",
                gain="binary",
                precision_over="list",
            ),
            Convention(
                "ranklib",
                "RankLib: no relevant document counts 0; ERR on a scale up to 4; equal scores as they come.",
                no_relevant=0,
                ties="input",
                precision_over="list",
                max_grade=4,
            ),
            Convention(
                "letor4",
                "Microsoft's LETOR 4 script: its own discount; lists shorter than k have an NDCG of 0.",
                gain=_LETOR_GAINS,
                discount="letor4",
                no_relevant=0,
                ties="input",
                short_lists="zero",
            ),
            Convention(
                "lightgbm",
                "LightGBM and XGBoost: no relevant document counts 1; MAP@k divides by min(k, R).",
                no_relevant=1,
                ties="input",
                precision_over="list",
                average_precision_over="reachable",
            ),
            Convention(
                "sklearn",
                "scikit-learn's ndcg_score and dcg_score: linear gain; no relevant document counts 0.",
                gain="linear",
                no_relevant=0,
            ),
            Convention(
                "trec",
                "trec_eval: linear gain; no relevant document counts 0; give equal scores in its order.",
                gain="linear",
                no_relevant=0,
                ties="input",
                max_grade=4,
            ),
        )
    }
)


def convention(name: str | Convention, **changes: Unpack[Rules]) -> Convention:
    """Return a convention by name, or the given one, with changes, which become part of its name.

    >>> convention("trec", ties="worst", gain={0: 0, 1: 1, 2: 10}).gain_table
    ((0.0, 0.0), (1.0, 1.0), (2.0, 10.0))
    """
    if isinstance(name, str):
        if name not in CONVENTIONS:
            raise ValueError(describe_unknown_name("convention", name, CONVENTIONS))
        name = CONVENTIONS[name]
    if not isinstance(name, Convention):
        raise TypeError(f"convention is a {type(name).__name__}; pass a name or a Convention")
    if not changes:
        return name
    for rule in changes:
        if rule not in Rules.__annotations__:
            raise TypeError(describe_unknown_name("rule", rule, Rules.__annotations__))
    listed = ", ".join(f"{rule}={value}" for rule, value in changes.items())
    return replace(name, name=f"{name.name}({listed})", **changes)
