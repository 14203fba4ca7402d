"""Learning to rank around the DirectRanker.

Names are imported on first use, so that `import directranker` and the command line start at once.

>>> import directranker
>>> data = directranker.example_dataset()
>>> data
RankingDataset(7500 documents, 291 queries, 20 features)
"""

from directranker import _working_directory  # noqa: F401 - before all else, even typing and __future__

# isort: split
from typing import TYPE_CHECKING

from directranker._version import __version__
from directranker.late_names import late_names

if TYPE_CHECKING:
    from directranker.classification import Boundaries, OrderClassifier, class_boundaries, load_classifier
    from directranker.data.dataset import RankingDataset, concatenate
    from directranker.data.folds import Fold, read_fold, read_folds
    from directranker.data.formats import read_dataset, write_dataset
    from directranker.data.inspection import inspect_dataset, inspect_fold
    from directranker.data.letor import parse_letor, read_letor
    from directranker.data.letor.writing import write_letor
    from directranker.data.synthetic import GaussianClasses, example_dataset, make_synthetic, noisy_labels
    from directranker.data.tabular import read_parquet, write_parquet
    from directranker.encoding import (
        AutoTransform,
        InContext,
        PiecewiseLinear,
        QuantileNormal,
        QueryMinMax,
        QueryRank,
        QueryZScore,
        SignedLog,
        Standard,
    )
    from directranker.errors import (
        DataError,
        ExportError,
        FitError,
        LetorError,
        QueryWarning,
        StorageError,
        TrainingWarning,
    )
    from directranker.experiments.comparison import compare_rankers
    from directranker.experiments.protocol import open_folds
    from directranker.experiments.results import Comparison, read_results
    from directranker.experiments.significance import randomisation_test
    from directranker.explanation import explain_difference
    from directranker.export import export_ranker
    from directranker.metrics import (
        CONVENTIONS,
        Convention,
        Metric,
        average_precision,
        dcg,
        err,
        evaluate,
        evaluate_per_query,
        mean_average_precision,
        ndcg,
        precision,
        reciprocal_rank,
    )
    from directranker.model_selection import (
        CellStore,
        Entry,
        NestedResult,
        SearchResult,
        grid_search,
        nested_grid_search,
        nested_searches,
    )
    from directranker.persistence import load_ranker, save_ranker
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
    from directranker.report import write_report

_HOMES = {
    "classification": ("Boundaries", "OrderClassifier", "class_boundaries", "load_classifier"),
    "data.dataset": ("RankingDataset", "concatenate"),
    "data.folds": ("Fold", "read_fold", "read_folds"),
    "data.formats": ("read_dataset", "write_dataset"),
    "data.inspection": ("inspect_dataset", "inspect_fold"),
    "data.letor": ("parse_letor", "read_letor"),
    "data.letor_writing": ("write_letor",),
    "data.synthetic": ("GaussianClasses", "example_dataset", "make_synthetic", "noisy_labels"),
    "data.tabular": ("read_parquet", "write_parquet"),
    "data.transforms": (
        "AutoTransform",
        "InContext",
        "PiecewiseLinear",
        "QuantileNormal",
        "QueryMinMax",
        "QueryRank",
        "QueryZScore",
        "SignedLog",
        "Standard",
    ),
    "errors": (
        "DataError",
        "ExportError",
        "FitError",
        "LetorError",
        "QueryWarning",
        "StorageError",
        "TrainingWarning",
    ),
    "experiments.comparison": ("compare_rankers",),
    "experiments.protocol": ("open_folds",),
    "experiments.results": ("Comparison", "read_results"),
    "experiments.significance": ("randomisation_test",),
    "explanation": ("explain_difference",),
    "export": ("export_ranker",),
    "metrics": (
        "CONVENTIONS",
        "Convention",
        "Metric",
        "average_precision",
        "dcg",
        "err",
        "evaluate",
        "evaluate_per_query",
        "mean_average_precision",
        "ndcg",
        "precision",
        "reciprocal_rank",
    ),
    "model_selection": (
        "CellStore",
        "Entry",
        "NestedResult",
        "SearchResult",
        "grid_search",
        "nested_grid_search",
        "nested_searches",
    ),
    "persistence": ("load_ranker", "save_ranker"),
    "rankers": (
        "AdaRank",
        "CoordinateAscent",
        "DirectRanker",
        "Ensemble",
        "LambdaDirectRanker",
        "LambdaMART",
        "ListNet",
        "RankNet",
        "ESRank",
        "IESRRank",
        "IESVMRank",
        "RankSVM",
    ),
    "report": ("write_report",),
}

__all__ = [
    "CONVENTIONS",
    "AdaRank",
    "AutoTransform",
    "Boundaries",
    "CellStore",
    "Comparison",
    "Convention",
    "CoordinateAscent",
    "DataError",
    "DirectRanker",
    "ESRank",
    "Ensemble",
    "Entry",
    "ExportError",
    "FitError",
    "Fold",
    "GaussianClasses",
    "IESRRank",
    "IESVMRank",
    "InContext",
    "LambdaDirectRanker",
    "LambdaMART",
    "LetorError",
    "ListNet",
    "Metric",
    "NestedResult",
    "OrderClassifier",
    "PiecewiseLinear",
    "QuantileNormal",
    "QueryMinMax",
    "QueryRank",
    "QueryWarning",
    "QueryZScore",
    "RankNet",
    "RankSVM",
    "RankingDataset",
    "SearchResult",
    "SignedLog",
    "Standard",
    "StorageError",
    "TrainingWarning",
    "__version__",
    "average_precision",
    "class_boundaries",
    "compare_rankers",
    "concatenate",
    "dcg",
    "err",
    "evaluate",
    "evaluate_per_query",
    "example_dataset",
    "explain_difference",
    "export_ranker",
    "grid_search",
    "inspect_dataset",
    "inspect_fold",
    "load_classifier",
    "load_ranker",
    "make_synthetic",
    "mean_average_precision",
    "ndcg",
    "nested_grid_search",
    "nested_searches",
    "noisy_labels",
    "open_folds",
    "parse_letor",
    "precision",
    "randomisation_test",
    "read_dataset",
    "read_fold",
    "read_folds",
    "read_letor",
    "read_parquet",
    "read_results",
    "reciprocal_rank",
    "save_ranker",
    "write_dataset",
    "write_letor",
    "write_parquet",
    "write_report",
]


__getattr__ = late_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
