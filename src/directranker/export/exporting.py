"""One call for every export: describe the ranker, write it, prove it on real rows, then put it in its place.

| to | files | proved by |
|---|---|---|
| `onnx` | `model.onnx` | onnxruntime |
| `c` | `NAME.h`, `NAME.c` | the C compiler, where there is one |
| `solr` | `features.json`, `model.json` | Solr's rules, computed in float32 |
| `elasticsearch` | `features.json`, `model.json` | the plugin's rules, computed in float32 |
| `elasticsearch-ranklib` | the same, trees in RankLib's text | the same |

Each folder has a `parity.json` too, which tells how near the scores are.

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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from directranker.arrays import Features, IntArray
from directranker.data.checking import as_features
from directranker.data.dataset import RankingDataset
from directranker.data.files import check_writable_parent, write_folder_atomically
from directranker.description.model import Model
from directranker.errors import ExportError
from directranker.export.c import c_compiler, c_files, compiled_scores
from directranker.export.c_source import signature_name
from directranker.export.elasticsearch import elasticsearch_files
from directranker.export.engines import elasticsearch_scores, solr_scores
from directranker.export.onnx import onnx_bytes, onnx_scores
from directranker.export.parity import Parity, check_parity
from directranker.export.solr import solr_files
from directranker.rankers import Ranker
from directranker.suggestions import describe_unknown_name

__all__ = ["TARGETS", "export_ranker"]


@dataclass(frozen=True)
class Written:
    """The files of an export by name, and how the other side scores rows."""

    files: dict[str, bytes]
    score: Callable[[Features], NDArray[np.floating]] | None
    """None where nothing is there to compute it."""
    checked_by: str
    takes_missing: bool = True


def export_ranker(
    ranker: Ranker, path: str | Path, *, to: str, rows: Any, name: str = "", overwrite: bool = False
) -> Parity:
    """Write a fitted ranker for another program, if that scores these rows as the ranker does.

    Parameters
    ----------
    ranker
        Any fitted ranker; an `Ensemble` whose members see documents by themselves.
    path
        The folder to write.
    to
        `"onnx"`, `"c"`, `"solr"`, `"elasticsearch"` or `"elasticsearch-ranklib"`.
    rows
        Real documents to compare scores on: a `RankingDataset`, or features as one list.
    name
        What the model is called; else the folder's name.
    overwrite
        Replace a folder that is there.

    """
    if to not in TARGETS:
        raise ValueError(describe_unknown_name("export", to, TARGETS))
    if Path(path).exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose another name or ask to overwrite it")
    check_writable_parent(Path(path))
    table, offsets = _rows(rows)
    written = TARGETS[to](ranker._describe(), signature_name(name or Path(path).name))
    parity = _proved(ranker, written, table, offsets)
    facts = {"to": to, **asdict(parity)}
    if not parity.n_documents:
        facts["largest_difference"] = None  # JSON has no nan
    report = json.dumps(facts, indent=1, allow_nan=False)
    with write_folder_atomically(path, overwrite=overwrite) as temporary:
        for file, content in {**written.files, "parity.json": report.encode()}.items():
            (temporary / file).write_bytes(content)
    return parity


def _rows(rows: Any) -> tuple[Features, IntArray]:
    if isinstance(rows, RankingDataset):
        table, offsets = np.asarray(rows.features), rows.offsets
    else:
        table = as_features(rows)
        offsets = np.array([0, len(table)])
    if not len(table):
        raise ValueError("rows has no documents; give some to compare scores on")
    return table, offsets


def _proved(ranker: Ranker, written: Written, table: Features, offsets: IntArray) -> Parity:
    if not written.takes_missing:
        # Engines hand 0 to a model where a value is missing, so that is what is compared.
        table = np.nan_to_num(table, nan=0.0)
    lists = RankingDataset(table, np.zeros(len(table)), offsets, np.arange(len(offsets) - 1))
    expected = ranker.predict(lists)
    if np.isnan(expected).any():
        row = int(np.argmax(np.isnan(expected)))
        raise ExportError(
            f"the ranker's own score of row {row} is nan, so there is nothing to compare; give rows without "
            "missing values, or train with a transform that takes them"
        )
    if written.score is None:
        return Parity(written.checked_by, 0, 0, float("nan"), 0)
    try:
        return check_parity(expected, written.score(table), offsets, by=written.checked_by)
    except ExportError as error:
        if written.takes_missing:
            raise
        raise ExportError(
            f"{error}. Engines compute in float32, which is coarse far from 0: train with such features "
            "moved nearer to 0, or export to 'onnx' or 'c'"
        ) from None


def _to_onnx(model: Model, name: str) -> Written:
    content = onnx_bytes(model, name=name)
    return Written({"model.onnx": content}, lambda table: onnx_scores(content, table), "onnxruntime")


def _to_c(model: Model, name: str) -> Written:
    header, source = c_files(model, name=name)
    files = {f"{name}.h": header.encode("ascii"), f"{name}.c": source.encode("ascii")}
    compiler = c_compiler()
    if compiler is None:
        return Written(files, None, "nothing: there is no C compiler")
    return Written(
        files,
        lambda table: compiled_scores(header, source, table, name=name, compiler=compiler),
        f"the C compiler {compiler}",
    )


def _to_solr(model: Model, name: str) -> Written:
    features, written = solr_files(model, name=name)
    files = {"features.json": _json(features), "model.json": _json(written)}
    read = {file: json.loads(content) for file, content in files.items()}
    return Written(
        files,
        lambda table: solr_scores(read["features.json"], read["model.json"], table),
        "Solr's rules",
        takes_missing=False,
    )


def _to_elasticsearch(model: Model, name: str, *, ranklib: bool = False) -> Written:
    features, written = elasticsearch_files(model, name=name, ranklib=ranklib)
    files = {"features.json": _json(features), "model.json": _json(written)}
    read = json.loads(files["model.json"])
    return Written(
        files,
        lambda table: elasticsearch_scores(read, model.feature_names, table),
        "the Elasticsearch plugin's rules",
        takes_missing=False,
    )


def _to_ranklib(model: Model, name: str) -> Written:
    return _to_elasticsearch(model, name, ranklib=True)


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()


TARGETS: dict[str, Callable[[Model, str], Written]] = {
    "onnx": _to_onnx,
    "c": _to_c,
    "solr": _to_solr,
    "elasticsearch": _to_elasticsearch,
    "elasticsearch-ranklib": _to_ranklib,
}
"""What makes the files of each export."""
