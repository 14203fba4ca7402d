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

from directranker.metrics.rules import unknown_word
from directranker.rankers import (
    AdaRank,
    CoordinateAscent,
    DirectRanker,
    Ensemble,
    ESRank,
    IESRRank,
    IESVMRank,
    LambdaDirectRanker,
    LambdaMART,
    ListNet,
    RankNet,
    RankSVM,
)
from directranker.rankers.base import Ranker

__all__ = ["ALL", "CONTENDERS", "Contender", "chosen_contenders"]

ALL = "all"


@dataclass(frozen=True)
class Contender:
    """A ranker that takes part: how tables call it, how it is made, and what it is."""

    name: str
    ranker: Callable[[], Ranker]
    """Makes the unfitted ranker with its defaults."""
    description: str


CONTENDERS: Mapping[str, Contender] = MappingProxyType(
    {
        contender.name: contender
        for contender in (
            Contender("DirectRanker-paper", DirectRanker.paper, "the published configuration"),
            Contender("DirectRanker", DirectRanker, "with this package's defaults"),
            Contender("RankNet", RankNet, "a neural net, cross-entropy over pairs, gradient descent"),
            Contender("ListNet", ListNet, "a neural net, cross-entropy of whole lists"),
            Contender("LambdaMART", LambdaMART, "boosted trees, LightGBM's lambdarank"),
            Contender("AdaRank", AdaRank, "boosted single features"),
            Contender("ESRank", ESRank, "a linear scorer evolved from equal weights"),
            Contender("IESRRank", IESRRank, "a linear scorer evolved from a linear regression"),
            Contender("IESVMRank", IESVMRank, "a linear scorer evolved from a linear SVM"),
            Contender("LambdaDirectRanker", LambdaDirectRanker, "the DirectRanker, pairs weighed by ΔNDCG"),
            Contender("CoordinateAscent", CoordinateAscent, "a linear scorer, one weight at a time"),
            Contender("RankSVM", RankSVM, "a linear scorer, squared hinge over all pairs"),
            Contender("Ensemble", lambda: Ensemble(DirectRanker(), 5), "the mean of five DirectRankers"),
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
