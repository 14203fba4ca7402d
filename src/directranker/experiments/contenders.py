"""The rankers of a comparison, by name: those of the paper's tables, and ours besides.

>>> [contender.name for contender in chosen_contenders("RankNet,LambdaMART")]
['RankNet', 'LambdaMART']
>>> chosen_contenders("LambdaMart")
Traceback (most recent call last):
ValueError: ranker 'LambdaMart' is unknown; did you mean 'LambdaMART'? There are 'all', 'DirectRanker-paper',
'DirectRanker', 'RankNet', 'ListNet', 'LambdaMART', 'AdaRank', 'ESRank', 'IESRRank', 'IESVMRank',
'LambdaDirectRanker', 'CoordinateAscent', 'RankSVM', 'Ensemble'
>>> CONTENDERS["Ensemble"].ranker().n
5
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from directranker import rankers
from directranker.metrics.rules import unknown_word

if TYPE_CHECKING:
    from directranker.rankers.base import Ranker

__all__ = ["ALL", "CONTENDERS", "PROCEDURE", "Contender", "chosen_contenders"]

ALL = "all"
PROCEDURE = "DirectRanker-procedure"
"""The paper's DirectRanker of the studies on synthetic data, which depends on the data."""


@dataclass(frozen=True)
class Contender:
    """A ranker that takes part: how tables call it, how it is made, and what it is."""

    name: str
    ranker: Callable[[], Ranker]
    """Makes the unfitted ranker with its defaults; its module is imported only then."""
    description: str


def _of_class(name: str) -> Callable[[], Ranker]:
    """What makes a ranker of this class with its defaults."""

    def make() -> Ranker:
        ranker: Ranker = getattr(rankers, name)()
        return ranker

    return make


def _paper() -> Ranker:
    return rankers.DirectRanker.paper()


CONTENDERS: Mapping[str, Contender] = MappingProxyType(
    {
        contender.name: contender
        for contender in (
            Contender("DirectRanker-paper", _paper, "the published configuration"),
            Contender("DirectRanker", _of_class("DirectRanker"), "with this package's defaults"),
            Contender(
                "RankNet", _of_class("RankNet"), "a neural net, cross-entropy over pairs, gradient descent"
            ),
            Contender("ListNet", _of_class("ListNet"), "a neural net, cross-entropy of whole lists"),
            Contender("LambdaMART", _of_class("LambdaMART"), "boosted trees, LightGBM's lambdarank"),
            Contender("AdaRank", _of_class("AdaRank"), "boosted single features"),
            Contender("ESRank", _of_class("ESRank"), "a linear scorer evolved from equal weights"),
            Contender("IESRRank", _of_class("IESRRank"), "a linear scorer evolved from a linear regression"),
            Contender("IESVMRank", _of_class("IESVMRank"), "a linear scorer evolved from a linear SVM"),
            Contender(
                "LambdaDirectRanker",
                _of_class("LambdaDirectRanker"),
                "the DirectRanker, pairs weighed by ΔNDCG",
            ),
            Contender(
                "CoordinateAscent", _of_class("CoordinateAscent"), "a linear scorer, one weight at a time"
            ),
            Contender("RankSVM", _of_class("RankSVM"), "a linear scorer, squared hinge over all pairs"),
            Contender(
                "Ensemble",
                lambda: rankers.Ensemble(rankers.DirectRanker(), 5),
                "the mean of five DirectRankers",
            ),
        )
    }
)


def chosen_contenders(names: str | Iterable[str]) -> list[Contender]:
    """The rankers of a list of names, or of a text with commas between them; `"all"` is every one."""
    words = [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)
    chosen: dict[str, Contender] = {}
    for word in filter(None, words):
        if word == ALL:
            chosen.update(CONTENDERS)
        elif word in CONTENDERS:
            chosen[word] = CONTENDERS[word]
        else:
            raise ValueError(unknown_word("ranker", word, [ALL, *CONTENDERS]))
    if not chosen:
        raise ValueError("no ranker is named; give some, such as 'DirectRanker,LambdaMART', or 'all'")
    return list(chosen.values())
