"""A ranker as one C99 function that depends only on the C library, for embedding.

`void NAME_score(const float *features, size_t n_documents, float *scores)` scores a contiguous array of
documents, each with all its features. It allocates nothing and is thread-safe.

If some features are categorical, `features` has only the numbers, and a second array the categories:
`void NAME_score(const float *features, const char *const *categories, size_t n_documents, float *scores)`.
A category is a string in UTF-8; NULL or an empty string is a missing value. The header lists both.

>>> from directranker.data.synthetic import example_dataset
>>> from directranker.rankers import RankSVM
>>> model = RankSVM(transform="standard").fit(example_dataset())._describe()
>>> header, source = write_c(model, name="svm")
>>> print(header.splitlines()[-3])
void svm_score(const float *features, size_t n_documents, float *scores);
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from directranker.arrays import Features, Float32Array
from directranker.description.model import Model, Net
from directranker.errors import ExportError
from directranker.export.c_categories import format_comment, write_document
from directranker.export.c_columns import write_columns
from directranker.export.c_layers import write_layers
from directranker.export.c_trees import write_trees
from directranker.export.categories import Values, get_category_names, get_number_names

__all__ = ["compile_and_score", "find_c_compiler", "write_c"]

FLAGS = ("-std=c99", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def write_c(model: Model, *, name: str) -> tuple[str, str]:
    """Write the texts of NAME.h and NAME.c."""
    guard = f"{name.upper()}_H"
    header = (
        f"/* Made by directranker. Higher scores are better; a missing feature is NAN. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n\n"
        f"{_write_sizes(model, name)}{_write_signature(model, name)};\n\n#endif\n"
    )
    body = _write_net(model) if isinstance(model, Net) else write_trees(model)
    loop = (
        f"{_write_signature(model, name)} {{\n    for (size_t row = 0; row < n_documents; row++) {{\n"
        f"{_write_call(model)}    }}\n}}\n"
    )
    includes = ["float.h", "math.h"]
    if model.categories:
        includes, body = [*includes, "string.h"], f"{write_document(model)}\n\n{body}"
    lines = "".join(f"#include <{file}>\n" for file in includes)
    return header, f'#include "{name}.h"\n\n{lines}\n{body}\n\n{loop}'


def _write_sizes(model: Model, name: str) -> str:
    names = {"features": get_number_names(model), "categories": get_category_names(model)}
    if not model.categories:
        return (
            f"#define {name.upper()}_N_FEATURES {len(model.feature_names)}\n\n"
            "/* Scores a contiguous array of documents, each with all its features. */\n"
        )
    sizes = "".join(f"#define {name.upper()}_N_{key.upper()} {len(names[key])}\n" for key in names)
    orders = "".join(
        f"   {key}: {', '.join(map(format_comment, columns)) or 'none'}\n" for key, columns in names.items()
    )
    return (
        f"{sizes}\n/* Scores a contiguous array of documents, each with all its features and categories:\n"
        f"{orders}   A category is a string in UTF-8; NULL or an empty string is a missing one. */\n"
    )


def _write_signature(model: Model, name: str) -> str:
    categories = "const char *const *categories, " if model.categories else ""
    return f"void {name}_score(const float *features, {categories}size_t n_documents, float *scores)"


def _write_call(model: Model) -> str:
    n_features, n_categories = len(model.feature_names), len(model.categories)
    if not n_categories:
        return f"        scores[row] = score_document(features + row * {n_features});\n"
    n_numbers, n_derived = n_features - n_categories, len(model.derived) if isinstance(model, Net) else 0
    return (
        f"        float document[{n_features + n_derived}];\n"
        f"        read_document(features + row * {n_numbers}, categories + row * {n_categories}, document);\n"
        "        scores[row] = score_document(document);\n"
    )


def _write_net(model: Net) -> str:
    calls, total = write_layers(model)
    return "\n\n".join(
        [
            write_columns(model.columns),
            calls,
            "static float score_document(const float *features) {\n"
            f"    float columns[{max(1, model.n_columns)}] = {{0}};\n"
            f"    encode(features, columns);\n{total}\n}}",
        ]
    )


def find_c_compiler() -> str | None:
    """Find a C compiler and return its path, or None."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def compile_and_score(
    header: str,
    source: str,
    table: Features,
    categories: Values | None = None,
    *,
    name: str,
    compiler: str,
) -> Float32Array:
    """Compile the source, and score numbers with it, and categories where there are any."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, f"{name}.h").write_text(header, encoding="ascii")
        Path(folder, f"{name}.c").write_text(source, encoding="ascii")
        library = Path(folder, f"{name}.so")
        command = [compiler, *FLAGS, "-shared", "-fPIC", "-o", str(library), f"{name}.c", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ExportError(f"{compiler} cannot compile the C source: {done.stderr.strip()[:500]}")
        score = getattr(ctypes.CDLL(str(library)), f"{name}_score")
        rows = np.ascontiguousarray(table, dtype=np.float32)
        scores = np.empty(len(rows), dtype=np.float32)
        inputs: list[Any] = [ctypes.c_void_p(rows.ctypes.data)]
        if categories is not None:
            inputs.append(_to_strings(categories))
        score.restype = None
        score(*inputs, ctypes.c_size_t(len(rows)), ctypes.c_void_p(scores.ctypes.data))
        return scores


def _to_strings(categories: Values) -> ctypes.Array[ctypes.c_char_p]:
    texts = [None if value is None else value.encode() for value in categories.ravel()]
    for at, text in enumerate(texts):
        if text is not None and b"\0" in text:
            raise ExportError(
                f"row {at // categories.shape[1]} has a category with a NUL character, which ends a string "
                "in C; give rows without it"
            )
    return (ctypes.c_char_p * len(texts))(*texts)
