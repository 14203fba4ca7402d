"""One call for every export: describe the ranker, write the files, verify the scores, then create the folder.

| to | files | verified by |
|---|---|---|
| `onnx` | `model.onnx` | onnxruntime |
| `c` | `NAME.h`, `NAME.c` | the C compiler, if there is one |
| `solr` | `features.json`, `model.json` | Solr's rules, computed in float32 |
| `elasticsearch` | `features.json`, `model.json` | the plugin's rules, computed in float32 |
| `elasticsearch-ranklib` | the same, trees in RankLib's format | the same |

Each folder also has a `parity.json` with the largest difference of the scores.

>>> import tempfile
>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> data = example_dataset()
>>> ranker = RankSVM(transform="standard").fit(data)
>>> with tempfile.TemporaryDirectory() as folder:
...     parity = export_ranker(ranker, Path(folder, "svm"), to="solr", rows=data)
...     sorted(path.name for path in Path(folder, "svm").iterdir())
['features.json', 'model.json', 'parity.json']
>>> parity.checked_by, parity.largest_difference < 1e-5
("Solr's rules", True)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from directranker.data.checking import as_features
from directranker.data.dataset import RankingDataset
from directranker.data.files import check_writable_parent, write_folder_atomically
from directranker.description.model import Model
from directranker.description.preparation import Prepared
from directranker.errors import ExportError
from directranker.export.c import compile_and_score, find_c_compiler, write_c
from directranker.export.c_source import to_identifier
from directranker.export.categories import Documents, check_vocabularies
from directranker.export.elasticsearch import write_elasticsearch
from directranker.export.engines import score_elasticsearch, score_solr
from directranker.export.onnx import score_onnx, write_onnx
from directranker.export.parity import Parity, check_parity
from directranker.export.prepared import describe_estimator, write_prepared_c, write_prepared_onnx
from directranker.export.solr import write_solr
from directranker.rankers import Ranker
from directranker.rankers.pipelines import predict_by_query
from directranker.suggestions import describe_unknown_name

__all__ = ["TARGETS", "export_ranker"]


@dataclass(frozen=True)
class Export:
    """The files of an export by name, and a function that scores rows as the target does."""

    files: dict[str, bytes]
    score: Callable[[Documents], NDArray[np.floating]] | None
    """None if no program is available to compute the scores."""
    checked_by: str
    supports_missing: bool = True


def export_ranker(
    ranker: Ranker | Pipeline,
    path: str | Path,
    *,
    to: str,
    rows: RankingDataset | ArrayLike,
    name: str = "",
    overwrite: bool = False,
) -> Parity:
    """Export a fitted ranker to another program, if it scores these rows as the ranker does.

    Parameters
    ----------
    ranker
        Any fitted ranker; an `Ensemble` if its members score each document independently. To `onnx` and `c`
        also a pipeline that ends with a ranker, and a ranker with a transformer of scikit-learn, if all steps
        are scalers and imputers of numbers; else the error names the step.
    path
        The output folder.
    to
        `"onnx"`, `"c"`, `"solr"`, `"elasticsearch"` or `"elasticsearch-ranklib"`.
    rows
        Documents to compare scores on: a `RankingDataset`, or the features of one query. Scores of categories
        are also compared on some of these rows with unseen and missing values.
    name
        The name of the model; by default, that of the folder.
    overwrite
        Whether to replace an existing folder.

    """
    if to not in TARGETS:
        raise ValueError(describe_unknown_name("target", to, TARGETS))
    if Path(path).exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name or pass overwrite=True")
    check_writable_parent(Path(path))
    data = _read_rows(ranker, rows)
    model = describe_estimator(ranker)
    if isinstance(model, Prepared) and to not in PREPARED:
        raise ExportError(
            f"{to} cannot compute {model.steps} before a model; export to 'onnx' or 'c', or train a ranker "
            "with transform='standard' instead"
        )
    check_vocabularies(model)
    export = TARGETS[to](model, to_identifier(name or Path(path).name))
    table = data.features if isinstance(ranker, Pipeline) else ranker._validate_features(data, reset=False)
    documents = Documents.read(data, table, model)
    parity = _verify(ranker, export, model, documents)
    facts = {"to": to, **asdict(parity)}
    if not parity.n_documents:
        facts["largest_difference"] = None  # NaN, which JSON cannot store
    report = json.dumps(facts, indent=1, allow_nan=False)
    with write_folder_atomically(path, overwrite=overwrite) as temporary:
        for file, content in {**export.files, "parity.json": report.encode()}.items():
            (temporary / file).write_bytes(content)
    return parity


def _read_rows(ranker: Ranker | Pipeline, rows: RankingDataset | ArrayLike) -> RankingDataset:
    if isinstance(rows, RankingDataset):
        data = rows
    elif hasattr(ranker, "categories_"):
        data = ranker._read_frame(rows, reset=False)
    else:
        table = as_features(rows)
        data = RankingDataset(table, np.zeros(len(table)), np.array([0, len(table)]), np.array([0]))
    if not data.n_documents:
        raise ValueError("rows has no documents; give documents to compare scores on")
    return data


def _verify(
    ranker: Ranker | Pipeline, export: Export, model: Model | Prepared, documents: Documents
) -> Parity:
    if not model.categories:
        return _compare(ranker, export, model, documents)
    parity = _compare(ranker, export, model, documents)
    by = f"{export.checked_by}, with unseen and missing categories,"
    changed = documents.change_categories(model)
    of_changed = _compare(ranker, replace(export, checked_by=by), model, changed)
    return replace(parity, largest_difference=max(parity.largest_difference, of_changed.largest_difference))


def _compare(
    ranker: Ranker | Pipeline, export: Export, model: Model | Prepared, documents: Documents
) -> Parity:
    if not export.supports_missing:
        # Engines replace missing values by 0, so compare on those.
        documents = replace(documents, numbers=np.nan_to_num(documents.numbers, nan=0.0))
    expected = predict_by_query(ranker, documents.to_dataset(model))
    if np.isnan(expected).any():
        row = int(np.argmax(np.isnan(expected)))
        raise ExportError(
            f"the ranker itself scores row {row} as NaN, so the export cannot be verified; give rows without "
            "missing values, or train with a transform that supports them"
        )
    if export.score is None:
        return Parity(export.checked_by, 0, 0, float("nan"), 0)
    try:
        return check_parity(expected, export.score(documents), documents.offsets, by=export.checked_by)
    except ExportError as error:
        if export.supports_missing:
            raise
        raise ExportError(
            f"{error}. Engines compute in float32, which is coarse far from 0: train with such features "
            "shifted towards 0, or export to 'onnx' or 'c'"
        ) from None


def _export_onnx(model: Any, name: str) -> Export:
    write = write_prepared_onnx if isinstance(model, Prepared) else write_onnx
    content = write(model, name=name)
    return Export(
        {"model.onnx": content},
        lambda documents: score_onnx(content, documents.numbers, documents.values),
        "onnxruntime",
    )


def _export_c(model: Any, name: str) -> Export:
    write = write_prepared_c if isinstance(model, Prepared) else write_c
    header, source = write(model, name=name)
    files = {f"{name}.h": header.encode("ascii"), f"{name}.c": source.encode("ascii")}
    compiler = find_c_compiler()
    if compiler is None:
        return Export(files, None, "nothing (no C compiler found)")

    def score(documents: Documents) -> NDArray[np.floating]:
        inputs = documents.numbers, documents.values
        return compile_and_score(header, source, *inputs, name=name, compiler=compiler)

    return Export(files, score, f"the C compiler {compiler}")


def _export_solr(model: Model, name: str) -> Export:
    features, content = write_solr(model, name=name)
    files = {"features.json": _dump_json(features), "model.json": _dump_json(content)}
    read = {file: json.loads(content) for file, content in files.items()}
    return Export(
        files,
        lambda documents: score_solr(read["features.json"], read["model.json"], documents.numbers),
        "Solr's rules",
        supports_missing=False,
    )


def _export_elasticsearch(model: Model, name: str, *, ranklib: bool = False) -> Export:
    features, content = write_elasticsearch(model, name=name, ranklib=ranklib)
    files = {"features.json": _dump_json(features), "model.json": _dump_json(content)}
    read = json.loads(files["model.json"])
    return Export(
        files,
        lambda documents: score_elasticsearch(read, model.feature_names, documents.numbers),
        "the Elasticsearch plugin's rules",
        supports_missing=False,
    )


def _export_ranklib(model: Model, name: str) -> Export:
    return _export_elasticsearch(model, name, ranklib=True)


def _dump_json(value: object) -> bytes:
    return json.dumps(value, allow_nan=False).encode()


TARGETS: dict[str, Callable[[Any, str], Export]] = {
    "onnx": _export_onnx,
    "c": _export_c,
    "solr": _export_solr,
    "elasticsearch": _export_elasticsearch,
    "elasticsearch-ranklib": _export_ranklib,
}
"""The function that makes each export."""
PREPARED = ("onnx", "c")
"""The targets that compute steps of scikit-learn before a model."""
