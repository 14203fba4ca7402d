"""The registry of rankers by name, with descriptions and search grids.

Commands, comparisons, saved models and contract tests iterate over this registry; none of them refers to a
specific ranker. Our own rankers are lines of `BUILT_IN`. A ranker of another package registers by an entry
point of the group `directranker.rankers`, whose value is a `Ranker` class:

    [project.entry-points."directranker.rankers"]
    NearestCentroid = "my_package.centroids:NearestCentroid"

Rankers are imported on first use.

>>> list(load_registry())[:3]
['DirectRanker-paper', 'DirectRanker', 'RankNet']
>>> find_ranker("LambdaMART").make().patience
50
>>> [entry.name for entry in select_rankers("RankNet,LambdaMART")]
['RankNet', 'LambdaMART']
>>> find_ranker("LambdaMart")  # doctest: +ELLIPSIS
Traceback (most recent call last):
ValueError: ranker 'LambdaMart' is unknown; did you mean 'LambdaMART'? Choose from 'DirectRanker-paper', ...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from directranker.suggestions import describe_unknown_name

if TYPE_CHECKING:
    from directranker.rankers.base import Ranker

__all__ = [
    "ALL",
    "GROUP",
    "Choices",
    "RankerEntry",
    "find_ranker",
    "find_ranker_class",
    "find_registered_name",
    "load_registry",
    "select_rankers",
]

ALL = "all"
GROUP = "directranker.rankers"
Choices = Mapping[str, list[Any]]
"""The values that a search tries, by parameter."""


@dataclass(frozen=True)
class RankerEntry:
    """A registered ranker: its name, where it is defined, a phrase for tables, and its search grids."""

    name: str
    target: str
    """`module:Class`, or `module:Class.constructor` for another configuration of a class."""
    description: str
    grids: Mapping[str, Choices] = field(default_factory=dict)
    """Search grids by name, `"quick"` or `"paper"`; without a grid, a search uses the defaults."""

    def make(self) -> Ranker:
        """Build the unfitted ranker with its defaults."""
        module, _, attribute = self.target.partition(":")
        ranker: Ranker = attrgetter(attribute)(import_module(module))()
        return ranker

    @property
    def class_path(self) -> str:
        """`module:Class`; several entries may share one."""
        module, _, attribute = self.target.partition(":")
        return f"{module}:{attribute.partition('.')[0]}"

    @property
    def ranker_class(self) -> type[Ranker]:
        """The class itself."""
        module, _, name = self.class_path.partition(":")
        ranker_class: type[Ranker] = getattr(import_module(module), name)
        return ranker_class

    @property
    def is_configuration(self) -> bool:
        """Whether the ranker is built by another constructor of its class."""
        return self.target != self.class_path


_NET_CHOICES: Choices = {
    "hidden_layers": [(64,), (128,), (256, 64)],
    "dropout": [0.3, 0.5],
    "weight_decay": [0.0, 0.01, 0.1],
}
_EVOLUTION_CHOICES: Choices = {
    "n_generations": [500, 1300, 3000],
    "step_distribution": ["cauchy", "gaussian", "levy"],
}
_NETS, _LINEAR = "directranker.rankers.nets", "directranker.rankers.linear"

BUILT_IN: tuple[RankerEntry, ...] = (
    RankerEntry(
        "DirectRanker-paper",
        f"{_NETS}.direct_ranker:DirectRanker.paper",
        "the published configuration",
        {
            "paper": {
                "hidden_layers": [(10,), (50,), (100, 50, 5), (200, 100, 50, 25, 5)],
                "weight_decay": [0.0, 0.001, 0.01, 0.1],
                "dropout": [0.0, 0.5],
                "early_stopping": [True, False],
            }
        },
    ),
    RankerEntry(
        "DirectRanker",
        f"{_NETS}.direct_ranker:DirectRanker",
        "with this package's defaults",
        {"paper": _NET_CHOICES},
    ),
    RankerEntry(
        "RankNet",
        f"{_NETS}.ranknet:RankNet",
        "a neural net, cross-entropy over pairs, gradient descent",
        {"paper": {"hidden_layers": [(10,), (32,), (64,)], "learning_rate": [0.005, 0.02, 0.05]}},
    ),
    RankerEntry(
        "ListNet",
        f"{_NETS}.listnet:ListNet",
        "a neural net, cross-entropy of whole lists",
        {"paper": {"hidden_layers": [(), (10,), (32,)], "learning_rate": [0.0001, 0.001, 0.01]}},
    ),
    RankerEntry(
        "LambdaMART",
        "directranker.rankers.trees.lambdamart:LambdaMART",
        "boosted trees, LightGBM's lambdarank",
        {
            "paper": {
                "num_leaves": [7, 10, 31],
                "n_estimators": [300, 1000],
                "learning_rate": [0.02, 0.05, 0.1],
            }
        },
    ),
    RankerEntry(
        "AdaRank",
        f"{_LINEAR}.adarank:AdaRank",
        "boosted single features",
        {
            "quick": {"tol": [0.0, 0.002]},
            "paper": {
                "tol": [0.0, 0.002, 0.01],
                "max_consecutive": [2, 5],
                "negative": [False, True],
            },
        },
    ),
    RankerEntry(
        "ESRank",
        f"{_LINEAR}.es_rank:ESRank",
        "a linear scorer evolved from equal weights",
        {"paper": _EVOLUTION_CHOICES},
    ),
    RankerEntry(
        "IESRRank",
        f"{_LINEAR}.es_rank:IESRRank",
        "a linear scorer evolved from a linear regression",
        {"paper": _EVOLUTION_CHOICES},
    ),
    RankerEntry(
        "IESVMRank",
        f"{_LINEAR}.es_rank:IESVMRank",
        "a linear scorer evolved from a linear SVM",
        {"paper": _EVOLUTION_CHOICES},
    ),
    RankerEntry(
        "LambdaDirectRanker",
        f"{_NETS}.lambda_direct_ranker:LambdaDirectRanker",
        "the DirectRanker, pairs weighted by ΔNDCG",
        {"paper": _NET_CHOICES},
    ),
    RankerEntry(
        "CoordinateAscent",
        f"{_LINEAR}.coordinate_ascent:CoordinateAscent",
        "a linear scorer, one weight at a time",
        {"paper": {"n_restarts": [1, 5], "tol": [0.0001, 0.001]}},
    ),
    RankerEntry(
        "RankSVM",
        f"{_LINEAR}.rank_svm:RankSVM",
        "a linear scorer, squared hinge over all pairs",
        {
            "quick": {"alpha": [0.01, 0.03, 0.1]},
            "paper": {"alpha": [0.003, 0.01, 0.03, 0.1, 0.3], "cost": ["hinge", "squared_hinge"]},
        },
    ),
    RankerEntry(
        "Ensemble",
        "directranker.rankers.ensemble:Ensemble.of_nets",
        "the mean of five DirectRankers",
        {"paper": {"ranker__hidden_layers": [(64,), (128,)], "ranker__dropout": [0.3, 0.5]}},
    ),
)


@cache
def load_registry() -> Mapping[str, RankerEntry]:
    """Return all rankers by name: our own, then those of installed packages by their entry points."""
    entries = {entry.name: entry for entry in BUILT_IN}
    for point in entry_points(group=GROUP):
        if point.name in entries:
            raise ValueError(
                f"entry point {point.value!r} registers the ranker {point.name!r}, which already exists; "
                f"rename it in the group {GROUP!r} of its package"
            )
        entries[point.name] = _external_entry(point)
    return MappingProxyType(entries)


def _external_entry(point: EntryPoint) -> RankerEntry:
    return RankerEntry(point.name, point.value, f"of {point.module.partition('.')[0]}")


def find_ranker(name: str) -> RankerEntry:
    """Return the entry of this name; a ValueError suggests the closest one."""
    entries = load_registry()
    if name not in entries:
        raise ValueError(describe_unknown_name("ranker", name, entries))
    return entries[name]


def find_registered_name(ranker_class: type) -> str | None:
    """Return the registered name of a class, which saved models contain; None where it is not registered.

    >>> from directranker.rankers import DirectRanker
    >>> find_registered_name(DirectRanker), find_registered_name(str)
    ('DirectRanker', None)
    """
    path = f"{ranker_class.__module__}:{ranker_class.__qualname__}"
    return next((name for name, entry in _load_classes().items() if entry.class_path == path), None)


def find_ranker_class(name: str) -> type[Ranker]:
    """Return the class of which `find_registered_name` is this name; KeyError where there is none."""
    return _load_classes()[name].ranker_class


@cache
def _load_classes() -> Mapping[str, RankerEntry]:
    """Return one entry per class by name, without other configurations of the same class."""
    by_class: dict[str, RankerEntry] = {}
    for entry in load_registry().values():
        if entry.class_path not in by_class or not entry.is_configuration:
            by_class[entry.class_path] = entry
    return {entry.name: entry for entry in by_class.values()}


def select_rankers(names: str | Iterable[str]) -> list[RankerEntry]:
    """Return the entries of names, a list or a comma-separated string; `"all"` is every ranker."""
    requested = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    selected: dict[str, RankerEntry] = {}
    for name in filter(None, requested):
        if name == ALL:
            selected.update(load_registry())
        elif name in load_registry():
            selected[name] = load_registry()[name]
        else:
            raise ValueError(describe_unknown_name("ranker", name, [ALL, *load_registry()]))
    if not selected:
        raise ValueError("no ranker is named; give names such as 'DirectRanker,LambdaMART', or 'all'")
    return list(selected.values())
